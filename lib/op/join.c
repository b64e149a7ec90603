/* Ops that join several inputs: add and mul element by element, concat along a dimension. */
#include "op/common.h"

static int same_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err)
{
	(void)attrs;
	return nn_op_same_shapes(in, n_in, out, err);
}

static uint64_t join_flops(const void *attrs, const struct nn_shape *in, int n_in,
			   const struct nn_shape *out)
{
	(void)attrs;
	(void)in;
	return nn_op_count((uint64_t)n_in - 1, nn_shape_count(out), 1);
}

const struct nn_op nn_op_add = {
	.name = "add",
	.layout = NN_LAYOUT_ANY,
	.role = NN_ROLE_SUM,
	.flags = NN_OP_Y_ON_X | NN_OP_DX_ON_DY,
	.step = nn_op_each_step,
	.lengths = nn_op_each_length,
	.infer = same_infer,
	.flops = join_flops,
};

const struct nn_op nn_op_mul = {
	.name = "mul",
	.layout = NN_LAYOUT_ANY,
	.flags = NN_OP_NEEDS_X | NN_OP_Y_ON_X,
	.step = nn_op_each_step,
	.lengths = nn_op_each_length,
	.infer = same_infer,
	.flops = join_flops,
};

static int concat_infer(const void *attrs, const struct nn_shape *in, int n_in,
			struct nn_shape *out, struct nn_error *err)
{
	const struct nn_concat *concat = attrs;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (n_in < 2)
		return nn_fail(err, NN_EFAIL, "wants two inputs or more, got %d", n_in);
	if (concat->dim < 0 || concat->dim >= in[0].rank)
		return nn_fail(err, NN_EFAIL, "dim=%d is not a dimension of input %s", concat->dim,
			       nn_shape_text(a, &in[0]));
	*out = in[0];
	for (int i = 1; i < n_in; i++) {
		struct nn_shape other = in[i];

		if (other.rank == in[0].rank)
			other.dim[concat->dim] = in[0].dim[concat->dim];
		if (!nn_shape_equal(&other, &in[0]))
			return nn_fail(
				err, NN_EFAIL, "inputs %s and %s differ in more than dimension %d",
				nn_shape_text(a, &in[0]), nn_shape_text(b, &in[i]), concat->dim);
		if (!nn_add(out->dim[concat->dim], in[i].dim[concat->dim], &out->dim[concat->dim]))
			return nn_fail(err, NN_EFAIL, "the sum of dimension %d is too large",
				       concat->dim);
	}
	return nn_op_check_size(out, err);
}

/* One axis in memory, whatever the order: [outer][inner of input i], along dim 1. */
static void concat_lay_out(void *attrs, struct nn_shape *in, int n_in)
{
	struct nn_concat *concat = attrs;
	static const int in_image[] = { 2, 0, 1 }; /* C,H,W as axes of H,W,C */
	static const int axis_dim[] = { 1, 2, 0 };
	bool image = in[0].rank == 3;
	int axis = image ? in_image[concat->dim] : concat->dim;

	for (int i = 0; i < n_in; i++) {
		struct nn_shape from = in[i];

		in[i] = nn_shape2(1, 1);
		for (int k = 0; k < from.rank; k++)
			in[i].dim[k < axis ? 0 : 1] *= from.dim[image ? axis_dim[k] : k];
	}
	concat->dim = 1;
}

static enum nn_stepping concat_step(void *attrs, const struct nn_shape *in)
{
	return ((const struct nn_concat *)attrs)->dim == 1 && in->rank == 2 ? NN_STEPS_ANY
									    : NN_STEPS_AT_ONCE;
}

static enum nn_lengths concat_lengths(const void *attrs, const struct nn_shape *in)
{
	(void)in;
	return ((const struct nn_concat *)attrs)->dim > 0 ? NN_LENGTHS_KEPT : NN_LENGTHS_REFUSED;
}

const struct nn_op nn_op_concat = {
	.name = "concat",
	.attrs_size = sizeof(struct nn_concat),
	.layout = NN_LAYOUT_IMAGE,
	.step = concat_step,
	.lengths = concat_lengths,
	.infer = concat_infer,
	.lay_out = concat_lay_out,
	.flops = nn_op_no_flops,
};
