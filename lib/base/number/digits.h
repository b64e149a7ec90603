/* Decimals as digits, eight at once, and the pieces of text that they are put together from. */
#ifndef NN_BASE_NUMBER_DIGITS_H
#define NN_BASE_NUMBER_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- digits ---- */

/* A decimal of n digits, at most 17, the last of them not 0: 0.DIGITS * 10^point. */
struct digits {
	char text[48]; /* bytes without a meaning lie behind them */
	int n, point;
};

/* The digits of a number below 10^8 as bytes of 0 to 9, the first in the lowest byte. */
static inline uint64_t eight_digits(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32, twos, tens;

	twos = (fours * 10486 >> 20) & UINT64_C(0x7f0000007f);
	twos |= (fours - twos * 100) << 16;
	tens = (twos * 103 >> 10) & UINT64_C(0x000f000f000f000f);
	return tens | (twos - tens * 10) << 8;
}

static inline void store(char *to, uint64_t digits)
{
	digits += UINT64_C(0x3030303030303030);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		digits = __builtin_bswap64(digits);
	memcpy(to, &digits, sizeof digits);
}

/* value * 10^exponent; value is not 0. */
static inline void digits_of(struct digits *d, uint64_t value, int exponent)
{
	uint32_t low[2];
	uint64_t first;
	int eights = 0, zeros, n;

	for (; value >= 100000000; value /= 100000000)
		low[eights++] = (uint32_t)(value % 100000000);
	first = eight_digits((uint32_t)value);
	zeros = __builtin_ctzll(first) / 8;
	store(d->text, first >> (8 * zeros));
	for (n = 8 - zeros; eights > 0; n += 8)
		store(d->text + n, eight_digits(low[--eights]));
	d->point = n + exponent;
	while (d->text[n - 1] == '0')
		n--;
	d->n = n;
}

/* ---- text ---- */

#define ROOM 80 /* what all these write to: they write more bytes than count */

static inline char *put_zeros(char *to, int n)
{
	while (n-- > 0)
		*to++ = '0';
	return to;
}

static inline char *put_digits(char *to, const struct digits *d, int from, int n)
{
	memcpy(to, d->text + from, 16);
	if (n > 16)
		memcpy(to + 16, d->text + from + 16, 8);
	return to + n;
}

/* The n bytes of text, and a NUL. */
static inline size_t put_text(char *buffer, const char *text, size_t n)
{
	if (n < 16)
		memcpy(buffer, text, 16);
	else
		memcpy(buffer, text, n);
	buffer[n] = '\0';
	return n;
}

/* 1500, 12.5, 0.001 */
static inline char *put_fixed(char *to, const struct digits *d)
{
	if (d->point <= 0) {
		*to++ = '0';
		*to++ = '.';
		to = put_zeros(to, -d->point);
		return put_digits(to, d, 0, d->n);
	}
	if (d->n <= d->point)
		return put_zeros(put_digits(to, d, 0, d->n), d->point - d->n);
	to = put_digits(to, d, 0, d->point);
	*to++ = '.';
	return put_digits(to, d, d->point, d->n - d->point);
}

/* 1.5 and the exponent behind it. */
static inline char *put_leading(char *to, const struct digits *d)
{
	*to++ = d->text[0];
	if (d->n == 1)
		return to;
	*to++ = '.';
	return put_digits(to, d, 1, d->n - 1);
}

/* e20, e-7; padded: e+20, e-07 */
static inline char *put_exponent(char *to, int exponent, bool padded)
{
	unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);

	*to++ = 'e';
	if (exponent < 0 || padded)
		*to++ = exponent < 0 ? '-' : '+';
	if (e >= 100)
		*to++ = (char)('0' + e / 100);
	if (e >= 10 || padded)
		*to++ = (char)('0' + e / 10 % 10);
	*to++ = (char)('0' + e % 10);
	return to;
}

#endif
