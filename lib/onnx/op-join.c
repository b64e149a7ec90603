/* Arithmetic of two values, and joining. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/ops.h"

/* A line of n inputs of one shape. */
static int join(struct nn_onnx_graph *g, const struct nn_onnx_node *node, const char *text,
		const struct nn_shape *shape, struct nn_error *err)
{
	size_t n = node->proto->n_input;
	int *from = nn_alloc(n, sizeof *from, err), line = -1;
	bool good = from != NULL;

	for (size_t i = 0; good && i < n; i++) {
		from[i] = nn_onnx_line_of(g, nn_onnx_in(g, node, i), err);
		good = from[i] >= 0;
	}
	if (good)
		line = nn_onnx_add_line(g, from, (int)n, NULL, node->proto, err, "%s", text);
	nn_free(from);
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, shape);
	return 0;
}

static int same_shapes(const struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	struct nn_onnx_value *first, *v;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	for (size_t i = 0; i < node->proto->n_input; i++) {
		if (nn_onnx_in_rows(g, node, 0, &first, err) < 0 ||
		    nn_onnx_in_rows(g, node, i, &v, err) < 0)
			return -1;
		if (!nn_shape_equal(&first->shape, &v->shape))
			return nn_fail(err, NN_EFORMAT, "rows of %s and %s: one shape is needed",
				       nn_shape_text(a, &first->shape),
				       nn_shape_text(b, &v->shape));
	}
	return 0;
}

/* Two values of the graph; a constant among them scales or shifts. */
static int arithmetic(struct nn_onnx_graph *g, const struct nn_onnx_node *node, const char *layer,
		      enum nn_onnx_affine_kind left, enum nn_onnx_affine_kind right,
		      struct nn_error *err)
{
	struct nn_onnx_value *a = nn_onnx_in(g, node, 0), *b = nn_onnx_in(g, node, 1);

	if (!a || !b || node->proto->n_input != 2)
		return nn_fail(err, NN_EFORMAT, "expected two inputs");
	if (b->constant)
		return nn_onnx_affine(g, node, a, b->constant, right, err);
	if (a->constant && left != NN_ONNX_DIVIDED)
		return nn_onnx_affine(g, node, b, a->constant, left, err);
	if (a->constant || !layer)
		return nn_fail(err, NN_EFORMAT, "of computed values is not supported");
	return same_shapes(g, node, err) < 0 ? -1 : join(g, node, layer, &a->shape, err);
}

int nn_onnx_add(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return arithmetic(g, node, "add", NN_ONNX_ADDED, NN_ONNX_ADDED, err);
}

int nn_onnx_sub(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return arithmetic(g, node, NULL, NN_ONNX_SUBTRACTED_FROM, NN_ONNX_SUBTRACTED, err);
}

int nn_onnx_mul(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return arithmetic(g, node, "mul", NN_ONNX_MULTIPLIED, NN_ONNX_MULTIPLIED, err);
}

int nn_onnx_div(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return arithmetic(g, node, NULL, NN_ONNX_DIVIDED, NN_ONNX_DIVIDED, err);
}

int nn_onnx_sum(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_value *first;

	if (nn_onnx_in_rows(g, node, 0, &first, err) < 0 || same_shapes(g, node, err) < 0)
		return -1;
	return node->proto->n_input == 1 ? nn_onnx_pass(g, node, first, &first->shape, err)
					 : join(g, node, "add", &first->shape, err);
}

int nn_onnx_concat(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_value *first, *v;
	struct nn_shape shape, other;
	char text[32], a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];
	int dim;

	if (nn_onnx_in_rows(g, node, 0, &first, err) < 0 ||
	    nn_onnx_axis_of(first, nn_onnx_int(node->proto, "axis", 1), &dim, err) < 0)
		return -1;
	shape = first->shape;
	for (size_t i = 1; i < node->proto->n_input; i++) {
		if (nn_onnx_in_rows(g, node, i, &v, err) < 0)
			return -1;
		other = v->shape;
		if (other.rank == shape.rank)
			other.dim[dim] = shape.dim[dim];
		if (!nn_shape_equal(&other, &shape) || v->rows != first->rows ||
		    !nn_add(shape.dim[dim], v->shape.dim[dim], &shape.dim[dim]))
			return nn_fail(err, NN_EFORMAT, "rows of %s and %s do not fit",
				       nn_shape_text(a, &first->shape),
				       nn_shape_text(b, &v->shape));
	}
	if (node->proto->n_input == 1)
		return nn_onnx_pass(g, node, first, &shape, err);
	snprintf(text, sizeof text, "concat dim=%d", dim);
	if (join(g, node, text, &shape, err) < 0)
		return -1;
	g->values[node->out[0]].rows = first->rows;
	return 0;
}
