/* Sums, products, least and largest of two arrays, for each type; halves to f32 and back. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/wide.h"
#include "comm/loops.h"

/* The arrays are one or do not overlap. */
#define EACH(i, n) NN_NO_CARRY for (size_t i = 0; i < (n); i++)
/* For loops that no vector takes. */
#define EACH_ALONE(i, n) for (size_t i = 0; i < (n); i++)

/* A loop over x = left[i], y = right[i] that sets z = result[i]; `over` says at the end whether a value did not fit. */
#define LOOP(name, T, before, each, after) LOOP_AS(EACH, name, T, before, each, after)
#define LOOP_AS(EACH, name, T, before, each, after) \
NN_WIDE static bool name(const void *left, const void *right, void *result, size_t n) \
{ \
	const T *a = left, *b = right; \
	T *r = result; \
	bool over = false; \
	before \
	EACH(i, n) { \
		T x = a[i], y = b[i], z; \
		each \
		r[i] = z; \
	} \
	after \
	return over; \
}

#define REAL(t, T, BITS, QUIET) \
LOOP(sum_##t, T, , z = x + y;, ) \
LOOP(prod_##t, T, , z = x * y;, ) \
LOOP(min_##t, T, , z = x < y || x != x ? x : y;, ) \
LOOP(max_##t, T, , z = x > y || x != x ? x : y;, ) \
/* A NaN whose sign and payload depend on the order of operands becomes the one quiet NaN. */ \
NN_WIDE static size_t end_##t(void *values, size_t divisor, size_t n) \
{ \
	T *v = values, d = (T)divisor, quiet; \
	BITS bits = QUIET, nan = 0; \
	memcpy(&quiet, &bits, sizeof quiet); \
	if (divisor != 1) \
		for (size_t i = 0; i < n; i++) \
			v[i] = v[i] / d; \
	for (size_t i = 0; i < n; i++) { \
		nan += v[i] != v[i]; \
		v[i] = v[i] != v[i] ? quiet : v[i]; \
	} \
	return (size_t)nan; \
}

/* A sum left the range when its sign differs from that of both terms (signed), or when it is below one of them. */
#define SIGNED_SUM(t, T, U) \
LOOP(sum_##t, T, U o = 0;, \
     U s = (U)((U)x + (U)y); o |= (U)(((U)x ^ s) & ((U)y ^ s)); z = (T)s;, \
     over = (T)o < 0;)
#define UNSIGNED_SUM(t, T) \
LOOP(sum_##t, T, T o = 0;, z = (T)(x + y); o |= (T)(z < x);, over = o != 0;)

#define WHOLE(t, T, QUOTIENT) \
LOOP_AS(EACH_ALONE, prod_##t, T, , over |= __builtin_mul_overflow(x, y, &z);, ) \
LOOP(min_##t, T, , z = x < y ? x : y;, ) \
LOOP(max_##t, T, , z = x > y ? x : y;, ) \
NN_WIDE static size_t end_##t(void *values, size_t divisor, size_t n) \
{ \
	T *v = values; \
	if (divisor != 1) \
		for (size_t i = 0; i < n; i++) \
			v[i] = (T)(QUOTIENT); \
	return 0; \
}

/* A quotient of numbers below 2^32 is never rounded to a whole number that it is not; toward zero is what a conversion does. */
#define BY_DOUBLE (double)v[i] / (double)divisor

REAL(f32, float, uint32_t, 0x7fc00000)
REAL(f64, double, uint64_t, 0x7ff8000000000000)
SIGNED_SUM(i8, int8_t, uint8_t)
SIGNED_SUM(i16, int16_t, uint16_t)
SIGNED_SUM(i32, int32_t, uint32_t)
SIGNED_SUM(i64, int64_t, uint64_t)
UNSIGNED_SUM(u8, uint8_t)
UNSIGNED_SUM(u16, uint16_t)
UNSIGNED_SUM(u32, uint32_t)
UNSIGNED_SUM(u64, uint64_t)
WHOLE(i8, int8_t, BY_DOUBLE)
WHOLE(i16, int16_t, BY_DOUBLE)
WHOLE(i32, int32_t, BY_DOUBLE)
WHOLE(i64, int64_t, v[i] / (int64_t)divisor)
WHOLE(u8, uint8_t, BY_DOUBLE)
WHOLE(u16, uint16_t, BY_DOUBLE)
WHOLE(u32, uint32_t, BY_DOUBLE)
WHOLE(u64, uint64_t, v[i] / divisor)

#define ROW(t) { { sum_##t, min_##t, max_##t, prod_##t }, end_##t }

const struct nn_loops *nn_loops(enum nn_dtype dtype)
{
	static const struct nn_loops table[] = {
		[NN_F32] = ROW(f32), [NN_F64] = ROW(f64), [NN_I8] = ROW(i8), [NN_U8] = ROW(u8), [NN_I16] = ROW(i16),
		[NN_U16] = ROW(u16), [NN_I32] = ROW(i32), [NN_U32] = ROW(u32), [NN_I64] = ROW(i64), [NN_U64] = ROW(u64),
	};

	if (dtype >= sizeof table / sizeof *table || !table[dtype].end)
		NN_BUG("no loops for %s", nn_dtype_name(dtype));
	return &table[dtype];
}

/* ---- halves ---- */

/* The value of a half times 2^-112 has the half's bits as an f32; NaN and infinities get the exponent of f32. */
static inline uint32_t f16_to_bits(uint16_t h)
{
	uint32_t bits = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
	float f;

	memcpy(&f, &bits, 4);
	f *= 0x1p112f;
	memcpy(&bits, &f, 4);
	return bits | sign | ((h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0);
}

/* Round to nearest even by adding half of the last place; below the normal halves by adding 2^-1 to what has the weight 2^-24. */
static inline uint16_t bits_to_f16(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000, low = bits & 0x7fffffff, normal, tiny;
	float f;

	normal = (low + 0xfff + (low >> 13 & 1) - (112u << 23)) >> 13;
	memcpy(&f, &low, 4);
	f += 0.5f;
	memcpy(&tiny, &f, 4);
	tiny -= 0x3f000000;
	normal = low < (113u << 23) ? tiny : normal;
	normal = low >= 0x47800000 ? 0x7c00 : normal;
	return (uint16_t)(sign | (low > 0x7f800000 ? 0x7e00 : normal));
}

static inline uint16_t bits_to_bf16(uint32_t bits)
{
	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

NN_WIDE static void widen_f16(const uint16_t *restrict h, uint32_t *restrict f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f[i] = f16_to_bits(h[i]);
}

NN_WIDE static void widen_bf16(const uint16_t *restrict h, uint32_t *restrict f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f[i] = (uint32_t)h[i] << 16;
}

NN_WIDE static void narrow_f16(const uint32_t *restrict f, uint16_t *restrict h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h[i] = bits_to_f16(f[i]);
}

NN_WIDE static void narrow_bf16(const uint32_t *restrict f, uint16_t *restrict h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h[i] = bits_to_bf16(f[i]);
}

void nn_widen(enum nn_dtype half, const void *values, void *wide, size_t n)
{
	if (half == NN_F16)
		widen_f16(values, wide, n);
	else
		widen_bf16(values, wide, n);
}

void nn_narrow(enum nn_dtype half, const void *wide, void *values, size_t n)
{
	if (half == NN_F16)
		narrow_f16(wide, values, n);
	else
		narrow_bf16(wide, values, n);
}
