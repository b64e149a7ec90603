/* position: y = x + W, the same W for every row: a learned vector at each place of a sequence. */
#include "op/common.h"

static int position_infer(const void *attrs, const struct nn_shape *in, int n_in,
			  struct nn_shape *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	(void)attrs;
	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank != 2 || nn_shape_count(in) == 0)
		return nn_fail(err, NN_EFAIL, "wants a sequence of vectors, TxN, got %s",
			       nn_shape_text(text, in));
	*out = *in;
	return 0;
}

static int position_params(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_position *position = attrs;
	struct nn_shape shape = *in;

	(void)n_in;
	if (position->steps)
		shape.dim[0] = position->steps;
	out[0] = nn_op_param("weight", NN_WEIGHT, NN_INIT_UNIT, shape, in->dim[1]);
	return 1;
}

static enum nn_stepping position_step(void *attrs, const struct nn_shape *in)
{
	((struct nn_position *)attrs)->steps = in->dim[0];
	return NN_STEPS_COUNTED;
}

const struct nn_op nn_op_position = {
	.name = "position",
	.attrs_size = sizeof(struct nn_position),
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_Y_ON_X | NN_OP_DX_ON_DY | NN_OP_HAS_STATE,
	.step = position_step,
	.lengths = nn_op_inner_lengths,
	.infer = position_infer,
	.params = position_params,
};
