/* The register with the bits, and a fused multiply-add that minds them. */
#include "base/flush.h"

#if defined __x86_64__
#include <xmmintrin.h>
#define FLUSH 0x8040u /* FTZ, DAZ */

static uint64_t get(void)
{
	return _mm_getcsr();
}

static void set(uint64_t bits)
{
	_mm_setcsr((unsigned)bits);
}
#elif defined __aarch64__
#define FLUSH (UINT64_C(1) << 24) /* FZ */

static uint64_t get(void)
{
	uint64_t bits;

	__asm__ volatile("mrs %0, fpcr" : "=r"(bits));
	return bits;
}

static void set(uint64_t bits)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(bits));
}
#else
#define FLUSH 0u

static uint64_t get(void)
{
	return 0;
}

static void set(uint64_t bits)
{
	(void)bits;
}
#endif

uint64_t nn_flush_set(bool flush)
{
	uint64_t before = get(), after = flush ? before | FLUSH : before & ~(uint64_t)FLUSH;

	if (after != before)
		set(after);
	return before;
}

void nn_flush_restore(uint64_t before)
{
	set(before);
}

/*
 * What x86 gives: whether a result is tiny is decided after rounding with an exponent without
 * bounds. So one that comes out as the least normal number is looked at again, times 2^200.
 */
static double flushed_fma(double a, double b, double c)
{
	double result = fma(a, b, c);

	if (fabs(result) == DBL_MIN) {
		if (fabs(a) < fabs(b))
			a *= 0x1p200;
		else
			b *= 0x1p200;
		if (fabs(fma(a, b, c * 0x1p200)) < DBL_MIN * 0x1p200)
			return copysign(0, result);
	}
	return nn_flushed_f64(result);
}

/* The arguments are volatile so that nothing is computed before the bits are off. */
static double without_bits(volatile double a, volatile double b, volatile double c)
{
	uint64_t before = nn_flush_set(false);
	double result = before & FLUSH ? flushed_fma(nn_flushed_f64(a), nn_flushed_f64(b),
						     nn_flushed_f64(c))
				       : fma(a, b, c);

	nn_flush_restore(before);
	return result;
}

/* No part of a product of halves is subnormal from 2^-800 on. */
double nn_flush_fma(double a, double b, double c)
{
	if (fabs(a) >= 0x1p-400 && fabs(b) >= 0x1p-400 && (fabs(c) >= 0x1p-800 || c == 0))
		return fma(a, b, c);
	return a == 0 || b == 0 ? a * b + c : without_bits(a, b, c);
}
