/* nn_sum, the one order in which numbers are summed that no rule of the products covers. */
#ifndef NN_DEVICE_CPU_SUM_H
#define NN_DEVICE_CPU_SUM_H

#include "device/cpu/cpu.h"

/*
 * 16 interleaved partial sums from 0, then pairwise, whatever the vector width; more than
 * NN_SUM_BLOCK numbers: blocks of that many, blocks added pairwise, neighbours first. A term is
 * given by a function of its place: lanes beyond k do not matter.
 */
#define NN_SUM_LANES 16
#define NN_SUM_BLOCK 4096
#define NN_SUM_VECTORS (NN_SUM_LANES / VL)

typedef vr nn_sum_term(const void *arg, size_t i, size_t k);

NN_INLINE real v_sum_pairs(const vr partial[NN_SUM_VECTORS])
{
	real t[NN_SUM_LANES];
	NN_UNROLL
	for (int j = 0; j < NN_SUM_VECTORS; j++)
		v_store(t + j * VL, partial[j]);
	NN_UNROLL
	for (int w = 1; w < NN_SUM_LANES; w *= 2)
		for (int i = 0; i < NN_SUM_LANES; i += 2 * w)
			t[i] += t[i + w];
	return t[0];
}

/* Terms begin..begin+n-1, n <= NN_SUM_BLOCK. */
NN_INLINE real v_sum_block(nn_sum_term *term, const void *arg, size_t begin, size_t n)
{
	vr partial[NN_SUM_VECTORS];
	size_t i = 0;
	NN_UNROLL
	for (int j = 0; j < NN_SUM_VECTORS; j++)
		partial[j] = v_zero();
	for (; i + NN_SUM_LANES <= n; i += NN_SUM_LANES) {
		NN_UNROLL
		for (int j = 0; j < NN_SUM_VECTORS; j++)
			partial[j] = v_add(partial[j], term(arg, begin + i + (size_t)j * VL, VL));
	}
	NN_UNROLL
	for (int j = 0; j < NN_SUM_VECTORS; j++) {
		size_t at = i + (size_t)j * VL, k = at >= n ? 0 : n - at < VL ? n - at : VL;
		if (k)
			partial[j] =
				v_add(partial[j],
				      v_select(vm_first(k), term(arg, begin + at, k), v_zero()));
	}
	return v_sum_pairs(partial);
}

NN_INLINE real v_sum(nn_sum_term *term, const void *arg, size_t n)
{
	real stack[64], block;
	int depth = 0;
	if (n <= NN_SUM_BLOCK)
		return v_sum_block(term, arg, 0, n);
	for (size_t b = 0, at = 0; at < n; b++, at += NN_SUM_BLOCK) {
		block = v_sum_block(term, arg, at, n - at < NN_SUM_BLOCK ? n - at : NN_SUM_BLOCK);
		for (size_t t = b; t & 1; t >>= 1)
			block = stack[--depth] + block;
		stack[depth++] = block;
	}
	for (block = stack[--depth]; depth > 0;)
		block = stack[--depth] + block;
	return block;
}

/* The same sum of numbers that come one after the other. */
struct nn_summer {
	real partial[NN_SUM_LANES], stack[64];
	size_t n, blocks;
	int depth;
};

NN_INLINE void nn_summer_close(struct nn_summer *s)
{
	NN_UNROLL
	for (int w = 1; w < NN_SUM_LANES; w *= 2)
		for (int i = 0; i < NN_SUM_LANES; i += 2 * w)
			s->partial[i] += s->partial[i + w];
	for (size_t t = s->blocks++; t & 1; t >>= 1)
		s->partial[0] = s->stack[--s->depth] + s->partial[0];
	s->stack[s->depth++] = s->partial[0];
	s->n = 0;
	for (int i = 0; i < NN_SUM_LANES; i++)
		s->partial[i] = 0;
}

NN_INLINE void nn_summer_add(struct nn_summer *s, real value)
{
	s->partial[s->n++ % NN_SUM_LANES] += value;
	if (s->n == NN_SUM_BLOCK)
		nn_summer_close(s);
}

NN_INLINE real nn_summer_total(struct nn_summer *s)
{
	real total;
	if (s->n || s->depth == 0)
		nn_summer_close(s);
	for (total = s->stack[--s->depth]; s->depth > 0;)
		total = s->stack[--s->depth] + total;
	return total;
}

/* The terms most callers have: an array's values, their squares, products of two arrays' values. */
struct nn_sum_pair {
	const real *a, *b;
};

NN_INLINE vr v_term_value(const void *arg, size_t i, size_t k)
{
	const struct nn_sum_pair *pair = (const struct nn_sum_pair *)arg;
	return v_get(pair->a + i, k);
}

NN_INLINE vr v_term_product(const void *arg, size_t i, size_t k)
{
	const struct nn_sum_pair *pair = (const struct nn_sum_pair *)arg;
	return v_mul(v_get(pair->a + i, k), v_get(pair->b + i, k));
}

#endif
