/* An output in training: its targets' weights make the scale of the loss before anything runs. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "step/output.h"

size_t nn_train_output_bytes(const struct nn_train_output_size *size, size_t batch, size_t leaves)
{
	size_t real = nn_dtype_size(size->dtype);

	return batch * (size->target_size * (size->classes ? sizeof(int32_t) : real) + real) +
	       leaves * sizeof(double);
}

size_t nn_train_output_target_bytes(const struct nn_train_output *o)
{
	return o->target_size * (o->classes ? sizeof(int32_t) : nn_dtype_size(o->device->dtype));
}

static int take_class_weights(struct nn_train_output *o, struct nn_error *err)
{
	size_t bytes = o->columns * nn_dtype_size(o->device->dtype);

	if (nn_mirror_new(&o->class_weights, o->queue, bytes, err) < 0)
		return -1;
	for (size_t c = 0; c < o->columns; c++)
		nn_real_put(o->device->dtype, o->class_weights.host, c, o->loss.class_weights[c]);
	nn_mirror_send(&o->class_weights, o->queue, 0, bytes);
	return 0;
}

static int take_sd(struct nn_train_output *o, struct nn_error *err)
{
	size_t bytes = o->columns * sizeof(double);

	if (nn_mirror_new(&o->sd, o->queue, bytes, err) < 0)
		return -1;
	memcpy(o->sd.host, o->schema->sd, bytes);
	nn_mirror_send(&o->sd, o->queue, 0, bytes);
	return 0;
}

int nn_train_output_init(struct nn_train_output *o, size_t batch, size_t leaves,
			 struct nn_error *err)
{
	size_t real = nn_dtype_size(o->device->dtype), n;

	if (!nn_mul(batch, o->target_size, &n))
		return nn_fail(err, NN_ENOMEM,
			       "a batch of %zu samples with %zu target values each is too large",
			       batch, o->target_size);
	if (!nn_mul(n, o->classes ? sizeof(int32_t) : real, &n))
		return nn_fail(err, NN_ENOMEM, "a batch of %zu samples is too large", batch);
	o->row_loss = nn_memory_new(o->queue, batch * real, err);
	o->sums = nn_alloc(leaves, sizeof *o->sums, err);
	if (!o->row_loss || !o->sums ||
	    (!o->queue && nn_mirror_new(&o->targets, NULL, n, err) < 0) ||
	    (o->schema && o->schema->sd && take_sd(o, err) < 0))
		return -1;
	return o->loss.class_weights ? take_class_weights(o, err) : 0;
}

void nn_train_output_free(struct nn_train_output *o)
{
	if (!o->queue)
		nn_mirror_free(&o->targets, NULL);
	nn_mirror_free(&o->class_weights, o->queue);
	nn_mirror_free(&o->sd, o->queue);
	nn_memory_free(o->queue, o->row_loss);
	nn_free(o->sums);
}

/* Is a position left out of the loss? Of numbers those whose first is NaN are (nn_loss_call). */
static bool is_masked(const struct nn_train_output *o, size_t position)
{
	if (o->classes)
		return ((const int32_t *)o->targets.host)[position] < 0;
	return o->masks &&
	       isnan(nn_real_at(o->device->dtype, o->targets.host, position * o->columns));
}

/* The sum of weights of rows [from, to), in f64. */
static double weigh(const struct nn_train_output *o, size_t from, size_t to)
{
	const void *rows = o->row_weights.host, *of_classes = o->class_weights.host;
	const int32_t *classes = o->targets.host;
	enum nn_dtype dtype = o->device->dtype;
	double sum = 0;

	for (size_t r = from; r < to; r++)
		for (size_t i = r * o->positions; i < (r + 1) * o->positions; i++)
			if (!is_masked(o, i))
				sum += (rows ? nn_real_at(dtype, rows, r) : 1) *
				       (o->classes && of_classes
						? nn_real_at(dtype, of_classes, (size_t)classes[i])
						: 1);
	return sum;
}

static double rounded(const struct nn_train_output *o, double value)
{
	return o->device->dtype == NN_F64 ? value : (double)(float)value;
}

/* The sum over leaves along the binary tree, neighbours first; their number is a power of two. */
static double tree(struct nn_train_output *o, size_t leaves, const double *values, size_t step)
{
	for (size_t i = 0; i < leaves; i++)
		o->sums[i] = values[i * step];
	for (size_t n = 1; n < leaves; n *= 2)
		for (size_t i = 0; i < leaves; i += 2 * n)
			o->sums[i] = rounded(o, o->sums[i] + o->sums[i + n]);
	return o->sums[0];
}

bool nn_train_output_weighs(const struct nn_train_output *o)
{
	return o->row_weights.host || o->masks ||
	       (o->classes && (o->class_weights.host || o->loss.ignore != NN_CLASS_UNKNOWN));
}

int nn_train_output_fill(const struct nn_train_output *o, const struct nn_batch *batch, size_t from,
			 size_t to, void *targets, struct nn_error *err)
{
	int32_t *classes = targets;

	if (to > from &&
	    nn_batch_target(batch, o->number, from, to - from,
			    (char *)targets + from * nn_train_output_target_bytes(o), err) < 0)
		return -1;
	if (o->classes && o->loss.ignore >= 0) /* NN_CLASS_IGNORED is masked already */
		for (size_t i = from * o->positions; i < to * o->positions; i++)
			classes[i] = classes[i] == o->loss.ignore ? -1 : classes[i];
	return 0;
}

void nn_train_output_weights(const struct nn_train_output *o, const struct nn_cut *cut,
			     double *weights, size_t step)
{
	if (nn_train_output_weighs(o))
		for (size_t i = cut->run.from; i < cut->run.to; i++)
			weights[i * step] = rounded(o, weigh(o, cut->leaf[i], cut->leaf[i + 1]));
	else
		for (size_t i = 0; i < cut->n_leaves; i++)
			weights[i * step] = rounded(o, (double)(cut->leaf[i + 1] - cut->leaf[i]) *
							       (double)o->positions);
}

void nn_train_output_scale(struct nn_train_output *o, struct nn_graph *graph,
			   const struct nn_cut *cut, const double *weights, size_t step)
{
	size_t rows = 0;

	for (size_t i = 0; i < cut->n_leaves; i++)
		rows += weights[i * step] > 0 ? cut->leaf[i + 1] - cut->leaf[i] : 0;
	o->weight = o->classes || o->masks || o->row_weights.host
			    ? tree(o, cut->n_leaves, weights, step)
			    : (double)rows * (double)o->positions;
	nn_graph_now(graph, 1 + (int)o->number)->scale = o->weight > 0 ? o->share / o->weight : 0;
}

/* Of row `row` of the batch and on, where the device has them. */
static const void *row_weights(const struct nn_train_output *o, size_t row)
{
	const char *there = o->row_weights.there;

	return there ? there + row * nn_dtype_size(o->device->dtype) : NULL;
}

void nn_train_output_loss(struct nn_train_output *o, struct nn_graph *graph, size_t row, size_t n,
			  struct nn_pool *pool, double *sum)
{
	size_t real = nn_dtype_size(o->device->dtype), positions, columns;
	char *row_loss = (char *)o->row_loss + row * real;
	struct nn_loss_call call = {
		.kind = o->loss.kind,
		.rows = n,
		.positions = o->positions,
		.columns = o->columns,
		.logits = nn_graph_output(graph, (int)o->number, &positions, &columns),
		.class_weights = o->class_weights.there,
		.row_weights = row_weights(o, row),
		.now = nn_graph_now_there(graph, 1 + (int)o->number),
		.row_loss = row_loss,
		.dlogits = nn_graph_output_gradient(graph, (int)o->number),
		.pool = pool,
		.queue = o->queue,
	};

	if (o->classes)
		call.classes = (const int32_t *)o->targets.there + row * o->target_size;
	else
		call.numbers = (const char *)o->targets.there + row * o->target_size * real;
	o->device->loss(&call);
	if (sum)
		o->device->sum(o->queue, row_loss, n, sum);
}

void nn_train_output_losses(const struct nn_train_output *o, const struct nn_cut *cut,
			    double *losses, size_t step, struct nn_now *now)
{
	const size_t real = nn_dtype_size(o->device->dtype), from = cut->run.from;
	const struct nn_losses_call call = {
		.device = o->device,
		.row_loss = o->row_loss,
		.leaf = cut->leaf + from,
		.n = cut->run.to - from,
		.step = step,
		.losses = losses + from * step,
		.now = now,
		.queue = o->queue,
	};

	if (o->queue && o->queue->remote->sum_losses) {
		o->queue->remote->sum_losses(&call);
		return;
	}
	for (size_t i = 0; i < call.n; i++)
		o->device->sum(o->queue, (const char *)o->row_loss + call.leaf[i] * real,
			       call.leaf[i + 1] - call.leaf[i], &call.losses[i * step]);
	if (now)
		o->device->hold(o->queue, call.losses, step, call.n, now);
}

double nn_train_output_mean(struct nn_train_output *o, const struct nn_cut *cut,
			    const double *losses, size_t step)
{
	return o->weight > 0 ? tree(o, cut->n_leaves, losses, step) / o->weight : 0;
}

/* Rows from..to-1 of a call on. */
static struct nn_count_call count_of(const struct nn_count_call *all, size_t from, size_t to,
				     size_t real, double *counts)
{
	size_t values = from * all->positions * all->columns;
	struct nn_count_call call = *all;

	call.rows = to - from;
	call.logits = (const char *)call.logits + values * real;
	if (call.classes)
		call.classes += from * call.positions;
	else
		call.numbers = (const char *)call.numbers + values * real;
	if (call.row_weights)
		call.row_weights = (const char *)call.row_weights + from * real;
	call.counts = counts;
	return call;
}

void nn_train_output_count(const struct nn_train_output *o, struct nn_graph *graph, size_t row,
			   const struct nn_span *span, double *counts, size_t step)
{
	size_t real = nn_dtype_size(o->device->dtype), positions, columns;
	const char *targets = (const char *)o->targets.there +
			      row * nn_train_output_target_bytes(o);
	struct nn_count_call call = {
		.rows = span->rows,
		.positions = o->positions,
		.columns = o->columns,
		.logits = nn_graph_output(graph, (int)o->number, &positions, &columns),
		.row_weights = row_weights(o, row),
		.sd = o->sd.there,
		.counts = counts,
		.queue = o->queue,
	};

	if (o->classes)
		call.classes = (const void *)targets;
	else
		call.numbers = targets;
	if (o->queue && o->queue->remote->count_leaves) {
		o->queue->remote->count_leaves(o->device, &call, span->leaf, span->n_leaves, step);
		return;
	}
	for (size_t i = 0; i < span->n_leaves; i++) {
		const struct nn_count_call leaf = count_of(&call, span->leaf[i], span->leaf[i + 1],
							   real, counts + i * step);

		o->device->count(&leaf);
	}
}
