/* Layers that bring branches together. */
#include "model/layer.h"

static const struct nn_layer_arg concat_args[] = {
	{ .name = "dim",
	  .type = NN_ARG_INDEX,
	  .offset = offsetof(struct nn_concat, dim),
	  .fallback = "0",
	  .max = NN_MAX_RANK - 1,
	  .help = "The dimension, counted without the rows; 0 are the channels." },
	{ .name = NULL }
};

static int expand_concat(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return nn_expand_op(line, NN_OP_concat, values, err);
}

static int expand_add(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	(void)values;
	return nn_expand_op(line, NN_OP_add, NULL, err);
}

static int expand_mul(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	(void)values;
	return nn_expand_op(line, NN_OP_mul, NULL, err);
}

const struct nn_layer nn_layer_concat = {
	.name = "concat",
	.also = "cat,concatenate",
	.brief = "The inputs one after the other along a dimension (torch.cat).",
	.shapes = "A,H,W and B,H,W to A+B,H,W",
	.more = "All other dimensions must agree.",
	.args = concat_args,
	.size = sizeof(struct nn_concat),
	.min_in = 2,
	.expand = expand_concat,
};

const struct nn_layer nn_layer_add = {
	.name = "add",
	.also = "residual,sum",
	.brief = "The sum of the inputs, value by value, from left to right.",
	.more = "All inputs have the same shape.",
	.min_in = 2,
	.expand = expand_add,
};

const struct nn_layer nn_layer_mul = {
	.name = "mul",
	.also = "multiply",
	.brief = "The product of the inputs, value by value, from left to right.",
	.more = "All inputs have the same shape.",
	.min_in = 2,
	.expand = expand_mul,
};
