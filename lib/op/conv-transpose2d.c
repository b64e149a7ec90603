/*
 * conv-transpose2d: the input gradient of a convolution as an op of its own, as nn.ConvTranspose2d;
 * its weight is that convolution's.
 */
#include "op/common.h"
#include "op/notation.h"

struct nn_conv2d nn_op_mirrored(const struct nn_conv_transpose2d *attrs, size_t channels)
{
	struct nn_conv2d conv = { .out = channels, .groups = attrs->groups };

	for (int i = 0; i < 2; i++) {
		conv.kernel[i] = attrs->kernel[i];
		conv.stride[i] = attrs->stride[i];
		conv.pad[i] = attrs->pad[i];
		conv.dilation[i] = attrs->dilation[i];
	}
	return conv;
}

/* (in - 1) * stride - 2 * pad + dilation * (kernel - 1) + more + 1 */
static int side(const struct nn_conv_transpose2d *conv, const struct nn_shape *in, int i,
		size_t *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];
	size_t reach;

	if (conv->kernel[i] == 0 || conv->stride[i] == 0 || conv->dilation[i] == 0 ||
	    in->dim[1 + i] == 0)
		return nn_fail(err, NN_EFAIL,
			       "kernel, stride, dilation and input must be at least 1");
	if (conv->more[i] >= conv->stride[i])
		return nn_fail(err, NN_EFAIL, "out-pad=%zux%zu is not less than stride=%zux%zu",
			       conv->more[0], conv->more[1], conv->stride[0], conv->stride[1]);
	if (!nn_mul(in->dim[1 + i] - 1, conv->stride[i], out) ||
	    !nn_mul(conv->kernel[i] - 1, conv->dilation[i], &reach) || !nn_add(*out, reach, out) ||
	    !nn_add(*out, conv->more[i] + 1, out))
		return nn_fail(err, NN_EFAIL, "the output of input %s is larger than memory can be",
			       nn_shape_text(text, in));
	if (conv->pad[i] > SIZE_MAX / 2 || 2 * conv->pad[i] >= *out)
		return nn_fail(err, NN_EFAIL, "pad=%zux%zu leaves nothing of input %s",
			       conv->pad[0], conv->pad[1], nn_shape_text(text, in));
	*out -= 2 * conv->pad[i];
	return 0;
}

static int conv_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err)
{
	const struct nn_conv_transpose2d *conv = attrs;
	char text[NN_SHAPE_TEXT];
	size_t size[2];

	if (nn_op_one_image(in, n_in - conv->epilogue.residual, err))
		return -1;
	if (conv->out == 0 || in->dim[0] == 0)
		return nn_fail(err, NN_EFAIL,
			       "input and output must have at least one channel, got %zu and %zu",
			       in->dim[0], conv->out);
	if (conv->groups == 0 || in->dim[0] % conv->groups || conv->out % conv->groups)
		return nn_fail(err, NN_EFAIL,
			       "groups=%zu does not divide the channels of input %s and the %zu of "
			       "the output",
			       conv->groups, nn_shape_text(text, in), conv->out);
	if (side(conv, in, 0, &size[0], err) || side(conv, in, 1, &size[1], err))
		return -1;
	*out = nn_shape3(conv->out, size[0], size[1]);
	return nn_op_check_size(out, err);
}

static int conv_params(const void *attrs, const struct nn_shape *in, int n_in,
		       struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_conv_transpose2d *conv = attrs;
	size_t channels = conv->out / conv->groups,
	       fan_in = channels * conv->kernel[0] * conv->kernel[1];

	(void)n_in;
	out[0] = nn_op_param("weight", NN_WEIGHT, NN_INIT_KAIMING_UNIFORM,
			     nn_shape4(in->dim[0], channels, conv->kernel[0], conv->kernel[1]),
			     fan_in);
	out[1] = nn_op_param("bias", NN_BIAS, NN_INIT_BIAS_UNIFORM, nn_shape1(conv->out), fan_in);
	return conv->bias ? 2 : 1;
}

static uint64_t conv_flops(const void *attrs, const struct nn_shape *in, int n_in,
			   const struct nn_shape *out)
{
	const struct nn_conv_transpose2d *conv = attrs;

	(void)n_in;
	(void)out;
	return nn_op_count(2 * nn_shape_count(in), conv->out / conv->groups,
			   nn_op_count(conv->kernel[0], conv->kernel[1], 1));
}

static uint64_t conv_flops_inside(const void *attrs, const struct nn_shape *in)
{
	struct nn_conv2d conv = nn_op_mirrored(attrs, in->dim[0]);
	struct nn_shape out;

	if (conv_infer(attrs, in,
		       1 + ((const struct nn_conv_transpose2d *)attrs)->epilogue.residual, &out,
		       NULL))
		return 0;
	return nn_ops[NN_OP_conv2d]->flops_inside(&conv, &out);
}

static unsigned conv_needs(const void *attrs)
{
	const struct nn_conv_transpose2d *conv = attrs;

	return NN_OP_NEEDS_X | (conv->epilogue.activation != NN_ACT_NONE ? NN_OP_NEEDS_Y : 0);
}

static struct nn_op_product conv_product(const void *attrs, const struct nn_shape *in)
{
	const struct nn_conv_transpose2d *conv = attrs;

	return (struct nn_op_product){ .in = in->dim[0],
				       .out = conv->out,
				       .groups = conv->groups,
				       .taps = conv->kernel[0] * conv->kernel[1] };
}

static void conv_narrow(void *attrs, size_t out, size_t groups)
{
	((struct nn_conv_transpose2d *)attrs)->out = out;
	((struct nn_conv_transpose2d *)attrs)->groups = groups;
}

static void conv_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_conv_transpose2d *c = attrs;
	size_t groups[2] = { 1, 1 };

	(void)in;
	*c = (struct nn_conv_transpose2d){ .stride = { 1, 1 }, .dilation = { 1, 1 }, .bias = true };
	c->out = nn_op_read_size(r);
	nn_op_read_pair(r, c->kernel);
	while (*r->at && !r->wrong)
		if (!nn_op_read_key(r, "stride=", false, c->stride) &&
		    !nn_op_read_key(r, "pad=", true, c->pad) &&
		    !nn_op_read_key(r, "out-pad=", true, c->more) &&
		    !nn_op_read_key(r, "groups=", false, groups))
			r->wrong = true;
	c->groups = groups[0];
}

static void conv_write(const void *attrs, struct nn_text *text)
{
	const struct nn_conv_transpose2d *c = attrs;

	nn_text_addf(text, ",%zu", c->out);
	nn_op_write_window(text, c->kernel, c->stride, c->pad, 1);
	if (c->more[0] > 0)
		nn_text_addf(text, ",out-pad=%zu", c->more[0]);
	if (c->groups > 1)
		nn_text_addf(text, ",groups=%zu", c->groups);
}

const struct nn_op nn_op_conv_transpose2d = {
	.name = "conv-transpose2d",
	.attrs_size = sizeof(struct nn_conv_transpose2d),
	.layout = NN_LAYOUT_IMAGE,
	.flags = NN_OP_NEEDS_X | NN_OP_WHOLE,
	.epilogue = offsetof(struct nn_conv_transpose2d, epilogue),
	.infer = conv_infer,
	.params = conv_params,
	.flops = conv_flops,
	.flops_inside = conv_flops_inside,
	.needs = conv_needs,
	.product = conv_product,
	.narrow = conv_narrow,
	.form = "NxCxHxW,OUT,KxK[,stride=S][,pad=P][,out-pad=P][,groups=G]",
	.read = conv_read,
	.write = conv_write,
};
