/* A network evaluated without a graph: values of nodes, places in images, ops that move values. */
#ifndef TESTS_LIB_GRAPH_REFERENCE_MOVES_H
#define TESTS_LIB_GRAPH_REFERENCE_MOVES_H

#include <math.h>
#include <string.h>

#include "op/program.h"

struct reference {
	const struct nn_program *program;
	const double *const *params;
	size_t rows;
	bool training; /* batchnorm from groups of rows, else from running values; no dropout */
	const size_t *group;
	size_t n_groups;
	double **values; /* [n_values][rows][count] */
};

struct ref_place {
	size_t row, c, h, w;
};

static size_t ref_index(const struct nn_shape *s, size_t row, size_t c, size_t h, size_t w)
{
	return ((row * s->dim[0] + c) * s->dim[1] + h) * s->dim[2] + w;
}

static struct ref_place ref_place(const struct nn_shape *s, size_t i)
{
	return (struct ref_place){ i / s->dim[2] / s->dim[1] / s->dim[0],
				   i / s->dim[2] / s->dim[1] % s->dim[0], i / s->dim[2] % s->dim[1],
				   i % s->dim[2] };
}

/* Position of a tap along one axis, or -1 outside. */
static long ref_tap(size_t out, size_t tap, size_t stride, size_t dilation, size_t pad, size_t size)
{
	long at = (long)(out * stride + tap * dilation) - (long)pad;

	return at < (long)size ? at : -1;
}

static void ref_indices(const struct nn_shape *s, size_t i, size_t *at)
{
	for (int d = s->rank; d-- > 0; i /= s->dim[d])
		at[d] = i % s->dim[d];
}

/* slice and transpose: where each element of the output comes from. */
static void ref_move(const struct reference *r, const struct nn_node *node, const double *x,
		     double *y)
{
	const struct nn_shape *in = &r->program->values[node->in[0]].shape,
			      *out = &r->program->values[node->out].shape;
	const struct nn_slice *slice = node->attrs;
	const struct nn_transpose *transpose = node->attrs;
	size_t n = nn_shape_count(out), at[NN_MAX_RANK], from[NN_MAX_RANK];

	for (size_t i = 0; i < r->rows * n; i++) {
		size_t place = i / n;
		bool inside = true;

		ref_indices(out, i % n, at);
		memcpy(from, at, sizeof from);
		for (int d = 0; d < in->rank && node->op == NN_OP_slice; d++) {
			from[d] = (size_t)(slice->begin[d] + (ptrdiff_t)(at[d] * slice->step[d]));
			inside &= from[d] < in->dim[d];
		}
		if (node->op == NN_OP_transpose) {
			from[transpose->dims[0]] = at[transpose->dims[1]];
			from[transpose->dims[1]] = at[transpose->dims[0]];
		}
		for (int d = 0; d < in->rank; d++)
			place = place * in->dim[d] + from[d];
		y[i] = inside ? x[place] : slice->value;
	}
}

/* Of one axis: the weight of place `from` of n in place `at` of n * scale. */
static double ref_weight(const struct nn_upsample *a, size_t at, size_t from, size_t n,
			 size_t scale)
{
	double place = a->corners ? (double)(at * (n - 1)) / (double)(n * scale - 1)
				  : ((double)at + 0.5) / (double)scale - 0.5;

	if (!a->bilinear)
		return at / scale == from;
	place = fmin(fmax(place, 0), (double)(n - 1));
	return fmax(0, 1 - fabs(place - (double)from));
}

static void ref_upsample(const struct reference *r, const struct nn_node *node, const double *x,
			 double *y)
{
	const struct nn_shape *in = &r->program->values[node->in[0]].shape,
			      *out = &r->program->values[node->out].shape;
	const struct nn_upsample *a = node->attrs;

	for (size_t i = 0; i < r->rows * nn_shape_count(out); i++) {
		struct ref_place p = ref_place(out, i);

		y[i] = 0;
		for (size_t h = 0; h < in->dim[1]; h++)
			for (size_t w = 0; w < in->dim[2]; w++)
				y[i] += ref_weight(a, p.h, h, in->dim[1], a->scale[0]) *
					ref_weight(a, p.w, w, in->dim[2], a->scale[1]) *
					x[ref_index(in, p.row, p.c, h, w)];
	}
}

static void ref_conv_transpose2d(const struct reference *r, const struct nn_node *node,
				 const double *x, double *y)
{
	const struct nn_conv_transpose2d *a = node->attrs;
	const struct nn_shape *in = &r->program->values[node->in[0]].shape,
			      *out = &r->program->values[node->out].shape;
	size_t cin = in->dim[0] / a->groups, cout = a->out / a->groups,
	       taps = a->kernel[0] * a->kernel[1];

	for (size_t i = 0; i < r->rows * nn_shape_count(out); i++)
		y[i] = a->bias ? r->params[node->param + 1][ref_place(out, i).c] : 0;
	for (size_t i = 0; i < r->rows * nn_shape_count(in); i++) {
		struct ref_place p = ref_place(in, i);

		for (size_t t = 0; t < cout * taps; t++) {
			size_t c = p.c / cin * cout + t / taps;
			long h = ref_tap(p.h, t / a->kernel[1] % a->kernel[0], a->stride[0],
					 a->dilation[0], a->pad[0], out->dim[1]);
			long w = ref_tap(p.w, t % a->kernel[1], a->stride[1], a->dilation[1],
					 a->pad[1], out->dim[2]);

			if (h >= 0 && w >= 0)
				y[ref_index(out, p.row, c, (size_t)h, (size_t)w)] +=
					x[i] * r->params[node->param][p.c * cout * taps + t];
		}
	}
}

#endif
