/*
 * Nodes of constants alone, and Shape: exporters compute the shape of a Reshape by nodes. The
 * number of rows is known nowhere; it travels as NN_ONNX_ROWS, which a Reshape takes as its first
 * size.
 */
#include <string.h>

#include "base/memory.h"
#include "onnx/graph.h"

typedef int fold_op(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		    struct nn_onnx_constant *to, struct nn_error *err);

#define MOST_ZEROS ((size_t)1 << 20)
#define MOST_FOLDED ((size_t)4096) /* whole numbers that are computed: they are shapes */

static const struct nn_onnx_constant *in(const struct nn_onnx_graph *g,
					 const struct nn_onnx_node *node, size_t i)
{
	const struct nn_onnx_value *v = nn_onnx_in(g, node, i);

	return v ? v->constant : NULL;
}

static int missing(struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "an input is missing");
}

static int vector(struct nn_onnx_constant *to, size_t n, struct nn_error *err)
{
	struct nn_shape shape = nn_shape1(n);

	if (n > MOST_FOLDED)
		return nn_fail(err, NN_EFORMAT,
			       "a list of %zu sizes, expected at most %zu (a fixed limit)", n,
			       MOST_FOLDED);
	return nn_onnx_constant_room(to, NN_I64, &shape, err);
}

/* The same elements, borrowed, in another shape. */
static void borrow(struct nn_onnx_constant *to, const struct nn_onnx_constant *from)
{
	struct nn_onnx_constant *next = to->next;

	*to = *from;
	to->owned = (struct nn_block){ 0 };
	to->next = next;
}

static int fold_identity(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			 struct nn_onnx_constant *to, struct nn_error *err)
{
	const struct nn_onnx_constant *from = in(g, node, 0);

	if (!from)
		return missing(err);
	borrow(to, from);
	return 0;
}

static int fold_constant(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			 struct nn_onnx_constant *to, struct nn_error *err)
{
	const Onnx__Attribute *tensor = nn_onnx_attribute(node->proto, "value"),
			      *ints = nn_onnx_attribute(node->proto, "value_ints"),
			      *one = nn_onnx_attribute(node->proto, "value_int"),
			      *real = nn_onnx_attribute(node->proto, "value_float");
	struct nn_shape scalar = { 0 };

	if (tensor && tensor->t)
		return nn_onnx_constant_read(to, g->file, tensor->t, NULL, err);
	if (ints) {
		if (vector(to, ints->n_ints, err) < 0)
			return -1;
		for (size_t i = 0; i < ints->n_ints; i++)
			nn_onnx_put_whole(to, i, ints->ints[i]);
		return 0;
	}
	if (!one && !real)
		return nn_fail(err, NN_EFORMAT, "a constant of this kind is not supported");
	if (nn_onnx_constant_room(to, one ? NN_I64 : NN_F32, &scalar, err) < 0)
		return -1;
	if (one)
		nn_onnx_put_whole(to, 0, one->i);
	else
		*(float *)to->owned.data = real->f;
	return 0;
}

/* A range of a list as Python counts it. */
static void clip_range(int64_t n, int64_t *start, int64_t *end)
{
	*start += *start < 0 ? n : 0;
	*end += *end < 0 ? n : 0;
	*start = *start < 0 ? 0 : *start > n ? n : *start;
	*end = *end < *start ? *start : *end > n ? n : *end;
}

static int fold_shape(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_onnx_constant *to, struct nn_error *err)
{
	const struct nn_onnx_value *v = nn_onnx_in(g, node, 0);
	int64_t start = nn_onnx_int(node->proto, "start", 0), n,
		end = nn_onnx_int(node->proto, "end", INT64_MAX);
	const struct nn_shape *shape;

	if (!v)
		return missing(err);
	shape = v->constant ? &v->constant->shape : &v->shape;
	n = shape->rank + !v->constant;
	clip_range(n, &start, &end);
	if (vector(to, (size_t)(end - start), err) < 0)
		return -1;
	for (int64_t i = start; i < end; i++) {
		int64_t dim = i - (!v->constant && i > v->rows);

		nn_onnx_put_whole(to, (size_t)(i - start),
				  !v->constant && i == v->rows ? NN_ONNX_ROWS
							       : (int64_t)shape->dim[dim]);
	}
	return 0;
}

static int fold_gather(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_onnx_constant *to, struct nn_error *err)
{
	const struct nn_onnx_constant *from = in(g, node, 0), *at = in(g, node, 1);

	if (!from || !at)
		return missing(err);
	if (from->shape.rank != 1 || !nn_onnx_is_whole(from) || !nn_onnx_is_whole(at) ||
	    at->count > MOST_FOLDED)
		return nn_fail(err, NN_EFORMAT, "of other constants than shapes is not supported");
	if (nn_onnx_constant_room(to, NN_I64, &at->shape, err) < 0)
		return -1;
	for (size_t i = 0; i < at->count; i++) {
		int64_t k = nn_onnx_whole(at, i), n = (int64_t)from->count;

		k += k < 0 ? n : 0;
		if (k < 0 || k >= n)
			return nn_fail(err, NN_EFORMAT, "index %lld of %lld", (long long)k,
				       (long long)n);
		nn_onnx_put_whole(to, i, nn_onnx_whole(from, (size_t)k));
	}
	return 0;
}

static int fold_concat(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_onnx_constant *to, struct nn_error *err)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < node->proto->n_input; i++) {
		const struct nn_onnx_constant *c = in(g, node, i);

		if (!c || c->shape.rank != 1 || !nn_onnx_is_whole(c) || c->count > MOST_FOLDED)
			return nn_fail(err, NN_EFORMAT,
				       "of other constants than shapes is not supported");
		n += c->count;
	}
	if (vector(to, n, err) < 0)
		return -1;
	for (size_t i = 0; i < node->proto->n_input; i++)
		for (size_t k = 0; k < in(g, node, i)->count; k++)
			nn_onnx_put_whole(to, at++, nn_onnx_whole(in(g, node, i), k));
	return 0;
}

/* Element i of a constant, or the fallback without one. */
static int64_t whole_or(const struct nn_onnx_constant *c, int64_t fallback)
{
	return c && c->count == 1 && nn_onnx_is_whole(c) ? nn_onnx_whole(c, 0) : fallback;
}

/* Zeros of any shape are one: recurrent layers are given them as the state they begin with. */
static bool is_zeros(const struct nn_onnx_constant *c)
{
	if (!nn_dtype_float(c->dtype) || c->count == 0 || c->count > MOST_ZEROS)
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (nn_onnx_real(c, i) != 0)
			return false;
	return true;
}

static int zero(struct nn_onnx_constant *to, struct nn_error *err)
{
	struct nn_shape scalar = { 0 };

	return nn_onnx_constant_room(to, NN_F32, &scalar, err);
}

static int fold_expand(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_onnx_constant *to, struct nn_error *err)
{
	const struct nn_onnx_constant *from = in(g, node, 0);

	if (!from)
		return missing(err);
	if (!is_zeros(from))
		return nn_fail(err, NN_EFORMAT, "of other constants than zeros is not supported");
	return zero(to, err);
}

static int fold_constant_of_shape(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
				  struct nn_onnx_constant *to, struct nn_error *err)
{
	const Onnx__Attribute *value = nn_onnx_attribute(node->proto, "value");
	struct nn_onnx_constant *c = nn_onnx_constant_new(g, err);

	if (!c || (value && value->t && nn_onnx_constant_read(c, g->file, value->t, NULL, err) < 0))
		return -1;
	if (value && !is_zeros(c))
		return nn_fail(err, NN_EFORMAT, "of other values than 0 is not supported");
	return zero(to, err);
}

/* Of a list; starts and ends are attributes before opset 10. */
static int fold_slice(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_onnx_constant *to, struct nn_error *err)
{
	const Onnx__Attribute *starts = nn_onnx_attribute(node->proto, "starts"),
			      *ends = nn_onnx_attribute(node->proto, "ends");
	const struct nn_onnx_constant *from = in(g, node, 0);
	int64_t start, end;

	if (!from)
		return missing(err);
	if (is_zeros(from))
		return zero(to, err);
	if (from->shape.rank != 1 || !nn_onnx_is_whole(from) || whole_or(in(g, node, 4), 1) != 1)
		return nn_fail(err, NN_EFORMAT, "of other constants than shapes is not supported");
	start = starts && starts->n_ints == 1 ? starts->ints[0] : whole_or(in(g, node, 1), 0);
	end = ends && ends->n_ints == 1 ? ends->ints[0] : whole_or(in(g, node, 2), INT64_MAX);
	clip_range((int64_t)from->count, &start, &end);
	if (vector(to, (size_t)(end - start), err) < 0)
		return -1;
	for (int64_t i = start; i < end; i++)
		nn_onnx_put_whole(to, (size_t)(i - start), nn_onnx_whole(from, (size_t)i));
	return 0;
}

/* Whole numbers stay so; between types of other numbers the elements are what they are. */
static int fold_cast(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		     struct nn_onnx_constant *to, struct nn_error *err)
{
	const struct nn_onnx_constant *from = in(g, node, 0);
	int dtype = nn_onnx_dtype(nn_onnx_int(node->proto, "to", 0));

	if (from && dtype >= 0 && nn_onnx_is_whole(from) != nn_dtype_float((enum nn_dtype)dtype)) {
		borrow(to, from);
		return 0;
	}
	if (!from || dtype != NN_F32 || from->count > MOST_FOLDED)
		return nn_fail(err, NN_EFORMAT, "of this constant is not supported");
	if (nn_onnx_constant_room(to, NN_F32, &from->shape, err) < 0)
		return -1;
	for (size_t i = 0; i < from->count; i++)
		((float *)to->owned.data)[i] = (float)nn_onnx_whole(from, i);
	return 0;
}

/* A list of one number as a number, and back. */
static int fold_squeeze(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			struct nn_onnx_constant *to, struct nn_error *err)
{
	bool more = strcmp(node->proto->op_type, "Unsqueeze") == 0;

	if (fold_identity(g, node, to, err) < 0)
		return -1;
	if (to->count != 1 && !(more && to->shape.rank == 1))
		return nn_fail(err, NN_EFORMAT, "of this constant is not supported");
	if (to->count == 1)
		to->shape = more ? nn_shape1(1) : (struct nn_shape){ 0 };
	return 0;
}

static int fold_transpose(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			  struct nn_onnx_constant *to, struct nn_error *err)
{
	const Onnx__Attribute *perm = nn_onnx_attribute(node->proto, "perm");
	const struct nn_onnx_constant *from = in(g, node, 0);

	if (!from)
		return missing(err);
	if (from->shape.rank != 2 ||
	    (perm && (perm->n_ints != 2 || perm->ints[0] != 1 || perm->ints[1] != 0)))
		return nn_fail(err, NN_EFORMAT,
			       "of other constants than matrices is not supported");
	return nn_onnx_transpose(to, from, err);
}

static const struct {
	const char *op;
	fold_op *fold;
} folds[] = {
	{ "Identity", fold_identity },
	{ "Constant", fold_constant },
	{ "ConstantOfShape", fold_constant_of_shape },
	{ "Expand", fold_expand },
	{ "Shape", fold_shape },
	{ "Gather", fold_gather },
	{ "Concat", fold_concat },
	{ "Slice", fold_slice },
	{ "Cast", fold_cast },
	{ "Squeeze", fold_squeeze },
	{ "Unsqueeze", fold_squeeze },
	{ "Transpose", fold_transpose },
};

static bool of_constants(const struct nn_onnx_graph *g, const struct nn_onnx_node *node)
{
	for (size_t i = 0; i < node->proto->n_input; i++)
		if (node->in[i] >= 0 && !g->values[node->in[i]].constant)
			return false;
	return true;
}

int nn_onnx_fold(struct nn_onnx_graph *g, const struct nn_onnx_node *node, bool *done,
		 struct nn_error *err)
{
	const char *op = node->proto->op_type;
	bool shape = strcmp(op, "Shape") == 0;
	struct nn_onnx_constant *c;

	*done = false;
	if (!shape && !of_constants(g, node))
		return 0;
	for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
		if (strcmp(folds[i].op, op) != 0)
			continue;
		*done = true;
		c = nn_onnx_constant_new(g, err);
		if (!c || nn_onnx_attributes_check(node->proto, err) < 0 ||
		    folds[i].fold(g, node, c, err) < 0)
			return -1;
		g->values[node->out[0]].constant = c;
		g->values[node->out[0]].known = true;
		return 0;
	}
	return 0;
}
