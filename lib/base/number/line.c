/*
 * Numbers of a line: sixteen bytes at once where the CPU has vectors for it, else eight digits at a
 * time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/number-line.h"
#include "base/number/wide.h"

/* ---- any way of writing a number, up to 19 digits ---- */

/* Eight digits at p as a number; false when they are not all digits. */
static inline bool eight_digits(const char *p, uint64_t *value)
{
	uint64_t x;

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return false;
	memcpy(&x, p, sizeof x);
	x -= UINT64_C(0x3030303030303030);
	/* a byte other than a digit is above 9 now, or borrowed from the one above it */
	if ((x | (x + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080))
		return false;
	x = x * 10 + (x >> 8); /* pairs, in every second byte */
	x = (x & UINT64_C(0x00ff00ff00ff00ff)) * (UINT64_C(100) << 16 | 1) >> 16; /* fours */
	*value = (x & UINT64_C(0x0000ffff0000ffff)) * (UINT64_C(10000) << 32 | 1) >> 32;
	return true;
}

static inline const char *take_digits(const char *p, uint64_t *digits)
{
	uint64_t more;

	while (eight_digits(p, &more)) {
		*digits = *digits * 100000000 + more;
		p += 8;
	}
	while (digit(*p) < 10)
		*digits = *digits * 10 + digit(*p++);
	return p;
}

/* Where the number at p ends; NULL when it is none, or has more than 19 digits. */
static const char *take_decimal(const char *p, struct line_decimal *d)
{
	const char *first, *point;
	int exponent = 0, n = 0;
	bool below, zero;

	*d = (struct line_decimal){ .minus = *p == '-' };
	p += *p == '-' || *p == '+';
	zero = *p == '0'; /* does not count among the 19 */
	first = p += zero;
	p = take_digits(p, &d->digits);
	if (*p == '.') {
		point = ++p;
		p = take_digits(p, &d->digits);
		d->exponent = (int)(point - p);
		first++;
	}
	if ((p == first && !zero) || p - first > 19)
		return NULL;
	if (*p != 'e' && *p != 'E')
		return p;
	below = *++p == '-';
	p += *p == '-' || *p == '+';
	for (; digit(*p) < 10 && n < 4; n++)
		exponent = exponent * 10 + (int)digit(*p++);
	d->exponent += below ? -exponent : exponent;
	return n > 0 && n < 4 ? p : NULL;
}

static const char *any_f64(const char *p, double *value)
{
	struct line_decimal d;
	const char *end = take_decimal(p, &d);

	return end && decimal_f64(&d, value) ? end : NULL;
}

static const char *any_f32(const char *p, float *value)
{
	struct line_decimal d;
	const char *end = take_decimal(p, &d);

	return end && decimal_f32(&d, value) ? end : NULL;
}

/* ---- [+-]digits[.digits] of at most 15 bytes: nearly all numbers there are ---- */

static const char *short_plain(const char *p, double *value)
{
	bool minus = *p == '-';
	const char *begin = p += minus || *p == '+', *point = NULL;
	uint64_t w = 0;

	for (; digit(*p) < 10; p++)
		w = 10 * w + digit(*p);
	if (*p == '.')
		for (point = ++p; digit(*p) < 10; p++)
			w = 10 * w + digit(*p);
	if (p - begin > 15 || p - begin == (point ? 1 : 0))
		return NULL;
	*value = signed_value(minus, (double)w / powers[point ? p - point : 0]);
	return p;
}

#ifdef NN_WIDE
NN_WIDE static const char *long_f32(const char *p, float *value)
{
	struct line_decimal d;
	const char *end = long_wide(p, &d);

	return end && (*end | 0x20) != 'e' && decimal_f32(&d, value) ? end : any_f32(p, value);
}
#endif

/* ---- lines ---- */

#define LINE_F32(name, number, any) \
	static size_t name(const char **text, const char *end, char separator, float *values, \
			   size_t n) \
	{ \
		const char *p = *text, *q; \
		size_t i; \
		for (i = 0; i < n && p <= end; i++, p = q + 1) { \
			double v; \
			q = number(p, &v); \
			if (q && (*q == separator || q == end) && !near_tie(v, 0)) { \
				values[i] = (float)v; \
				continue; \
			} \
			q = any(p, &values[i]); \
			if (!q || (*q != separator && q != end)) \
				break; \
		} \
		*text = p; \
		return i; \
	}

#define LINE_F64(name, number) \
	static size_t name(const char **text, const char *end, char separator, double *values, \
			   size_t n) \
	{ \
		const char *p = *text, *q; \
		size_t i; \
		for (i = 0; i < n && p <= end; i++, p = q + 1) { \
			q = number(p, &values[i]); \
			if (q && (*q == separator || q == end)) \
				continue; \
			q = any_f64(p, &values[i]); \
			if (!q || (*q != separator && q != end)) \
				break; \
		} \
		*text = p; \
		return i; \
	}

LINE_F32(plain_f32, short_plain, any_f32)
LINE_F64(plain_f64, short_plain)

#ifdef NN_WIDE
NN_WIDE LINE_F32(wide_f32, short_wide, long_f32)
NN_WIDE LINE_F64(wide_f64, short_wide)
#else
#define wide_f32 plain_f32
#define wide_f64 plain_f64
#endif

size_t nn_parse_line_f32(const char **text, const char *end, char separator, float *values,
			 size_t n)
{
	return (has_wide() ? wide_f32 : plain_f32)(text, end, separator, values, n);
}

size_t nn_parse_line_f64(const char **text, const char *end, char separator, double *values,
			 size_t n)
{
	return (has_wide() ? wide_f64 : plain_f64)(text, end, separator, values, n);
}
