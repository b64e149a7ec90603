/*
 * attention: for each position and head the mean of all values, weighted by the softmax of query
 * times keys over the root of their size, as scaled_dot_product_attention of PyTorch.
 */
#include <string.h>

#include "base/text.h"
#include "op/common.h"
#include "op/notation.h"

static int attention_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	const struct nn_attention *a = attrs;
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank != 2 || in->dim[0] == 0 || in->dim[1] == 0 || in->dim[1] % 3 != 0)
		return nn_fail(err, NN_EFAIL,
			       "wants a sequence of queries, keys and values, Tx3N, got %s",
			       nn_shape_text(text, in));
	if (a->heads == 0 || in->dim[1] / 3 % a->heads != 0)
		return nn_fail(err, NN_EFAIL, "vectors of %zu value%s cannot be cut into %zu heads",
			       in->dim[1] / 3, nn_s(in->dim[1] / 3), a->heads);
	*out = nn_shape2(in->dim[0], in->dim[1] / 3);
	return 0;
}

/* Scores and means, for each position over the positions it attends to. */
static uint64_t attention_flops(const void *attrs, const struct nn_shape *in, int n_in,
				const struct nn_shape *out)
{
	const struct nn_attention *a = attrs;
	size_t t = in->dim[0];

	(void)n_in;
	return nn_op_count(4, a->causal ? t / 2 + 1 : t, nn_shape_count(out));
}

/* ROWSxTx3N,HEADS[,all] */
static void attention_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_attention *a = attrs;
	(void)in;
	a->heads = nn_op_read_size(r);
	a->causal = strcmp(r->at, "all") != 0;
	r->at += a->causal ? 0 : 3;
}

static void attention_write(const void *attrs, struct nn_text *text)
{
	const struct nn_attention *a = attrs;

	nn_text_addf(text, ",%zu%s", a->heads, a->causal ? "" : ",all");
}

static enum nn_stepping attention_step(void *attrs, const struct nn_shape *in)
{
	struct nn_attention *a = attrs;

	a->steps = in->dim[0];
	return a->causal ? NN_STEPS_COUNTED : NN_STEPS_AT_ONCE;
}

/* Steps behind the length attend to none, and none to them. */
static enum nn_lengths attention_lengths(const void *attrs, const struct nn_shape *in)
{
	(void)attrs;
	(void)in;
	return NN_LENGTHS_KEPT;
}

const struct nn_op nn_op_attention = {
	.name = "attention",
	.attrs_size = sizeof(struct nn_attention),
	.layout = NN_LAYOUT_PLAIN,
	.flags = NN_OP_NEEDS_X | NN_OP_HAS_STATE,
	.step = attention_step,
	.lengths = attention_lengths,
	.infer = attention_infer,
	.flops = attention_flops,
	.form = "ROWSxTx3N,HEADS[,all]",
	.read = attention_read,
	.write = attention_write,
};
