/*
 * What JSON is and what it is not, by kinds of mistakes: structure, numbers, words, strings, bytes
 * that are not UTF-8, ends that come too early, depth and length. jansson has to agree.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/json/pull.h"
#include "pull-cases.h"
#include "tap.h"

static struct nn_error err;

/* All tokens of n bytes in memory of just that size, numbers as f64: is it JSON? */
static bool accepts(const char *text, size_t n, unsigned depth, bool words)
{
	char *copy = memcpy(malloc(n + !n), text, n);
	enum nn_pull_kind kind;
	struct nn_pull p;
	double value;

	err.text[0] = '\0';
	nn_pull_begin(&p, copy, n, depth, words, &err);
	do {
		kind = nn_pull_next(&p);
		if (kind == NN_PULL_NUMBER && !nn_pull_f64(&p, &value))
			kind = NN_PULL_BAD;
	} while (kind > NN_PULL_END);
	free(copy);
	return kind == NN_PULL_END;
}

/* Keys with NUL, which jansson does not have, are in no case here. */
static bool jansson_accepts(const char *text, size_t n)
{
	json_t *json = json_loadb(text, n,
				  JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);

	json_decref(json);
	return json != NULL;
}

static void claim(const struct text *text, bool good, bool jansson)
{
	char quoted[NN_QUOTED];
	bool ours = accepts(text->bytes, text->n, 100, false);

	nn_quote(quoted, text->bytes, text->n);
	ok(ours == good && jansson_accepts(text->bytes, text->n) == jansson, "%s is %s", quoted,
	   good ? "JSON" : "not JSON");
	if (!ours && good)
		note("%s", err.text);
}

/* ---- ends that come too early ---- */

static void truncated(void)
{
	static const char *const samples[] = {
		"{\"signature_name\":\"serving_default\",\"instances\":[[0.5,-1.25e-3],[1.0,2]]}",
		"{\"id\":\"\\u00e9\\ud83d\\ude00\\n\",\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],"
		"\"datatype\":"
		"\"FP32\",\"data\":[1,2]}],\"parameters\":{\"priority\":1,\"binary_data_output\":"
		"false,"
		"\"a\":null,\"b\":true}}",
		"[\"\xf0\x9f\x98\x80 \xe2\x82\xac \xc3\xa9\",[[[]],{}],-0.0e+00]",
	};

	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		size_t n = strlen(samples[i]), taken = 0;

		for (size_t cut = 0; cut < n; cut++)
			taken += accepts(samples[i], cut, 100, false);
		ok(taken == 0 && accepts(samples[i], n, 100, false),
		   "sample %zu is JSON as a whole, and cut at no byte", i + 1);
	}
}

/* ---- depth and length ---- */

static char *repeated(char *to, const char *what, size_t times)
{
	for (size_t i = 0; i < times; i++)
		to = stpcpy(to, what);
	return to;
}

static bool nested(const char *opening, const char *closing, size_t levels, unsigned depth)
{
	char *text = malloc(levels * (strlen(opening) + strlen(closing)) + 8);
	char *end = repeated(text, opening, levels);
	bool good;

	end = repeated(stpcpy(end, "0"), closing, levels);
	good = accepts(text, (size_t)(end - text), depth, false);
	free(text);
	return good;
}

static void deep(void)
{
	ok(nested("[", "]", 100, 100) && !nested("[", "]", 101, 100) &&
		   strstr(err.text, "byte 101: found more than 100 levels"),
	   "arrays may be as deep as allowed, and no deeper");
	ok(nested("{\"a\":", "}", 100, 100) && !nested("{\"a\":", "}", 101, 100),
	   "objects may be as deep as allowed, and no deeper");
	ok(nested("[{\"a\":", "}]", 512, NN_PULL_DEPTH) &&
		   !nested("[{\"a\":", "}]", 513, NN_PULL_DEPTH),
	   "arrays and objects in turn may be 1024 deep");
	ok(!nested("[", "]", 1000000, NN_PULL_DEPTH) && !nested("{\"\":", "}", 1000000, 100),
	   "a million levels are refused");
	ok(nested("", "", 0, 0) && !nested("[", "]", 1, 0), "no level may be allowed");
}

/* A number put together of a beginning, a digit many times and an end, as f64 and f32. */
static bool long_number(const char *begin, const char *digit, const char *end, double f64,
			float f32)
{
	static char text[120000], copy[120000];
	char *last = repeated(stpcpy(text, begin), digit, 100000);
	struct nn_pull_dims dims;
	struct nn_pull p;
	double d = 0;
	float f = 0;
	size_t n;

	n = (size_t)(stpcpy(last, end) - text);
	memcpy(copy, text, n);
	nn_pull_begin(&p, copy, n, 1, false, &err);
	if (nn_pull_f64s(&p, &d, 1, &dims) < 0 || dims.rank != 1 || dims.size[0] != 1)
		return false;
	nn_pull_begin(&p, copy, n, 1, false, &err);
	return nn_pull_f32s(&p, &f, 1, &dims) == 0 && d == f64 && f == f32;
}

static void long_things(void)
{
	char *text = malloc(3000000), *end;

	ok(long_number("[0.", "3", "]", 0.3333333333333333, 0.33333334f) &&
		   long_number("[1", "0", "e-100000]", 1, 1) &&
		   long_number("[0.", "0", "1e100001]", 1, 1) &&
		   long_number("[1.", "0", "]", 1, 1) &&
		   long_number("[16777217.", "0", "]", 16777217, 16777216) &&
		   long_number("[16777217.", "0", "1]", 16777217, 16777218) &&
		   long_number("[1e0", "0", "2]", 100, 100),
	   "numbers of 100,000 digits are rounded once");
	ok(!long_number("[", "9", "]", 0, 0) && strstr(err.text, "byte 2: found 99999"),
	   "one beyond the range is refused");
	end = repeated(stpcpy(text, "[\""), "\\ud83d\\ude00x", 200000);
	end = stpcpy(end, "\"]");
	ok(accepts(text, (size_t)(end - text), 1, false), "a string of 200,000 escapes is read");
	end = repeated(stpcpy(text, "["), "[],", 500000);
	end = stpcpy(end, "[]]");
	ok(accepts(text, (size_t)(end - text), 2, false), "an array of 500,000 arrays is read");
	end = repeated(text, " \n", 500000);
	end = repeated(stpcpy(end, "[]"), "\t\r", 500000);
	ok(accepts(text, (size_t)(end - text), 2, false), "a million blanks stand on both sides");
	free(text);
}

/* ---- words of TensorFlow Serving ---- */

static void words(void)
{
	static const char *const not [] = { "[-NaN]",    "[nan]",        "[NaNs]",
					    "[Infinit]", "[-Infinit",    "[+Infinity]",
					    "[N]",       "[I]",          "[NaN1]",
					    "[1NaN]",    "[--Infinity]", "[- Infinity]" };
	const char *all = "[NaN,Infinity,-Infinity,1]";
	char text[40];
	struct nn_pull_dims dims;
	struct nn_pull p;
	float v[4];
	bool good = true;

	nn_pull_begin(&p, strcpy(text, all), strlen(all), 1, true, &err);
	ok(nn_pull_f32s(&p, v, 4, &dims) == 0 && isnan(v[0]) && v[1] == INFINITY &&
		   v[2] == -INFINITY && v[3] == 1 && accepts("NaN", 3, 1, true) &&
		   accepts("-Infinity", 9, 1, true),
	   "NaN, Infinity and -Infinity are numbers where words are allowed");
	for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
		good &= !accepts(not [i], strlen(not [i]), 1, true);
	ok(good, "other words are not");
}

int main(void)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		claim(&good[i], true, true);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		claim(&wrong[i], false, false);
	for (size_t i = 0; i < sizeof wrong_to_us / sizeof *wrong_to_us; i++)
		claim(&wrong_to_us[i], false, true);
	truncated();
	deep();
	long_things();
	words();
	return tap_done();
}
