/* The poolings: an image, or a line, reduced by the largest value or the mean of each window. */
#include "model/layer.h"

#define SHAPES_1D "C,L to C,L' with L' = floor((L + 2*pad - K) / stride) + 1"
#define SHAPES "C,H,W to C,H',W' with H' = floor((H + 2*pad - K) / stride) + 1"

static const struct nn_layer_arg args[] = {
	{ .name = "K",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct nn_pool2d, window.kernel),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Height and width of the window, AxB or one number for both." },
	{ .name = "stride",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct nn_pool2d, window.stride),
	  .like = "K",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Steps of the window." },
	{ .name = "pad",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct nn_pool2d, window.pad),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .help = "Rows and columns put on each side." },
	{ .name = NULL }
};

struct line {
	size_t kernel, stride, pad;
};

static const struct nn_layer_arg line_args[] = { { .name = "K",
						   .type = NN_ARG_SIZE,
						   .offset = offsetof(struct line, kernel),
						   .min = 1,
						   .max = NN_ARG_MAX,
						   .help = "Length of the window." },
						 { .name = "stride",
						   .type = NN_ARG_SIZE,
						   .offset = offsetof(struct line, stride),
						   .like = "K",
						   .min = 1,
						   .max = NN_ARG_MAX,
						   .help = "Steps of the window." },
						 { .name = "pad",
						   .type = NN_ARG_SIZE,
						   .offset = offsetof(struct line, pad),
						   .fallback = "0",
						   .max = NN_ARG_MAX,
						   .help = "Positions put on each side." },
						 { .name = NULL } };

static int expand_line(const struct nn_expansion *line, enum nn_op_id op, const struct line *values,
		       struct nn_error *err)
{
	struct nn_pool2d pool = {
		{ { 1, values->kernel }, { 1, values->stride }, { 0, values->pad } }
	};

	return nn_expand_line(line, op, &pool, err);
}

static int expand_max_line(const struct nn_expansion *line, const void *values,
			   struct nn_error *err)
{
	return expand_line(line, NN_OP_maxpool2d, values, err);
}

static int expand_avg_line(const struct nn_expansion *line, const void *values,
			   struct nn_error *err)
{
	return expand_line(line, NN_OP_avgpool2d, values, err);
}

static int expand_max(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return nn_expand_op(line, NN_OP_maxpool2d, values, err);
}

static int expand_avg(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	return nn_expand_op(line, NN_OP_avgpool2d, values, err);
}

static int expand_global(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	(void)values;
	return nn_expand_image(line, NN_OP_global_avgpool, NULL, err);
}

const struct nn_layer nn_layer_maxpool2d = {
	.name = "maxpool2d",
	.also = "maxpool,max-pool,maxpooling,maxpooling2d,max-pooling2d,pool",
	.brief = "The largest value of each window (torch.nn.MaxPool2d).",
	.shapes = SHAPES,
	.more = "Padding never wins.",
	.args = args,
	.size = sizeof(struct nn_pool2d),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_max,
};

const struct nn_layer nn_layer_maxpool1d = {
	.name = "maxpool1d",
	.also = "maxpooling1d,max-pooling1d",
	.brief = "The largest value of each window of a line (torch.nn.MaxPool1d).",
	.shapes = SHAPES_1D,
	.more = "Padding never wins.",
	.args = line_args,
	.size = sizeof(struct line),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_max_line,
};

const struct nn_layer nn_layer_avgpool2d = {
	.name = "avgpool2d",
	.also = "avgpool,avg-pool,averagepooling2d,mean-pool",
	.brief = "The mean of each window (torch.nn.AvgPool2d).",
	.shapes = SHAPES,
	.more = "Padding counts as zeros.",
	.args = args,
	.size = sizeof(struct nn_pool2d),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_avg,
};

const struct nn_layer nn_layer_avgpool1d = {
	.name = "avgpool1d",
	.also = "averagepooling1d",
	.brief = "The mean of each window of a line (torch.nn.AvgPool1d).",
	.shapes = SHAPES_1D,
	.more = "Padding counts as zeros.",
	.args = line_args,
	.size = sizeof(struct line),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_avg_line,
};

const struct nn_layer nn_layer_global_avgpool = {
	.name = "global-avgpool",
	.also = "gap,globalaveragepooling2d,globalaveragepool,adaptiveavgpool2d",
	.brief = "The mean of each channel over the whole image.",
	.shapes = "C,H,W to C, C,L to C",
	.min_in = 1,
	.max_in = 1,
	.expand = expand_global,
};
