/*
 * Lists of JSON's numbers: what is taken has the value that nn_parse gives, in both ways of
 * reading; what is no number of JSON is left, and nothing beyond the end is read.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number-list.h"
#include "base/number.h"
#include "base/random.h"
#include "tap.h"

/* The way of CPUs without vectors. */
#define NN_LINE_PLAIN
#define nn_parse_list_f32 plain_parse_f32
#define nn_parse_list_f64 plain_parse_f64
#define nn_number_end plain_number_end
#include "base/number/list.c"
#undef nn_parse_list_f32
#undef nn_parse_list_f64
#undef nn_number_end

static const struct {
	const char *claim;
	size_t (*f32)(const char **text, const char *end, float *values, size_t n);
	size_t (*f64)(const char **text, const char *end, double *values, size_t n);
} ways[] = {
	{ "with this CPU's vectors", nn_parse_list_f32, nn_parse_list_f64 },
	{ "without vectors", plain_parse_f32, plain_parse_f64 },
};

static uint64_t draw(void)
{
	static uint64_t state = 5;

	return nn_lcg(&state) >> 17;
}

/* A field of one of several kinds, most of them numbers. */
static size_t draw_field(char *p)
{
	double v = ((double)(draw() % 2000001) - 1e6) * (double)(draw() % 100000) * 1e-7;
	size_t n = draw() % 20;
	uint64_t bits;

	switch (draw() % 9) {
	case 0:
		return (size_t)sprintf(p, "%.*g", (int)(draw() % 12) + 1, v);
	case 1:
		return (size_t)sprintf(p, "%.17g", v);
	case 2:
		return (size_t)sprintf(p, "%.*e", (int)(draw() % 19), v);
	case 3:
		return (size_t)sprintf(p, "%d.%0*d", (int)(draw() % 100000), (int)(draw() % 18) + 1,
				       (int)(draw() % 1000000));
	case 4: /* digits, and what may stand between them or not */
		for (size_t i = 0; i < n; i++)
			p[i] = "0123456789.e+-\"a"[draw() % (draw() % 4 ? 11 : 16)];
		return n;
	case 5: /* halfway between two floats, as nearly as 16 to 18 digits say it */
		v = 1 + (double)(draw() % 1000000) * (draw() % 2 ? 1e-5 : 1e3);
		memcpy(&bits, &v, sizeof bits);
		bits = (bits & ~UINT64_C(0x1fffffff)) | 0x10000000;
		memcpy(&v, &bits, sizeof v);
		return (size_t)sprintf(p, "%.*g", (int)(draw() % 3) + 16, v);
	case 6: /* the ends of the ranges */
		return (size_t)sprintf(p, "%d.%de%d", (int)(draw() % 10), (int)(draw() % 1000000),
				       (int)(draw() % 700) - 360);
	case 7:
		return (size_t)sprintf(p, "%lld.%0*d", (long long)(draw() % 10),
				       (int)(draw() % 10) + 16, 7);
	default:
		return (size_t)sprintf(p, "%lld", (long long)(draw() % 1000000000) - 5000);
	}
}

/* The grammar once more, as RFC 8259 writes it: where the number ends that s begins with, or 0. */
static size_t grammar(const char *s)
{
	size_t at = s[0] == '-', digits;

	if (!isdigit((unsigned char)s[at]))
		return 0;
	at += s[at] == '0' ? 1 : strspn(s + at, "0123456789");
	if (s[at] == '.') {
		digits = strspn(s + at + 1, "0123456789");
		if (digits == 0)
			return 0;
		at += 1 + digits;
	}
	if (s[at] == 'e' || s[at] == 'E') {
		size_t sign = s[at + 1] == '-' || s[at + 1] == '+';

		digits = strspn(s + at + 1 + sign, "0123456789");
		if (digits == 0)
			return 0;
		at += 1 + sign + digits;
	}
	return at;
}

#define FIELDS 12

/* What should be read of text, whose numbers are separated by commas and blanks. */
static size_t by_hand(const char *text, float *f32, double *f64, size_t most_f32, size_t *end_f32,
		      size_t *end_f64, size_t *n_f64)
{
	size_t at = 0, n = 0, m = 0, length;
	bool good_f32 = true, good_f64 = true;

	*end_f32 = *end_f64 = 0;
	while ((length = grammar(text + at)) > 0) {
		good_f32 = good_f32 && n < most_f32 && nn_parse_f32(text + at, length, &f32[n]);
		good_f64 = good_f64 && nn_parse_f64(text + at, length, &f64[m]);
		at += length;
		if (good_f32)
			*end_f32 = at, n++;
		if (good_f64)
			*end_f64 = at, m++;
		at += strspn(text + at, " \t\r\n");
		if (text[at] != ',')
			break;
		at += 1 + strspn(text + at + 1, " \t\r\n");
	}
	*n_f64 = m;
	return n;
}

/* In memory of just that size: sanitizers and valgrind see what is read beyond it. */
static bool check(size_t way, const char *text, size_t most)
{
	float f32[FIELDS], want_f32[FIELDS];
	double f64[FIELDS], want_f64[FIELDS];
	size_t n = strlen(text), end_f32, end_f64, n_f64;
	size_t n_f32 = by_hand(text, want_f32, want_f64, most, &end_f32, &end_f64, &n_f64);
	char *copy = memcpy(malloc(n + 1), text, n);
	const char *at_f32 = copy, *at_f64 = copy;
	bool good = ways[way].f32(&at_f32, copy + n, f32, most) == n_f32 &&
		    at_f32 == copy + end_f32 && memcmp(f32, want_f32, n_f32 * sizeof *f32) == 0 &&
		    ways[way].f64(&at_f64, copy + n, f64, FIELDS) == n_f64 &&
		    at_f64 == copy + end_f64 && memcmp(f64, want_f64, n_f64 * sizeof *f64) == 0;

	if (!good)
		note("%s: %zu and %zu values expected", text, n_f32, n_f64);
	free(copy);
	return good;
}

static void test_lists(size_t way)
{
	static const char *const commas[] = {
		",", ", ", " , ", ",\n  ", "\t\r\n,", ";", " ", ",,"
	};
	unsigned long bad = 0;
	char text[FIELDS * 64];

	for (unsigned i = 0; i < 60000 && bad < 5; i++) {
		size_t n = 0, fields = draw() % FIELDS, comma = draw() % 4;

		for (size_t field = 0; field <= fields; field++) {
			n += draw_field(text + n);
			if (field < fields || draw() % 4 == 0)
				n += (size_t)sprintf(text + n, "%s",
						     commas[draw() % 20 ? comma : draw() % 8]);
		}
		n += (size_t)sprintf(text + n, "%s", draw() % 2 ? "]" : "");
		text[n] = '\0';
		bad += !check(way, text, draw() % 4 ? FIELDS : draw() % FIELDS);
	}
	ok(bad == 0,
	   "lists of numbers, %s: numbers of JSON are taken, and have the one right value",
	   ways[way].claim);
}

static void test_grammar(void)
{
	static const char *const numbers[] = { "0",    "-0",    "10",  "-1.5",    "0.25", "1e5",
					       "1E+5", "1e-05", "0e0", "-0.0e-0", "1.0E9" };
	static const char *const others[] = { "",  "-",   "+1", ".5",  "1.", "1.e5", "1e", "1e+",
					      "e", "--1", "-a", "0x1", "01", "-01",  "1_0" };
	bool good = true;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *end = numbers[i] + strlen(numbers[i]);

		good &= nn_number_end(numbers[i], end) == end;
	}
	ok(good, "numbers of JSON end at their end");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const char *end = others[i] + strlen(others[i]);

		good &= nn_number_end(others[i], end) != end || end == others[i];
	}
	ok(good, "what is no number of JSON is none, or ends where the number does");
}

int main(void)
{
	test_grammar();
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
		test_lists(way);
	return tap_done();
}
