/* dense: every output is a weighted sum of all inputs, over the last dimension. */
#include "model/layer.h"
#include "model/initial.h"

struct dense {
	struct nn_dense op;
	int init;
};

static const struct nn_layer_arg args[] = { { .name = "OUT",
					      .type = NN_ARG_SIZE,
					      .offset = offsetof(struct dense, op.out),
					      .min = 1,
					      .max = NN_ARG_MAX,
					      .open = true,
					      .help = "Outputs." },
					    { .name = "bias",
					      .type = NN_ARG_YESNO,
					      .offset = offsetof(struct dense, op.bias),
					      .fallback = "yes",
					      .help = "Add a learned constant to each output." },
					    NN_ARG_INIT(offsetof(struct dense, init)),
					    { .name = NULL } };

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct dense *dense = values;

	return nn_expand_op(line, NN_OP_dense, &dense->op, err);
}

const struct nn_layer nn_layer_dense = {
	.name = "dense",
	.also = "linear,fc,fully-connected,inner-product,affine,gemm",
	.brief = "Every output is a weighted sum of all inputs (torch.nn.Linear).",
	.shapes = "N to OUT; in general ...,N to ...,OUT",
	.more = "It works on the last dimension. Parameters: weight [OUT,N], bias [OUT].",
	.args = args,
	.size = sizeof(struct dense),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
