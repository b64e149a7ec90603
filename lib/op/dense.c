/* dense: y = x W^T + b over the last dimension, as nn.Linear. */
#include "op/common.h"
#include "op/notation.h"

static int dense_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		       struct nn_error *err)
{
	const struct nn_dense *dense = attrs;

	if (nn_op_one_input(n_in - dense->epilogue.residual, err))
		return -1;
	if (in->rank < 1)
		return nn_fail(err, NN_EFAIL,
			       "wants an input with at least one dimension, got a scalar");
	if (dense->out == 0 || in->dim[in->rank - 1] == 0)
		return nn_fail(err, NN_EFAIL,
			       "input and output must have at least one value, got %zu and %zu",
			       in->dim[in->rank - 1], dense->out);
	*out = *in;
	out->dim[out->rank - 1] = dense->out;
	return nn_op_check_size(out, err);
}

static int dense_params(const void *attrs, const struct nn_shape *in, int n_in,
			struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_dense *dense = attrs;
	size_t fan_in = in->dim[in->rank - 1];

	(void)n_in;
	out[0] = nn_op_param("weight", NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
			     nn_shape2(dense->out, fan_in), fan_in);
	out[1] = nn_op_param("bias", NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(dense->out), fan_in);
	return dense->bias ? 2 : 1;
}

static uint64_t dense_flops(const void *attrs, const struct nn_shape *in, int n_in,
			    const struct nn_shape *out)
{
	(void)attrs;
	(void)n_in;
	return nn_op_count(2, in->dim[in->rank - 1], nn_shape_count(out));
}

static unsigned dense_needs(const void *attrs)
{
	const struct nn_dense *dense = attrs;

	return NN_OP_NEEDS_X | (dense->epilogue.activation != NN_ACT_NONE ? NN_OP_NEEDS_Y : 0);
}

static struct nn_op_product dense_product(const void *attrs, const struct nn_shape *in)
{
	const struct nn_dense *dense = attrs;

	return (struct nn_op_product){ .in = in->dim[in->rank - 1],
				       .out = dense->out,
				       .groups = 1,
				       .taps = 1,
				       .channels = dense->channels,
				       .positions = dense->positions };
}

static void dense_narrow(void *attrs, size_t out, size_t groups)
{
	(void)groups;
	((struct nn_dense *)attrs)->out = out;
}

static void dense_flattened(void *attrs, size_t channels, size_t positions)
{
	((struct nn_dense *)attrs)->channels = channels;
	((struct nn_dense *)attrs)->positions = positions;
}

/* ROWSxINxOUT */
static void dense_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	if (in->rank < 2)
		r->wrong = true;
	else
		((struct nn_dense *)attrs)->out = in->dim[--in->rank];
}

static void dense_write(const void *attrs, struct nn_text *text)
{
	nn_text_addf(text, "x%zu", ((const struct nn_dense *)attrs)->out);
}

const struct nn_op nn_op_dense = {
	.name = "dense",
	.attrs_size = sizeof(struct nn_dense),
	.layout = NN_LAYOUT_DENSE,
	.flags = NN_OP_NEEDS_X,
	.bias = offsetof(struct nn_dense, bias),
	.epilogue = offsetof(struct nn_dense, epilogue),
	.step = nn_op_each_step,
	.lengths = nn_op_inner_lengths,
	.infer = dense_infer,
	.params = dense_params,
	.flops = dense_flops,
	.needs = dense_needs,
	.product = dense_product,
	.narrow = dense_narrow,
	.flattened = dense_flattened,
	.form = "ROWSxINxOUT",
	.read = dense_read,
	.write = dense_write,
};
