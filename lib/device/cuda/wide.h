/* What a thread asks for at once: numbers side by side, or apart. */
#ifndef NN_DEVICE_CUDA_WIDE_H
#define NN_DEVICE_CUDA_WIDE_H

#include "device/cuda/phase.h"

struct wide_reals {
	real v[NN_WIDE];
} __attribute__((aligned(16)));

NN_INLINE struct wide_reals get_wide(const real *from)
{
	return *(const struct wide_reals *)(const void *)from;
}

NN_INLINE void put_wide(real *to, const struct wide_reals *v)
{
	*(struct wide_reals *)(void *)to = *v;
}

/*
 * Up to `most` numbers, a constant, of n that lie `step` apart, before the first is used; what is
 * not there is 0.
 */
NN_INLINE void ask(const real *from, size_t step, unsigned n, real *to, unsigned most)
{
	NN_UNROLL
	for (unsigned j = 0; j < most; j++)
		to[j] = j < n ? from[j * step] : 0;
}

#endif
