/* conv-transpose2d: a convolution the other way round, which makes images larger. */
#include "model/layer.h"
#include "model/initial.h"

struct conv_transpose2d {
	struct nn_conv_transpose2d op;
	int init;
};

static const struct nn_layer_arg args[] = {
	{ .name = "OUT",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv_transpose2d, op.out),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .open = true,
	  .help = "Output channels." },
	{ .name = "KxK",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv_transpose2d, op.kernel),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .cross = true,
	  .help = "Height and width of what each pixel becomes; one number stands for both." },
	{ .name = "stride",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv_transpose2d, op.stride),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Distance of two pixels of the input in the output." },
	{ .name = "pad",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv_transpose2d, op.pad),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .help = "Rows and columns cut off on each side." },
	{ .name = "out-pad",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv_transpose2d, op.more),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .help = "Rows below and columns to the right that the output has more; fewer than "
		  "stride." },
	{ .name = "dilation",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct conv_transpose2d, op.dilation),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Distance of the pixels that one becomes." },
	{ .name = "groups",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv_transpose2d, op.groups),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Cut the channels into groups that do not see each other." },
	{ .name = "bias",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct conv_transpose2d, op.bias),
	  .fallback = "yes",
	  .help = "Add a learned constant to each channel." },
	NN_ARG_INIT(offsetof(struct conv_transpose2d, init)),
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct conv_transpose2d *conv = values;

	return nn_expand_op(line, NN_OP_conv_transpose2d, &conv->op, err);
}

const struct nn_layer nn_layer_conv_transpose2d = {
	.name = "conv-transpose2d",
	.also = "convtranspose2d,convtranspose,conv2dtranspose,deconv,deconv2d,deconvolution,"
		"upconv",
	.brief = "Each pixel becomes a window of weights, and windows that overlap are added: the "
		 "input gradient of conv2d (torch.nn.ConvTranspose2d).",
	.shapes = "C,H,W to OUT,H',W' with H' = (H - 1)*stride - 2*pad + dilation*(K-1) + out-pad "
		  "+ 1",
	.more = "2x2 stride=2 doubles an image. Parameters: weight [C,OUT/groups,KH,KW], bias "
		"[OUT].",
	.args = args,
	.size = sizeof(struct conv_transpose2d),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
