/* Numbers as text: exact parsing with Clinger's fast path, printing with the fewest digits that read back. */
#include "config.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* strtod and printf of the C locale, whatever setlocale was given by a program that uses libnn. */
static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static const double powers[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
	1e21, 1e22,
};

/* ---- parsing ---- */

/* A decimal: digits (the first 19 that count) times ten to the exponent. */
struct decimal {
	uint64_t digits;
	long exponent;
	bool negative, cut;          /* cut: more digits than were kept */
};

static bool scan_exponent(const char **text, const char *end, long *exponent)
{
	const char *s = *text;
	bool negative = s < end && *s == '-';
	long e = 0;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	if (s == end || *s < '0' || *s > '9')
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++)
		if (e < 100000)
			e = e * 10 + (*s - '0');
	*exponent += negative ? -e : e;
	*text = s;
	return true;
}

static bool scan(const char *s, const char *end, struct decimal *d)
{
	bool point = false, any = false;
	int kept = 0;

	*d = (struct decimal){ .negative = s < end && *s == '-' };
	if (s < end && (*s == '-' || *s == '+'))
		s++;
	for (; s < end; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (digit > 9)
			break;
		any = true;
		if (kept < 19) {
			d->digits = d->digits * 10 + digit;
			kept += d->digits != 0;
			d->exponent -= point;
		} else {
			d->cut |= digit != 0;
			d->exponent += !point;
		}
	}
	if (!any)
		return false;
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		if (!scan_exponent(&s, end, &d->exponent))
			return false;
	}
	return s == end;
}

/* Exact where digits and power are: Clinger, How to Read Floating Point Numbers Accurately, 1990. */
static bool fast(const struct decimal *d, double *value)
{
	double v = (double)d->digits;

	if (d->cut || d->digits >> 53 || d->exponent < -22 || d->exponent > 22)
		return false;
	v = d->exponent < 0 ? v / powers[-d->exponent] : v * powers[d->exponent];
	*value = d->negative ? -v : v;
	return true;
}

/* A number that is too long for the buffer is read from its first 1 kB of digits: more cannot change a double. */
static const char *terminated(const char *text, size_t n, char *buffer, size_t room)
{
	if (n >= room)
		return NULL;
	memcpy(buffer, text, n);
	buffer[n] = '\0';
	return buffer;
}

/* The digits that count, an e and the exponent: what is left of a very long number. */
static const char *shortened(const char *text, size_t n, char *buffer, size_t room)
{
	const char *end = text + n;
	size_t at = 0;
	long exponent = 0;
	bool point = false, more = false;

	if (*text == '-')
		buffer[at++] = '-';
	text += *text == '-' || *text == '+';
	for (; text < end && *text != 'e' && *text != 'E'; text++) {
		if (*text == '.') {
			point = true;
		} else if (at + 40 < room) {
			if (*text != '0' || (at > 0 && buffer[at - 1] != '-'))
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
	if (at == 0 || buffer[at - 1] == '-')
		buffer[at++] = '0';
	if (more) {
		buffer[at++] = '1';
		exponent--;
	}
	snprintf(buffer + at, room - at, "e%ld", exponent);
	return buffer;
}

bool nn_parse_f64(const char *text, size_t n, double *value)
{
	struct decimal d;
	char buffer[1200];
	const char *copy;

	if (!scan(text, text + n, &d))
		return false;
	if (fast(&d, value))
		return true;
	pthread_once(&once, make_locale);
	copy = terminated(text, n, buffer, sizeof buffer);
	if (!copy)
		copy = shortened(text, n, buffer, sizeof buffer);
	*value = strtod_l(copy, NULL, c_locale);
	return isfinite(*value);
}

/* Through f64 where that cannot round twice: when no bit below f32's last half place is in doubt. */
bool nn_parse_f32(const char *text, size_t n, float *value)
{
	struct decimal d;
	char buffer[1200];
	const char *copy;
	double v;

	if (!scan(text, text + n, &d))
		return false;
	if (!d.cut && d.digits >> 24 == 0 && d.exponent >= -10 && d.exponent <= 10) {
		float f = (float)d.digits, p = (float)powers[d.exponent < 0 ? -d.exponent : d.exponent];

		f = d.exponent < 0 ? f / p : f * p;
		*value = d.negative ? -f : f;
		return true;
	}
	if (fast(&d, &v)) {
		uint64_t bits;

		memcpy(&bits, &v, sizeof bits);
		/* v is rounded to 53 bits; rounding it again to 24 differs only from a v exactly on a tie of f32. */
		if ((bits & 0x1fffffff) != 0x10000000 && fabs(v) >= 0x1p-126 && fabs(v) < 0x1p127) {
			*value = (float)v;
			return true;
		}
	}
	pthread_once(&once, make_locale);
	copy = terminated(text, n, buffer, sizeof buffer);
	if (!copy)
		copy = shortened(text, n, buffer, sizeof buffer);
	*value = strtof_l(copy, NULL, c_locale);
	return isfinite(*value);
}

bool nn_parse_u64(const char *text, size_t n, uint64_t *value)
{
	uint64_t v = 0;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	}
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
	const char *suffix = n > 0 ? strchr(suffixes, text[n - 1]) : NULL;
	uint64_t unit = 1;

	if (suffix && *suffix)
		unit = UINT64_C(1) << (10 * (suffix - suffixes + 1));
	else
		suffix = NULL;
	return nn_parse_u64(text, n - (suffix != NULL), bytes) && !__builtin_mul_overflow(*bytes, unit, bytes);
}

bool nn_parse_seconds(const char *text, size_t n, double *seconds)
{
	double unit = 1;

	if (n > 0 && (text[n - 1] == 's' || text[n - 1] == 'm' || text[n - 1] == 'h')) {
		unit = text[n - 1] == 's' ? 1 : text[n - 1] == 'm' ? 60 : 3600;
		n--;
	}
	if (!nn_parse_f64(text, n, seconds))
		return false;
	*seconds *= unit;
	return isfinite(*seconds);
}

/* ---- printing ---- */

/* Digits and exponent as people write them: 0.001, 12.5, 1e-07, 1.5e+20 as 1.5e20. */
static size_t lay_out(char *buffer, bool negative, const char *digits, int n, int point)
{
	char *s = buffer;

	if (negative)
		*s++ = '-';
	if (point > 0 && point <= 16) {
		for (int i = 0; i < (point > n ? point : n); i++) {
			if (i == point)
				*s++ = '.';
			*s++ = i < n ? digits[i] : '0';
		}
	} else if (point <= 0 && point > -5) {
		*s++ = '0';
		*s++ = '.';
		for (int i = point; i < 0; i++)
			*s++ = '0';
		memcpy(s, digits, (size_t)n);
		s += n;
	} else {
		*s++ = digits[0];
		if (n > 1)
			*s++ = '.';
		memcpy(s, digits + 1, (size_t)n - 1);
		s += n - 1;
		s += sprintf(s, "e%d", point - 1);
	}
	*s = '\0';
	return (size_t)(s - buffer);
}

static size_t special(char *buffer, double value)
{
	strcpy(buffer, isnan(value) ? "nan" : value > 0 ? "inf" : value < 0 ? "-inf" : signbit(value) ? "-0" : "0");
	return strlen(buffer);
}

/* "d.ddde+XX" of %e into digits without trailing zeros and the place of the point. */
static int split(const char *text, char *digits, int *point)
{
	int n = 0;

	for (; *text && *text != 'e'; text++)
		if (*text >= '0' && *text <= '9')        /* the point may be a locale's comma */
			digits[n++] = *text;
	*point = atoi(text + 1) + 1;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	return n;
}

static size_t print_digits(char *buffer, double magnitude, bool negative, int precision)
{
	char text[40], digits[24];
	int n, point;

	snprintf(text, sizeof text, "%.*e", precision - 1, magnitude);
	n = split(text, digits, &point);
	return lay_out(buffer, negative, digits, n, point);
}

size_t nn_format_f64(char *buffer, double value)
{
	double magnitude = fabs(value), back;
	size_t n = 0;

	if (!isfinite(value) || value == 0)
		return special(buffer, value);
	for (int precision = 15; precision <= 17; precision++) {
		n = print_digits(buffer, magnitude, value < 0, precision);
		if (nn_parse_f64(buffer, n, &back) && back == value)
			break;
	}
	return n;
}

/*
 * Six to nine digits of a float of moderate size from its product with a power of ten, exact in f64 to well below the last place;
 * whether they read back decides, so an error there could only cost a digit, never a value.
 */
static size_t quick_f32(char *buffer, float value)
{
	double magnitude = fabs((double)value);
	int point = (int)floor(log10(magnitude)) + 1;

	for (int precision = 6; precision <= 9; precision++) {
		int shift = precision - point, n = precision;
		char digits[12];
		float back;
		uint64_t whole;
		size_t length;

		if (shift > 22 || shift < -22)
			return 0;
		whole = (uint64_t)llrint(shift < 0 ? magnitude / powers[-shift] : magnitude * powers[shift]);
		for (int i = precision - 1; i >= 0; i--, whole /= 10)
			digits[i] = (char)('0' + whole % 10);
		if (whole)
			return 0;                /* rounded up to one digit more */
		while (n > 1 && digits[n - 1] == '0')
			n--;
		if (digits[0] == '0')
			return 0;
		length = lay_out(buffer, value < 0, digits, n, point);
		if (nn_parse_f32(buffer, length, &back) && back == value)
			return length;
	}
	return 0;
}

size_t nn_format_f32(char *buffer, float value)
{
	size_t n;
	float back;

	if (!isfinite(value) || value == 0)
		return special(buffer, value);
	n = quick_f32(buffer, value);
	if (n)
		return n;
	for (int precision = 6; precision <= 9; precision++) {
		n = print_digits(buffer, fabs((double)value), value < 0, precision);
		if (nn_parse_f32(buffer, n, &back) && back == value)
			break;
	}
	return n;
}
