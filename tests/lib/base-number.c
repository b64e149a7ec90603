/*
 * Numbers and text: exact both ways, few digits, what is refused; random bit patterns, in the long
 * run all floats.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "tap.h"

#ifdef LONG
#define MANY 1000000
#else
#define MANY 20000
#endif

static uint64_t random_bits(uint64_t i, uint32_t stream)
{
	uint32_t out[4];

	nn_philox(7, i, stream, 0, out);
	return (uint64_t)out[0] << 32 | out[1];
}

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}

static uint64_t bits_of_double(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof bits);
	return bits;
}

/* ---- printing ---- */

static void prints_f32(float value, const char *want)
{
	char got[NN_NUMBER];
	size_t n = nn_format_f32(got, value);

	if (!ok(strcmp(got, want) == 0 && n == strlen(want), "f32 is printed as %s", want))
		note("got %s", got);
}

static void prints_f64(double value, const char *want)
{
	char got[NN_NUMBER];
	size_t n = nn_format_f64(got, value);

	if (!ok(strcmp(got, want) == 0 && n == strlen(want), "f64 is printed as %s", want))
		note("got %s", got);
}

static void known_texts(void)
{
	prints_f32(0, "0");
	prints_f32(-0.0f, "-0");
	prints_f32(NAN, "nan");
	prints_f32(-INFINITY, "-inf");
	prints_f32(0.1f, "0.1");
	prints_f32(1.0f / 3, "0.33333334");
	prints_f32(16777216, "16777216");
	prints_f32(33554432, "33554432");
	prints_f32(3.4028235e38f, "3.4028235e38");
	prints_f32(1e-45f, "1e-45");
	prints_f32(1.17549435e-38f, "1.1754944e-38");
	prints_f32(-12.5f, "-12.5");
	prints_f32(0.0001f, "0.0001");
	prints_f32(0.00001f, "0.00001");
	prints_f32(1e-7f, "1e-7");
	prints_f32(9.5367431640625e-7f, "9.536743e-7");
	prints_f32(8589973000.0f, "8589974000");
	prints_f64(0.1, "0.1");
	prints_f64(0.1 + 0.2, "0.30000000000000004");
	prints_f64(5e-324, "5e-324");
	prints_f64(1.7976931348623157e308, "1.7976931348623157e308");
	prints_f64(2.2250738585072014e-308, "2.2250738585072014e-308");
	prints_f64(9007199254740993.0, "9007199254740992");
	prints_f64(1e16, "1e16");
	prints_f64(123456, "123456");
	prints_f64(-1.5e-10, "-1.5e-10");
}

/* Reads back, by strtof and by ours, and printf's nearest decimal of one digit less does not. */
static bool good_f32(uint32_t bits)
{
	float value = float_of(bits), ours;
	char text[NN_NUMBER], shorter[40];
	size_t n;
	int digits = 0;

	if (!isfinite(value))
		return true;
	n = nn_format_f32(text, value);
	if (n >= NN_NUMBER || !nn_parse_f32(text, n, &ours) || bits_of(ours) != bits ||
	    bits_of(strtof(text, NULL)) != bits)
		return false;
#ifdef LONG
	return true;
#endif
	for (const char *s = text + strspn(text, "-0."); *s && *s != 'e'; s++)
		digits += *s != '.';
	if (!strchr(text, '.') && !strchr(text, 'e'))
		return true; /* zeros at the end may be digits or none */
	if (digits < 2)
		return true;
	snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
	return bits_of(strtof(shorter, NULL)) != bits;
}

/* What printf and strtof make of it. */
static bool good_f32_g(uint32_t bits)
{
	float value = float_of(bits);
	char text[NN_NUMBER], want[40];
	size_t n = nn_format_f32_g(text, value);

	if (isfinite(value)) {
		snprintf(want, sizeof want, "%.6g", (double)value);
		if (strtof(want, NULL) != value)
			snprintf(want, sizeof want, "%.9g", (double)value);
		if (!strpbrk(want, ".e"))
			strcat(want, ".0");
	} else {
		strcpy(want, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
	}
	if (strcmp(text, want) == 0 && n == strlen(want))
		return true;
	note("%a: got %s, want %s", (double)value, text, want);
	return false;
}

/* Of all exponents: bits at random, few bits, decimals of few digits, powers of two and ten. */
static void prints_as_printf(void)
{
	unsigned long bad = 0;

	for (uint32_t i = 0; i < MANY && bad < 5; i++) {
		uint32_t random = (uint32_t)random_bits(i, 9);
		float decimal = (float)(random % 10000000) *
				powf(10, (float)(int)(random / 10000000 % 40 - 30));

		bad += !good_f32_g(random);
		bad += !good_f32_g(random & 0xff800000);
		bad += !good_f32_g(random & 0xffff0000);
		bad += !good_f32_g(random & 0x800fffff);
		bad += !good_f32_g(bits_of(decimal));
		bad += !good_f32_g(bits_of((float)(random % 2048) / 1024));
		bad += !good_f32_g(bits_of((float)(random % 33554432)));
	}
	for (uint32_t i = 0; i <= 0x7f800000; i += 0x8000)
		bad += !good_f32_g(i) + !good_f32_g(0x80000000 | (i + 1));
	ok(bad == 0, "f32 is printed with the digits of printf's %%.6g or %%.9g, as a float");
}

static bool good_f64(uint64_t bits)
{
	double value = double_of(bits), ours;
	char text[NN_NUMBER];
	size_t n;

	if (!isfinite(value))
		return true;
	n = nn_format_f64(text, value);
	return n < NN_NUMBER && nn_parse_f64(text, n, &ours) && bits_of_double(ours) == bits &&
	       bits_of_double(strtod(text, NULL)) == bits;
}

static void random_numbers(void)
{
	size_t bad = 0;

#ifdef LONG
	for (uint64_t bits = 0; bits <= 0x7f800000 && bad == 0; bits += 29)
		bad += !good_f32((uint32_t)bits);
	ok(bad == 0, "one in 29 of all floats is printed so that it reads back");
	bad = 0;
#endif
	for (size_t i = 0; i < MANY; i++)
		bad += !good_f32((uint32_t)random_bits(i, 1));
	for (uint32_t exponent = 0; exponent < 255; exponent++)
		for (uint32_t near = 0; near < 5; near++)
			bad += !good_f32((exponent << 23) + near - 2);
	ok(bad == 0, "random floats and those around powers of two are printed with the fewest "
		     "digits that read back");
	bad = 0;
	for (size_t i = 0; i < MANY; i++)
		bad += !good_f64(random_bits(i, 2));
	for (uint64_t exponent = 0; exponent < 2047; exponent++)
		for (uint64_t near = 0; near < 5; near++)
			bad += !good_f64((exponent << 52) + near - 2);
	for (uint64_t i = 0; i < 1000; i++)
		bad += !good_f64(i);
	ok(bad == 0, "random doubles, small ones and those around powers of two read back");
}

/* ---- reading ---- */

/* The same as strtod and strtof, which are correctly rounded. */
static bool reads_as_strtod(const char *text)
{
	double d = 0;
	float f = 0;
	size_t n = strlen(text);
	bool d_ok = nn_parse_f64(text, n, &d), f_ok = nn_parse_f32(text, n, &f);
	double want_d = strtod(text, NULL);
	float want_f = strtof(text, NULL);
	bool good = bits_of_double(d) == bits_of_double(want_d) && bits_of(f) == bits_of(want_f) &&
		    d_ok == (bool)isfinite(want_d) && f_ok == (bool)isfinite(want_f);

	if (!good)
		note("%s: %.17g %.9g, not %.17g %.9g", text, d, (double)f, want_d, (double)want_f);
	return good;
}

static void random_texts(void)
{
	size_t bad = 0;
	char text[100];

	for (size_t i = 0; i < MANY; i++) {
		uint64_t a = random_bits(i, 3), b = random_bits(i, 4);
		int digits = 1 + (int)(b % 19), e = (int)(b >> 8 & 63) - 32,
		    point = (int)(b >> 16 & 15);

		snprintf(text, sizeof text, "%" PRIu64 "e%d", a >> (b >> 20 & 63), e);
		bad += !reads_as_strtod(text);
		snprintf(text, sizeof text, "%.*e", digits, double_of(a));
		if (isfinite(double_of(a)))
			bad += !reads_as_strtod(text);
		snprintf(text, sizeof text, "%.*f", point, (double)(int64_t)a * 1e-12);
		bad += !reads_as_strtod(text);
		/* half way between two floats, and one unit of the 20th digit to either side */
		snprintf(text, sizeof text, "%.25e",
			 ((double)((a & 0xffffff) | 0x800000) + 0.5) * ldexp(1, e));
		bad += !reads_as_strtod(text);
		text[strcspn(text, "e") - 1]++;
		bad += text[strcspn(text, "e") - 1] <= '9' && !reads_as_strtod(text);
	}
	ok(bad == 0, "random decimals are rounded correctly to both types");
}

static void odd_texts(void)
{
	static const char *const texts[] = {
		"1",
		"+1",
		"-1",
		"01",
		"1.",
		".5",
		"-.5e+3",
		"1e0",
		"1E5",
		"0e999999999999999999999",
		"-0",
		"0.0e-5",
		"9007199254740993",
		"9007199254740993.0000000000000000000000000001",
		"16777217",
		"16777217.000000000000000000001",
		"1e400",
		"-1e400",
		"1e-400",
		"4.9e-324",
		"2.4703282292062327e-324",
		"2.4703282292062328e-324",
		"1e39",
		"3.4028236e38",
		"340282356779733661637539395458142568447",
		"340282356779733661637539395458142568448",
		"7.006492321624085e-46",
		"7.0064923216240854e-46",
		"1.17549428e-38",
		"1e22",
		"1e23",
		"9e22",
		"18446744073709551615",
		"18446744073709551616e-20",
		"0.000000000000000000000000000000000000000000000000001234567890123456789e30",
		"8.41e21",
		"123456789012345678901234567890",
	};
	static char digits[5000];
	double d;
	size_t bad = 0;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		bad += !reads_as_strtod(texts[i]);
	ok(bad == 0,
	   "odd but valid decimals, ties and the ends of the range are rounded correctly");
	memset(digits, '0', sizeof digits);
	digits[1] = '.';
	memcpy(digits + 4000, "12345e4004", 11);
	ok(nn_parse_f64(digits, strlen(digits), &d) && d == 123450,
	   "4000 zeros and an exponent that undoes them");
	memset(digits, '3', sizeof digits - 1);
	digits[sizeof digits - 1] = '\0';
	memcpy(digits, "0.", 2);
	ok(nn_parse_f64(digits, strlen(digits), &d) && d == 1.0 / 3, "5000 digits");
	memset(digits, '0', sizeof digits - 1);
	memcpy(digits, "9007199254740993.", 17);
	digits[sizeof digits - 2] = '1';
	ok(nn_parse_f64(digits, strlen(digits), &d) && d == 9007199254740994.0,
	   "a tie broken by the 5000th digit");
}

static void refused_texts(void)
{
	static const char *const texts[] = {
		"",     "-",   "+",     ".",        "-.",    "e5",       "1e",  "1e+",
		"1 ",   " 1",  "1x",    "0x10",     "inf",   "nan",      "1,5", "1..2",
		"1e5.", "--1", "1e--5", "infinity", "1_000", "\xd9\xa1",
	};
	size_t bad = 0;
	double d;
	float f;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		bad += nn_parse_f64(texts[i], strlen(texts[i]), &d) ||
		       nn_parse_f32(texts[i], strlen(texts[i]), &f);
	ok(bad == 0, "what is no decimal is refused");
	ok(!nn_parse_f64("1\0"
			 "2",
			 3, &d),
	   "a NUL byte is refused");
	ok(nn_parse_f64("123", 2, &d) && d == 12, "no byte behind the end is looked at");
}

static void whole_numbers(void)
{
	uint64_t u = 0;
	int64_t i = 0;
	double s = 0;

	ok(nn_parse_u64("18446744073709551615", 20, &u) && u == UINT64_MAX, "the largest u64");
	ok(!nn_parse_u64("18446744073709551616", 20, &u), "one more is refused");
	ok(!nn_parse_u64("", 0, &u) && !nn_parse_u64("-1", 2, &u) && !nn_parse_u64("+1", 2, &u) &&
		   !nn_parse_u64("1.0", 3, &u),
	   "u64 takes digits only");
	ok(nn_parse_i64("-9223372036854775808", 20, &i) && i == INT64_MIN, "the smallest i64");
	ok(!nn_parse_i64("9223372036854775808", 19, &i) &&
		   !nn_parse_i64("-9223372036854775809", 20, &i),
	   "i64 is bounded at both ends");
	ok(!nn_parse_i64("-", 1, &i) && !nn_parse_i64("+-1", 3, &i) && nn_parse_i64("+5", 2, &i) &&
		   i == 5,
	   "signs of i64");
	ok(nn_parse_size("64K", 3, &u) && u == 65536 && nn_parse_size("2G", 2, &u) &&
		   u == UINT64_C(2) << 30 && nn_parse_size("0", 1, &u) && u == 0 &&
		   nn_parse_size("1T", 2, &u) && u == UINT64_C(1) << 40,
	   "sizes take K M G T of 1024");
	ok(!nn_parse_size("16777216T", 9, &u) && !nn_parse_size("K", 1, &u) &&
		   !nn_parse_size("1k", 2, &u) && !nn_parse_size("1KB", 3, &u) &&
		   !nn_parse_size("", 0, &u),
	   "sizes that overflow or are none are refused");
	ok(nn_parse_seconds("90", 2, &s) && s == 90 && nn_parse_seconds("1.5m", 4, &s) && s == 90 &&
		   nn_parse_seconds("2h", 2, &s) && s == 7200 && nn_parse_seconds("0.5s", 4, &s) &&
		   s == 0.5,
	   "times take s m h");
	ok(!nn_parse_seconds("s", 1, &s) && !nn_parse_seconds("1d", 2, &s) &&
		   !nn_parse_seconds("1e308h", 6, &s),
	   "times that are none are refused");
}

static void other_locale(void)
{
	char text[NN_NUMBER];
	double d = 0;

	if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "de_DE.utf8") &&
	    !setlocale(LC_ALL, "fr_FR.UTF-8")) {
		ok(true, "a locale with a comma changes nothing # SKIP no such locale here");
		return;
	}
	nn_format_f64(text, 0.1 + 0.2);
	ok(strcmp(text, "0.30000000000000004") == 0 && nn_parse_f64("1.25e-300", 9, &d) &&
		   d == 1.25e-300,
	   "a locale with a comma changes nothing");
	setlocale(LC_ALL, "C");
}

static void check_ranges(void)
{
	static const struct nn_ranges bytes = { nn_parse_size, UINT64_C(1) << 40, 2 };
	size_t values[4];

	ok(nn_parse_ranges("3,1K:5K*2", &bytes, values, 4) == 4 && values[0] == 3 &&
		   values[1] == 1024 && values[3] == 4096,
	   "a list has numbers and ranges");
	ok(nn_parse_ranges("1K:64M*18014398509481984", &bytes, values, 4) == 1,
	   "a range ends where its next number would overflow");
	ok(nn_parse_ranges("1,2,3,4,5", &bytes, values, 4) == NN_RANGES_ROOM &&
		   nn_parse_ranges("2T", &bytes, values, 4) == NN_RANGES_MOST &&
		   nn_parse_ranges("5:1*2", &bytes, values, 4) == NN_RANGES_WRONG,
	   "what is wrong with a list is told apart");
}

static void written_whole(void)
{
	static const uint64_t values[] = { 0, 9, 10, 4294967296, UINT64_MAX };
	char text[NN_NUMBER], want[NN_NUMBER];
	bool good = true;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		int n = sprintf(want, "%llu", (unsigned long long)values[i]);

		good &= nn_format_u64(text, values[i]) == (size_t)n && strcmp(text, want) == 0;
	}
	ok(good, "whole numbers are written as printf writes them");
}

int main(void)
{
	known_texts();
	prints_as_printf();
	random_numbers();
	random_texts();
	odd_texts();
	refused_texts();
	whole_numbers();
	written_whole();
	check_ranges();
	other_locale();
	return tap_done();
}
