/* Numbers as text: the fewest digits that read back, by Schubfach for f32 and by trial for f64. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flush.h"
#include "base/number/digits.h"
#include "base/number.h"

/* ---- how people write them ---- */

/* value * 10^exponent, value not 0: 1500, 12.5, 0.001, 1.5e20, 1e-7. */
static size_t lay_out(char *buffer, bool negative, uint64_t value, int exponent)
{
	char text[ROOM], *to = text;
	struct digits d;

	digits_of(&d, value, exponent);
	*to = '-';
	to += negative;
	if (d.n <= d.point ? d.point <= 16 : d.point > -5)
		to = put_fixed(to, &d);
	else
		to = put_exponent(put_leading(to, &d), d.point - 1, false);
	return put_text(buffer, text, (size_t)(to - text));
}

static size_t special(char *buffer, double value)
{
	strcpy(buffer, isnan(value)     ? "nan"
		       : value > 0      ? "inf"
		       : value < 0      ? "-inf"
		       : signbit(value) ? "-0"
					: "0");
	return strlen(buffer);
}

/* ---- f32: Giulietti, The Schubfach way to render doubles, 2020 ---- */

#define LOWEST_POWER (-31)
#define HIGHEST_POWER 45

/* 10^k for k = -31..45, scaled to 64 bits, rounded up. */
static const uint64_t powers_of_ten[] = {
	0x81CEB32C4B43FCF5, 0xA2425FF75E14FC32, 0xCAD2F7F5359A3B3F, 0xFD87B5F28300CA0E,
	0x9E74D1B791E07E49, 0xC612062576589DDB, 0xF79687AED3EEC552, 0x9ABE14CD44753B53,
	0xC16D9A0095928A28, 0xF1C90080BAF72CB2, 0x971DA05074DA7BEF, 0xBCE5086492111AEB,
	0xEC1E4A7DB69561A6, 0x9392EE8E921D5D08, 0xB877AA3236A4B44A, 0xE69594BEC44DE15C,
	0x901D7CF73AB0ACDA, 0xB424DC35095CD810, 0xE12E13424BB40E14, 0x8CBCCC096F5088CC,
	0xAFEBFF0BCB24AAFF, 0xDBE6FECEBDEDD5BF, 0x89705F4136B4A598, 0xABCC77118461CEFD,
	0xD6BF94D5E57A42BD, 0x8637BD05AF6C69B6, 0xA7C5AC471B478424, 0xD1B71758E219652C,
	0x83126E978D4FDF3C, 0xA3D70A3D70A3D70B, 0xCCCCCCCCCCCCCCCD, 0x8000000000000000,
	0xA000000000000000, 0xC800000000000000, 0xFA00000000000000, 0x9C40000000000000,
	0xC350000000000000, 0xF424000000000000, 0x9896800000000000, 0xBEBC200000000000,
	0xEE6B280000000000, 0x9502F90000000000, 0xBA43B74000000000, 0xE8D4A51000000000,
	0x9184E72A00000000, 0xB5E620F480000000, 0xE35FA931A0000000, 0x8E1BC9BF04000000,
	0xB1A2BC2EC5000000, 0xDE0B6B3A76400000, 0x8AC7230489E80000, 0xAD78EBC5AC620000,
	0xD8D726B7177A8000, 0x878678326EAC9000, 0xA968163F0A57B400, 0xD3C21BCECCEDA100,
	0x84595161401484A0, 0xA56FA5B99019A5C8, 0xCECB8F27F4200F3A, 0x813F3978F8940985,
	0xA18F07D736B90BE6, 0xC9F2C9CD04674EDF, 0xFC6F7C4045812297, 0x9DC5ADA82B70B59E,
	0xC5371912364CE306, 0xF684DF56C3E01BC7, 0x9A130B963A6C115D, 0xC097CE7BC90715B4,
	0xF0BDC21ABB48DB21, 0x96769950B50D88F5, 0xBC143FA4E250EB32, 0xEB194F8E1AE525FE,
	0x92EFD1B8D0CF37BF, 0xB7ABC627050305AE, 0xE596B7B0C643C71A, 0x8F7E32CE7BEA5C70,
	0xB35DBF821AE4F38C,
};

/*
 * Bits 64..95 of the product; the lowest also says whether anything but the noise of the table lies
 * below.
 */
static inline uint32_t round_to_odd(uint64_t power, uint32_t x)
{
	unsigned __int128 p = (unsigned __int128)power * x;

	return (uint32_t)(p >> 64) | ((uint32_t)(p >> 32) > 1);
}

/* floor(log10(2^e)), of 3/4 2^e where the interval below is half as wide; floor(log2(10^e)). */
static inline int log10_of_2(int e, bool narrow)
{
	return (e * 1262611 - (narrow ? 524031 : 0)) >> 22;
}

static inline int log2_of_10(int e)
{
	return (e * 1741647) >> 19;
}

/*
 * The shortest decimal in the interval that rounds to c * 2^q, the nearest of those: *digits *
 * 10^result.
 */
static int shortest(uint32_t c, int q, bool narrow, uint32_t *digits)
{
	int k = log10_of_2(q, narrow), h = q + log2_of_10(-k) + 1;
	uint64_t power = powers_of_ten[-k - LOWEST_POWER];
	uint32_t lower = round_to_odd(power, (4 * c - (narrow ? 1 : 2)) << h) + (c & 1);
	uint32_t middle = round_to_odd(power, 4 * c << h);
	uint32_t upper = round_to_odd(power, (4 * c + 2) << h) - (c & 1);
	uint32_t s = middle / 4, tens = s / 10;
	bool below, above;

	if (s >= 10) {
		below = lower <= 40 * tens;
		above = 40 * tens + 40 <= upper;
		if (below != above) {
			*digits = tens + above;
			return k + 1;
		}
	}
	below = lower <= 4 * s;
	above = 4 * s + 4 <= upper;
	if (below != above)
		*digits = s + above;
	else
		*digits = s + (middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1)));
	return k;
}

/* The fewest digits that read back as c * 2^q. */
static int fewest(uint32_t c, int q, bool narrow, uint32_t *digits)
{
	if (q > 0 || q <= -24 || (c & ((1u << -q) - 1)) != 0)
		return shortest(c, q, narrow, digits);
	*digits = c >> -q; /* a whole number below 2^24 */
	return 0;
}

size_t nn_format_f32(char *buffer, float value)
{
	uint32_t bits, fraction, digits;
	int exponent;

	memcpy(&bits, &value, sizeof bits);
	fraction = bits & 0x7fffff;
	exponent = bits >> 23 & 0xff;
	if (exponent == 0xff || (bits & 0x7fffffff) == 0)
		return special(buffer, (double)value);
	if (exponent == 0)
		exponent = shortest(fraction, -149, false, &digits);
	else
		exponent = fewest(fraction | 0x800000, exponent - 150,
				  fraction == 0 && exponent > 1, &digits);
	return lay_out(buffer, bits >> 31, digits, exponent);
}

/* ---- f64 ---- */

/* `precision` digits of magnitude, and the exponent of the last one. */
static uint64_t correctly_rounded(double magnitude, int precision, int *exponent)
{
	char text[40], *s = text;
	uint64_t digits = 0;

	snprintf(text, sizeof text, "%.*e", precision - 1, magnitude);
	for (; *s && *s != 'e'; s++)
		if (*s >= '0' && *s <= '9') /* the point may be a locale's comma */
			digits = digits * 10 + (uint64_t)(*s - '0');
	*exponent = atoi(s + 1) - (precision - 1);
	return digits;
}

static bool reads_back(const char *text, size_t n, double value)
{
	double back;

	return nn_parse_f64(text, n, &back) && back == value;
}

static size_t format_f64(char *buffer, double value)
{
	double magnitude = fabs(value);
	size_t n = 0;

	/*
	 * 15 digits survive the way through a normal double, so fewer need not be tried; zeros at
	 * their end are dropped.
	 */
	for (int precision = magnitude < 0x1p-1022 ? 1 : 15; precision <= 17; precision++) {
		int exponent;
		uint64_t digits = correctly_rounded(magnitude, precision, &exponent);

		n = lay_out(buffer, signbit(value) != 0, digits, exponent);
		if (reads_back(buffer, n, value))
			break;
		/*
		 * Below a power of two doubles lie closer: the nearest decimal may miss where the
		 * one above it hits.
		 */
		n = lay_out(buffer, signbit(value) != 0, digits + 1, exponent);
		if (reads_back(buffer, n, value))
			break;
	}
	return n;
}

/* Whoever writes them, numbers may be subnormal; only bits tell such a one from 0 then. */
size_t nn_format_f64(char *buffer, double value)
{
	uint64_t bits, before;
	size_t n;

	memcpy(&bits, &value, sizeof bits);
	if (!isfinite(value) || bits << 1 == 0)
		return special(buffer, value);
	before = nn_flush_set(false);
	n = format_f64(buffer, value);
	nn_flush_restore(before);
	return n;
}

size_t nn_format_real(char *buffer, double value)
{
	return (double)(float)value == value ? nn_format_f32(buffer, (float)value)
					     : nn_format_f64(buffer, value);
}

/* ---- whole numbers ---- */

size_t nn_format_u64(char *buffer, uint64_t value)
{
	char digits[NN_NUMBER];
	size_t at = sizeof digits, n;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	n = sizeof digits - at;
	memcpy(buffer, digits + at, n);
	buffer[n] = '\0';
	return n;
}

/* ---- f32 as printf has it ---- */

/*
 * magnitude = c * 2^q to nine digits, the last of them 10^exponent; 0: it lies as near to the
 * middle between two decimals as the table's powers are wrong.
 */
static uint32_t nine_digits(uint32_t c, int q, int exponent)
{
	int k = -exponent, shift;
	unsigned __int128 product, rest, half;

	if (k < LOWEST_POWER || k > HIGHEST_POWER)
		return 0;
	product = (unsigned __int128)powers_of_ten[k - LOWEST_POWER] * c;
	shift = 63 - log2_of_10(k) - q;
	half = (unsigned __int128)1 << (shift - 1);
	rest = product & (2 * half - 1);
	if (rest >= half && rest <= half + c)
		return 0;
	return (uint32_t)(product >> shift) + (rest > half);
}

static size_t put_word(char *buffer, const char *word, bool negative)
{
	strcpy(stpcpy(buffer, negative ? "-" : ""), word);
	return strlen(buffer);
}

static size_t put_g(char *buffer, bool negative, const struct digits *d, int precision)
{
	char text[ROOM], *to = text;

	*to = '-';
	to += negative;
	if (d->point <= -4 || d->point > precision) {
		to = put_exponent(put_leading(to, d), d->point - 1, true);
	} else {
		to = put_fixed(to, d);
		memcpy(to, ".0", 2);
		to += d->n <= d->point ? 2 : 0;
	}
	return put_text(buffer, text, (size_t)(to - text));
}

/* What the others do not take: subnormals, and what is nearly halfway between decimals. */
static size_t slow_g(char *buffer, float value)
{
	uint64_t before = nn_flush_set(false), all;
	double magnitude = fabs((double)value);
	struct digits d;
	size_t n = 0;
	float back;
	int exponent;

	for (int precision = 6; precision <= 9; precision += 3) {
		all = correctly_rounded(magnitude, precision, &exponent);
		digits_of(&d, all, exponent);
		n = put_g(buffer, signbit(value) != 0, &d, precision);
		if (nn_parse_f32(buffer, n, &back) && back == value)
			break;
	}
	nn_flush_restore(before);
	return n;
}

size_t nn_format_f32_g(char *buffer, float value)
{
	uint32_t bits, fraction, digits;
	struct digits d;
	int exponent, last;

	memcpy(&bits, &value, sizeof bits);
	fraction = bits & 0x7fffff;
	exponent = bits >> 23 & 0xff;
	if (exponent == 0xff || (bits & 0x7fffffff) == 0)
		return put_word(buffer, exponent ? fraction ? "NaN" : "Infinity" : "0.0",
				bits >> 31 && !(exponent && fraction));
	if (exponent == 0)
		return slow_g(buffer, value);
	last = fewest(fraction | 0x800000, exponent - 150, fraction == 0 && exponent > 1, &digits);
	digits_of(&d, digits, last);
	/* If six digits read back they are the fewest, with zeros. */
	if (d.n <= 6)
		return put_g(buffer, bits >> 31, &d, 6);
	digits = nine_digits(fraction | 0x800000, exponent - 150, d.point - 9);
	if (digits == 0)
		return slow_g(buffer, value);
	digits_of(&d, digits, d.point - 9);
	return put_g(buffer, bits >> 31, &d, 9);
}
