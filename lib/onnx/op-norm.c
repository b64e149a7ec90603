/* Normalizations and softmax. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "onnx/ops.h"

#define USUAL_EPS 1e-5F /* of the language and of ONNX */

/* A vector of n numbers, where the constant has maybe other dimensions of 1. */
static int vector_of(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
		     size_t n, const struct nn_onnx_constant **c, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	if (nn_onnx_in_constant(g, node, i, c, err) < 0)
		return -1;
	return (*c)->count == n && nn_dtype_float((*c)->dtype)
		       ? 0
		       : nn_fail(err, NN_EFORMAT, "input %zu is %s (%s), expected %zu number%s",
				 i + 1, nn_shape_text(text, &(*c)->shape),
				 nn_dtype_name((*c)->dtype), n, nn_s(n));
}

/* The share of a new group, where ONNX has that of the old ones: as many digits as a float has. */
static void momentum_text(char text[NN_NUMBER], double kept)
{
	nn_format_f32(text, (float)(round((1 - kept) * 1e6) / 1e6));
}

/* What the text says of a batchnorm; group: of our own metadata. */
static int batchnorm_text(const struct nn_onnx_graph *g, const Onnx__Node *node,
			  struct nn_text *text, struct nn_error *err)
{
	double eps = nn_onnx_float(node, "epsilon", 1e-5),
	       kept = nn_onnx_float(node, "momentum", 0.9);
	const char *group = nn_onnx_meta(g, "nn.group");
	char number[NN_NUMBER];
	uint64_t rows;

	if (!(eps > 0) || eps > 1)
		return nn_fail(err, NN_EFORMAT, "an epsilon of %g is not supported", eps);
	nn_text_add(text, "batchnorm");
	if (group && nn_parse_u64(group, strlen(group), &rows) && rows >= 1 && rows <= INT32_MAX)
		nn_text_addf(text, " group=%llu", (unsigned long long)rows);
	if ((float)eps != USUAL_EPS) {
		nn_format_f32(number, (float)eps);
		nn_text_addf(text, " eps=%s", number);
	}
	momentum_text(number, kept >= 0 && kept <= 1 ? kept : 0.9);
	if (strcmp(number, "0.1") != 0)
		nn_text_addf(text, " momentum=%s", number);
	return 0;
}

static const char *const batchnorm_names[] = { "weight", "bias", "running_mean", "running_var" };

/* The shape in which a batchnorm takes rows: C,H,W, with all positions in one; or a vector. */
static struct nn_shape channels_of(const struct nn_shape *shape)
{
	size_t count = nn_shape_count(shape);

	return shape->rank == 1 || shape->rank == 3
		       ? *shape
		       : nn_shape3(shape->dim[0], 1, shape->dim[0] ? count / shape->dim[0] : 0);
}

int nn_onnx_batchnorm(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	const struct nn_onnx_constant *c[4];
	struct nn_shape flat, inner, vector;
	struct nn_text text = { 0 };
	struct nn_onnx_value *x;
	int from, line = -1;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	if (nn_onnx_int(node->proto, "training_mode", 0) ||
	    nn_onnx_int(node->proto, "spatial", 1) != 1 || x->shape.rank == 0)
		return nn_fail(err, NN_EFORMAT,
			       "training_mode=1, spatial=0 and rows without channels are not "
			       "supported");
	flat = x->shape;
	inner = channels_of(&flat);
	vector = nn_shape1(inner.dim[0]);
	for (size_t i = 0; i < 4; i++)
		if (vector_of(g, node, i + 1, vector.dim[0], &c[i], err) < 0)
			return -1;
	if (batchnorm_text(g, node->proto, &text, err) < 0) {
		nn_text_free(&text);
		return -1;
	}
	x->shape = inner;
	from = nn_onnx_line_of(g, x, err);
	x->shape = flat;
	if (from >= 0)
		line = nn_onnx_add_line(g, &from, 1, node->proto->input[1], node->proto, err, "%s",
					text.failed ? "" : text.data);
	nn_text_free(&text);
	for (size_t i = 0; line >= 0 && i < 4; i++)
		if (nn_onnx_add_parameter(g, line, batchnorm_names[i], c[i], &vector, err) < 0)
			return -1;
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, &inner);
	g->values[node->out[0]].shape = flat;
	return 0;
}

/* A vector of n times one number. */
static const struct nn_onnx_constant *constant_vector(struct nn_onnx_graph *g, size_t n,
						      float value, struct nn_error *err)
{
	struct nn_onnx_constant *c = nn_onnx_constant_new(g, err);
	struct nn_shape shape = nn_shape1(n);

	if (!c || nn_onnx_constant_room(c, NN_F32, &shape, err) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		((float *)c->owned.data)[i] = value;
	return c;
}

/* weight and bias are values, -1: ones and zeros */
static int add_layernorm(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			 struct nn_onnx_value *x, int weight, int bias, double eps,
			 struct nn_error *err)
{
	struct nn_shape vector = nn_shape1(x->shape.dim[x->shape.rank - 1]);
	const struct nn_onnx_constant *w = weight >= 0 ? g->values[weight].constant
						       : constant_vector(g, vector.dim[0], 1, err);
	const struct nn_onnx_constant *b =
		bias >= 0 ? g->values[bias].constant : constant_vector(g, vector.dim[0], 0, err);
	char number[NN_NUMBER];
	int from, line;

	if ((weight < 0 && !w) || (bias < 0 && !b))
		return -1;
	if (!w || !b || w->count != vector.dim[0] || b->count != vector.dim[0] ||
	    !nn_dtype_float(w->dtype) || !nn_dtype_float(b->dtype) || !(eps > 0) || eps > 1)
		return nn_fail(err, NN_EFORMAT,
			       "expected scale and bias of %zu number%s, and an epsilon above 0",
			       vector.dim[0], nn_s(vector.dim[0]));
	from = nn_onnx_line_of(g, x, err);
	if (from < 0)
		return -1;
	nn_format_f32(number, (float)eps);
	line = nn_onnx_add_line(g, &from, 1, weight >= 0 ? g->values[weight].name : NULL,
				node->proto, err,
				(float)eps == USUAL_EPS ? "layernorm" : "layernorm eps=%s", number);
	if (line < 0 || nn_onnx_add_parameter(g, line, "weight", w, &vector, err) < 0 ||
	    nn_onnx_add_parameter(g, line, "bias", b, &vector, err) < 0)
		return -1;
	nn_onnx_give(g, node, line, &x->shape);
	return 0;
}

int nn_onnx_layernorm(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	struct nn_onnx_value *x;
	int dim;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_axis(nn_onnx_int(node->proto, "axis", -1), x->shape.rank, &dim, err) < 0)
		return -1;
	if (dim != x->shape.rank - 1)
		return nn_fail(err, NN_EFORMAT, "other axes than the last are not supported");
	for (size_t i = 1; i < node->proto->n_output; i++)
		if (node->out[i] >= 0 && g->values[node->out[i]].uses > 0)
			return nn_fail(err, NN_EFORMAT, "its output %zu is not supported", i + 1);
	return add_layernorm(g, node, x, nn_onnx_in(g, node, 1) ? node->in[1] : -1,
			     nn_onnx_in(g, node, 2) ? node->in[2] : -1,
			     nn_onnx_float(node->proto, "epsilon", 1e-5), err);
}

int nn_onnx_matched(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	const struct nn_onnx_match *m = &node->match;
	struct nn_onnx_value *x = &g->values[m->in];

	if (strcmp(m->layer, "layernorm") != 0)
		return nn_onnx_layer(g, node, x, &x->shape, err, m->layer);
	if (x->shape.rank == 0)
		return nn_fail(err, NN_EFORMAT, "rows of one value");
	return add_layernorm(g, node, x, m->weight, m->bias, m->eps, err);
}

/*
 * The shape in which softmax of the language goes over these dimensions: the last one of a matrix,
 * or the channels of an image.
 */
static int softmax_shape(const struct nn_shape *shape, int first, int last, struct nn_shape *inner,
			 struct nn_error *err)
{
	size_t before = 1, n = 1, after = 1;

	for (int i = 0; i < shape->rank; i++)
		*(i < first ? &before : i < last ? &n : &after) *= shape->dim[i];
	*inner = *shape;
	if (last - first == 1 &&
	    ((shape->rank < 3 && last == shape->rank) || (shape->rank == 3 && first == 0)))
		return 0;
	if (after == 1)
		*inner = before == 1 ? nn_shape1(n) : nn_shape2(before, n);
	else if (before == 1)
		*inner = nn_shape3(n, after, 1);
	else
		return nn_fail(err, NN_EFORMAT, "an axis in the middle is not supported");
	return 0;
}

/* Before opset 13 over all dimensions from the axis on, then over the axis alone. */
int nn_onnx_softmax(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	bool log = strcmp(node->proto->op_type, "LogSoftmax") == 0;
	struct nn_shape flat, inner;
	struct nn_onnx_value *x;
	int dim, line, from;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_axis(nn_onnx_int(node->proto, "axis", g->opset < 13 ? 1 : -1), x->shape.rank,
			 &dim, err) < 0)
		return -1;
	flat = x->shape;
	if (dim >= flat.rank)
		return nn_fail(err, NN_EFORMAT, "rows of one value");
	if (softmax_shape(&flat, dim, g->opset < 13 ? flat.rank : dim + 1, &inner, err) < 0)
		return -1;
	x->shape = inner;
	from = nn_onnx_line_of(g, x, err);
	x->shape = flat;
	line = from < 0 ? -1
			: nn_onnx_add_line(g, &from, 1, NULL, node->proto, err,
					   log ? "log-softmax" : "softmax");
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, &inner);
	g->values[node->out[0]].shape = flat;
	return 0;
}
