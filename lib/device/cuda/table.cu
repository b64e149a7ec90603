/* Tables: rows by number, entries of a gradient, and their sums by row (cpu/row-sum.c says which). */
#include "device/cpu/cpu.h"
#include "device/cuda/phase.h"

/* The row that a number means, NN_LIST_NO_ROW where it is none: NaN, too. */
NN_INLINE uint32_t row_of(const struct nn_table_args *a, real x)
{
	return x >= 0 && x < (real)a->rows ? (uint32_t)x : NN_LIST_NO_ROW;
}

NN_INLINE uint32_t counted_row(const struct nn_table_args *a, real x)
{
	uint32_t row = row_of(a, x);
	return row == a->padding ? NN_LIST_NO_ROW : row;
}

NN_MAP(embedding, struct nn_table_args)
{
	size_t q = i / a->size, j = i % a->size;
	real y = 0;
	for (size_t k = q * a->together; k < (q + 1) * a->together; k++) {
		uint32_t row = a->sum ? counted_row(a, a->x[k]) : row_of(a, a->x[k]);
		if (row == NN_LIST_NO_ROW)
			continue;
		real v = a->w[row * a->size + j];
		y = a->sum ? v_add(y, v) : v;
	}
	a->y[i] = y;
}

NN_MAP(embedding_entries, struct nn_table_args)
{
	size_t q = i / a->size, j = i % a->size, at = *a->list.n + q;
	((real *)a->list.value)[at * a->size + j] = a->dy[q / a->together * a->size + j];
	if (j > 0)
		return;
	a->list.row[at] = counted_row(a, a->x[q]);
	a->list.leaf[at] = (uint32_t)(a->leaf_number + nn_bound_find(&a->leaf, q));
}

NN_MAP(embedding_advance, struct nn_table_args)
{
	*a->list.n += a->numbers;
	(void)i;
}

/* ---- lines of any type by number ---- */

NN_MAP(gather, struct nn_gather_args)
{
	size_t row = i / a->line, at = i % a->line;
	((uint32_t *)a->to)[i] = ((const uint32_t *)a->from)[a->rows[row] * a->line + at];
}

NN_MAP(gather_wide, struct nn_gather_args)
{
	size_t row = i / a->line, at = i % a->line;
	((struct nn_wide *)a->to)[i] = ((const struct nn_wide *)a->from)[a->rows[row] * a->line + at];
}

/* ---- sums by row ---- */

#define NN_SORT_THREADS 256
#define NN_DIGIT 4 /* bits of a pass */
#define NN_DIGITS (1 << NN_DIGIT)

struct sorting {
	uint32_t place[NN_DIGITS * NN_SORT_THREADS]; /* by digit, then by thread */
	uint32_t most[NN_SORT_THREADS];
	size_t n;
};

/* The keys of a thread: a run of all. */
NN_INLINE size_t run_begin(size_t n, unsigned thread)
{
	return n * thread / NN_SORT_THREADS;
}

/* Entries that name a row: how many each thread has. */
NN_INLINE void count_entries(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			     char *r)
{
	size_t all = *a->entries.n;
	uint32_t n = 0, most = 0;
	(void)r;
	for (size_t i = run_begin(all, p.thread); i < run_begin(all, p.thread + 1); i++) {
		uint32_t row = a->entries.row[i];
		if (row == NN_LIST_NO_ROW)
			continue;
		most = row > most ? row : most;
		n++;
	}
	s->place[p.thread] = n;
	s->most[p.thread] = most;
}

NN_INLINE void place_entries(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			     char *r)
{
	uint32_t at = 0, most = 0;
	(void)a;
	(void)r;
	if (p.thread > 0)
		return;
	for (int t = 0; t < NN_SORT_THREADS; t++) {
		uint32_t n = s->place[t];
		s->place[t] = at;
		at += n;
		most = s->most[t] > most ? s->most[t] : most;
	}
	s->n = at;
	s->most[0] = most;
}

NN_INLINE void make_keys(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			 char *r)
{
	size_t all = *a->entries.n, at = s->place[p.thread];
	(void)r;
	for (size_t i = run_begin(all, p.thread); i < run_begin(all, p.thread + 1); i++)
		if (a->entries.row[i] != NN_LIST_NO_ROW)
			a->a[at++] = (uint64_t)a->entries.row[i] << 32 | i;
}

NN_INLINE unsigned digit_of(uint64_t key, int shift)
{
	return (unsigned)(key >> (32 + shift)) & (NN_DIGITS - 1);
}

NN_INLINE void count_digits(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			    char *r, const uint64_t *from, int shift)
{
	(void)a;
	(void)r;
	for (int d = 0; d < NN_DIGITS; d++)
		s->place[d * NN_SORT_THREADS + p.thread] = 0;
	for (size_t i = run_begin(s->n, p.thread); i < run_begin(s->n, p.thread + 1); i++)
		s->place[digit_of(from[i], shift) * NN_SORT_THREADS + p.thread]++;
}

NN_INLINE void place_digits(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			    char *r)
{
	uint32_t at = 0;
	(void)a;
	(void)r;
	if (p.thread > 0)
		return;
	for (int i = 0; i < NN_DIGITS * NN_SORT_THREADS; i++) {
		uint32_t n = s->place[i];
		s->place[i] = at;
		at += n;
	}
}

NN_INLINE void move_keys(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			 char *r, const uint64_t *from, uint64_t *to, int shift)
{
	(void)a;
	(void)r;
	for (size_t i = run_begin(s->n, p.thread); i < run_begin(s->n, p.thread + 1); i++)
		to[s->place[digit_of(from[i], shift) * NN_SORT_THREADS + p.thread]++] = from[i];
}

NN_INLINE unsigned levels_to(uint32_t x, uint32_t y)
{
	unsigned levels = 0;
	for (uint32_t d = x ^ y; d; d >>= 1)
		levels++;
	return levels;
}

/* Does a whole subtree within the wanted leaves hold both? */
NN_INLINE bool are_added(const struct nn_row_sum_args *a, uint32_t x, uint32_t y)
{
	size_t size = (size_t)1 << levels_to(x, y), begin = x / size * size;
	return x == y || (begin >= a->first_leaf && begin + size <= a->end_leaf);
}

NN_INLINE bool begins(const struct nn_row_sum_args *a, const uint64_t *order, size_t i)
{
	const uint32_t *leaf = a->entries.leaf;
	return i == 0 || order[i] >> 32 != order[i - 1] >> 32 ||
	       !are_added(a, leaf[(uint32_t)order[i - 1]], leaf[(uint32_t)order[i]]);
}

/* The sums there will be: how many begin with each thread's keys, and where their entries are. */
NN_INLINE void count_sums(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			  char *r, const uint64_t *order)
{
	uint32_t n = 0;
	(void)r;
	for (size_t i = run_begin(s->n, p.thread); i < run_begin(s->n, p.thread + 1); i++)
		n += begins(a, order, i);
	s->place[p.thread] = n;
}

NN_INLINE void place_sums(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			  char *r)
{
	uint32_t at = 0;
	(void)r;
	if (p.thread > 0)
		return;
	for (int t = 0; t < NN_SORT_THREADS; t++) {
		uint32_t n = s->place[t];
		s->place[t] = at;
		at += n;
	}
	a->begin[at] = (uint32_t)s->n;
	*a->sums.n = at;
}

NN_INLINE void make_sums(const struct nn_row_sum_args *a, struct nn_spot p, struct sorting *s,
			 char *r, const uint64_t *order)
{
	size_t at = s->place[p.thread];
	(void)r;
	for (size_t i = run_begin(s->n, p.thread); i < run_begin(s->n, p.thread + 1); i++)
		if (begins(a, order, i)) {
			a->begin[at] = (uint32_t)i;
			a->sums.row[at] = (uint32_t)(order[i] >> 32);
			a->sums.leaf[at++] = a->entries.leaf[(uint32_t)order[i]];
		}
}

/* Least significant digits first: stable; an even number of passes, so that the result is in a. */
NN_SCRIPT(sort_rows, struct nn_row_sum_args, struct sorting, char, NN_SORT_THREADS)
{
	NN_PHASE(count_entries);
	NN_PHASE(place_entries);
	NN_PHASE(make_keys);
	for (int shift = 0; shift < 32 && s->most[0] >> shift; shift += 2 * NN_DIGIT)
		for (int turn = 0; turn < 2; turn++) {
			uint64_t *from = turn ? a->b : a->a, *to = turn ? a->a : a->b;
			NN_PHASE(count_digits, from, shift + turn * NN_DIGIT);
			NN_PHASE(place_digits);
			NN_PHASE(move_keys, from, to, shift + turn * NN_DIGIT);
		}
	NN_PHASE(count_sums, a->a);
	NN_PHASE(place_sums);
	NN_PHASE(make_sums, a->a);
}

/* Chains of leaves on a stack, where two meet as soon as nothing between them can come. */
NN_MAP(sum_rows, struct nn_row_sum_args)
{
	size_t width = a->sums.width, j = i / width, lane = i % width;
	const real *values = (const real *)a->entries.value + lane;
	const uint32_t *leaf = a->entries.leaf;
	real stack[34], chain = 0;
	unsigned level[34];
	int depth = 0;
	if (j >= *a->sums.n)
		return;
	for (size_t q = a->begin[j]; q < a->begin[j + 1]; q++) {
		uint32_t at = (uint32_t)a->a[q];
		unsigned next = q + 1 < a->begin[j + 1]
					? levels_to(leaf[at], leaf[(uint32_t)a->a[q + 1]])
					: 34;
		chain = v_add(chain, values[at * width]);
		if (next == 0)
			continue;
		while (depth > 0 && level[depth - 1] < next)
			chain = v_add(stack[--depth], chain);
		stack[depth] = chain;
		level[depth++] = next;
		chain = 0;
	}
	((real *)a->sums.value)[i] = stack[0];
}
