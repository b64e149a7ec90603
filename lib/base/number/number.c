/*
 * Text as numbers: exact, by one operation or 128-bit integers where that suffices, else by strtod
 * in the C locale.
 */
#include "config.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flush.h"
#include "base/number.h"

/* strtod of the C locale, whatever setlocale was given by a program that uses libnn. */
static locale_t the_c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
	the_c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t c_locale(void)
{
	pthread_once(&once, make_locale);
	return the_c_locale;
}

static const double powers[] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

#define P5(n) UINT64_C(n)
/* 5^0..5^27, all that 64 bits hold */
static const uint64_t powers_of_five[] = {
	P5(1),
	P5(5),
	P5(25),
	P5(125),
	P5(625),
	P5(3125),
	P5(15625),
	P5(78125),
	P5(390625),
	P5(1953125),
	P5(9765625),
	P5(48828125),
	P5(244140625),
	P5(1220703125),
	P5(6103515625),
	P5(30517578125),
	P5(152587890625),
	P5(762939453125),
	P5(3814697265625),
	P5(19073486328125),
	P5(95367431640625),
	P5(476837158203125),
	P5(2384185791015625),
	P5(11920928955078125),
	P5(59604644775390625),
	P5(298023223876953125),
	P5(1490116119384765625),
	P5(7450580596923828125),
};
#define MOST_FIVES 27

/* ---- a decimal: digits (the first 19 that count) times ten to the exponent ---- */

struct decimal {
	uint64_t digits;
	long exponent;
	bool negative, cut; /* cut: more digits than were kept, not all 0 */
};

static inline unsigned digit(char c)
{
	return (unsigned char)(c - '0');
}

static bool scan_exponent(const char **text, const char *end, long *exponent)
{
	const char *s = *text;
	bool negative = s < end && *s == '-';
	long e = 0;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	if (s == end || digit(*s) > 9)
		return false;
	for (; s < end && digit(*s) <= 9; s++)
		if (e < 1000000000000000)
			e = e * 10 + (long)digit(*s);
	*exponent += negative ? -e : e;
	*text = s;
	return true;
}

/* Once more for a number of more than 19 digits: zeros in front do not count. */
static void keep_19(struct decimal *d, const char *s, const char *end)
{
	bool point = false;
	int kept = 0;

	d->digits = 0;
	d->exponent = 0;
	for (; s < end; s++) {
		if (*s == '.') {
			point = true;
		} else if (kept < 19) {
			d->digits = d->digits * 10 + digit(*s);
			kept += d->digits != 0;
			d->exponent -= point;
		} else {
			d->cut |= *s != '0';
			d->exponent += !point;
		}
	}
}

static bool scan(const char *s, const char *end, struct decimal *d)
{
	uint64_t digits = 0;
	const char *first, *point = NULL;
	size_t n;

	*d = (struct decimal){ .negative = s < end && *s == '-' };
	s += s < end && (*s == '-' || *s == '+');
	for (first = s; s < end && digit(*s) <= 9; s++)
		digits = digits * 10 + digit(*s);
	n = (size_t)(s - first);
	if (s < end && *s == '.') {
		point = ++s;
		for (; s < end && digit(*s) <= 9; s++)
			digits = digits * 10 + digit(*s);
		n += (size_t)(s - point);
		d->exponent = point - s;
	}
	d->digits = digits;
	if (n == 0)
		return false;
	if (n > 19)
		keep_19(d, first, s);
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		if (!scan_exponent(&s, end, &d->exponent))
			return false;
	}
	return s == end;
}

/* ---- exact ways ---- */

/*
 * One operation on two exact numbers: Clinger, How to Read Floating Point Numbers Accurately, 1990.
 */
static inline bool one_operation(const struct decimal *d, double *value)
{
	double v = (double)d->digits;

	if (d->cut || d->digits >> 53 || d->exponent < -22 || d->exponent > 22)
		return false;
	v = d->exponent < 0 ? v / powers[-d->exponent] : v * powers[d->exponent];
	*value = d->negative ? -v : v;
	return true;
}

static int bit_length(unsigned __int128 x)
{
	uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/*
 * x * 2^exponent (and a little more if `sticky`), rounded to `bits` bits, ties to even. Nowhere
 * near the ends of double's range.
 */
static double round_bits(unsigned __int128 x, bool sticky, int exponent, int bits)
{
	int shift = bit_length(x) - bits;
	uint64_t kept;

	if (shift <= 0)
		return ldexp((double)(uint64_t)x,
			     exponent); /* the quotients below have more bits, so nothing sticks */
	kept = (uint64_t)(x >> shift);
	if (x >> (shift - 1) & 1)
		kept += (kept & 1) || sticky ||
			(x & (((unsigned __int128)1 << (shift - 1)) - 1)) != 0;
	return ldexp((double)kept, exponent + shift);
}

/*
 * digits * 5^q * 2^q in integers, for |q| <= 27: the result has an absolute value of 1e-27 to 2e46.
 */
static bool in_integers(const struct decimal *d, int bits, double *value)
{
	int q = (int)d->exponent, zeros;
	unsigned __int128 x, quotient;
	double v = 0;

	if (d->cut || d->exponent < -MOST_FIVES || d->exponent > MOST_FIVES)
		return false;
	if (d->digits == 0) {
		v = 0;
	} else if (q >= 0) {
		v = round_bits((unsigned __int128)d->digits * powers_of_five[q], false, q, bits);
	} else {
		zeros = __builtin_clzll(d->digits);
		x = (unsigned __int128)(d->digits << zeros) << 63;
		quotient = x / powers_of_five[-q];
		v = round_bits(quotient, quotient * powers_of_five[-q] != x, q - zeros - 63, bits);
	}
	*value = d->negative ? -v : v;
	return true;
}

/* ---- the slow way ---- */

/*
 * The first 1100 digits that count, an e and the exponent: more digits only say that there is
 * something behind them.
 */
static void shortened(const char *text, const char *end, char *buffer, size_t room)
{
	size_t at = 0;
	long exponent = 0;
	bool point = false, more = false, any = false;

	if (*text == '-')
		buffer[at++] = '-';
	text += *text == '-' || *text == '+';
	for (; text < end && *text != 'e' && *text != 'E'; text++) {
		if (*text == '.') {
			point = true;
		} else if (at + 40 < room) {
			any |= *text != '0';
			if (any)
				buffer[at++] = *text;
			exponent -= point;
		} else {
			more |= *text != '0';
			exponent += !point;
		}
	}
	if (text < end) {
		text++;
		scan_exponent(&text, end, &exponent);
	}
	if (!any)
		buffer[at++] = '0';
	if (more) {
		buffer[at++] = '1';
		exponent--;
	}
	snprintf(buffer + at, room - at, "e%ld", exponent);
}

/* n bytes that scan accepted as a string that strtod takes; buffer holds SLOW_ROOM bytes. */
#define SLOW_ROOM 1200
static const char *prepare(const char *text, size_t n, char *buffer)
{
	if (n >= SLOW_ROOM) {
		shortened(text, text + n, buffer, SLOW_ROOM);
		return buffer;
	}
	memcpy(buffer, text, n);
	buffer[n] = '\0';
	return buffer;
}

/* Numbers that may be subnormal: whoever reads them. */
static double slow_f64(const char *text, size_t n)
{
	char buffer[SLOW_ROOM];
	uint64_t before = nn_flush_set(false);
	double value = strtod_l(prepare(text, n, buffer), NULL, c_locale());

	nn_flush_restore(before);
	return value;
}

static float slow_f32(const char *text, size_t n)
{
	char buffer[SLOW_ROOM];
	uint64_t before = nn_flush_set(false);
	float value = strtof_l(prepare(text, n, buffer), NULL, c_locale());

	nn_flush_restore(before);
	return value;
}

bool nn_parse_f64(const char *text, size_t n, double *value)
{
	struct decimal d;

	if (!scan(text, text + n, &d))
		return false;
	if (one_operation(&d, value) || in_integers(&d, 53, value))
		return true;
	*value = slow_f64(text, n);
	return isfinite(*value);
}

/*
 * Is v, rounded to 53 bits, a tie of f32? Rounding anything else once more gives what rounding once
 * gives.
 */
static inline bool is_tie(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return (bits & 0x1fffffff) == 0x10000000;
}

bool nn_parse_f32(const char *text, size_t n, float *value)
{
	struct decimal d;
	double v;

	if (!scan(text, text + n, &d))
		return false;
	/* Of 1e-22 to 1e38 or so: float's normal numbers. */
	if (one_operation(&d, &v) && fabs(v) < 0x1p127 && !is_tie(v)) {
		*value = (float)v;
		return true;
	}
	if (in_integers(&d, 24, &v) && fabs(v) < 0x1p128) {
		*value = (float)v;
		return true;
	}
	*value = slow_f32(text, n);
	return isfinite(*value);
}

/* ---- whole numbers, sizes, times ---- */

bool nn_parse_u64(const char *text, size_t n, uint64_t *value)
{
	uint64_t v = 0;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (digit(text[i]) > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit(text[i]), &v))
			return false;
	*value = v;
	return true;
}

bool nn_parse_i64(const char *text, size_t n, int64_t *value)
{
	bool negative = n > 0 && *text == '-', sign = n > 0 && (*text == '-' || *text == '+');
	uint64_t v;

	if (!nn_parse_u64(text + sign, n - sign, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*value = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool nn_parse_size(const char *text, size_t n, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix = n > 0 ? memchr(suffixes, text[n - 1], 4) : NULL;
	uint64_t unit = suffix ? UINT64_C(1) << (10 * (suffix - suffixes + 1)) : 1;

	return nn_parse_u64(text, n - (suffix != NULL), bytes) &&
	       !__builtin_mul_overflow(*bytes, unit, bytes);
}

bool nn_parse_seconds(const char *text, size_t n, double *seconds)
{
	char last = n > 0 ? text[n - 1] : '\0';
	double unit = last == 'h' ? 3600 : last == 'm' ? 60 : 1;

	if (!nn_parse_f64(text, n - (last == 's' || last == 'm' || last == 'h'), seconds))
		return false;
	*seconds *= unit;
	return isfinite(*seconds);
}
