/* dropout: in training each value is set to zero with probability P, the others are scaled up. */
#include "base/random.h"
#include "model/layer.h"

static const struct nn_layer_arg args[] = { { .name = "P",
					      .type = NN_ARG_REAL,
					      .offset = offsetof(struct nn_dropout, p),
					      .fallback = "0.5",
					      .max = 1,
					      .below = true,
					      .help = "Probability of zero." },
					    { .name = NULL } };

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	struct nn_dropout dropout = *(const struct nn_dropout *)values;

	dropout.stream = NN_STREAM_DROPOUT + 256 * (uint32_t)line->line;
	return nn_expand_op(line, NN_OP_dropout, &dropout, err);
}

const struct nn_layer nn_layer_dropout = {
	.name = "dropout",
	.also = "drop",
	.brief = "In training each value is set to zero with probability P and the others are "
		 "divided by 1-P; in prediction nothing "
		 "happens (torch.nn.Dropout).",
	.args = args,
	.size = sizeof(struct nn_dropout),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
