/*
 * batchnorm: each channel is brought to mean 0 and variance 1 over a group of rows, then scaled and
 * shifted.
 */
#include "model/layer.h"

static const struct nn_layer_arg args[] = {
	{ .name = "group",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct nn_batchnorm, group),
	  .fallback = "32",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .always = true,
	  .common = true,
	  .help = "Rows of the global batch that are normalized together; all batchnorm lines of a "
		  "model have the same." },
	{ .name = "eps",
	  .type = NN_ARG_REAL,
	  .offset = offsetof(struct nn_batchnorm, eps),
	  .fallback = "1e-5",
	  .keras = "1e-3",
	  .max = 1,
	  .above = true,
	  .help = "Added to the variance." },
	{ .name = "momentum",
	  .type = NN_ARG_REAL,
	  .offset = offsetof(struct nn_batchnorm, momentum),
	  .fallback = "0.1",
	  .max = 1,
	  .help = "Share of a new group in the running mean and variance." },
	{ .name = NULL }
};

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return nn_expand_image(line, NN_OP_batchnorm, values, err);
}

const struct nn_layer nn_layer_batchnorm = {
	.name = "batchnorm",
	.also = "batchnorm1d,batchnorm2d,batch-norm,batchnormalization,batch-normalization,bn",
	.brief = "Each channel (C,H,W or C,L) or feature is brought to mean 0 and variance 1 over "
		 "a group "
		 "of rows, then scaled and "
		 "shifted (torch.nn.BatchNorm2d, BatchNorm1d).",
	.more = "Prediction uses the running mean and variance. A rest of fewer than half a group "
		"joins the group before it; "
		"a batch of at most one group is normalized as a whole, as in PyTorch. Parameters: "
		"weight [C], bias [C]; buffers: "
		"running_mean [C], running_var [C].",
	.args = args,
	.size = sizeof(struct nn_batchnorm),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
