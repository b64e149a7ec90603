/* All-reduce by recursive halving, neighbours first as the tree adds them, and doubling back. */
#include "comm/comm.h"
#include "comm/steps.h"

struct segment {
	size_t from, to;
};

/*
 * What rank i of a power of two `of` owns when `d` of its steps are done: at each step a pair
 * halves what both have.
 */
static struct segment owned(int i, int d, size_t count)
{
	struct segment s = { 0, count };

	for (int bit = 1; bit < d; bit *= 2) {
		size_t middle = s.from + (s.to - s.from) / 2;

		if (i & bit)
			s.from = middle;
		else
			s.to = middle;
	}
	return s;
}

struct halving {
	struct nn_comm *c;
	const struct nn_reduce *r;
	size_t count, size; /* size of a partial value */
	const char *mine;   /* partial results: where they are read ... */
	char *sum;          /* ... and written; the same after the first step */
	char *other;        /* of a neighbour */
	bool *over;
	struct nn_error *err;
};

/* Ranks first..first+n-1, n a power of two: after it each owns the sum of one segment. */
static int halve(struct halving *h, int first, int n)
{
	int i = h->c->rank - first;

	for (int d = 1; d < n; d *= 2) {
		struct segment keep = owned(i, 2 * d, h->count),
			       give = owned(i ^ d, 2 * d, h->count);
		struct nn_message send = { first + (i ^ d), (char *)h->mine + give.from * h->size,
					   (give.to - give.from) * h->size };
		struct nn_message receive = { first + (i ^ d), h->other,
					      (keep.to - keep.from) * h->size };
		const char *own = h->mine + keep.from * h->size;

		if (nn_comm_exchange(h->c, &send, 1, &receive, 1, h->err) < 0)
			return -1;
		*h->over |= nn_reduce_combine(h->r, i & d ? h->other : own, i & d ? own : h->other,
					      h->sum + keep.from * h->size, keep.to - keep.from);
		h->mine = h->sum;
	}
	return 0;
}

/* The largest power of two that is at most n: the ranks of a subtree that own its sum. */
static int owners(int n)
{
	return n == 1 ? 1 : 2 * nn_left_of(n) == n ? n : nn_left_of(n);
}

static struct segment common(struct segment a, struct segment b)
{
	struct segment s = { a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to };

	return s.from < s.to ? s : (struct segment){ 0, 0 };
}

/*
 * The right part, fewer ranks than the left, has its sum on its owners: each sends to the left
 * owners what they need of it. A left rank adds what comes; a right one is done.
 */
static int join(struct halving *h, const struct nn_step_of_tree *s)
{
	int i = h->c->rank - s->first, right = owners(s->n - s->left);
	bool is_left = i < s->left;
	struct segment mine =
		is_left ? owned(i, s->left, h->count) : owned(i - s->left, right, h->count);

	if (!is_left && i - s->left >= right)
		return 0;
	for (int k = 0; k < (is_left ? right : s->left); k++) {
		struct segment part = common(mine, is_left ? owned(k, right, h->count)
							   : owned(k, s->left, h->count));
		struct nn_message m = { s->first + k, (char *)h->mine + part.from * h->size,
					(part.to - part.from) * h->size };
		const char *own = h->mine + part.from * h->size;

		if (m.bytes == 0)
			continue;
		if (is_left) {
			m.peer += s->left;
			m.data = h->other;
		}
		if (nn_comm_exchange(h->c, &m, !is_left, &m, is_left, h->err) < 0)
			return -1;
		if (is_left)
			*h->over |=
				nn_reduce_combine(h->r, own, h->other, h->sum + part.from * h->size,
						  part.to - part.from);
	}
	if (is_left)
		h->mine = h->sum;
	return 0;
}

/*
 * From the owners 0..n-1, a power of two, back to all: doubling among them, and straight to the
 * ranks behind them.
 */
static int spread(struct halving *h, char *out, int n, size_t size)
{
	struct nn_comm *c = h->c;
	struct segment mine;

	for (int to = n; to < c->size; to++)
		for (int k = 0; k < n; k++) {
			struct segment part = owned(k, n, h->count);
			struct nn_message m = { c->rank == k ? to : k, out + part.from * size,
						(part.to - part.from) * size };

			if ((c->rank == k || c->rank == to) &&
			    nn_comm_exchange(c, &m, c->rank == k, &m, c->rank == to, h->err) < 0)
				return -1;
		}
	if (c->rank >= n)
		return 0;
	for (int d = n / 2; d > 0; d /= 2) {
		struct segment get = owned(c->rank ^ d, 2 * d, h->count);
		struct nn_message send, receive = { c->rank ^ d, out + get.from * size,
						    (get.to - get.from) * size };

		mine = owned(c->rank, 2 * d, h->count);
		send = (struct nn_message){ c->rank ^ d, out + mine.from * size,
					    (mine.to - mine.from) * size };
		if (nn_comm_exchange(c, &send, 1, &receive, 1, h->err) < 0)
			return -1;
	}
	return 0;
}

int nn_allreduce_halving(struct nn_comm *c, const struct nn_reduce *r, const void *in, void *out,
			 size_t count, bool *over, struct nn_error *err)
{
	size_t size = nn_dtype_size(nn_reduce_partial(r->dtype)),
	       wide = (count * size + 63) / 64 * 64, n = (size_t)owners(c->size);
	bool same = nn_reduce_partial(r->dtype) == r->dtype;
	struct halving h = {
		.c = c, .r = r, .count = count, .size = size, .over = over, .err = err
	};
	struct nn_step_of_tree steps[NN_TREE_DEEP];
	struct segment mine = owned(c->rank, (int)n, count);
	int deep = nn_steps_of_tree(c->rank, c->size, steps), low = deep;

	h.other = nn_comm_scratch(c, 2 * wide, err);
	if (!h.other)
		return -1;
	h.sum = same ? out : h.other + wide;
	h.mine = same ? in : h.sum;
	if (!same)
		nn_reduce_begin(r, in, h.sum, count);
	/* the subtrees of a power of two are halved at once, the rest joined one by one */
	while (low > 0 && 2 * steps[low - 1].left == steps[low - 1].n)
		low--;
	if (low < deep && halve(&h, steps[low].first, steps[low].n) < 0)
		return -1;
	while (low-- > 0)
		if (join(&h, &steps[low]) < 0)
			return -1;
	if (c->rank < (int)n)
		nn_reduce_end(r, h.mine + mine.from * size,
			      (char *)out + mine.from * nn_dtype_size(r->dtype),
			      mine.to - mine.from);
	return spread(&h, out, (int)n, nn_dtype_size(r->dtype));
}
