/* Other shapes of the same values: no line comes of them until a layer needs the shape. */
#include <string.h>

#include "base/memory.h"
#include "onnx/ops.h"

int nn_onnx_flatten(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	int64_t axis = nn_onnx_int(node->proto, "axis", 1);
	struct nn_onnx_value *x;
	struct nn_shape shape;
	size_t before = 1;
	int dim;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	shape = nn_shape1(nn_shape_count(&x->shape));
	if (axis == x->shape.rank + 1) /* N times all values, one column */
		return shape.dim[0] == 1
			       ? nn_onnx_pass(g, node, x, &shape, err)
			       : nn_fail(err, NN_EFORMAT, "axis %lld mixes rows", (long long)axis);
	if (nn_onnx_axis(axis, x->shape.rank, &dim, err) < 0)
		return -1;
	for (int i = 0; i < dim; i++)
		before *= x->shape.dim[i];
	if (before != 1)
		return nn_fail(err, NN_EFORMAT, "axis %lld mixes rows", (long long)axis);
	return nn_onnx_pass(g, node, x, &shape, err);
}

static int too_large(struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "the product of the shape's dimensions overflows");
}

/*
 * One size of the new shape, or 0 for the one that follows from the others; i counts without the
 * rows.
 */
static int take_size(const struct nn_onnx_constant *c, size_t at, size_t i,
		     const struct nn_shape *from, bool zero_is_zero, size_t *size,
		     struct nn_error *err)
{
	int64_t n = nn_onnx_whole(c, at);

	if (n == 0 && !zero_is_zero && i < (size_t)from->rank) {
		*size = from->dim[i];
		return 0;
	}
	*size = n == -1 ? 0 : (size_t)n;
	return n == -1 || n > 0
		       ? 0
		       : nn_fail(err, NN_EFORMAT,
				 "a shape with a dimension of %lld is not supported", (long long)n);
}

/* Do sizes without that of the rows make up a row; *shape is what they say. */
static int take_sizes(const struct nn_onnx_constant *c, const struct nn_shape *from, size_t rows,
		      bool zero_is_zero, struct nn_shape *shape, bool *open, struct nn_error *err)
{
	size_t known = 1, all = nn_shape_count(from), *rest = NULL;
	char a[NN_SHAPE_TEXT];

	shape->rank = (int)c->count - 1;
	for (size_t i = 0; i + 1 < c->count; i++) {
		size_t *size = &shape->dim[i];

		if (take_size(c, i + (i >= rows), i, from, zero_is_zero, size, err) < 0)
			return -1;
		if (*size == 0 && rest)
			return nn_fail(err, NN_EFORMAT, "two dimensions of the shape are -1");
		if (*size == 0)
			rest = size;
		else if (!nn_mul(known, *size, &known))
			return too_large(err);
	}
	*open = rest != NULL;
	if (rest)
		*rest = known > 0 ? all / known : 0;
	if (known * (rest ? *rest : 1) == all && all > 0)
		return 0;
	return nn_fail(err, NN_EFORMAT,
		       "rows of %s have other values than the shape: rows would mix",
		       nn_shape_text(a, from));
}

/*
 * The first dimension are the rows: named so (0, -1, what Shape gave), or the number that the graph
 * was exported with; either way the others must make up a row.
 */
int nn_onnx_reshape(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	const struct nn_onnx_constant *c;
	struct nn_onnx_value *x;
	struct nn_shape shape;
	bool open = false;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_in_constant(g, node, 1, &c, err) < 0)
		return -1;
	if (!nn_onnx_is_whole(c) || c->count < 1 || c->count > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT, "a shape of %zu dimensions, expected 1 to %d",
			       c->count, NN_MAX_RANK);
	if (x->rows > 0 && c->count <= (size_t)x->rows)
		return nn_fail(err, NN_EFORMAT, "mixes rows, which are dimension %d", x->rows + 1);
	if (take_sizes(c, &x->shape, (size_t)x->rows, nn_onnx_int(node->proto, "allowzero", 0),
		       &shape, &open, err) < 0)
		return -1;
	if (open && nn_onnx_whole(c, (size_t)x->rows) == -1)
		return nn_fail(err, NN_EFORMAT, "two dimensions of the shape are -1");
	for (int i = 0; i < x->rows; i++)
		if (shape.dim[i] != x->shape.dim[i])
			return nn_fail(err, NN_EFORMAT, "mixes rows, which are dimension %d",
				       x->rows + 1);
	return nn_onnx_pass(g, node, x, &shape, err);
}

/* axes: an attribute, from opset 13 on an input; bit i: axis i of `rank`. *given: there are any. */
static int take_axes(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, int rank,
		     int rows, unsigned *axes, bool *given, struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "axes");
	const struct nn_onnx_constant *c = NULL;
	size_t n = a ? a->n_ints : 0;

	*axes = 0;
	if (nn_onnx_in(g, node, 1)) {
		if (nn_onnx_in_constant(g, node, 1, &c, err) < 0)
			return -1;
		if (!nn_onnx_is_whole(c))
			return nn_fail(err, NN_EFORMAT, "axes are no whole numbers");
		n = c->count;
	}
	*given = a || c;
	for (size_t i = 0; i < n; i++) {
		int64_t axis = c ? nn_onnx_whole(c, i) : a->ints[i];

		axis += axis < 0 ? rank : 0;
		if (axis < 0 || axis >= rank || axis == rows)
			return nn_fail(err, NN_EFORMAT,
				       axis == rows ? "axis %lld are the rows, which are "
						      "computed one by one"
						    : "axis %lld is not among the dimensions",
				       (long long)axis);
		*axes |= 1u << axis;
	}
	return 0;
}

int nn_onnx_squeeze(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_shape shape = { 0 };
	struct nn_onnx_value *x;
	unsigned axes;
	bool given;
	int rows;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    take_axes(g, node, x->shape.rank + 1, x->rows, &axes, &given, err) < 0)
		return -1;
	rows = x->rows;
	for (int i = 0; i < x->shape.rank; i++) {
		int axis = i + (i >= x->rows);
		bool out = given ? axes >> axis & 1 : x->shape.dim[i] == 1;

		if (out && x->shape.dim[i] != 1)
			return nn_fail(err, NN_EFORMAT, "axis %d has %zu values, expected 1", axis,
				       x->shape.dim[i]);
		if (!out)
			shape.dim[shape.rank++] = x->shape.dim[i];
		rows -= out && axis < x->rows;
	}
	if (nn_onnx_pass(g, node, x, &shape, err) < 0)
		return -1;
	g->values[node->out[0]].rows = rows;
	return 0;
}

int nn_onnx_unsqueeze(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "axes");
	const struct nn_onnx_value *given_axes = nn_onnx_in(g, node, 1);
	size_t more = given_axes && given_axes->constant ? given_axes->constant->count
		      : a                                ? a->n_ints
							 : 0;
	struct nn_shape shape = { 0 };
	struct nn_onnx_value *x;
	unsigned axes;
	bool given;
	int from = 0;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	if (more > NN_MAX_RANK || x->shape.rank + (int)more > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT,
			       "%d dimensions, expected at most %d (a fixed limit)",
			       x->shape.rank + (int)more, NN_MAX_RANK);
	shape.rank = x->shape.rank + (int)more;
	if (take_axes(g, node, shape.rank + 1, 0, &axes, &given, err) < 0)
		return -1;
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] =
			axes >> (i + 1) & 1 || from >= x->shape.rank ? 1 : x->shape.dim[from++];
	return nn_onnx_pass(g, node, x, &shape, err);
}
