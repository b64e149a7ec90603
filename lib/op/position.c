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
	(void)attrs;
	(void)n_in;
	out[0] = nn_op_param("weight", NN_WEIGHT, NN_INIT_UNIT, *in, in->dim[1]);
	return 1;
}

const struct nn_op nn_op_position = {
	.name = "position",
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_Y_ON_X | NN_OP_DX_ON_DY,
	.infer = position_infer,
	.params = position_params,
};
