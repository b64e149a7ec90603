/*
 * layernorm: the last dimension of each row is brought to mean 0 and variance 1, then scaled and
 * shifted.
 */
#include "model/layer.h"

static const struct nn_layer_arg args[] = { { .name = "eps",
					      .type = NN_ARG_REAL,
					      .offset = offsetof(struct nn_layernorm, eps),
					      .fallback = "1e-5",
					      .keras = "1e-3",
					      .max = 1,
					      .above = true,
					      .help = "Added to the variance." },
					    { .name = NULL } };

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return nn_expand_op(line, NN_OP_layernorm, values, err);
}

const struct nn_layer nn_layer_layernorm = {
	.name = "layernorm",
	.also = "layer-norm,layernormalization,ln",
	.brief = "The last dimension of each row is brought to mean 0 and variance 1, then scaled "
		 "and shifted (torch.nn.LayerNorm).",
	.more = "Parameters: weight [N], bias [N], N the last dimension.",
	.args = args,
	.size = sizeof(struct nn_layernorm),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
