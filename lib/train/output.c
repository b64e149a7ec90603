/* An output in training: its targets' weights make the scale of the loss before anything runs. */
#include <math.h>

#include "base/memory.h"
#include "train/output.h"

static double real_at(const struct nn_train_output *o, const void *values, size_t i)
{
	return o->device->dtype == NN_F64 ? ((const double *)values)[i]
					  : (double)((const float *)values)[i];
}

static void set_real(const struct nn_train_output *o, void *values, size_t i, double value)
{
	if (o->device->dtype == NN_F64)
		((double *)values)[i] = value;
	else
		((float *)values)[i] = (float)value;
}

size_t nn_train_output_bytes(const struct nn_train_output_size *size, size_t batch, size_t leaves)
{
	size_t real = nn_dtype_size(size->dtype);

	return batch * (size->target_size * (size->classes ? sizeof(int32_t) : real) + real) +
	       leaves * sizeof(double);
}

int nn_train_output_init(struct nn_train_output *o, size_t batch, size_t leaves,
			 struct nn_error *err)
{
	size_t real = nn_dtype_size(o->device->dtype), n;

	if (!nn_mul(batch, o->target_size, &n))
		return nn_fail(err, NN_ENOMEM,
			       "a batch of %zu samples with %zu target values each is too large",
			       batch, o->target_size);
	o->targets = nn_alloc(n, o->classes ? sizeof(int32_t) : real, err);
	o->row_loss = nn_alloc(batch, real, err);
	o->sums = nn_alloc(leaves, sizeof *o->sums, err);
	if (!o->targets || !o->row_loss || !o->sums)
		return -1;
	if (o->loss.class_weights) {
		if (!(o->class_weights = nn_alloc(o->columns, real, err)))
			return -1;
		for (size_t c = 0; c < o->columns; c++)
			set_real(o, o->class_weights, c, o->loss.class_weights[c]);
	}
	return 0;
}

void nn_train_output_free(struct nn_train_output *o)
{
	nn_free(o->targets);
	nn_free(o->row_loss);
	nn_free(o->sums);
	nn_free(o->class_weights);
}

/* Mask what is ignored; the sum of weights of rows [from, to), in f64. */
static double weigh(struct nn_train_output *o, size_t from, size_t to)
{
	int32_t *classes = o->targets;
	double sum = 0;

	for (size_t i = from * o->positions; i < to * o->positions; i++) {
		if (classes[i] == o->loss.ignore)
			classes[i] = -1;
		if (classes[i] >= 0)
			sum += o->class_weights ? real_at(o, o->class_weights, (size_t)classes[i])
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
	return o->classes && (o->class_weights || o->loss.ignore >= 0);
}

void nn_train_output_fill(struct nn_train_output *o, const struct nn_cut *cut, const uint64_t *rows,
			  double *weights, size_t step)
{
	size_t value = o->classes ? sizeof(int32_t) : nn_dtype_size(o->device->dtype);
	size_t from = cut->leaf[cut->run.from], to = cut->leaf[cut->run.to];

	if (to > from)
		nn_dataset_fill_target(o->dataset, o->number, rows + from, to - from,
				       (char *)o->targets + from * o->target_size * value);
	if (nn_train_output_weighs(o))
		for (size_t i = cut->run.from; i < cut->run.to; i++)
			weights[i * step] = rounded(o, weigh(o, cut->leaf[i], cut->leaf[i + 1]));
	else
		for (size_t i = 0; i < cut->n_leaves; i++)
			weights[i * step] = rounded(o, (double)(cut->leaf[i + 1] - cut->leaf[i]) *
							       (double)o->positions);
}

void nn_train_output_scale(struct nn_train_output *o, const struct nn_cut *cut,
			   const double *weights, size_t step)
{
	size_t rows = 0;

	for (size_t i = 0; i < cut->n_leaves; i++)
		rows += weights[i * step] > 0 ? cut->leaf[i + 1] - cut->leaf[i] : 0;
	o->weight = o->classes ? tree(o, cut->n_leaves, weights, step)
			       : (double)rows * (double)o->positions;
	o->scale = o->weight > 0 ? o->share / o->weight : 0;
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
		.class_weights = o->class_weights,
		.scale = o->scale,
		.row_loss = row_loss,
		.dlogits = nn_graph_output_gradient(graph, (int)o->number),
		.pool = pool,
	};

	if (o->classes)
		call.classes = (const int32_t *)o->targets + row * o->target_size;
	else
		call.numbers = (const char *)o->targets + row * o->target_size * real;
	o->device->loss(&call);
	return isfinite(o->device->sum(row_loss, n));
}

void nn_train_output_losses(struct nn_train_output *o, const struct nn_cut *cut, double *losses,
			    size_t step)
{
	size_t real = nn_dtype_size(o->device->dtype);

	for (size_t i = cut->run.from; i < cut->run.to; i++)
		losses[i * step] = o->device->sum((const char *)o->row_loss + cut->leaf[i] * real,
						  cut->leaf[i + 1] - cut->leaf[i]);
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
		if (real_at(o, values, at + c) > real_at(o, values, at + best))
			best = c;
	return best;
}

void nn_train_output_count(const struct nn_train_output *o, const struct nn_graph *graph,
			   size_t row, size_t at, size_t n, const struct nn_target_schema *schema,
			   double counts[NN_COUNTS])
{
	size_t positions, columns;
	const void *out = nn_graph_output(graph, (int)o->number, &positions, &columns);

	for (size_t i = at * o->positions; i < (at + n) * o->positions; i++) {
		size_t target = row * o->positions + i;

		if (o->classes) {
			int32_t truth = ((const int32_t *)o->targets)[target];

			counts[NN_COUNT_ALL] += truth >= 0;
			counts[NN_COUNT_HITS] +=
				truth >= 0 && largest(o, out, i * columns) == (size_t)truth;
			continue;
		}
		for (size_t c = 0; c < columns; c++) {
			double sd = schema && schema->sd ? schema->sd[c] : 1;
			double off = (real_at(o, out, i * columns + c) -
				      real_at(o, o->targets, target * columns + c)) *
				     sd;

			counts[NN_COUNT_SQUARES] += off * off;
		}
		counts[NN_COUNT_ALL] += (double)columns;
	}
}
