/*
 * softmax and log-softmax: values that add up to 1, over the channels of an image or the last
 * dimension.
 */
#include "model/layer.h"

#define MORE \
	"Over the channels of C,H,W, else over the last dimension. A classifier needs none at " \
	"its end: the loss applies it " \
	"in training, --emit=probs in prediction."

static int expand_softmax(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	struct nn_softmax attrs = { .log = false };

	(void)values;
	return nn_expand_op(line, NN_OP_softmax, &attrs, err);
}

static int expand_log_softmax(const struct nn_expansion *line, const void *values,
			      struct nn_error *err)
{
	struct nn_softmax attrs = { .log = true };

	(void)values;
	return nn_expand_op(line, NN_OP_softmax, &attrs, err);
}

const struct nn_layer nn_layer_softmax = {
	.name = "softmax",
	.brief = "exp(x) divided by its sum (torch.nn.Softmax).",
	.more = MORE,
	.min_in = 1,
	.max_in = 1,
	.expand = expand_softmax,
};

const struct nn_layer nn_layer_log_softmax = {
	.name = "log-softmax",
	.also = "logsoftmax",
	.brief = "The logarithm of softmax (torch.nn.LogSoftmax).",
	.more = MORE,
	.min_in = 1,
	.max_in = 1,
	.expand = expand_log_softmax,
};
