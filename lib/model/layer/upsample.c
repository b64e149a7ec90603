/* upsample: an image made larger by whole numbers. */
#include "base/error.h"
#include "model/layer.h"

struct upsample {
	size_t scale[2];
	int mode;
	bool corners;
};

static const char *const modes[] = { "nearest", "bilinear", NULL };

static const struct nn_layer_arg args[] = {
	{ .name = "K",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct upsample, scale),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "How often each row and column, AxB or one number for both." },
	{ .name = "mode",
	  .type = NN_ARG_CHOICE,
	  .offset = offsetof(struct upsample, mode),
	  .fallback = "nearest",
	  .choices = modes,
	  .help = "Pixels as they are, or a mean of the four nearest." },
	{ .name = "align-corners",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct upsample, corners),
	  .fallback = "no",
	  .help = "Of bilinear: the outermost pixels keep their values." },
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct upsample *upsample = values;
	struct nn_upsample up = { .scale = { upsample->scale[0], upsample->scale[1] },
				  .bilinear = upsample->mode == 1,
				  .corners = upsample->corners };

	if (up.corners && !up.bilinear)
		return nn_fail(err, NN_EFAIL, "align-corners= goes with mode=bilinear");
	if (line->program->values[line->in[0]].shape.rank == 2) /* a line has no height */
		up.scale[0] = 1;
	if (up.scale[0] == 1 && up.scale[1] == 1)
		return line->in[0];
	return nn_expand_image(line, NN_OP_upsample, &up, err);
}

const struct nn_layer nn_layer_upsample = {
	.name = "upsample",
	.also = "upsampling2d,upsampling1d,resize,interpolate",
	.brief = "An image made larger by whole numbers (torch.nn.Upsample).",
	.shapes = "C,H,W to C,H*K,W*K, C,L to C,L*K",
	.args = args,
	.size = sizeof(struct upsample),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
