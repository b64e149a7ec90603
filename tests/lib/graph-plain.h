/*
 * A device of plain loops in f64, so that graphs can be tested alone: dense, activation, add, mul,
 * concat, permute.
 */
#ifndef TESTS_LIB_GRAPH_PLAIN_H
#define TESTS_LIB_GRAPH_PLAIN_H

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "bench/op/reference.h"
#include "device/device.h"

static size_t plain_count(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

static void plain_put(const struct nn_call *call, int input, size_t at, double gradient)
{
	double *dx = call->dx[input];

	if (dx)
		dx[at] = call->dx_add[input] ? dx[at] + gradient : gradient;
}

/* ---- dense ---- */

/* Element k of the vector in memory is which of the canonical weight? */
static size_t plain_canonical(const struct nn_dense *dense, size_t k)
{
	return dense->channels ? k % dense->channels * dense->positions + k / dense->channels : k;
}

static void plain_dense(const struct nn_call *call)
{
	const struct nn_dense *dense = call->site.attrs;
	const struct nn_epilogue *epilogue = &dense->epilogue;
	size_t in = call->site.in[0].dim[call->site.in[0].rank - 1], out = dense->out;
	const double *x = call->x[0], *w = call->w[0], *b = dense->bias ? call->w[1] : NULL;
	double *y = call->y;

	for (size_t i = 0; i < plain_count(call); i++) {
		double sum = 0;

		for (size_t k = 0; k < in; k++)
			sum = fma(x[i / out * in + k], w[i % out * in + plain_canonical(dense, k)],
				  sum);
		sum += b ? b[i % out] : 0;
		if (epilogue->residual)
			sum += ((const double *)call->x[1])[i];
		y[i] = nn_reference_activation(epilogue->activation, epilogue->slope, sum);
	}
}

/* One leaf's chain for one element of weight (k < in) or bias (k == in), going on from `sum`. */
static double plain_dense_chain(const struct nn_call *call, size_t o, size_t k, size_t leaf,
				double sum)
{
	const struct nn_dense *dense = call->site.attrs;
	size_t in = call->site.in[0].dim[call->site.in[0].rank - 1], out = dense->out;
	size_t positions = nn_shape_count(&call->site.out) / out;
	const double *x = call->x[0], *dy = call->dy;

	for (size_t r = call->leaf[leaf] * positions; r < call->leaf[leaf + 1] * positions; r++)
		sum = fma(k < in ? x[r * in + k] : 1, dy[r * out + o], sum);
	return sum;
}

/* The sum over leaves first..first + n - 1, halves first. */
static double plain_dense_tree(const struct nn_call *call, size_t o, size_t k, size_t first,
			       size_t n)
{
	if (n == 1)
		return plain_dense_chain(call, o, k, first, 0);
	return plain_dense_tree(call, o, k, first, n / 2) +
	       plain_dense_tree(call, o, k, first + n / 2, n / 2);
}

static void plain_dense_back(const struct nn_call *call)
{
	const struct nn_dense *dense = call->site.attrs;
	const struct nn_epilogue *epilogue = &dense->epilogue;
	size_t in = call->site.in[0].dim[call->site.in[0].rank - 1], out = dense->out;
	const double *w = call->w[0], *y = call->y;
	double *dy = call->dy;

	for (size_t i = 0; i < plain_count(call); i++) {
		dy[i] *= nn_reference_slope(epilogue->activation, epilogue->slope, NAN, y[i]);
		if (epilogue->residual)
			plain_put(call, 1, i, dy[i]);
	}
	for (size_t o = 0; o < out; o++)
		for (size_t k = 0; k < in + dense->bias; k++) {
			double *dw =
				k < in ? (double *)call->dw[0] + o * in + plain_canonical(dense, k)
				       : (double *)call->dw[1] + o;

			*dw = call->n_leaves == 1 && !call->first
				      ? plain_dense_chain(call, o, k, 0, *dw)
				      : plain_dense_tree(call, o, k, 0, call->n_leaves);
		}
	for (size_t i = 0; call->dx[0] && i < plain_count(call) / out * in; i++) {
		double sum = 0;

		for (size_t o = 0; o < out; o++)
			sum = fma(dy[i / in * out + o], w[o * in + plain_canonical(dense, i % in)],
				  sum);
		plain_put(call, 0, i, sum);
	}
}

/* ---- element by element ---- */

static void plain_activation(const struct nn_call *call)
{
	const struct nn_activation_attrs *a = call->site.attrs;

	for (size_t i = 0; i < plain_count(call); i++)
		((double *)call->y)[i] =
			nn_reference_activation(a->kind, a->slope, ((const double *)call->x[0])[i]);
}

static void plain_activation_back(const struct nn_call *call)
{
	const struct nn_activation_attrs *a = call->site.attrs;
	bool from_y = nn_activation_from_y(a->kind, a->slope);

	for (size_t i = 0; i < plain_count(call); i++)
		plain_put(call, 0, i,
			  ((double *)call->dy)[i] *
				  nn_reference_slope(a->kind, a->slope,
						     from_y ? NAN : ((const double *)call->x[0])[i],
						     from_y ? ((double *)call->y)[i] : NAN));
}

static void plain_join(const struct nn_call *call, bool product)
{
	for (size_t i = 0; i < plain_count(call); i++) {
		double value = ((const double *)call->x[0])[i];

		for (int k = 1; k < call->site.n_in; k++)
			value = product ? value * ((const double *)call->x[k])[i]
					: value + ((const double *)call->x[k])[i];
		((double *)call->y)[i] = value;
	}
}

static void plain_add(const struct nn_call *call)
{
	plain_join(call, false);
}

static void plain_mul(const struct nn_call *call)
{
	plain_join(call, true);
}

static void plain_add_back(const struct nn_call *call)
{
	for (size_t i = 0; i < plain_count(call); i++) {
		double d = ((double *)call->dy)[i];

		for (int k = 0; k < call->site.n_in; k++)
			plain_put(call, k, i, d);
	}
}

static void plain_mul_back(const struct nn_call *call)
{
	for (size_t i = 0; i < plain_count(call); i++)
		for (int k = 0; k < call->site.n_in; k++) {
			double d = ((double *)call->dy)[i];

			for (int other = 0; other < call->site.n_in; other++)
				d *= other == k ? 1 : ((const double *)call->x[other])[i];
			plain_put(call, k, i, d);
		}
}

/* ---- moves: element i of the output is element *from of input *input ---- */

static void plain_concat_place(const struct nn_site *site, size_t i, int *input, size_t *from)
{
	size_t row = nn_shape_count(&site->out), outer = site->out.dim[0], run = row / outer,
	       turn = i / run, at = i % run;

	*input = 0;
	while (at >= site->in[*input].dim[1])
		at -= site->in[(*input)++].dim[1];
	*from = turn * site->in[*input].dim[1] + at;
}

static void plain_permute_place(const struct nn_site *site, size_t i, int *input, size_t *from)
{
	const struct nn_permute *permute = site->attrs;
	size_t n = permute->channels * permute->positions, at = i % n;
	size_t fast = permute->to_channels_last ? permute->channels : permute->positions;

	*input = 0;
	*from = i / n * n + at % fast * (n / fast) + at / fast;
}

static void plain_move(const struct nn_call *call, bool back)
{
	for (size_t i = 0; i < plain_count(call); i++) {
		int input;
		size_t from;

		if (call->site.in[0].rank == 2 && call->site.n_in > 1)
			plain_concat_place(&call->site, i, &input, &from);
		else
			plain_permute_place(&call->site, i, &input, &from);
		if (back)
			plain_put(call, input, from, ((double *)call->dy)[i]);
		else
			((double *)call->y)[i] = ((const double *)call->x[input])[from];
	}
}

static void plain_moved(const struct nn_call *call)
{
	plain_move(call, false);
}

static void plain_moved_back(const struct nn_call *call)
{
	plain_move(call, true);
}

static const struct nn_kernel plain_kernels[] = {
	{ .forward = plain_dense, .backward = plain_dense_back },
	{ .forward = plain_activation, .backward = plain_activation_back },
	{ .forward = plain_add, .backward = plain_add_back },
	{ .forward = plain_mul, .backward = plain_mul_back },
	{ .forward = plain_moved, .backward = plain_moved_back },
};

static const struct nn_kernel *const plain_table[NN_N_OPS] = {
	[NN_OP_dense] = &plain_kernels[0],  [NN_OP_activation] = &plain_kernels[1],
	[NN_OP_add] = &plain_kernels[2],    [NN_OP_mul] = &plain_kernels[3],
	[NN_OP_concat] = &plain_kernels[4], [NN_OP_permute] = &plain_kernels[4],
};

static void *plain_alloc(size_t bytes, struct nn_error *err)
{
	return nn_alloc(bytes, 1, err);
}

static const struct nn_device plain_device = {
	.name = "plain",
	.kind = "plain",
	.dtype = NN_F64,
	.kernels = plain_table,
	.alloc = plain_alloc,
	.free = nn_free,
};

#endif
