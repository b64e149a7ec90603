/* All-reduce with whole partial results along the tree: few messages, for short arrays. */
#include "comm/comm.h"
#include "comm/steps.h"

/*
 * In a step the left and the right part of a subtree hold their sums on all of their ranks. Left
 * rank i gets the right sum from right rank i modulo their number, right rank i the left one from
 * left rank i; then both add left with right.
 */
static int step(struct nn_comm *c, const struct nn_reduce *r, const struct nn_step_of_tree *s,
		const void *mine, void *other, size_t bytes, void *result, size_t count, bool *over,
		struct nn_error *err)
{
	int i = c->rank - s->first, right = s->n - s->left;
	struct nn_message sends[NN_TREE_WIDE], receive = { .data = other, .bytes = bytes };
	size_t n = 0;

	if (i < s->left) {
		receive.peer = s->first + s->left + i % right;
		if (i < right)
			sends[n++] =
				(struct nn_message){ s->first + s->left + i, (void *)mine, bytes };
		if (nn_comm_exchange(c, sends, n, &receive, 1, err) < 0)
			return -1;
		*over |= nn_reduce_combine(r, mine, other, result, count);
		return 0;
	}
	receive.peer = s->first + i - s->left;
	for (int to = i - s->left; to < s->left; to += right) {
		if (n == NN_TREE_WIDE) {
			if (nn_comm_exchange(c, sends, n, NULL, 0, err) < 0)
				return -1;
			n = 0;
		}
		sends[n++] = (struct nn_message){ s->first + to, (void *)mine, bytes };
	}
	if (nn_comm_exchange(c, sends, n, &receive, 1, err) < 0)
		return -1;
	*over |= nn_reduce_combine(r, other, mine, result, count);
	return 0;
}

int nn_allreduce_tree(struct nn_comm *c, const struct nn_reduce *r, const void *in, void *out,
		      size_t count, bool *over, struct nn_error *err)
{
	size_t wide = count * nn_dtype_size(nn_reduce_partial(r->dtype)),
	       room = (wide + 63) / 64 * 64;
	bool same = nn_reduce_partial(r->dtype) == r->dtype;
	struct nn_step_of_tree steps[NN_TREE_DEEP];
	char *other = nn_comm_scratch(c, 2 * room, err), *sum = out;
	const void *mine = in;

	if (!other)
		return -1;
	if (!same) {
		sum = other + room;
		nn_reduce_begin(r, in, sum, count);
		mine = sum;
	}
	for (int n = nn_steps_of_tree(c->rank, c->size, steps); n-- > 0; mine = sum)
		if (step(c, r, &steps[n], mine, other, wide, sum, count, over, err) < 0)
			return -1;
	nn_reduce_end(r, mine, out, count);
	return 0;
}
