/*
 * nn_sum of rows of numbers (device/cpu/sum.h), a thread for each of its lanes: a block of threads
 * has NN_SUM_ROWS rows. A phase leaves the sums of a row's lanes in shared memory, the next one
 * closes the block of up to NN_SUM_BLOCK numbers; after the last block the total is there.
 */
#ifndef NN_DEVICE_CUDA_ROWSUM_H
#define NN_DEVICE_CUDA_ROWSUM_H

#include "device/cpu/sum.h"
#include "device/cuda/wide.h"

#define NN_SUM_THREADS (NN_SUM_ROWS * NN_SUM_LANES)

/* Of up to two sums of each row; stack: of the blocks before. */
struct row_sums {
	real value[2][NN_SUM_ROWS][NN_SUM_LANES], total[2][NN_SUM_ROWS], stack[2][NN_SUM_ROWS][32];
};

/* A thread's row, its place in the block of threads, its lane. */
struct row_lane {
	size_t row;
	unsigned slot, lane;
};

NN_INLINE struct row_lane row_lane_of(struct nn_spot p)
{
	struct row_lane r;
	r.slot = p.thread / NN_SUM_LANES;
	r.lane = p.thread % NN_SUM_LANES;
	r.row = p.block * NN_SUM_ROWS + r.slot;
	return r;
}

/* The next numbers of a lane that has n of them left. */
#define NN_RUN_AHEAD 8
NN_INLINE void ask_lane(const real *from, unsigned n, real to[NN_RUN_AHEAD])
{
	ask(from, NN_SUM_LANES, n, to, NN_RUN_AHEAD);
}

/* Numbers of a thread's lane, NN_SUM_LANES apart, in the block from `at` on, of n. */
NN_INLINE unsigned lane_numbers(const struct row_lane *r, size_t at, size_t n)
{
	const size_t left = n < at ? 0 : n - at, most = left < NN_SUM_BLOCK ? left : NN_SUM_BLOCK;
	return ((unsigned)most + NN_SUM_LANES - 1 - r->lane) / NN_SUM_LANES;
}

/* By the row's first thread: lanes are added pairwise, and blocks. */
NN_INLINE void close_block(struct row_sums *s, const struct row_lane *r, unsigned which, size_t at,
			   size_t n)
{
	real t[NN_SUM_LANES], *stack = s->stack[which][r->slot], sum;
	int depth = 0;
	if (r->lane > 0 || at >= n)
		return;
	NN_UNROLL
	for (unsigned i = 0; i < NN_SUM_LANES; i++)
		t[i] = s->value[which][r->slot][i];
	NN_UNROLL
	for (unsigned w = 1; w < NN_SUM_LANES; w *= 2)
		for (unsigned i = 0; i < NN_SUM_LANES; i += 2 * w)
			t[i] = v_add(t[i], t[i + w]);
	sum = t[0];
	for (size_t b = at / NN_SUM_BLOCK; b > 0; b &= b - 1)
		depth++;
	for (size_t b = at / NN_SUM_BLOCK; b & 1; b >>= 1)
		sum = v_add(stack[--depth], sum);
	if (at + NN_SUM_BLOCK < n) {
		stack[depth] = sum;
		return;
	}
	while (depth > 0)
		sum = v_add(stack[--depth], sum);
	s->total[which][r->slot] = sum;
}

#endif
