/*
 * A number in sixteen or thirty-two bytes, without a branch per digit, where the CPU has vectors
 * for it; a decimal as a value, rounded once. For number-line.c and number-list.c.
 */
#ifndef NN_BASE_NUMBER_WIDE_H
#define NN_BASE_NUMBER_WIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"

#if defined __x86_64__ && !defined NN_LINE_PLAIN /* a test has the other way too */
#include <immintrin.h>
#define NN_WIDE __attribute__((target("avx2,bmi,bmi2")))
#endif

static const double powers[] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};
#define MOST_POWER 22

static inline unsigned digit(char c)
{
	return (unsigned)(unsigned char)c - '0';
}

static inline double signed_value(bool minus, double v)
{
	return minus ? -v : v;
}

/* ---- up to 19 digits and a power of ten ---- */

struct line_decimal {
	uint64_t digits;
	int exponent; /* of ten */
	bool minus;
};

/*
 * Digits and a power of ten that are both exact, so that one operation rounds once (Clinger, PLDI
 * 1990).
 */
static inline bool decimal_f64(const struct line_decimal *d, double *value)
{
	double v = (double)d->digits;

	if (d->digits >> 53 || d->exponent < -MOST_POWER || d->exponent > MOST_POWER)
		return false;
	*value = signed_value(d->minus,
			      d->exponent < 0 ? v / powers[-d->exponent] : v * powers[d->exponent]);
	return true;
}

/*
 * A double that is wrong by less than two of its last places says on which side of a tie of f32 the
 * number lies, unless it is as near to the tie as that. Digits that were rounded to f64 and an
 * operation that rounds are such a double.
 */
#define LOW ((1u << 29) - 1)
#define TIE (1u << 28)
static inline bool near_tie(double v, unsigned places)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return ((unsigned)bits & LOW) - (TIE - places) <= 2 * places;
}

static inline bool decimal_f32(const struct line_decimal *d, float *value)
{
	double v = (double)d->digits;

	if (d->exponent < -MOST_POWER || d->exponent > MOST_POWER)
		return false;
	if (d->exponent != 0 || d->digits >> 53) { /* else v is the number, its ties too */
		v = d->exponent < 0 ? v / powers[-d->exponent] : v * powers[d->exponent];
		if (near_tie(v, d->digits >> 53 ? 2 : 0) || v >= 0x1p127)
			return false;
	}
	*value = (float)signed_value(d->minus, v);
	return true;
}

/* ---- vectors ---- */

#ifdef NN_WIDE
/* Sixteen digits as a number: multiplied pairwise up to two numbers of eight. */
NN_WIDE static inline uint64_t sixteen_digits(__m128i digits)
{
	uint64_t halves;

	digits = _mm_maddubs_epi16(digits, _mm_set1_epi16(1 << 8 | 10));
	digits = _mm_madd_epi16(digits, _mm_set1_epi32(1 << 16 | 100));
	digits = _mm_madd_epi16(_mm_packus_epi32(digits, digits), _mm_set1_epi32(1 << 16 | 10000));
	halves = (uint64_t)_mm_cvtsi128_si64(digits);
	return (halves & 0xffffffff) * 100000000 + (halves >> 32);
}

/*
 * What takes the digits of text[length], `decimals` of them after a point, to the right end of a
 * vector: those before the point lie one byte further left than the others.
 */
NN_WIDE static inline __m128i to_the_right(unsigned length, unsigned decimals, bool point)
{
	const __m128i iota = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	__m128i from = _mm_add_epi8(iota, _mm_set1_epi8((char)(length - 16)));

	return point ? _mm_add_epi8(from,
				    _mm_cmpgt_epi8(_mm_set1_epi8((char)(16 - decimals)), iota))
		     : from;
}

/*
 * The same without a branch per digit. Bytes other than digits are found as a mask, and the digits
 * are shuffled to the right end of the vector with the point left out.
 */
NN_WIDE static inline const char *short_wide(const char *p, double *value)
{
	__m128i digits =
		_mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
	__m128i others = _mm_cmpeq_epi8(_mm_max_epu8(digits, _mm_set1_epi8(10)), digits), from;
	unsigned mask = (unsigned)_mm_movemask_epi8(others) | 0x10000, sign = mask & 1, length,
		 decimals = 0;
	uint64_t bits;
	double v;

	if (sign & (*p != '-') & (*p != '+'))
		return NULL;
	mask &= ~1u;
	length = (unsigned)__builtin_ctz(mask);
	if (p[length] == '.' && length < 16) {
		unsigned point = length;

		mask &= mask - 1;
		length = (unsigned)__builtin_ctz(mask);
		decimals = length - point - 1;
		from = to_the_right(length, decimals, true);
		if (length - sign < 2)
			return NULL;
	} else {
		from = to_the_right(length, 0, false);
	}
	if (length > 15 || length == sign)
		return NULL;
	digits = _mm_shuffle_epi8(_mm_andnot_si128(others, digits), from);
	v = (double)(int64_t)sixteen_digits(digits) / powers[decimals];
	memcpy(&bits, &v, sizeof bits);
	bits |= (uint64_t)(*p == '-') << 63;
	memcpy(value, &bits, sizeof bits);
	return p + length;
}

/*
 * A number of JSON that is known to end at q: digits[.digits], at most 15 of them; false: it is
 * another one, or none. Its digits lie at the right end of the sixteen bytes before q, so that only
 * those before a point are moved. Nothing here waits for the number before it.
 */
NN_WIDE static inline bool ended_wide(const char *p, const char *q, double *value)
{
	/* sixteen bytes from the n-th on: ones in the last n; in all but the last n */
	static const signed char last[32] = { [16] = -1, -1, -1, -1, -1, -1, -1, -1,
					      -1,        -1, -1, -1, -1, -1, -1, -1 };
	static const signed char first[32] = { -1, -1, -1, -1, -1, -1, -1, -1,
					       -1, -1, -1, -1, -1, -1, -1, -1 };
	const __m128i iota = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	size_t length = (size_t)(q - p), decimals = 0;
	__m128i text = _mm_loadu_si128((const __m128i *)(const void *)(q - 16));
	__m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
	__m128i others = _mm_cmpeq_epi8(_mm_max_epu8(digits, _mm_set1_epi8(10)), digits);
	unsigned mask;

	if (length - 1 > 15)
		return false;
	mask = (unsigned)_mm_movemask_epi8(others) & 0xffff0000u >> length;
	if (mask) {
		decimals = 15 - (size_t)__builtin_ctz(mask);
		if ((mask & (mask - 1)) || decimals == 0 || *(q - 1 - decimals) != '.')
			return false;
		if (p[1] != '.' && (*p == '0' || *p == '.'))
			return false;
		/* those up to the point go one byte to the right */
		digits = _mm_shuffle_epi8(
			digits,
			_mm_add_epi8(iota,
				     _mm_loadu_si128(
					     (const __m128i *)(const void *)(first + decimals))));
		length--;
	} else if (length > 15 || (*p == '0' && length > 1)) {
		return false;
	}
	digits = _mm_and_si128(digits,
			       _mm_loadu_si128((const __m128i *)(const void *)(last + length)));
	*value = (double)(int64_t)sixteen_digits(digits) / powers[decimals];
	return true;
}

/* Which of the 64 bytes at p are commas. */
NN_WIDE static inline uint64_t commas_wide(const char *p)
{
	const __m256i comma = _mm256_set1_epi8(',');
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));

	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, comma)) |
	       (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, comma)) << 32;
}

/*
 * [+-]digits.digits of up to 19 digits, 16 and more of them after the point: what f64 in full looks
 * like.
 */
NN_WIDE static inline const char *long_wide(const char *p, struct line_decimal *d)
{
	__m256i digits = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p),
					 _mm256_set1_epi8('0'));
	__m256i others = _mm256_cmpeq_epi8(_mm256_max_epu8(digits, _mm256_set1_epi8(10)), digits);
	uint64_t mask = (uint32_t)_mm256_movemask_epi8(others);
	unsigned sign = mask & 1, point, length, decimals;
	__m128i head, tail;

	mask = (mask & ~UINT64_C(1)) | UINT64_C(3) << 32;
	point = (unsigned)__builtin_ctzll(mask);
	length = (unsigned)__builtin_ctzll(mask & (mask - 1));
	decimals = length - point - 1;
	if ((sign & (*p != '-') & (*p != '+')) || length > 31 || p[point] != '.' || decimals < 16 ||
	    length - sign > 20)
		return NULL;
	head = _mm256_castsi256_si128(_mm256_andnot_si256(others, digits));
	head = _mm_shuffle_epi8(head, to_the_right(length - 16, decimals - 16, true));
	tail = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + length - 16)),
			    _mm_set1_epi8('0'));
	*d = (struct line_decimal){ sixteen_digits(head) * UINT64_C(10000000000000000) +
					    sixteen_digits(tail),
				    -(int)decimals, *p == '-' };
	return p + length;
}

static inline bool has_wide(void)
{
	return NN_CPU_HAS(AVX2) && NN_CPU_HAS(BMI1) && NN_CPU_HAS(BMI2);
}
#else
static inline bool has_wide(void)
{
	return false;
}
#endif

#endif
