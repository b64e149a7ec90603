/*
 * The plain program beside lib/comm: a value at a time, along the tree, in the types of numerics
 * alone.
 */
#ifndef TESTS_LIB_COMM_PLAIN_H
#define TESTS_LIB_COMM_PLAIN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/shape.h"
#include "comm/reduce.h"

/* A half by its definition: sign, exponent, fraction. */
static inline double plain_f16(uint16_t h)
{
	int e = h >> 10 & 31;
	double f = h & 1023, v = e == 0   ? ldexp(f, -24)
				 : e < 31 ? ldexp(1024 + f, e - 25)
				 : f      ? NAN
					  : INFINITY;

	return h & 0x8000 ? -v : v;
}

static inline float plain_bf16(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* The nearest half of all, the even one of two; sign kept. */
static inline uint16_t plain_to_half(float f, double (*value)(uint16_t), uint16_t infinity,
				     uint16_t quiet)
{
	uint16_t low = 0, high = infinity, sign = signbit(f) ? 0x8000 : 0;
	double a = fabs((double)f), down, up,
	       top = 2 * value((uint16_t)(infinity - 1)) - value((uint16_t)(infinity - 2));

	if (isnan(f))
		return quiet;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		if (value(middle) <= a)
			low = middle;
		else
			high = middle;
	}
	if (isinf(a))
		return (uint16_t)(sign | infinity);
	down = a - value(low);
	up = (high == infinity ? top : value(high)) -
	     a; /* infinity stands where the next half would be */
	return (uint16_t)(sign | (down < up || (down == up && low % 2 == 0) ? low : high));
}

static inline double plain_bf16_value(uint16_t h)
{
	return (double)plain_bf16(h);
}

/* One value at a place of a leaf. */
union plain {
	float f;
	double d;
	__int128 i;
};

static inline union plain plain_load(enum nn_dtype dtype, const void *values, size_t i)
{
	union plain p = { .i = 0 };

	switch (dtype) {
	case NN_F32:
		p.f = ((const float *)values)[i];
		break;
	case NN_F64:
		p.d = ((const double *)values)[i];
		break;
	case NN_F16:
		p.f = (float)plain_f16(((const uint16_t *)values)[i]);
		break;
	case NN_BF16:
		p.f = plain_bf16(((const uint16_t *)values)[i]);
		break;
	case NN_I8:
		p.i = ((const int8_t *)values)[i];
		break;
	case NN_U8:
		p.i = ((const uint8_t *)values)[i];
		break;
	case NN_I16:
		p.i = ((const int16_t *)values)[i];
		break;
	case NN_U16:
		p.i = ((const uint16_t *)values)[i];
		break;
	case NN_I32:
		p.i = ((const int32_t *)values)[i];
		break;
	case NN_U32:
		p.i = ((const uint32_t *)values)[i];
		break;
	case NN_I64:
		p.i = ((const int64_t *)values)[i];
		break;
	case NN_U64:
		p.i = ((const uint64_t *)values)[i];
		break;
	default:
		break;
	}
	return p;
}

/* Far outside of every type: what a product of more than that becomes, until a factor 0. */
#define PLAIN_FAR ((__int128)1 << 100)

static inline __int128 plain_times(__int128 a, __int128 b)
{
	__int128 size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;

	if (a == 0 || b == 0)
		return 0;
	if (size_a > PLAIN_FAR / size_b)
		return (a < 0) != (b < 0) ? -PLAIN_FAR : PLAIN_FAR;
	return a * b;
}

#define PLAIN_OP(op, x, y) \
	((op) == NN_REDUCE_PROD  ? (x) * (y) \
	 : (op) == NN_REDUCE_MIN ? (x) != (x) || (x) < (y) ? (x) : (y) \
	 : (op) == NN_REDUCE_MAX ? (x) != (x) || (x) > (y) ? (x) : (y) \
				 : (x) + (y))

/* Leaves from..to of place i: the left part is the largest power of two below their number. */
static inline union plain plain_tree(const struct nn_reduce *r, const void *const *leaves,
				     size_t from, size_t to, size_t i)
{
	union plain a, b, c = { .i = 0 };
	size_t left = 1;

	if (to - from == 1)
		return plain_load(r->dtype, leaves[from], i);
	while (2 * left < to - from)
		left *= 2;
	a = plain_tree(r, leaves, from, from + left, i);
	b = plain_tree(r, leaves, from + left, to, i);
	if (r->dtype == NN_F64)
		c.d = PLAIN_OP(r->op, a.d, b.d);
	else if (nn_dtype_float(r->dtype))
		c.f = PLAIN_OP(r->op, a.f, b.f);
	else if (r->op == NN_REDUCE_PROD)
		c.i = plain_times(a.i, b.i);
	else
		c.i = PLAIN_OP(r->op, a.i, b.i);
	return c;
}

/* The result at place i into out; false when it does not fit. */
static inline bool plain_reduce(const struct nn_reduce *r, const void *const *leaves, size_t i,
				void *out)
{
	union plain p = plain_tree(r, leaves, 0, r->n, i);
	bool fits = true;

	if (r->dtype == NN_F64) {
		double d = r->op == NN_REDUCE_MEAN ? p.d / (double)r->n : p.d;

		((double *)out)[i] = isnan(d) ? (double)NAN : d;
		return true;
	}
	if (nn_dtype_float(r->dtype)) {
		float f = r->op == NN_REDUCE_MEAN ? p.f / (float)r->n : p.f;

		if (r->dtype == NN_F32)
			((float *)out)[i] = isnan(f) ? NAN : f;
		else if (r->dtype == NN_F16)
			((uint16_t *)out)[i] = plain_to_half(f, plain_f16, 0x7c00, 0x7e00);
		else
			((uint16_t *)out)[i] = plain_to_half(f, plain_bf16_value, 0x7f80, 0x7fc0);
		return true;
	}
	if (r->op == NN_REDUCE_MEAN)
		p.i /= (__int128)r->n;
#define PLAIN_STORE(T) \
	fits = (T)p.i == p.i; \
	((T *)out)[i] = (T)p.i; \
	break
	switch (r->dtype) {
	case NN_I8:
		PLAIN_STORE(int8_t);
	case NN_U8:
		PLAIN_STORE(uint8_t);
	case NN_I16:
		PLAIN_STORE(int16_t);
	case NN_U16:
		PLAIN_STORE(uint16_t);
	case NN_I32:
		PLAIN_STORE(int32_t);
	case NN_U32:
		PLAIN_STORE(uint32_t);
	case NN_I64:
		PLAIN_STORE(int64_t);
	default:
		PLAIN_STORE(uint64_t);
	}
	return fits;
}

/* ---- leaves to reduce ---- */

static inline uint64_t plain_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/*
 * Values of which most sums fit; with `wild` all bit patterns: NaN, infinities, subnormals, the
 * ends of ranges.
 */
static inline void plain_fill(enum nn_dtype dtype, void *values, size_t count, uint64_t seed,
			      bool wild)
{
	size_t size = nn_dtype_size(dtype);

	for (size_t i = 0; i < count; i++) {
		uint64_t bits = plain_random(&seed);
		int small = (int)(bits >> 8 & 7);
		float f = ((float)(bits >> 40) - 8388608) * 0x1p-22f;

		if (wild) {
			if ((bits >> 60) == 1)
				bits = (bits & 1) ? ~UINT64_C(0) : UINT64_C(0x7f807c007f807c00);
		} else if (dtype == NN_F32) {
			memcpy(&bits, &f, 4);
		} else if (dtype == NN_F64) {
			double d = (double)f * 1.0000001;

			memcpy(&bits, &d, 8);
		} else if (dtype == NN_BF16) {
			uint32_t word;

			memcpy(&word, &f, 4);
			bits = word >> 16;
		} else if (dtype == NN_F16) {
			bits = (bits & 0x8000) | (0x3000 + (bits & 0xfff));
		} else {
			bits = (uint64_t)small;
		}
		memcpy((char *)values + i * size, &bits, size);
	}
}

#endif
