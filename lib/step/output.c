/* An output in training: its targets' weights make the scale of the loss before anything runs. */
#include <math.h>

#include "base/memory.h"
#include "base/real.h"
#include "step/output.h"

size_t nn_train_output_bytes(const struct nn_train_output_size *size, size_t batch, size_t leaves)
{
	size_t real = nn_dtype_size(size->dtype);

	return batch * (size->target_size * (size->classes ? sizeof(int32_t) : real) + real) +
	       leaves * sizeof(double);
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
	o->loss_sums = nn_pinned_new(o->queue, leaves * sizeof *o->loss_sums, err);
	if (!o->row_loss || !o->sums || !o->loss_sums ||
	    nn_mirror_new(&o->targets, o->queue, n, err) < 0 ||
	    nn_mirror_new(&o->now, o->queue, sizeof(struct nn_now), err) < 0)
		return -1;
	return o->loss.class_weights ? take_class_weights(o, err) : 0;
}

void nn_train_output_free(struct nn_train_output *o)
{
	nn_mirror_free(&o->targets, o->queue);
	nn_mirror_free(&o->class_weights, o->queue);
	nn_mirror_free(&o->now, o->queue);
	nn_memory_free(o->queue, o->row_loss);
	nn_pinned_free(o->queue, o->loss_sums);
	nn_free(o->sums);
}

/* Mask what is ignored; the sum of weights of rows [from, to), in f64. */
static double weigh(struct nn_train_output *o, size_t from, size_t to)
{
	int32_t *classes = o->targets.host;
	double sum = 0;

	for (size_t i = from * o->positions; i < to * o->positions; i++) {
		if (classes[i] == o->loss.ignore)
			classes[i] = -1;
		if (classes[i] >= 0)
			sum += o->class_weights.host
				       ? nn_real_at(o->device->dtype, o->class_weights.host,
						    (size_t)classes[i])
				       : 1;
	}
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
	return o->classes && (o->class_weights.host || o->loss.ignore >= 0);
}

int nn_train_output_fill(struct nn_train_output *o, const struct nn_cut *cut,
			 const struct nn_batch *batch, double *weights, size_t step,
			 struct nn_error *err)
{
	size_t value = o->classes ? sizeof(int32_t) : nn_dtype_size(o->device->dtype);
	size_t from = cut->leaf[cut->run.from], to = cut->leaf[cut->run.to];

	if (to > from && nn_batch_target(batch, o->number, from, to - from,
					 (char *)nn_mirror_write(&o->targets, o->queue) +
						 from * o->target_size * value,
					 err) < 0)
		return -1;
	if (nn_train_output_weighs(o))
		for (size_t i = cut->run.from; i < cut->run.to; i++)
			weights[i * step] = rounded(o, weigh(o, cut->leaf[i], cut->leaf[i + 1]));
	else
		for (size_t i = 0; i < cut->n_leaves; i++)
			weights[i * step] = rounded(o, (double)(cut->leaf[i + 1] - cut->leaf[i]) *
							       (double)o->positions);
	nn_mirror_send(&o->targets, o->queue, from * o->target_size * value,
		       (to - from) * o->target_size * value);
	return 0;
}

void nn_train_output_scale(struct nn_train_output *o, const struct nn_cut *cut,
			   const double *weights, size_t step)
{
	struct nn_now *now = nn_mirror_write(&o->now, o->queue);
	size_t rows = 0;

	for (size_t i = 0; i < cut->n_leaves; i++)
		rows += weights[i * step] > 0 ? cut->leaf[i + 1] - cut->leaf[i] : 0;
	o->weight = o->classes ? tree(o, cut->n_leaves, weights, step)
			       : (double)rows * (double)o->positions;
	now->scale = o->weight > 0 ? o->share / o->weight : 0;
	nn_mirror_send(&o->now, o->queue, 0, sizeof *now);
}

bool nn_train_output_loss(struct nn_train_output *o, struct nn_graph *graph, size_t row, size_t n,
			  struct nn_pool *pool)
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
		.now = o->now.there,
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
	o->device->sum(o->queue, row_loss, n, o->loss_sums);
	nn_queue_wait(o->queue, NULL);
	return isfinite(o->loss_sums[0]);
}

void nn_train_output_losses(struct nn_train_output *o, const struct nn_cut *cut, double *losses,
			    size_t step)
{
	size_t real = nn_dtype_size(o->device->dtype);

	for (size_t i = cut->run.from; i < cut->run.to; i++)
		o->device->sum(o->queue, (const char *)o->row_loss + cut->leaf[i] * real,
			       cut->leaf[i + 1] - cut->leaf[i], &o->loss_sums[i]);
	nn_queue_wait(o->queue, NULL);
	for (size_t i = cut->run.from; i < cut->run.to; i++)
		losses[i * step] = o->loss_sums[i];
}

double nn_train_output_mean(struct nn_train_output *o, const struct nn_cut *cut,
			    const double *losses, size_t step)
{
	return o->weight > 0 ? tree(o, cut->n_leaves, losses, step) / o->weight : 0;
}

static size_t largest(const struct nn_train_output *o, const void *values, size_t at)
{
	size_t best = 0;

	for (size_t c = 1; c < o->columns; c++)
		if (nn_real_at(o->device->dtype, values, at + c) >
		    nn_real_at(o->device->dtype, values, at + best))
			best = c;
	return best;
}

void nn_train_output_count(const struct nn_train_output *o, struct nn_graph *graph, size_t row,
			   size_t at, size_t n, const struct nn_target_schema *schema,
			   double counts[NN_COUNTS])
{
	size_t columns = o->columns;
	const void *out = nn_graph_fetch(graph, (int)o->number, at + n);

	for (size_t i = at * o->positions; i < (at + n) * o->positions; i++) {
		size_t target = row * o->positions + i;

		if (o->classes) {
			int32_t truth = ((const int32_t *)o->targets.host)[target];

			counts[NN_COUNT_ALL] += truth >= 0;
			counts[NN_COUNT_HITS] +=
				truth >= 0 && largest(o, out, i * columns) == (size_t)truth;
			continue;
		}
		for (size_t c = 0; c < columns; c++) {
			double sd = schema && schema->sd ? schema->sd[c] : 1;
			double off = (nn_real_at(o->device->dtype, out, i * columns + c) -
				      nn_real_at(o->device->dtype, o->targets.host,
						 target * columns + c)) *
				     sd;

			counts[NN_COUNT_SQUARES] += off * off;
		}
		counts[NN_COUNT_ALL] += (double)columns;
	}
}
