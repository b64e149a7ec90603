/* Layers that compute nothing: the same values, at most in another shape or order. */
#include "model/layer.h"

static const struct nn_layer_arg reshape_args[] = {
	{ .name = "AxBxC",
	  .type = NN_ARG_SHAPE,
	  .offset = offsetof(struct nn_reshape, shape),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "The new shape, without the rows; 1 to 8 dimensions." },
	{ .name = NULL }
};

/* The same shape: no op at all. */
static int expand_reshape(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct nn_reshape *reshape = values;

	if (nn_shape_equal(&reshape->shape, &line->program->values[line->in[0]].shape))
		return line->in[0];
	return nn_expand_op(line, NN_OP_reshape, reshape, err);
}

static int expand_flatten(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	struct nn_reshape reshape = { .shape = nn_shape1(nn_shape_count(
					      &line->program->values[line->in[0]].shape)) };

	(void)values;
	return expand_reshape(line, &reshape, err);
}

static const struct nn_layer_arg transpose_args[] = {
	{ .name = "A",
	  .type = NN_ARG_INDEX,
	  .offset = offsetof(struct nn_transpose, dims[0]),
	  .fallback = "0",
	  .max = NN_MAX_RANK - 1,
	  .always = true,
	  .help = "A dimension, counted without the rows." },
	{ .name = "B",
	  .type = NN_ARG_INDEX,
	  .offset = offsetof(struct nn_transpose, dims[1]),
	  .fallback = "1",
	  .max = NN_MAX_RANK - 1,
	  .always = true,
	  .help = "The other dimension." },
	{ .name = NULL }
};

static int expand_transpose(const struct nn_expansion *line, const void *values,
			    struct nn_error *err)
{
	return nn_expand_op(line, NN_OP_transpose, values, err);
}

static int expand_identity(const struct nn_expansion *line, const void *values,
			   struct nn_error *err)
{
	(void)values;
	(void)err;
	return line->in[0];
}

const struct nn_layer nn_layer_flatten = {
	.name = "flatten",
	.also = "flat",
	.brief = "The sample as a vector (torch.nn.Flatten).",
	.shapes = "C,H,W to C*H*W",
	.more = "Channel by channel, row by row, as PyTorch orders it.",
	.min_in = 1,
	.max_in = 1,
	.expand = expand_flatten,
};

const struct nn_layer nn_layer_reshape = {
	.name = "reshape",
	.also = "view,unflatten",
	.brief = "The same values in another shape (torch.nn.Unflatten).",
	.shapes = "any to A,B,C",
	.args = reshape_args,
	.size = sizeof(struct nn_reshape),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_reshape,
};

const struct nn_layer nn_layer_transpose = {
	.name = "transpose",
	.also = "permute,swapaxes,swap",
	.brief = "Two dimensions change places (torch.transpose).",
	.shapes = "A,B to B,A",
	.more = "transpose 1 2 of C,H,W is C,W,H.",
	.args = transpose_args,
	.size = sizeof(struct nn_transpose),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_transpose,
};

const struct nn_layer nn_layer_identity = {
	.name = "identity",
	.brief = "The input as it is: a place to give a name to (torch.nn.Identity).",
	.min_in = 1,
	.max_in = 1,
	.expand = expand_identity,
};
