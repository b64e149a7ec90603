/*
 * conv2d: cross-correlation over C,H,W, as nn.Conv2d; fusion may put an epilogue and a max-pooling
 * behind it.
 */
#include "base/text.h"
#include "op/common.h"
#include "op/notation.h"

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
			       "groups=%zu does not divide the %zu channel%s of input %s",
			       conv->groups, in->dim[0], nn_s(in->dim[0]), nn_shape_text(text, in));
	if (conv->out % conv->groups)
		return nn_fail(err, NN_EFAIL,
			       "groups=%zu does not divide the %zu channel%s of the output",
			       conv->groups, conv->out, nn_s(conv->out));
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
	if (conv->pooling.on) {
		struct nn_shape image = *out;

		return nn_op_infer_pool(&conv->pooling.window, &image, out, err);
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
	out[0] = nn_op_param(
		"weight", NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
		conv->line ? nn_shape3(conv->out, channels, conv->kernel[1])
			   : nn_shape4(conv->out, channels, conv->kernel[0], conv->kernel[1]),
		fan_in);
	out[1] = nn_op_param("bias", NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(conv->out), fan_in);
	return conv->bias ? 2 : 1;
}

static uint64_t conv2d_flops(const void *attrs, const struct nn_shape *in, int n_in,
			     const struct nn_shape *out)
{
	const struct nn_conv2d *conv = attrs;
	size_t taps = in->dim[0] / conv->groups * conv->kernel[0] * conv->kernel[1];
	struct nn_shape image = *out;

	(void)n_in;
	if (conv->pooling.on && convolved(conv, in, &image, NULL))
		return 0;
	return nn_op_count(2, taps, nn_shape_count(&image));
}

/*
 * A pooled output still tells the derivative of an activation: only the largest values have a
 * gradient.
 */
static unsigned conv2d_needs(const void *attrs)
{
	const struct nn_conv2d *conv = attrs;

	return NN_OP_NEEDS_X | (conv->epilogue.activation != NN_ACT_NONE ? NN_OP_NEEDS_Y : 0);
}

/* Pairs of an output and a tap that lie inside the image, along one side. */
static uint64_t taps_inside(const struct nn_conv2d *c, size_t in, int side)
{
	size_t kernel = c->kernel[side], stride = c->stride[side], dilation = c->dilation[side];
	size_t pad = c->pad[side], out = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
	uint64_t n = 0;

	for (size_t k = 0; k < kernel; k++)
		for (size_t o = 0; o < out; o++)
			n += o * stride + k * dilation - pad < in;
	return n;
}

static uint64_t conv2d_flops_inside(const void *attrs, const struct nn_shape *in)
{
	const struct nn_conv2d *conv = attrs;

	return nn_op_count(2 * taps_inside(conv, in->dim[1], 0), taps_inside(conv, in->dim[2], 1),
			   nn_op_count(in->dim[0] / conv->groups, conv->out, 1));
}

static struct nn_op_product conv2d_product(const void *attrs, const struct nn_shape *in)
{
	const struct nn_conv2d *conv = attrs;

	return (struct nn_op_product){ .in = in->dim[0],
				       .out = conv->out,
				       .groups = conv->groups,
				       .taps = conv->kernel[0] * conv->kernel[1] };
}

static void conv2d_narrow(void *attrs, size_t out, size_t groups)
{
	((struct nn_conv2d *)attrs)->out = out;
	((struct nn_conv2d *)attrs)->groups = groups;
}

static void conv2d_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_conv2d *c = attrs;
	size_t groups[2] = { 1, 1 };

	(void)in;
	*c = (struct nn_conv2d){ .stride = { 1, 1 }, .dilation = { 1, 1 }, .bias = true };
	c->out = nn_op_read_size(r);
	nn_op_read_pair(r, c->kernel);
	while (*r->at && !r->wrong)
		if (!nn_op_read_key(r, "stride=", false, c->stride) &&
		    !nn_op_read_key(r, "pad=", true, c->pad) &&
		    !nn_op_read_key(r, "groups=", false, groups))
			r->wrong = true;
	c->groups = groups[0];
}

static void conv2d_write(const void *attrs, struct nn_text *text)
{
	const struct nn_conv2d *c = attrs;

	nn_text_addf(text, ",%zu", c->out);
	nn_op_write_window(text, c->kernel, c->stride, c->pad, 1);
	if (c->groups > 1)
		nn_text_addf(text, ",groups=%zu", c->groups);
}

const struct nn_op nn_op_conv2d = {
	.name = "conv2d",
	.attrs_size = sizeof(struct nn_conv2d),
	.layout = NN_LAYOUT_IMAGE,
	.flags = NN_OP_NEEDS_X,
	.bias = offsetof(struct nn_conv2d, bias),
	.epilogue = offsetof(struct nn_conv2d, epilogue),
	.pooling = offsetof(struct nn_conv2d, pooling),
	.infer = conv2d_infer,
	.params = conv2d_params,
	.flops = conv2d_flops,
	.flops_inside = conv2d_flops_inside,
	.needs = conv2d_needs,
	.product = conv2d_product,
	.narrow = conv2d_narrow,
	.form = "NxCxHxW,OUT,KxK[,stride=S][,pad=P][,groups=G]",
	.read = conv2d_read,
	.write = conv2d_write,
};
