/* Ops that only move values, as nodes. */
#include "onnx/export/op.h"

void nn_onnx_put_concat(const struct nn_onnx_op *o)
{
	const char **in = nn_onnx_keep(o->e, (size_t)o->node->n_in + 1, sizeof *in);
	Onnx__Node *n;

	for (int i = 0; in && i < o->node->n_in; i++)
		in[i] = o->e->names[o->node->in[i]];
	n = nn_onnx_node(o->e, "Concat", o->name, o->out, in);
	nn_onnx_put_int(o->e, n, "axis", ((const struct nn_concat *)o->attrs)->dim + 1);
}

/* 0: as many rows as there are. */
void nn_onnx_put_reshape(const struct nn_onnx_op *o)
{
	const struct nn_shape *shape = &((const struct nn_reshape *)o->attrs)->shape;
	struct nn_shape length = nn_shape1((size_t)shape->rank + 1);
	const char *sizes;
	int64_t *dims;

	if (shape->rank == 1) {
		nn_onnx_put_int(o->e, nn_onnx_simple(o, "Flatten"), "axis", 1);
		return;
	}
	dims = nn_onnx_keep(o->e, length.dim[0], sizeof *dims);
	sizes = nn_onnx_part(o, "shape");
	for (int i = 0; dims && i < shape->rank; i++)
		dims[i + 1] = (int64_t)shape->dim[i];
	nn_onnx_tensor(o->e, sizes, NN_I64, &length, dims);
	nn_onnx_node(o->e, "Reshape", o->name, o->out, IN(o->in, sizes));
}

/* Whole numbers as a constant. */
static const char *numbers(const struct nn_onnx_op *o, const char *what, size_t n, int64_t **values)
{
	struct nn_shape length = nn_shape1(n);
	const char *name = nn_onnx_part(o, what);

	*values = nn_onnx_keep(o->e, n, sizeof **values);
	nn_onnx_tensor(o->e, name, NN_I64, &length, *values);
	return name;
}

/* Rows of a table by their numbers, or their sum over the last dimension but one. */
void nn_onnx_put_embedding(const struct nn_onnx_op *o)
{
	const char *table = nn_onnx_parameter(o, 0), *rows, *axes;
	int64_t *axis;

	if (!((const struct nn_embedding *)o->attrs)->sum) {
		nn_onnx_node(o->e, "Gather", o->name, o->out, IN(table, o->in));
		return;
	}
	rows = nn_onnx_step(o, "Gather", "rows", table, o->in);
	axes = numbers(o, "axes", 1, &axis);
	if (axis)
		*axis = -2;
	nn_onnx_put_int(o->e, nn_onnx_node(o->e, "ReduceSum", o->name, o->out, IN(rows, axes)),
			"keepdims", 0);
}

static void pad(const struct nn_onnx_op *o)
{
	const struct nn_slice *slice = o->attrs;
	const struct nn_shape *in = nn_onnx_shape_in(o);
	size_t rank = (size_t)in->rank + 1;
	int64_t *pads;
	const char *name = numbers(o, "pads", 2 * rank, &pads), *value = nn_onnx_part(o, "value");

	for (size_t d = 1; pads && d < rank; d++) {
		pads[d] = -(int64_t)slice->begin[d - 1];
		pads[rank + d] = (int64_t)slice->size[d - 1] + (int64_t)slice->begin[d - 1] -
				 (int64_t)in->dim[d - 1];
	}
	nn_onnx_number(o->e, value, slice->value);
	nn_onnx_node(o->e, "Pad", o->name, o->out, IN(o->in, name, value));
}

/* What a layer makes of a row is a part of it, or has something around it. */
void nn_onnx_put_slice(const struct nn_onnx_op *o)
{
	const struct nn_slice *slice = o->attrs;
	const struct nn_shape *in = nn_onnx_shape_in(o);
	size_t n = (size_t)in->rank;
	const char *names[4];
	int64_t *at[4];

	for (int d = 0; d < in->rank; d++)
		if (slice->begin[d] < 0 || slice->size[d] > in->dim[d]) {
			pad(o);
			return;
		}
	names[0] = numbers(o, "starts", n, &at[0]);
	names[1] = numbers(o, "ends", n, &at[1]);
	names[2] = numbers(o, "axes", n, &at[2]);
	names[3] = numbers(o, "steps", n, &at[3]);
	for (size_t d = 0; d < n && at[0] && at[1] && at[2] && at[3]; d++) {
		at[0][d] = slice->begin[d];
		at[1][d] = slice->begin[d] + (int64_t)((slice->size[d] - 1) * slice->step[d]) + 1;
		at[2][d] = (int64_t)d + 1;
		at[3][d] = (int64_t)slice->step[d];
	}
	nn_onnx_node(o->e, "Slice", o->name, o->out,
		     IN(o->in, names[0], names[1], names[2], names[3]));
}

void nn_onnx_put_transpose(const struct nn_onnx_op *o)
{
	const int *dims = ((const struct nn_transpose *)o->attrs)->dims;
	int64_t perm[NN_MAX_RANK + 1];
	int rank = nn_onnx_shape_in(o)->rank + 1;

	for (int d = 0; d < rank; d++)
		perm[d] = d;
	perm[dims[0] + 1] = dims[1] + 1;
	perm[dims[1] + 1] = dims[0] + 1;
	nn_onnx_put_ints(o->e, nn_onnx_simple(o, "Transpose"), "perm", perm, (size_t)rank);
}
