/*
 * Numbers of a line: what is taken has the value that nn_parse gives, in both ways of reading;
 * simple numbers are taken.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number-line.h"
#include "base/number.h"
#include "base/random.h"
#include "tap.h"

/* The way of CPUs without vectors. */
#define NN_LINE_PLAIN
#define nn_parse_line_f32 plain_line_f32
#define nn_parse_line_f64 plain_line_f64
#include "base/number/line.c"
#undef nn_parse_line_f32
#undef nn_parse_line_f64

#define ROOM 512

static const struct {
	const char *claim;
	size_t (*f32)(const char **text, const char *end, char separator, float *values, size_t n);
	size_t (*f64)(const char **text, const char *end, char separator, double *values, size_t n);
} ways[] = {
	{ "with this CPU's vectors", nn_parse_line_f32, nn_parse_line_f64 },
	{ "without vectors", plain_line_f32, plain_line_f64 },
};

static uint64_t draw(void)
{
	static uint64_t state = 11;

	return nn_lcg(&state) >> 17;
}

/* A field of one of several kinds, most of them numbers. */
static size_t draw_field(char *p, unsigned kind)
{
	double v = ((double)(draw() % 2000001) - 1e6) * (double)(draw() % 100000) * 1e-7;
	size_t n = draw() % 20;
	uint64_t bits;

	switch (kind) {
	case 0:
		return (size_t)sprintf(p, "%.*g", (int)(draw() % 12) + 1, v);
	case 1:
		return (size_t)sprintf(p, "%.17g", v);
	case 2:
		return (size_t)sprintf(p, "%.18e", v);
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
	default:
		return (size_t)sprintf(p, "%lld", (long long)(draw() % 1000000000) - 5000);
	}
}

static bool check(size_t way, const char *p, size_t n)
{
	const char *at32 = p, *at64 = p;
	float f = -1, g = -2;
	double d = -1, e = -2;
	bool good32 = nn_parse_f32(p, n, &g), good64 = nn_parse_f64(p, n, &e);
	size_t took32 = ways[way].f32(&at32, p + n, ',', &f, 1),
	       took64 = ways[way].f64(&at64, p + n, ',', &d, 1);

	if ((took32 ? good32 && memcmp(&f, &g, sizeof f) == 0 && at32 == p + n + 1 : at32 == p) &&
	    (took64 ? good64 && memcmp(&d, &e, sizeof d) == 0 && at64 == p + n + 1 : at64 == p))
		return true;
	note("\"%.*s\": %zu values %a, %zu values %a", (int)n, p, took32, (double)f, took64, d);
	return false;
}

static void test_values(size_t way)
{
	static const char after[] = ",9\n.-";
	char text[ROOM];
	unsigned long bad = 0;

	for (unsigned i = 0; i < 700000 && bad < 5; i++) {
		size_t n;

		memset(text, "09.-,e\n"[draw() % 7],
		       sizeof text); /* what lies behind must not matter */
		n = draw_field(text, i % 7);
		text[n] = after[(i & 1) * 2];
		bad += !check(way, text, n);
	}
	ok(bad == 0, "numbers of a line, %s: what is taken has the one right value",
	   ways[way].claim);
}

static void test_simple(size_t way)
{
	static const char *const simple[] = {
		"0",
		"-0",
		"1",
		"+5",
		"7.",
		"-0.25",
		"123456789012345",
		"0.00000000012",
		"1.5e3",
		"-2E-7",
		"0.1234567890123456",
		"-1.234567890123456789e-01",
		"33554433",
		".5",
	};
	bool good = true;
	char text[ROOM];

	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
		const char *p = text;
		float value;

		memset(text, 0, sizeof text);
		sprintf(text, "%s\n", simple[i]);
		if (ways[way].f32(&p, text + strlen(simple[i]), ',', &value, 1) != 1) {
			note("%s is left", simple[i]);
			good = false;
		}
	}
	ok(good, "numbers of a line, %s: all usual ways of writing a number are taken at once",
	   ways[way].claim);
}

static void test_lines(size_t way)
{
	static const char *const left[] = { "",   "x",   "1x", "1,", "--1",   "1 ",    " 1", "nan",
					    "1e", "1e+", ".",  "-",  "1.2.3", "\"1\"", "0x1" };
	char text[ROOM] = "1,2.5,-3\n4,5\n";
	const char *p = text;
	float values[8];
	bool good = ways[way].f32(&p, text + 8, ',', values, 8) == 3 && p == text + 9 &&
		    values[0] == 1 && values[2] == -3;

	p = text;
	ok(good && ways[way].f32(&p, text + 8, ',', values, 2) == 2 && p == text + 6,
	   "numbers of a line, %s: it ends at the line's end, or after so many", ways[way].claim);
	good = true;
	for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
		memset(text, 0, sizeof text);
		sprintf(text, "7,%s\n", left[i]);
		p = text;
		if (ways[way].f32(&p, text + 2 + strlen(left[i]), ',', values, 8) !=
		    (strcmp(left[i], "1,") == 0 ? 2 : 1)) {
			note("%s is taken", text);
			good = false;
		}
	}
	ok(good, "numbers of a line, %s: it stops before what is no number", ways[way].claim);
}

int main(void)
{
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		test_values(way);
		test_simple(way);
		test_lines(way);
	}
	return tap_done();
}
