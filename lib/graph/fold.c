/*
 * Batchnorm with running values behind a product is another product: with s = gamma / sqrt(var +
 * eps) per out-channel, w' = w * s and b' = (b - mean) * s + beta, each operation rounded once in
 * the graph's dtype.
 */
#include <math.h>

#include "graph/instance.h"

struct fold_source {
	const void *weight, *bias; /* of the product; bias NULL: none */
	const void *gamma, *beta, *mean, *var;
	double eps;
	size_t channels, taps; /* weight [channels][taps] */
};

static void fold_f32(const struct fold_source *from, float *weight, float *bias)
{
	const float *w = from->weight, *b = from->bias, *gamma = from->gamma, *beta = from->beta;
	const float *mean = from->mean, *var = from->var;

	for (size_t c = 0; c < from->channels; c++) {
		float s = gamma[c] / sqrtf(var[c] + (float)from->eps);

		for (size_t t = 0; t < from->taps; t++)
			weight[c * from->taps + t] = w[c * from->taps + t] * s;
		bias[c] = ((b ? b[c] : 0) - mean[c]) * s + beta[c];
	}
}

static void fold_f64(const struct fold_source *from, double *weight, double *bias)
{
	const double *w = from->weight, *b = from->bias, *gamma = from->gamma, *beta = from->beta;
	const double *mean = from->mean, *var = from->var;

	for (size_t c = 0; c < from->channels; c++) {
		double s = gamma[c] / sqrt(var[c] + from->eps);

		for (size_t t = 0; t < from->taps; t++)
			weight[c * from->taps + t] = w[c * from->taps + t] * s;
		bias[c] = ((b ? b[c] : 0) - mean[c]) * s + beta[c];
	}
}

void nn_fold_batchnorm(const struct nn_bound *b, const struct nn_bound_node *node,
		       const void *const *params, void *weight, void *bias)
{
	const struct nn_node *product = &b->program->nodes[node->source],
			     *norm = &b->program->nodes[node->norm];
	const struct nn_shape *shape = &b->program->params[product->param].desc.shape;
	const struct nn_batchnorm *attrs = norm->attrs;
	struct fold_source from = {
		.weight = params[product->param],
		.bias = product->n_params > 1 ? params[product->param + 1] : NULL,
		.gamma = params[norm->param],
		.beta = params[norm->param + 1],
		.mean = params[norm->param + 2],
		.var = params[norm->param + 3],
		.eps = attrs->eps,
		.channels = shape->dim[0],
		.taps = nn_shape_count(shape) / shape->dim[0],
	};

	if (b->device->dtype == NN_F64)
		fold_f64(&from, weight, bias);
	else
		fold_f32(&from, weight, bias);
}
