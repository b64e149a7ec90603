/*
 * embedding: rows of a table by their numbers, as nn.Embedding; added up, as nn.EmbeddingBag.
 *
 * Values begin uniform within sqrt(3): mean and variance of PyTorch's normal ones.
 */
#include "op/common.h"
#include "op/notation.h"

static int embedding_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	const struct nn_embedding *e = attrs;

	if (nn_op_one_input(n_in, err))
		return -1;
	if (e->sum && in->rank < 1)
		return nn_fail(
			err, NN_EFAIL,
			"wants an input with at least one dimension to add over, got a scalar");
	if (!e->sum && in->rank >= NN_MAX_RANK)
		return nn_fail(err, NN_EFAIL, "the output would have more than %d dimensions",
			       NN_MAX_RANK);
	if (e->rows == 0 || e->size == 0 || e->rows > NN_MOST_ROWS)
		return nn_fail(
			err, NN_EFAIL,
			"the table must have 1 to %zu rows of at least one value, got %zu of %zu",
			NN_MOST_ROWS, e->rows, e->size);
	if (e->padding != NN_NO_ROW && e->padding >= e->rows)
		return nn_fail(err, NN_EFAIL,
			       "padding=%zu is not a row of the table, which has 0 to %zu",
			       e->padding, e->rows - 1);
	*out = *in;
	if (!e->sum)
		out->rank++;
	out->dim[out->rank - 1] = e->size;
	return nn_op_check_size(out, err);
}

static int embedding_params(const void *attrs, const struct nn_shape *in, int n_in,
			    struct nn_op_param out[NN_MAX_PARAMS])
{
	const struct nn_embedding *e = attrs;

	(void)in;
	(void)n_in;
	out[0] = (struct nn_op_param){ .name = "weight",
				       .role = NN_ROW_TABLE,
				       .init = NN_INIT_UNIT,
				       .shape = nn_shape2(e->rows, e->size),
				       .fan_in = e->size,
				       .padding = e->padding,
				       .lazy = e->lazy };
	return 1;
}

/* Copies are not arithmetic; sums are one addition a value. */
static uint64_t embedding_flops(const void *attrs, const struct nn_shape *in, int n_in,
				const struct nn_shape *out)
{
	const struct nn_embedding *e = attrs;

	(void)n_in;
	(void)out;
	return e->sum ? nn_op_count(1, nn_shape_count(in), e->size) : 0;
}

static void embedding_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_embedding *e = attrs;
	size_t sizes[2] = { 1, 1 };

	(void)in;
	nn_op_read_pair(r, sizes);
	e->rows = sizes[0];
	e->size = sizes[1];
}

static void embedding_write(const void *attrs, struct nn_text *text)
{
	const struct nn_embedding *e = attrs;

	nn_text_addf(text, ",%zux%zu", e->rows, e->size);
}

static enum nn_stepping embedding_step(void *attrs, const struct nn_shape *in)
{
	return ((const struct nn_embedding *)attrs)->sum || in->rank != 1 ? NN_STEPS_AT_ONCE
									  : NN_STEPS_ANY;
}

/* A sum over steps is one of them all. */
static enum nn_lengths embedding_lengths(const void *attrs, const struct nn_shape *in)
{
	return ((const struct nn_embedding *)attrs)->sum ? nn_op_inner_lengths(NULL, in)
							 : NN_LENGTHS_KEPT;
}

const struct nn_op nn_op_embedding = {
	.name = "embedding",
	.attrs_size = sizeof(struct nn_embedding),
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_NEEDS_X | NN_OP_NUMBERS_ROWS,
	.step = embedding_step,
	.lengths = embedding_lengths,
	.infer = embedding_infer,
	.params = embedding_params,
	.flops = embedding_flops,
	.form = "ROWSxN,ROWS-OF-THE-TABLExSIZE",
	.read = embedding_read,
	.write = embedding_write,
};
