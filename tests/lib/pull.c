/* JSON a token at a time: what is a document and what is not, what its values are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/json/pull.h"
#include "tap.h"

static struct nn_error err;

/* The document in memory of just its size, so that tools see what is read beyond it. */
static char *begin(struct nn_pull *p, const char *text, size_t n, bool words)
{
	char *copy = malloc(n ? n : 1);

	if (n > 0)
		memcpy(copy, text, n);
	err.text[0] = '\0';
	nn_pull_begin(p, copy, n, 100, words, &err);
	return copy;
}

/* Reads all tokens; a letter for each. */
static bool tokens(const char *text, size_t n, bool words, char *letters, size_t room)
{
	static const char all[] = ".$oOaAksntfz";
	enum nn_pull_kind kind;
	struct nn_pull p;
	char *copy = begin(&p, text, n, words);
	size_t at = 0;

	do {
		enum nn_pull_kind coming = nn_pull_peek(&p);

		kind = nn_pull_next(&p);
		if (kind != coming && kind != NN_PULL_BAD)
			ok(false, "peek says what next will say in %s", text);
		if (at + 1 < room)
			letters[at++] = all[kind];
	} while (kind > NN_PULL_END);
	letters[at] = '\0';
	if ((kind == NN_PULL_BAD) != (err.text[0] != '\0'))
		ok(false, "an error is told exactly where one is: %s", text);
	free(copy);
	return kind == NN_PULL_END;
}

static void reads(const char *text, const char *want)
{
	char got[100];

	tokens(text, strlen(text), false, got, sizeof got);
	if (!ok(strcmp(got, want) == 0, "tokens of %s are %s", text, want))
		note("got %s: %s", got, err.text);
}

static void refuses(const char *text, const char *why)
{
	char got[100];

	if (!ok(!tokens(text, strlen(text), false, got, sizeof got) && strstr(err.text, why),
		"%s: %s", text, why))
		note("got %s: %s", got, err.text);
}

static void structure(void)
{
	reads("1", "n$");
	reads(" [ ] ", "aA$");
	reads("{}", "oO$");
	reads("[1,\"a\",true,false,null]", "anstfzA$");
	reads("{\"a\":1,\"b\":{\"c\":[{},[]]}}", "oknkokaoOaAAOO$");
	refuses("", "byte 1: found the end of the text, expected a value");
	refuses("[1,]", "byte 4: found ], expected a value");
	refuses("[1 2]", "byte 4: found 2, expected a comma or ]");
	refuses("{\"a\":1,}", "byte 8: found }, expected a key");
	refuses("{\"a\" 1}", "byte 6: found 1, expected a colon");
	refuses("[1}", "byte 3: found }, expected a comma or ]");
	refuses("1 2", "byte 3: found 2, expected nothing behind the document");
	refuses("[01]", "byte 3: found 1, expected a comma or ]");
	refuses("[nul]", "byte 2: found nul, expected a value or ]");
}

static void arrays(void)
{
	struct nn_pull_dims dims;
	float values[6];
	struct nn_pull p;
	char *text = begin(&p, "[[1,2.5,-0],[0.1, 1e-3 ,3]]", 27, false);

	ok(nn_pull_f32s(&p, values, 6, &dims) == 0 && dims.rank == 2 && dims.size[0] == 2 &&
		   dims.size[1] == 3 && dims.count == 6 && values[1] == 2.5f &&
		   signbit(values[2]) && values[3] == 0.1f && values[4] == 0.001f &&
		   nn_pull_next(&p) == NN_PULL_END,
	   "nested arrays are read in row-major order, with their dimensions");
	free(text);
	text = begin(&p, "[[1],[2,3]]", 11, false);
	ok(nn_pull_f32s(&p, values, 6, &dims) == -1 &&
		   strcmp(err.text, "JSON, byte 10: found an array of 2, expected 1 as before") ==
			   0,
	   "ragged arrays are refused");
	free(text);
	text = begin(&p, "[1,2,1e39]", 10, false);
	ok(nn_pull_f32s(&p, values, 6, &dims) == -1 &&
		   strstr(err.text, "byte 6: found 1e39, expected a number in the range"),
	   "a number beyond f32 is refused");
	free(text);
	text = begin(&p, "[1,2,3]", 7, false);
	ok(nn_pull_f32s(&p, values, 2, &dims) == -1 && strstr(err.text, "more than 2 values"),
	   "more values than there is room for are refused");
	free(text);
}

static void strings(void)
{
	const char *text = "[\"a\\u00e9\\ud83d\\ude00\\n\\u0000b\",1]", *bad = "[\"\\ud83d\"]";
	struct nn_pull p;
	char *copy = begin(&p, text, strlen(text), false), got[100];

	nn_pull_next(&p);
	ok(nn_pull_next(&p) == NN_PULL_STRING && p.length == 10 &&
		   memcmp(p.text, "a\xc3\xa9\xf0\x9f\x98\x80\n\0b", 10) == 0,
	   "a string has its escapes taken off");
	free(copy);
	ok(!tokens(bad, strlen(bad), false, got, sizeof got), "half a surrogate pair is refused");
}

/* ---- keys ---- */

static bool once(const char *text, size_t n, size_t most)
{
	struct nn_pull_keys *keys = nn_pull_keys_new(most, &err);
	enum nn_pull_kind kind;
	struct nn_pull p;
	bool good = true;

	for (int again = 0; again < 2; again++) { /* what a document left behind must not matter */
		char *copy = begin(&p, text, n, false);

		nn_pull_once(&p, keys);
		do
			kind = nn_pull_next(&p);
		while (kind > NN_PULL_END);
		good = kind == NN_PULL_END;
		free(copy);
	}
	nn_pull_keys_free(keys);
	return good;
}

/* An object of n keys; the last is the one numbered `last`. */
static bool many_keys(unsigned n, unsigned last, size_t most)
{
	char *text = malloc((size_t)n * 24 + 2), *at = text;
	bool good;

	for (unsigned i = 0; i < n; i++)
		at += sprintf(at, "%s\"key %u\":{}", i ? "," : "{", i < n - 1 ? i : last);
	*at++ = '}';
	good = once(text, (size_t)(at - text), most);
	free(text);
	return good;
}

static void keys(void)
{
	static const char *const good[] = { "{\"a\":1,\"b\":2}", "{\"a\":{\"a\":{\"a\":1}}}",
					    "[{\"a\":1},{\"a\":1}]",
					    "{\"\":1,\"\\u0000\":2,\"\\u0000\\u0000\":3}",
					    "{\"a\":{\"b\":1,\"c\":1},\"b\":{\"a\":1,\"c\":1}}" };
	static const char *const twice[] = {
		"{\"a\":1,\"a\":2}", "{\"a\":{\"b\":1},\"a\":2}",
		"[{},{\"x\":[{\"y\":1,\"y\":1}]}]", "{\"\":1,\"\":1}",
		"{\"long enough a key\":1,\"long enoug\\u0068 a key\":1}"
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(once(good[i], strlen(good[i]), 100), "keys are there once: %s", good[i]);
	for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
		ok(!once(twice[i], strlen(twice[i]), 100) && strstr(err.text, "twice"),
		   "a key is there twice: %s", twice[i]);
	ok(many_keys(100000, 99999, 131072), "100,000 keys are all different");
	ok(!many_keys(100000, 17, 131072) && strstr(err.text, "the key key 17 twice"),
	   "the last of 100,000 keys is there twice");
	ok(many_keys(99, 98, 101) && !many_keys(100, 99, 101) &&
		   strstr(err.text, "more than 101 keys"),
	   "more keys than there is room for are refused");
}

int main(void)
{
	structure();
	arrays();
	strings();
	keys();
	return tap_done();
}
