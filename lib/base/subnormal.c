/* Loops over values of f32 or f64. */
#include "base/flush.h"
#include "base/subnormal.h"
#include "base/wide.h"

#define LOOPS(T, t) \
	NN_WIDE static void flush_##t(T *values, size_t n) \
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

/* The exponent is 0, the fraction is not. */
#define HAS(U, t, SIGN, FRACTION) \
	NN_WIDE static bool has_##t(const void *values, size_t n) \
	{ \
		const U *bits = values; \
		U any = 0; \
		for (size_t i = 0; i < n; i++) \
			any |= (U)((bits[i] & ~SIGN) - 1 < FRACTION); \
		return any != 0; \
	}

HAS(uint32_t, f32, UINT32_C(0x80000000), UINT32_C(0x7fffff))
HAS(uint64_t, f64, UINT64_C(0x8000000000000000), UINT64_C(0xfffffffffffff))

bool nn_has_subnormal(const void *values, size_t n, enum nn_dtype dtype)
{
	return dtype == NN_F64 ? has_f64(values, n) : has_f32(values, n);
}
