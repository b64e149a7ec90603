/*
 * libFuzzer's door to the pull parser: `make fuzz`. Whatever the bytes are, nothing beyond them is
 * read, tokens, skipping and arrays agree with each other, and jansson with all of them.
 */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/json/pull.h"

#define DEPTH 100
#define REQUIRE(claim) ((claim) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct nn_pull_keys *keys;
static struct nn_error err;
static bool words;

struct view {
	char *copy;
	size_t n;
};

/* A copy in memory of just that size. */
static void begin(struct nn_pull *p, struct view *view, const uint8_t *data, size_t n)
{
	view->copy = malloc(n + !n);
	memcpy(view->copy, data, n);
	view->n = n;
	err.text[0] = '\0';
	nn_pull_begin(p, view->copy, n, DEPTH, words, &err);
}

struct seen {
	bool good, plain; /* JSON; and of what jansson has */
	bool numbers;     /* brackets and numbers alone */
	double *f64;
	size_t n_f64;
};

static void read_tokens(const uint8_t *data, size_t n, bool once, struct seen *seen)
{
	enum nn_pull_kind kind, coming;
	struct view view;
	struct nn_pull p;

	begin(&p, &view, data, n);
	if (once)
		nn_pull_once(&p, keys);
	*seen = (struct seen){ .plain = true,
			       .numbers = true,
			       .f64 = malloc((n + 1) * sizeof(double)) };
	do {
		coming = nn_pull_peek(&p);
		kind = nn_pull_next(&p);
		REQUIRE(kind == coming || kind == NN_PULL_BAD);
		if (kind == NN_PULL_KEY || kind == NN_PULL_STRING) {
			REQUIRE(p.text >= view.copy && p.text + p.length <= view.copy + n);
			if (kind == NN_PULL_KEY && p.length > 0 && memchr(p.text, 0, p.length))
				seen->plain = false;
		}
		if (kind == NN_PULL_NUMBER) {
			if (!isdigit((unsigned char)p.text[*p.text == '-']))
				seen->plain = false; /* a word */
			if (!nn_pull_f64(&p, &seen->f64[seen->n_f64++]))
				seen->plain = seen->numbers = false;
		} else if (kind != NN_PULL_ARRAY && kind != NN_PULL_ARRAY_END &&
			   kind != NN_PULL_END) {
			seen->numbers = false;
		}
	} while (kind > NN_PULL_END);
	seen->good = kind == NN_PULL_END;
	REQUIRE(seen->good == (err.text[0] == '\0'));
	REQUIRE(nn_pull_next(&p) == kind);
	free(view.copy);
}

static bool nul_behind_word(const uint8_t *data, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (data[i] == 0 && isalnum(data[i - 1]))
			return true;
	return false;
}

static void beside_jansson(const uint8_t *data, size_t n, const struct seen *seen)
{
	json_t *json = json_loadb((const char *)data, n,
				  JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);

	if (seen->good && seen->plain)
		REQUIRE(json);
	/* jansson goes deeper */
	else if (!seen->good && json)
		REQUIRE(nul_behind_word(data, n) || strstr(err.text, "levels"));
	json_decref(json);
}

/* A number that f32s and f64s disagree about lies beyond f32. */
static void read_arrays(const uint8_t *data, size_t n, const struct seen *seen)
{
	struct nn_pull_dims dims, same;
	double *f64 = malloc((n + 1) * sizeof *f64);
	float *f32 = malloc((n + 1) * sizeof *f32);
	struct view view;
	struct nn_pull p;
	bool good, good_f32;

	begin(&p, &view, data, n);
	good = nn_pull_f64s(&p, f64, n, &dims) == 0 && nn_pull_next(&p) == NN_PULL_END;
	free(view.copy);
	REQUIRE(!good || (seen->good && seen->numbers && seen->n_f64 == dims.count));
	for (size_t i = 0; good && i < dims.count; i++)
		REQUIRE(isnan(f64[i]) ? isnan(seen->f64[i])
				      : memcmp(&f64[i], &seen->f64[i], sizeof *f64) == 0);
	begin(&p, &view, data, n);
	good_f32 = nn_pull_f32s(&p, f32, n, &same) == 0 && nn_pull_next(&p) == NN_PULL_END;
	free(view.copy);
	REQUIRE(good || !good_f32);
	for (size_t i = 0; good_f32 && i < same.count; i++)
		REQUIRE(isnan(f32[i]) || isinf(f32[i]) ||
			fabs((double)f32[i] - f64[i]) <= fabs(f64[i]) * 0x1p-24 + 0x1p-150);
	free(f64);
	free(f32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct seen seen, once;
	struct view view;
	struct nn_pull p;

	if (!keys)
		keys = nn_pull_keys_new(64, NULL);
	words = n > 0 && (data[n / 2] & 1);
	read_tokens(data, n, true, &once);
	read_tokens(data, n, false, &seen);
	REQUIRE(seen.good || !once.good);
	beside_jansson(data, n, &seen);
	read_arrays(data, n, &seen);
	begin(&p, &view, data, n);
	REQUIRE((nn_pull_skip(&p) == 0 && nn_pull_next(&p) == NN_PULL_END) == seen.good);
	free(view.copy);
	free(seen.f64);
	free(once.f64);
	return 0;
}
