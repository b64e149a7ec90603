/* Numbers of a table read in place: the common ones exactly and at once, the others by nn_parse. */
#ifndef NN_DATA_NUMBER_H
#define NN_DATA_NUMBER_H

#include <stdint.h>
#include <string.h>

static const double nn_power_of_ten[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22,
};

/*
 * [+-]digits[.digits] at p, which ends at a byte that is none of these: where it ends, or NULL when it is not so simple. With at
 * most 2^53 and 22 decimals both operands of the division are exact, so the result is correctly rounded (Clinger, PLDI 1990).
 */
static inline const char *nn_number_f64(const char *p, double *value)
{
	const char *begin, *point = NULL;
	uint64_t w = 0;
	unsigned digit, decimals = 0;
	int minus = *p == '-';
	double v;

	p += minus || *p == '+';
	begin = p;
	while ((digit = (unsigned)(unsigned char)*p - '0') < 10)
		w = 10 * w + digit, p++;
	if (*p == '.') {
		point = ++p;
		while ((digit = (unsigned)(unsigned char)*p - '0') < 10)
			w = 10 * w + digit, p++;
		decimals = (unsigned)(p - point);
	}
	/* 18 digits cannot overflow 64 bits */
	if (p - begin > 18 || p - begin == (point ? 1 : 0) || w > UINT64_C(1) << 53 || *p == 'e' || *p == 'E')
		return NULL;
	v = (double)w / nn_power_of_ten[decimals];
	*value = minus ? -v : v;
	return p;
}

/* The same, rounded once to f32: a double that is not halfway between two floats lies on the side of the exact value. */
static inline const char *nn_number_f32(const char *p, float *value)
{
	const char *end;
	uint64_t bits;
	double v;

	end = nn_number_f64(p, &v);
	memcpy(&bits, &v, sizeof bits);
	if (!end || (bits & 0x1fffffff) == 0x10000000)
		return NULL;
	*value = (float)v;
	return end;
}

#endif
