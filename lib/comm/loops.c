/*
 * Sums, products, least and largest of two arrays, for each type of partial results, and what ends
 * them.
 */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/wide.h"
#include "comm/loops.h"

/* The arrays are one or do not overlap. */
#define EACH(i, n) NN_NO_CARRY for (size_t i = 0; i < (n); i++)
/* For loops that no vector takes. */
#define EACH_ALONE(i, n) for (size_t i = 0; i < (n); i++)

/*
 * A loop over x = left[i], y = right[i] that sets z = result[i]; `over` says at the end whether a
 * value did not fit.
 */
#define LOOP(name, T, before, each, after) LOOP_AS(EACH, name, T, before, each, after)
#define LOOP_AS(EACH, name, T, before, each, after) \
	NN_WIDE(bool, name, (const void *left, const void *right, void *result, size_t n), \
		(left, right, result, n)) \
	{ \
		const T *a = left, *b = right; \
		T *r = result; \
		bool over = false; \
		before EACH(i, n) \
		{ \
			T x = a[i], y = b[i], z; \
			each r[i] = z; \
		} \
		after return over; \
	}

/* A NaN whose sign and payload depend on the order of operands becomes the one quiet NaN. */
#define REAL(t, T, BITS, QUIET) \
	LOOP(sum_##t, T, , z = x + y;, ) \
	LOOP(prod_##t, T, , z = x * y;, ) \
	LOOP(min_##t, T, , z = x < y || x != x ? x : y;, ) \
	LOOP(max_##t, T, , z = x > y || x != x ? x : y;, ) \
	NN_WIDE(size_t, end_##t, (const void *partial, void *values, size_t divisor, size_t n), \
		(partial, values, divisor, n)) \
	{ \
		const T *p = partial; \
		T *v = values, d = (T)divisor, quiet; \
		BITS bits = QUIET, nan = 0; \
		memcpy(&quiet, &bits, sizeof quiet); \
		EACH(i, n) \
		{ \
			T x = p[i] / d; \
			nan += x != x; \
			v[i] = x != x ? quiet : x; \
		} \
		return (size_t)nan; \
	}

/*
 * A sum left the range when its sign differs from that of both terms (signed), or when it is below
 * one of them.
 */
#define SIGNED_SUM(t, T, U) \
	LOOP(sum_##t, T, U o = 0;, U s = (U)((U)x + (U)y); o |= (U)(((U)x ^ s) & ((U)y ^ s)); \
	     z = (T)s;, over = (T)o < 0;)
#define UNSIGNED_SUM(t, T) \
	LOOP(sum_##t, T, T o = 0;, z = (T)(x + y); o |= (T)(z < x);, over = o != 0;)

#define WHOLE(t, T, PREPARE, QUOTIENT) \
	LOOP_AS(EACH_ALONE, prod_##t, T, , over |= __builtin_mul_overflow(x, y, &z);, ) \
	LOOP(min_##t, T, , z = x < y ? x : y;, ) \
	LOOP(max_##t, T, , z = x > y ? x : y;, ) \
	NN_WIDE(void, divide_##t, (const T *p, T *v, uint64_t divisor, size_t n), \
		(p, v, divisor, n)) \
	{ \
		PREPARE \
		EACH(i, n) \
		{ \
			T x = p[i]; \
			v[i] = (T)(QUOTIENT); \
		} \
	} \
	static size_t end_##t(const void *partial, void *values, size_t divisor, size_t n) \
	{ \
		if (divisor > 1) \
			divide_##t(partial, values, divisor, n); \
		else if (partial != values) \
			memcpy(values, partial, n * sizeof(T)); \
		return 0; \
	}

/*
 * Quotients toward zero by a product with a reciprocal r above 1 / d. x / d is a whole number,
 * which the product then does not fall below, or at least 1 / d from the next one: r is 1 / d * (1
 * + e) with e below 2^-21 of floats and 2^-50 of doubles, so that for x of 16 or 32 bits x * e / d
 * does not reach it, and the product's rounding neither. A divisor beyond all x is the first one
 * beyond.
 */
#define RECIPROCAL(T, ULP, BEYOND) \
	T r = 1 / (T)(divisor < (BEYOND) ? divisor : (BEYOND)); \
	r += r * ULP;
#define BY_SINGLE RECIPROCAL(float, 0x1p-23f, 65536)
#define BY_DOUBLE RECIPROCAL(double, 0x1p-52, UINT64_C(1) << 32)

/*
 * Of 8 bits: the upper half of a product with the reciprocal times 2^16, of which e is at most
 * 2^-8.
 */
#define BY_16 uint16_t r = (uint16_t)(65536 / (divisor < 256 ? divisor : 256) + 1);

static inline uint16_t upper_16(uint16_t x, uint16_t r)
{
	return (uint16_t)((uint32_t)x * r >> 16);
}

static inline int16_t signed_16(int16_t x, uint16_t r)
{
	int16_t q = (int16_t)upper_16((uint16_t)(x < 0 ? -x : x), r);

	return (int16_t)(x < 0 ? -q : q);
}

/*
 * Of 64 bits (Granlund and Montgomery, Division by invariant integers using multiplication, 1994):
 * of magnitudes up to 2^63 the upper half of a product with 2^(63+bits) / d, shifted; of all up to
 * 2^64 that number has a 65th bit, whose part is added without a carry.
 */
static inline uint64_t upper_64(uint64_t x, uint64_t m)
{
	return (uint64_t)((unsigned __int128)x * m >> 64);
}

/* d > 1, 2^(bits-1) < d <= 2^bits */
#define BITS_OF_DIVISOR const int bits = 64 - __builtin_clzll(divisor - 1);
#define BY_63 \
	BITS_OF_DIVISOR const uint64_t m = \
		(uint64_t)(((unsigned __int128)1 << (63 + bits)) / divisor + 1);
#define BY_64 \
	BITS_OF_DIVISOR \
	const uint64_t m = \
		(uint64_t)(((((unsigned __int128)1 << bits) - divisor) << 64) / divisor + 1);

static inline int64_t signed_64(int64_t x, uint64_t m, int bits)
{
	uint64_t sign = -((uint64_t)x >> 63),
		 q = upper_64(((uint64_t)x ^ sign) - sign, m) >> (bits - 1);

	return (int64_t)((q ^ sign) - sign);
}

static inline uint64_t unsigned_64(uint64_t x, uint64_t m, int bits)
{
	uint64_t t = upper_64(x, m);

	return (t + ((x - t) >> 1)) >> (bits - 1);
}

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
WHOLE(i8, int8_t, BY_16, signed_16(x, r))
WHOLE(i16, int16_t, BY_SINGLE, (int)((float)x *r))
WHOLE(i32, int32_t, BY_DOUBLE, (int32_t)((double)x *r))
WHOLE(i64, int64_t, BY_63, signed_64(x, m, bits))
WHOLE(u8, uint8_t, BY_16, upper_16(x, r))
WHOLE(u16, uint16_t, BY_SINGLE, (int)((float)x *r))
WHOLE(u32, uint32_t, BY_DOUBLE, (int32_t)((double)x *r))
WHOLE(u64, uint64_t, BY_64, unsigned_64(x, m, bits))

#define ROW(t) \
	{ \
		{ sum_##t, min_##t, max_##t, prod_##t }, end_##t \
	}

const struct nn_loops *nn_loops(enum nn_dtype dtype)
{
	static const struct nn_loops table[] = {
		[NN_F32] = ROW(f32), [NN_F64] = ROW(f64), [NN_I8] = ROW(i8),   [NN_U8] = ROW(u8),
		[NN_I16] = ROW(i16), [NN_U16] = ROW(u16), [NN_I32] = ROW(i32), [NN_U32] = ROW(u32),
		[NN_I64] = ROW(i64), [NN_U64] = ROW(u64),
	};

	if (dtype >= sizeof table / sizeof *table || !table[dtype].end)
		NN_BUG("no loops for %s", nn_dtype_name(dtype));
	return &table[dtype];
}
