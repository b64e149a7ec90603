/*
 * Entries of a table's gradient summed by row: sorted by row, in which they keep their order, then
 * each row on its own.
 *
 * The sums are the bytes of a dense gradient, since chains begin at +0 and a row that is not
 * listed adds nothing.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

#define NN_DIGIT 8   /* bits of a pass of the sort */
#define NN_LEVELS 34 /* sums under way along the tree of leaves */
#define NN_AHEAD 16  /* entries asked for before they are needed: a row's lie anywhere */

/* One entry: its row above, its place among the entries below. */
typedef uint64_t key;

struct summing {
	const struct nn_row_sum *sum;
	const key *order;
	const uint32_t *begin; /* [sums->n + 1] where the entries of a sum begin in order */
};

/*
 * Least significant digits first: stable (Knuth, The Art of Computer Programming 3, 5.2.5). The
 * result is in a or b.
 */
static key *sort(key *a, key *b, size_t n, uint32_t most)
{
	for (int shift = 0; shift < 32 && most >> shift; shift += NN_DIGIT) {
		size_t place[1 << NN_DIGIT] = { 0 }, at = 0;
		key *t = a;
		for (size_t i = 0; i < n; i++)
			place[a[i] >> (32 + shift) & ((1 << NN_DIGIT) - 1)]++;
		for (size_t d = 0; d < 1 << NN_DIGIT; d++) {
			size_t count = place[d];
			place[d] = at;
			at += count;
		}
		for (size_t i = 0; i < n; i++)
			b[place[a[i] >> (32 + shift) & ((1 << NN_DIGIT) - 1)]++] = a[i];
		a = b;
		b = t;
	}
	return a;
}

/* Levels up to the node over both leaves. */
NN_INLINE unsigned levels_to(uint32_t a, uint32_t b)
{
	return a == b ? 0 : 32 - (unsigned)__builtin_clz(a ^ b);
}

/* Does a whole subtree within the wanted leaves hold both? */
static bool are_added(const struct nn_row_sum *sum, uint32_t a, uint32_t b)
{
	size_t size = (size_t)1 << levels_to(a, b), begin = a / size * size;
	return a == b || (begin >= sum->first_leaf && begin + size <= sum->end_leaf);
}

/* The sums there will be, and where their entries begin. */
static void find_sums(const struct nn_row_sum *sum, const key *order, size_t n, uint32_t *begin)
{
	const struct nn_row_list *from = sum->entries;
	struct nn_row_list *to = sum->sums;
	size_t sums = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t row = (uint32_t)(order[i] >> 32), leaf = from->leaf[(uint32_t)order[i]];
		if (i > 0 && row == to->row[sums - 1] &&
		    are_added(sum, from->leaf[(uint32_t)order[i - 1]], leaf))
			continue;
		begin[sums] = (uint32_t)i;
		to->row[sums] = row;
		to->leaf[sums++] = leaf;
	}
	begin[sums] = (uint32_t)n;
	*to->n = sums;
}

/*
 * k lanes of a sum: chains of leaves on a stack, where two meet as soon as nothing between them can
 * come.
 */
NN_INLINE vr sum_lanes(const struct summing *s, size_t begin, size_t end, size_t lane, size_t k)
{
	const struct nn_row_list *from = s->sum->entries;
	const real *values = (const real *)from->value + lane;
	vr stack[NN_LEVELS], chain = v_zero();
	unsigned level[NN_LEVELS]; /* to the node over a sum and the one below it on the stack */
	int depth = 0;
	for (size_t i = begin; i < end; i++) {
		uint32_t at = (uint32_t)s->order[i];
		unsigned to_next = i + 1 < end ? levels_to(from->leaf[at],
							   from->leaf[(uint32_t)s->order[i + 1]])
					       : NN_LEVELS;
		chain = v_add(chain, v_get(values + at * from->width, k));
		if (to_next == 0)
			continue;
		while (depth > 0 && level[depth - 1] < to_next)
			chain = v_add(stack[--depth], chain);
		stack[depth] = chain;
		level[depth++] = to_next;
		chain = v_zero();
	}
	return stack[0];
}

static const real *value_of(const struct summing *s, size_t i)
{
	const struct nn_row_list *from = s->sum->entries;
	return (const real *)from->value + (uint32_t)s->order[i] * from->width;
}

/* Most rows of a large table are listed once in a batch. */
static void sum_piece(void *arg, size_t first, size_t last, int thread)
{
	const struct summing *s = arg;
	struct nn_row_list *to = s->sum->sums;
	const size_t width = to->width, all = s->begin[last];
	(void)thread;
	for (size_t j = first; j < last; j++) {
		real *out = (real *)to->value + j * width;
		size_t begin = s->begin[j], end = s->begin[j + 1];
		if (begin + NN_AHEAD < all)
			__builtin_prefetch(value_of(s, begin + NN_AHEAD));
		if (end - begin == 1) {
			const real *x = value_of(s, begin);
			NN_EACH(i, k, width,
				{ v_put(out + i, k, v_add(v_zero(), v_get(x + i, k))); });
		} else {
			NN_EACH(i, k, width,
				{ v_put(out + i, k, sum_lanes(s, begin, end, i, k)); });
		}
	}
}

void NN_K(sum_rows)(const struct nn_row_sum *sum)
{
	const struct nn_row_list *from = sum->entries;
	key *a = sum->work, *b = a + *from->n;
	uint32_t *begin = (uint32_t *)(b + *from->n), most = 0;
	struct summing s = { sum, a, begin };
	size_t n = 0;
	for (size_t i = 0; i < *from->n; i++) {
		if (from->row[i] == NN_LIST_NO_ROW)
			continue;
		most = from->row[i] > most ? from->row[i] : most;
		a[n++] = (key)from->row[i] << 32 | i;
	}
	s.order = sort(a, b, n, most);
	find_sums(sum, s.order, n, begin);
	nn_cpu_split(sum->pool, *sum->sums->n, 1, 4 * from->width * sizeof(real), sum_piece, &s);
}
