/* conv1d: conv2d over a line of positions, which is an image of height 1. */
#include "model/layer.h"
#include "model/initial.h"

struct conv1d {
	size_t out, kernel, stride, pad, dilation, groups;
	bool bias;
	int init;
};

static const struct nn_layer_arg args[] = {
	{ .name = "OUT",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, out),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .open = true,
	  .help = "Output channels." },
	{ .name = "K",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, kernel),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Length of the window." },
	{ .name = "stride",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, stride),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Steps of the window." },
	{ .name = "pad",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, pad),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .help = "Zeros put on each side." },
	{ .name = "dilation",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, dilation),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Distance of the positions that the window sees." },
	{ .name = "groups",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct conv1d, groups),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Cut the channels into groups that do not see each other." },
	{ .name = "bias",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct conv1d, bias),
	  .fallback = "yes",
	  .help = "Add a learned constant to each channel." },
	NN_ARG_INIT(offsetof(struct conv1d, init)),
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct conv1d *conv1d = values;
	struct nn_conv2d conv = { .out = conv1d->out,
				  .kernel = { 1, conv1d->kernel },
				  .stride = { 1, conv1d->stride },
				  .pad = { 0, conv1d->pad },
				  .dilation = { 1, conv1d->dilation },
				  .groups = conv1d->groups,
				  .bias = conv1d->bias,
				  .line = true };

	return nn_expand_line(line, NN_OP_conv2d, &conv, err);
}

const struct nn_layer nn_layer_conv1d = {
	.name = "conv1d",
	.also = "convolution1d,conv1",
	.brief =
		"A window slides over a line of positions (sound, text, a series of measurements); "
		"every output channel is a weighted sum of what it sees (torch.nn.Conv1d).",
	.shapes = "C,L to OUT,L' with L' = floor((L + 2*pad - dilation*(K-1) - 1) / stride) + 1",
	.more = "Parameters: weight [OUT,C/groups,K], bias [OUT].",
	.args = args,
	.size = sizeof(struct conv1d),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
