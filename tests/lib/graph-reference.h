/* A network evaluated without a graph: node by node in language order, f64, everything kept. */
#ifndef TESTS_LIB_GRAPH_REFERENCE_H
#define TESTS_LIB_GRAPH_REFERENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph-plain.h"
#include "graph-reference-moves.h"
#include "op/program.h"

static void ref_dense(const struct reference *r, const struct nn_node *node, const double *x,
		      double *y)
{
	const struct nn_dense *dense = node->attrs;
	const struct nn_shape *shape = &r->program->values[node->in[0]].shape;
	size_t in = shape->dim[shape->rank - 1], n = r->rows * nn_shape_count(shape) / in;

	for (size_t i = 0; i < n * dense->out; i++) {
		size_t o = i % dense->out;

		y[i] = dense->bias ? r->params[node->param + 1][o] : 0;
		for (size_t k = 0; k < in; k++)
			y[i] += x[i / dense->out * in + k] * r->params[node->param][o * in + k];
	}
}

static void ref_conv2d(const struct reference *r, const struct nn_node *node, const double *x,
		       double *y)
{
	const struct nn_conv2d *a = node->attrs;
	const struct nn_shape *in = &r->program->values[node->in[0]].shape,
			      *out = &r->program->values[node->out].shape;
	size_t cin = in->dim[0] / a->groups, cout = a->out / a->groups;

	for (size_t i = 0; i < r->rows * nn_shape_count(out); i++) {
		struct ref_place p = ref_place(out, i);

		y[i] = a->bias ? r->params[node->param + 1][p.c] : 0;
		for (size_t t = 0; t < cin * a->kernel[0] * a->kernel[1]; t++) {
			size_t kw = t % a->kernel[1], kh = t / a->kernel[1] % a->kernel[0],
			       c = t / a->kernel[1] / a->kernel[0];
			long h = ref_tap(p.h, kh, a->stride[0], a->dilation[0], a->pad[0],
					 in->dim[1]);
			long w = ref_tap(p.w, kw, a->stride[1], a->dilation[1], a->pad[1],
					 in->dim[2]);

			if (h >= 0 && w >= 0)
				y[i] += x[ref_index(in, p.row, p.c / cout * cin + c, (size_t)h,
						    (size_t)w)] *
					r->params[node->param]
						 [p.c * cin * a->kernel[0] * a->kernel[1] + t];
		}
	}
}

static void ref_pool2d(const struct reference *r, const struct nn_node *node, const double *x,
		       double *y)
{
	const struct nn_window *a = &((const struct nn_pool2d *)node->attrs)->window;
	const struct nn_shape *in = &r->program->values[node->in[0]].shape,
			      *out = &r->program->values[node->out].shape;
	bool max = node->op == NN_OP_maxpool2d;

	for (size_t i = 0; i < r->rows * nn_shape_count(out); i++) {
		struct ref_place p = ref_place(out, i);

		y[i] = max ? -INFINITY : 0;
		for (size_t t = 0; t < a->kernel[0] * a->kernel[1]; t++) {
			long h = ref_tap(p.h, t / a->kernel[1], a->stride[0], 1, a->pad[0],
					 in->dim[1]);
			long w = ref_tap(p.w, t % a->kernel[1], a->stride[1], 1, a->pad[1],
					 in->dim[2]);
			double v = h >= 0 && w >= 0
					   ? x[ref_index(in, p.row, p.c, (size_t)h, (size_t)w)]
				   : max ? -INFINITY
					 : 0;

			y[i] = max ? fmax(y[i], v)
				   : y[i] + v / (double)(a->kernel[0] * a->kernel[1]);
		}
	}
}

static void ref_global(const struct reference *r, const struct nn_node *node, const double *x,
		       double *y)
{
	const struct nn_shape *in = &r->program->values[node->in[0]].shape;
	size_t n = in->dim[1] * in->dim[2];

	for (size_t i = 0; i < r->rows * in->dim[0]; i++) {
		y[i] = 0;
		for (size_t k = 0; k < n; k++)
			y[i] += x[i * n + k] / (double)n;
	}
}

/* Rows begin..end-1 of one channel are normalized together. */
static void ref_normalize(const struct reference *r, const struct nn_node *node, const double *x,
			  double *y, size_t c, size_t begin, size_t end)
{
	const struct nn_batchnorm *a = node->attrs;
	const struct nn_shape *in = &r->program->values[node->in[0]].shape;
	size_t channels = in->dim[0], n = nn_shape_count(in) / channels, m = (end - begin) * n;
	double mean = r->params[node->param + 2][c], var = r->params[node->param + 3][c];

	if (r->training) {
		mean = var = 0;
		for (size_t k = 0; k < m; k++)
			mean += x[((begin + k / n) * channels + c) * n + k % n] / (double)m;
		for (size_t k = 0; k < m; k++)
			var += pow(x[((begin + k / n) * channels + c) * n + k % n] - mean, 2) /
			       (double)m;
	}
	for (size_t k = 0; k < m; k++) {
		size_t i = ((begin + k / n) * channels + c) * n + k % n;

		y[i] = (x[i] - mean) / sqrt(var + a->eps) * r->params[node->param][c] +
		       r->params[node->param + 1][c];
	}
}

static void ref_batchnorm(const struct reference *r, const struct nn_node *node, const double *x,
			  double *y)
{
	size_t channels = r->program->values[node->in[0]].shape.dim[0];

	for (size_t c = 0; c < channels; c++) {
		if (!r->training)
			ref_normalize(r, node, x, y, c, 0, r->rows);
		for (size_t g = 0; r->training && g < r->n_groups; g++)
			ref_normalize(r, node, x, y, c, r->group[g], r->group[g + 1]);
	}
}

static void ref_layernorm(const struct reference *r, const struct nn_node *node, const double *x,
			  double *y)
{
	const struct nn_layernorm *a = node->attrs;
	const struct nn_shape *in = &r->program->values[node->in[0]].shape;
	size_t n = in->dim[in->rank - 1], m = r->rows * nn_shape_count(in) / n;

	for (size_t i = 0; i < m; i++) {
		double mean = 0, var = 0;

		for (size_t k = 0; k < n; k++)
			mean += x[i * n + k] / (double)n;
		for (size_t k = 0; k < n; k++)
			var += pow(x[i * n + k] - mean, 2) / (double)n;
		for (size_t k = 0; k < n; k++)
			y[i * n + k] = (x[i * n + k] - mean) / sqrt(var + a->eps) *
					       r->params[node->param][k] +
				       r->params[node->param + 1][k];
	}
}

/* Classes are dimension 0 of C,H,W, the last dimension else. */
static void ref_softmax(const struct reference *r, const struct nn_node *node, const double *x,
			double *y)
{
	const struct nn_shape *in = &r->program->values[node->in[0]].shape;
	size_t classes = in->rank == 3 ? in->dim[0] : in->dim[in->rank - 1];
	size_t step = in->rank == 3 ? in->dim[1] * in->dim[2] : 1,
	       n = r->rows * nn_shape_count(in) / classes;
	bool log_of = ((const struct nn_softmax *)node->attrs)->log;

	for (size_t i = 0; i < n; i++) {
		size_t first = i / step * step * classes + i % step;
		double largest = -INFINITY, sum = 0;

		for (size_t c = 0; c < classes; c++)
			largest = fmax(largest, x[first + c * step]);
		for (size_t c = 0; c < classes; c++)
			sum += exp(x[first + c * step] - largest);
		for (size_t c = 0; c < classes; c++) {
			double v = x[first + c * step] - largest;

			y[first + c * step] = log_of ? v - log(sum) : exp(v) / sum;
		}
	}
}

static void ref_concat(const struct reference *r, const struct nn_node *node, double *y)
{
	const struct nn_shape *out = &r->program->values[node->out].shape;
	int dim = ((const struct nn_concat *)node->attrs)->dim;
	size_t outer = r->rows, inner = 1, at = 0;

	for (int k = 0; k < out->rank; k++) {
		outer *= k < dim ? out->dim[k] : 1;
		inner *= k > dim ? out->dim[k] : 1;
	}
	for (int i = 0; i < node->n_in; i++) {
		size_t run = r->program->values[node->in[i]].shape.dim[dim] * inner;

		for (size_t o = 0; o < outer; o++)
			memcpy(y + o * out->dim[dim] * inner + at, r->values[node->in[i]] + o * run,
			       run * sizeof *y);
		at += run;
	}
}

static void ref_elements(const struct reference *r, const struct nn_node *node, double *y)
{
	const struct nn_activation_attrs *a = node->attrs;

	for (size_t i = 0; i < r->rows * nn_shape_count(&r->program->values[node->out].shape);
	     i++) {
		double v = r->values[node->in[0]][i];

		for (int k = 1; k < node->n_in; k++)
			v = node->op == NN_OP_mul ? v * r->values[node->in[k]][i]
						  : v + r->values[node->in[k]][i];
		y[i] = node->op == NN_OP_activation ? nn_reference_activation(a->kind, a->slope, v)
						    : v;
	}
}

static void ref_node(const struct reference *r, const struct nn_node *node)
{
	const double *x = r->values[node->in[0]];
	double *y = r->values[node->out];

	switch (node->op) {
	case NN_OP_dense:
		ref_dense(r, node, x, y);
		break;
	case NN_OP_conv2d:
		ref_conv2d(r, node, x, y);
		break;
	case NN_OP_maxpool2d:
	case NN_OP_avgpool2d:
		ref_pool2d(r, node, x, y);
		break;
	case NN_OP_global_avgpool:
		ref_global(r, node, x, y);
		break;
	case NN_OP_batchnorm:
		ref_batchnorm(r, node, x, y);
		break;
	case NN_OP_layernorm:
		ref_layernorm(r, node, x, y);
		break;
	case NN_OP_softmax:
		ref_softmax(r, node, x, y);
		break;
	case NN_OP_concat:
		ref_concat(r, node, y);
		break;
	case NN_OP_conv_transpose2d:
		ref_conv_transpose2d(r, node, x, y);
		break;
	case NN_OP_slice:
	case NN_OP_transpose:
		ref_move(r, node, x, y);
		break;
	case NN_OP_upsample:
		ref_upsample(r, node, x, y);
		break;
	default:
		ref_elements(r, node, y);
	}
}

/* Values of all nodes from inputs[n_inputs][rows][count]; free with reference_fini. */
static void reference_run(struct reference *r, const double *const *inputs)
{
	const struct nn_program *p = r->program;

	r->values = calloc((size_t)p->n_values, sizeof *r->values);
	for (int i = 0; i < p->n_values; i++)
		r->values[i] = calloc(r->rows * nn_shape_count(&p->values[i].shape) + 1,
				      sizeof **r->values);
	for (int i = 0; i < p->n_inputs; i++)
		memcpy(r->values[p->inputs[i]], inputs[i],
		       r->rows * nn_shape_count(&p->values[p->inputs[i]].shape) * sizeof(double));
	for (int i = 0; i < p->n_nodes; i++)
		ref_node(r, &p->nodes[i]);
}

static void reference_fini(struct reference *r)
{
	for (int i = 0; i < r->program->n_values; i++)
		free(r->values[i]);
	free(r->values);
}

#endif
