/*
 * conv2d: a small window slides over an image; every output channel is a weighted sum of what it
 * sees.
 */
#include "model/layer.h"
#include "model/initial.h"

struct conv2d {
	struct nn_conv2d op;
	int init;
};

static const struct nn_layer_arg args[] = {
	{ .name = "OUT",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv2d, op.out),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .open = true,
	  .help = "Output channels." },
	{ .name = "KxK",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv2d, op.kernel),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .cross = true,
	  .help = "Height and width of the window; one number stands for both." },
	{ .name = "stride",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv2d, op.stride),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Steps of the window." },
	{ .name = "pad",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv2d, op.pad),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .help = "Rows and columns of zeros put on each side." },
	{ .name = "dilation",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv2d, op.dilation),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Distance of the pixels that the window sees." },
	{ .name = "groups",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv2d, op.groups),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Cut the channels into groups that do not see each other; as many as channels is "
		  "a depthwise convolution." },
	{ .name = "bias",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct conv2d, op.bias),
	  .fallback = "yes",
	  .help = "Add a learned constant to each channel." },
	NN_ARG_INIT(offsetof(struct conv2d, init)),
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct conv2d *conv2d = values;

	return nn_expand_op(line, NN_OP_conv2d, &conv2d->op, err);
}

const struct nn_layer nn_layer_conv2d = {
	.name = "conv2d",
	.also = "conv,convolution,convolution2d,conv2",
	.brief = "A window slides over the image; every output channel is a weighted sum of what "
		 "it sees (torch.nn.Conv2d).",
	.shapes =
		"C,H,W to OUT,H',W' with H' = floor((H + 2*pad - dilation*(K-1) - 1) / stride) + 1",
	.more = "Parameters: weight [OUT,C/groups,KH,KW], bias [OUT].",
	.args = args,
	.size = sizeof(struct conv2d),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
