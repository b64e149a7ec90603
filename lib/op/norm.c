/*
 * Normalizations: batchnorm over groups of rows, layernorm over the last dimension, as nn.BatchNorm
 * and nn.LayerNorm.
 */
#include "op/common.h"

static int batchnorm_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	const struct nn_batchnorm *norm = attrs;
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_input(n_in - norm->epilogue.residual, err))
		return -1;
	if ((in->rank != 1 && in->rank != 3) || in->dim[0] == 0)
		return nn_fail(err, NN_EFAIL, "wants a vector or CxHxW, got %s",
			       nn_shape_text(text, in));
	if (norm->group == 0)
		return nn_fail(err, NN_EFAIL, "group must be at least 1");
	*out = *in;
	return 0;
}

static int batchnorm_params(const void *attrs, const struct nn_shape *in, int n_in,
			    struct nn_op_param out[NN_MAX_PARAMS])
{
	struct nn_shape channels = nn_shape1(in->dim[0]);

	(void)attrs;
	(void)n_in;
	out[0] = nn_op_param("weight", NN_NORM, NN_INIT_ONE, channels, in->dim[0]);
	out[1] = nn_op_param("bias", NN_NORM, NN_INIT_ZERO, channels, in->dim[0]);
	out[2] = nn_op_param("running_mean", NN_BUFFER, NN_INIT_ZERO, channels, in->dim[0]);
	out[3] = nn_op_param("running_var", NN_BUFFER, NN_INIT_ONE, channels, in->dim[0]);
	return 4;
}

static unsigned batchnorm_needs(const void *attrs)
{
	const struct nn_batchnorm *norm = attrs;

	return NN_OP_NEEDS_X | NN_OP_ROWS_COUPLED |
	       (norm->epilogue.activation != NN_ACT_NONE ? NN_OP_NEEDS_Y : 0);
}

/* Mean, spread, subtract and scale, shift. */
static uint64_t norm_flops(const void *attrs, const struct nn_shape *in, int n_in,
			   const struct nn_shape *out)
{
	(void)attrs;
	(void)in;
	(void)n_in;
	return nn_op_count(7, nn_shape_count(out), 1);
}

const struct nn_op nn_op_batchnorm = {
	.name = "batchnorm",
	.attrs_size = sizeof(struct nn_batchnorm),
	.layout = NN_LAYOUT_IMAGE,
	.role = NN_ROLE_NORM,
	.flags = NN_OP_NEEDS_X | NN_OP_ROWS_COUPLED | NN_OP_Y_ON_X | NN_OP_DX_ON_DY,
	.epilogue = offsetof(struct nn_batchnorm, epilogue),
	.infer = batchnorm_infer,
	.params = batchnorm_params,
	.flops = norm_flops,
	.needs = batchnorm_needs,
};

static int layernorm_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	(void)attrs;
	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank < 1 || in->dim[in->rank - 1] == 0)
		return nn_fail(err, NN_EFAIL,
			       "wants a last dimension with at least one value, got %s",
			       nn_shape_text(text, in));
	*out = *in;
	return 0;
}

static int layernorm_params(const void *attrs, const struct nn_shape *in, int n_in,
			    struct nn_op_param out[NN_MAX_PARAMS])
{
	size_t last = in->dim[in->rank - 1];

	(void)attrs;
	(void)n_in;
	out[0] = nn_op_param("weight", NN_NORM, NN_INIT_ONE, nn_shape1(last), last);
	out[1] = nn_op_param("bias", NN_NORM, NN_INIT_ZERO, nn_shape1(last), last);
	return 2;
}

const struct nn_op nn_op_layernorm = {
	.name = "layernorm",
	.attrs_size = sizeof(struct nn_layernorm),
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_NEEDS_X,
	.step = nn_op_each_step,
	.lengths = nn_op_inner_lengths,
	.infer = layernorm_infer,
	.params = layernorm_params,
	.flops = norm_flops,
};
