/* position: a learned vector for each place of a sequence, added to what stands there. */
#include "model/layer.h"
#include "model/initial.h"

struct position {
	int init;
};

static const struct nn_layer_arg args[] = { NN_ARG_INIT(offsetof(struct position, init)),
					    { .name = NULL } };

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct nn_position attrs = { 0 };

	(void)values;
	return nn_expand_op(line, NN_OP_position, &attrs, err);
}

const struct nn_layer nn_layer_position = {
	.name = "position",
	.also = "positional-encoding,positional-embedding,pos-emb,wpe",
	.brief = "A learned vector for each place of a sequence is added to what stands there.",
	.more = "Its input is T,N. Parameter: weight [T,N], as that of a torch.nn.Embedding(T, N) "
		"of "
		"the places.",
	.args = args,
	.size = sizeof(struct position),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
