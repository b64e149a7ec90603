/* Transpose, Pad and Slice: a line for each step that a layer can say. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "onnx/ops.h"

/* ---- Transpose ---- */

/* Does a permutation move dimensions of 1 alone, and so change no order? */
static bool keeps_order(const struct nn_shape *from, const int *perm)
{
	int last = -1;

	for (int i = 0; i < from->rank; i++) {
		if (from->dim[perm[i]] == 1)
			continue;
		if (perm[i] < last)
			return false;
		last = perm[i];
	}
	return true;
}

/* Without the rows, whose new dimension is *rows. */
static int take_perm(const struct nn_onnx_node *node, const struct nn_onnx_value *x, int *perm,
		     int *rows, struct nn_error *err)
{
	int rank = x->shape.rank, n = 0;
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "perm");
	unsigned seen = 0;

	if (a && a->n_ints != (size_t)rank + 1)
		return nn_fail(err, NN_EFORMAT, "perm has %zu number%s, expected %d", a->n_ints,
			       nn_s(a->n_ints), rank + 1);
	*rows = 0;
	for (int i = 0; i <= rank; i++) {
		int64_t from = a ? a->ints[i] : rank - i;

		if (from < 0 || from > rank || seen >> from & 1)
			return nn_fail(err, NN_EFORMAT, "perm is no permutation");
		seen |= 1u << from;
		if (from == x->rows)
			*rows = i;
		else
			perm[n++] = (int)from - (from > x->rows);
	}
	return 0;
}

/* Two dimensions at a time. */
int nn_onnx_transposed(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	int perm[NN_MAX_RANK + 1], now[NN_MAX_RANK], line, rows = 0;
	struct nn_onnx_value *x;
	struct nn_shape shape;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 || take_perm(node, x, perm, &rows, err) < 0)
		return -1;
	shape = x->shape;
	for (int i = 0; i < shape.rank; i++) {
		shape.dim[i] = x->shape.dim[perm[i]];
		now[i] = i;
	}
	if (keeps_order(&x->shape, perm)) {
		if (nn_onnx_pass(g, node, x, &shape, err) < 0)
			return -1;
		g->values[node->out[0]].rows = rows;
		return 0;
	}
	line = nn_onnx_line_of(g, x, err);
	for (int i = 0, k; i < shape.rank && line >= 0; i++) {
		for (k = i; now[k] != perm[i];)
			k++;
		if (k == i)
			continue;
		now[k] = now[i];
		now[i] = perm[i];
		line = nn_onnx_add_line(g, &line, 1, NULL, NULL, err, "transpose %d %d", i, k);
	}
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, &shape);
	g->values[node->out[0]].rows = rows;
	return 0;
}

/* ---- numbers per axis ---- */

/* An attribute, or an input of later opsets, of whole numbers; n SIZE_MAX: there is none. */
struct numbers {
	const Onnx__Attribute *attribute;
	const struct nn_onnx_constant *constant;
	size_t n;
};

static int take_numbers(struct nn_onnx_graph *g, const struct nn_onnx_node *node, const char *name,
			size_t input, struct numbers *numbers, struct nn_error *err)
{
	*numbers = (struct numbers){ nn_onnx_attribute(node->proto, name), NULL, SIZE_MAX };
	if (!numbers->attribute && nn_onnx_in(g, node, input) &&
	    nn_onnx_in_constant(g, node, input, &numbers->constant, err) < 0)
		return -1;
	if (numbers->constant && !nn_onnx_is_whole(numbers->constant))
		return nn_fail(err, NN_EFORMAT, "%s are no whole numbers", name);
	if (numbers->attribute)
		numbers->n = numbers->attribute->n_ints;
	else if (numbers->constant)
		numbers->n = numbers->constant->count;
	return 0;
}

static int64_t number(const struct numbers *numbers, size_t i)
{
	return numbers->constant ? nn_onnx_whole(numbers->constant, i)
				 : numbers->attribute->ints[i];
}

/* ---- Pad ---- */

/* Pads before and after each dimension of a row; none of the rows' own. */
static int take_pads(const struct numbers *pads, const struct numbers *axes, int rank,
		     size_t pad[2][NN_MAX_RANK], struct nn_error *err)
{
	size_t n = axes->n == SIZE_MAX ? (size_t)rank + 1 : axes->n;

	memset(pad, 0, 2 * sizeof *pad);
	if (pads->n != 2 * n)
		return nn_fail(err, NN_EFORMAT, "pads has %zu number%s, expected %zu", pads->n,
			       nn_s(pads->n), 2 * n);
	for (size_t i = 0; i < 2 * n; i++) {
		int64_t value = number(pads, i), axis = (int64_t)(i % n);
		int dim;

		if (axes->n != SIZE_MAX)
			axis = number(axes, i % n);
		if (value < 0 || value > INT32_MAX)
			return nn_fail(err, NN_EFORMAT, "pads of %lld are not supported",
				       (long long)value);
		if (value == 0)
			continue;
		if (nn_onnx_axis(axis, rank, &dim, err) < 0)
			return -1;
		pad[i / n][dim] = (size_t)value;
	}
	return 0;
}

static int pad_value(struct nn_onnx_graph *g, const struct nn_onnx_node *node, double *value,
		     struct nn_error *err)
{
	const struct nn_onnx_constant *c;

	*value = nn_onnx_float(node->proto, "value", 0);
	if (!nn_onnx_string_is(node->proto, "mode", "constant", true))
		return nn_fail(err, NN_EFORMAT, "another mode than constant is not supported");
	if (nn_onnx_in(g, node, 2)) {
		if (nn_onnx_in_constant(g, node, 2, &c, err) < 0)
			return -1;
		*value = c->count > 0 ? nn_onnx_real(c, 0) : 0;
	}
	if (!(*value >= -3e38 && *value <= 3e38))
		return nn_fail(err, NN_EFORMAT, "a value of %g is not supported", *value);
	return 0;
}

/* Exporters write pads of 0 too. A layer pads the last two dimensions of C,H,W, else the last. */
int nn_onnx_pad(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct numbers pads, axes;
	struct nn_onnx_value *x;
	struct nn_shape shape;
	size_t pad[2][NN_MAX_RANK], any = 0;
	char text[128];
	double value;
	int first;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    take_numbers(g, node, "pads", 1, &pads, err) < 0 ||
	    take_numbers(g, node, "axes", 3, &axes, err) < 0 ||
	    take_pads(&pads, &axes, x->shape.rank, pad, err) < 0)
		return -1;
	shape = x->shape;
	first = shape.rank == 3 ? 1 : shape.rank - 1;
	for (int d = 0; d < shape.rank; d++) {
		any += pad[0][d] + pad[1][d];
		shape.dim[d] += pad[0][d] + pad[1][d];
		if (d < first && pad[0][d] + pad[1][d] > 0)
			return nn_fail(err, NN_EFORMAT, "pads of dimension %d are not supported",
				       d + 1);
	}
	if (any == 0)
		return nn_onnx_pass(g, node, x, &shape, err);
	if (pad_value(g, node, &value, err) < 0)
		return -1;
	snprintf(text, sizeof text, "pad %zux%zu after=%zux%zu value=%.9g", pad[0][first],
		 pad[0][shape.rank - 1], pad[1][first], pad[1][shape.rank - 1], value);
	return nn_onnx_layer(g, node, x, &shape, err, text);
}

/* ---- Slice ---- */

/* Begin and end of an axis as the language has them: within it, the first before the last. */
static int take_range(int64_t begin, int64_t end, size_t size, size_t range[2],
		      struct nn_error *err)
{
	int64_t n = (int64_t)size;

	begin += begin < 0 ? n : 0;
	end += end < 0 ? n : 0;
	begin = begin < 0 ? 0 : begin;
	end = end > n ? n : end;
	if (begin >= end)
		return nn_fail(err, NN_EFORMAT, "nothing is left of %zu value%s", size, nn_s(size));
	range[0] = (size_t)begin;
	range[1] = (size_t)end;
	return 0;
}

int nn_onnx_slice(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct numbers starts, ends, axes, steps;
	struct nn_onnx_value *x;
	struct nn_shape shape;
	size_t range[2] = { 0, 1 };
	int line, dim;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    take_numbers(g, node, "starts", 1, &starts, err) < 0 ||
	    take_numbers(g, node, "ends", 2, &ends, err) < 0 ||
	    take_numbers(g, node, "axes", 3, &axes, err) < 0 ||
	    take_numbers(g, node, "steps", 4, &steps, err) < 0)
		return -1;
	if (starts.n == SIZE_MAX || starts.n != ends.n ||
	    (axes.n != SIZE_MAX && axes.n != starts.n) ||
	    (steps.n != SIZE_MAX && steps.n != starts.n))
		return nn_fail(err, NN_EFORMAT, "starts, ends, axes and steps differ in number");
	shape = x->shape;
	line = nn_onnx_line_of(g, x, err);
	for (size_t i = 0; i < starts.n && line >= 0; i++) {
		int64_t step = steps.n == SIZE_MAX ? 1 : number(&steps, i);

		if (nn_onnx_axis_of(x, axes.n == SIZE_MAX ? (int64_t)i : number(&axes, i), &dim,
				    err) < 0)
			return -1;
		if (step < 1 || step > INT32_MAX)
			return nn_fail(err, NN_EFORMAT, "steps of %lld are not supported",
				       (long long)step);
		if (take_range(number(&starts, i), number(&ends, i), shape.dim[dim], range, err) <
		    0)
			return -1;
		shape.dim[dim] = (range[1] - range[0] - 1) / (size_t)step + 1;
		line = nn_onnx_add_line(g, &line, 1, NULL, NULL, err,
					"slice %zu %zu step=%lld dim=%d", range[0], range[1],
					(long long)step, dim);
	}
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, &shape);
	g->values[node->out[0]].rows = x->rows;
	return 0;
}
