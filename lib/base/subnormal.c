/* Loops over values of f32 or f64. */
#include "base/flush.h"
#include "base/subnormal.h"
#include "base/wide.h"

#define LOOPS(T, t) \
	NN_WIDE(void, flush_##t, (T * values, size_t n), (values, n)) \
	{ \
		for (size_t i = 0; i < n; i++) \
			values[i] = nn_flushed_##t(values[i]); \
	}

LOOPS(float, f32)
LOOPS(double, f64)

void nn_flush_values(void *values, size_t n, enum nn_dtype dtype)
{
	if (dtype == NN_F64)
		flush_f64(values, n);
	else
		flush_f32(values, n);
}

/*
 * Twice a number's bits less 1: the sign is gone, zeros are the largest, subnormals the least. One
 * comparison at the end is half the work for numbers whose minimum a vector has.
 */
NN_WIDE(bool, has_f32, (const void *values, size_t n), (values, n))
{
	const uint32_t *bits = values;
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		uint32_t m = 2 * bits[i] - 1;

		least = m < least ? m : least;
	}
	return least < UINT32_C(0xffffff);
}

NN_WIDE(bool, has_f64, (const void *values, size_t n), (values, n))
{
	const uint64_t *bits = values;
	uint64_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= (uint64_t)(2 * bits[i] - 1 < UINT64_C(0x1fffffffffffff));
	return any != 0;
}

bool nn_has_subnormal(const void *values, size_t n, enum nn_dtype dtype)
{
	return dtype == NN_F64 ? has_f64(values, n) : has_f32(values, n);
}
