/*
 * attention: self-attention of several heads. Three ops, of which the products are dense ones: the
 * input becomes queries, keys and values; the means; the projection of what the heads say.
 */
#include "base/error.h"
#include "model/layer.h"

struct attention {
	size_t heads;
	bool causal, bias;
};

static const struct nn_layer_arg args[] = {
	{ .name = "HEADS",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct attention, heads),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Heads, of N/HEADS values each." },
	{ .name = "causal",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct attention, causal),
	  .fallback = "no",
	  .help = "A position attends to itself and those before it alone, as a model that "
		  "predicts what comes next must." },
	{ .name = "bias",
	  .type = NN_ARG_YESNO,
	  .offset = offsetof(struct attention, bias),
	  .fallback = "yes",
	  .help = "Add learned constants in both projections." },
	{ .name = NULL }
};

/* A dense layer whose initial values are those of torch.nn.MultiheadAttention. */
static int project(const struct nn_expansion *line, int in, const char *infix, size_t out,
		   const struct attention *a, enum nn_init init, struct nn_error *err)
{
	const struct nn_dense dense = { .out = out, .bias = a->bias };
	struct nn_program *p = line->program;
	int value = nn_program_add(p, NN_OP_dense, &dense, &in, 1, line->prefix, line->line, err);

	for (int i = p->n_params - 1 - a->bias; value >= 0 && i < p->n_params; i++) {
		p->params[i].desc.init = p->params[i].desc.role == NN_BIAS ? NN_INIT_ZERO : init;
		if (nn_program_name(p, i, infix, err))
			return -1;
	}
	return value;
}

static int expand(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct attention *a = values;
	const struct nn_attention op = { .heads = a->heads, .causal = a->causal };
	const struct nn_shape *shape = &line->program->values[line->in[0]].shape;
	size_t n = shape->rank == 2 ? shape->dim[1] : 0;
	char text[NN_SHAPE_TEXT];
	int value;

	if (n == 0 || (double)n > NN_ARG_MAX / 3)
		return nn_fail(err, NN_EFAIL, "wants a sequence of vectors, TxN, got %s",
			       nn_shape_text(text, shape));
	value = project(line, line->in[0], "in_proj_", 3 * n, a, NN_INIT_XAVIER_UNIFORM, err);
	if (value >= 0)
		value = nn_program_add(line->program, NN_OP_attention, &op, &value, 1, "",
				       line->line, err);
	return value < 0 ? -1
			 : project(line, value, "out_proj.", n, a, NN_INIT_KAIMING_UNIFORM, err);
}

const struct nn_layer nn_layer_attention = {
	.name = "attention",
	.also = "multihead-attention,multi-head-attention,self-attention,mha,sdpa,transformer",
	.brief = "Self-attention: each position becomes a mean of all, weighted by how well they "
		 "match (torch.nn.MultiheadAttention of one input).",
	.shapes = "T,N to T,N",
	.more = "HEADS has to divide N. Steps of rows of different length attend to those of their "
		"row. With layernorm, dense and add it makes the blocks of a "
		"transformer. Parameters: in_proj_weight [3N,N] and in_proj_bias "
		"[3N] of queries, keys and values, out_proj.weight [N,N], out_proj.bias [N]. Their "
		"initial values are those of PyTorch's layer.",
	.args = args,
	.size = sizeof(struct attention),
	.min_in = 1,
	.max_in = 1,
	.expand = expand,
};
