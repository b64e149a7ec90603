/* conv2d: cross-correlation over C,H,W, as nn.Conv2d; fusion may put an epilogue and a max-pooling
 * behind it. */
#include "op/common.h"

static int check_channels(const struct nn_conv2d *conv, const struct nn_shape *in,
			  struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	if (conv->out == 0 || in->dim[0] == 0)
		return nn_fail(err, NN_EFAIL,
			       "input and output must have at least one channel, got %zu and %zu",
			       in->dim[0], conv->out);
	if (conv->groups == 0 || in->dim[0] % conv->groups)
		return nn_fail(err, NN_EFAIL,
			       "groups=%zu does not divide the %zu channels of input %s",
			       conv->groups, in->dim[0], nn_shape_text(text, in));
	if (conv->out % conv->groups)
		return nn_fail(err, NN_EFAIL,
			       "groups=%zu does not divide the %zu channels of the output",
			       conv->groups, conv->out);
	return 0;
}

/* The output before a fused pooling. */
static int convolved(const struct nn_conv2d *conv, const struct nn_shape *in, struct nn_shape *out,
		     struct nn_error *err)
{
	struct nn_slide slide = { "kernel", conv->kernel, conv->stride, conv->pad, conv->dilation };
	size_t size[2];

	if (nn_slide_infer(&slide, in, size, err))
		return -1;
	*out = nn_shape3(conv->out, size[0], size[1]);
	return nn_op_check_size(out, err);
}

static int conv2d_infer(const void *attrs, const struct nn_shape *in, int n_in,
			struct nn_shape *out, struct nn_error *err)
{
	const struct nn_conv2d *conv = attrs;

	if (nn_op_one_image(in, n_in - conv->epilogue.residual, err) ||
	    check_channels(conv, in, err) || convolved(conv, in, out, err))
		return -1;
	if (conv->pooled) {
		struct nn_shape image = *out;

		return nn_op_infer_pool(&conv->pool, &image, out, err);
	}
	return 0;
}

static int conv2d_params(const void *attrs, const struct nn_shape *in, int n_in,
			 struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_conv2d *conv = attrs;
	size_t channels = in->dim[0] / conv->groups;
	size_t fan_in = channels * conv->kernel[0] * conv->kernel[1];

	(void)n_in;
	out[0] = (struct nn_op_param){
		"weight", NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
		nn_shape4(conv->out, channels, conv->kernel[0], conv->kernel[1]), fan_in
	};
	out[1] = (struct nn_op_param){ "bias", NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(conv->out),
				       fan_in };
	return conv->bias ? 2 : 1;
}

static uint64_t conv2d_flops(const void *attrs, const struct nn_shape *in, int n_in,
			     const struct nn_shape *out)
{
	const struct nn_conv2d *conv = attrs;
	size_t taps = in->dim[0] / conv->groups * conv->kernel[0] * conv->kernel[1];
	struct nn_shape image = *out;

	(void)n_in;
	if (conv->pooled && convolved(conv, in, &image, NULL))
		return 0;
	return nn_op_count(2, taps, nn_shape_count(&image));
}

/* A pooled output still tells the derivative of an activation: only the largest values have a
 * gradient. */
static unsigned conv2d_needs(const void *attrs)
{
	const struct nn_conv2d *conv = attrs;

	return NN_OP_NEEDS_X | (conv->epilogue.activation != NN_ACT_NONE ? NN_OP_NEEDS_Y : 0);
}

const struct nn_op nn_op_conv2d = {
	.name = "conv2d",
	.attrs_size = sizeof(struct nn_conv2d),
	.layout = NN_LAYOUT_IMAGE,
	.flags = NN_OP_NEEDS_X,
	.infer = conv2d_infer,
	.params = conv2d_params,
	.flops = conv2d_flops,
	.needs = conv2d_needs,
};
