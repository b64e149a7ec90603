/*
 * The pull parser, and the tree that is made with it, beside jansson, on documents made at random
 * and then damaged: what one takes the other takes, and the values are the same. What they differ
 * in:
 * - jansson takes a NUL behind a number or word for a part of it;
 * - jansson has no keys with a NUL in them, and the tree no strings with one;
 * - jansson allows 2048 levels.
 */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "file/json/json.h"
#include "file/json/pull.h"
#include "tap.h"

#define ROOM 8000

static struct nn_pull_keys *keys;
static struct nn_error err;

static unsigned draw(unsigned n)
{
	static uint64_t state = 3;

	return (unsigned)(nn_lcg(&state) >> 33) % n;
}

/* ---- documents ---- */

struct document {
	char text[ROOM + 200];
	size_t n;
};

static void put(struct document *d, const char *bytes)
{
	size_t n = strlen(bytes);

	if (d->n + n < ROOM)
		memcpy(d->text + d->n, bytes, n), d->n += n;
}

static void put_blanks(struct document *d)
{
	static const char *const blanks[] = { " ", "\n", "\t", "\r\n", "  " };

	while (draw(6) == 0)
		put(d, blanks[draw(5)]);
}

static void put_number(struct document *d)
{
	char text[64];
	double v = ((double)draw(2000001) - 1e6) * (double)draw(100000) * 1e-7;

	switch (draw(7)) {
	case 0:
		sprintf(text, "%.*g", (int)draw(17) + 1, v);
		break;
	case 1:
		sprintf(text, "%.*e", (int)draw(20), v);
		break;
	case 2:
		sprintf(text, "%u.%0*u", draw(3), (int)draw(20) + 1, draw(100000));
		break;
	case 3: /* the ends of the range and beyond */
		sprintf(text, "%s%u.%uE%s%u", draw(2) ? "-" : "", draw(10), draw(1000000),
			(const char *[]){ "", "+", "-" }[draw(3)], draw(340));
		break;
	case 4:
		sprintf(text, "%d%u%u", (int)draw(2000) - 1000, draw(1000000000), draw(1000000000));
		break;
	default:
		sprintf(text, "%d", (int)draw(300) - 20);
	}
	put(d, text);
}

static void put_string(struct document *d)
{
	static const char *const pieces[] = { "a",
					      "key",
					      "\\n",
					      "\\\"",
					      "\\\\",
					      "\\u0041",
					      "\\u0000",
					      "\\ud83d\\ude00",
					      "\xc3\xa9",
					      "\xe2\x82\xac",
					      "\xf0\x9f\x98\x80",
					      " ",
					      "sixteen and more",
					      "\\/",
					      "\\u20AC",
					      "data",
					      "inputs",
					      "\x7f" };

	put(d, "\"");
	for (unsigned n = draw(5); n > 0; n--)
		put(d, pieces[draw(sizeof pieces / sizeof *pieces)]);
	put(d, "\"");
}

/* A rectangle of numbers, as requests have them. */
static void put_rectangle(struct document *d, unsigned rank, const unsigned *sizes)
{
	if (rank == 0) {
		put_number(d);
		return;
	}
	put(d, "[");
	for (unsigned i = 0; i < *sizes; i++) {
		put(d, i ? draw(9) ? ", " : "," : "");
		put_rectangle(d, rank - 1, sizes + 1);
		if (draw(20) == 0)
			put_blanks(d);
	}
	put(d, "]");
}

static void put_value(struct document *d, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };
	unsigned sizes[3] = { draw(5), draw(5), draw(5) }, kind = draw(depth > 5 ? 5 : 9);

	put_blanks(d);
	if (kind < 2) {
		put_number(d);
	} else if (kind == 2) {
		put_string(d);
	} else if (kind == 3) {
		put(d, words[draw(3)]);
	} else if (kind == 4) {
		put_rectangle(d, draw(4), sizes);
	} else {
		bool object = kind > 6;

		put(d, object ? "{" : "[");
		for (unsigned i = 0, n = draw(5); i < n; i++) {
			put(d, i ? "," : "");
			put_blanks(d);
			if (object) {
				put_string(d);
				put_blanks(d);
				put(d, ":");
			}
			put_value(d, depth + 1);
		}
		put(d, object ? "}" : "]");
	}
	put_blanks(d);
}

static void insert(struct document *d, size_t at, const char *bytes, size_t n)
{
	memmove(d->text + at + n, d->text + at, d->n - at);
	memcpy(d->text + at, bytes, n);
	d->n += n;
}

static void damage(struct document *d)
{
	static const char *const tokens[] = { ",",    ":",        "[",  "]",   "{",
					      "}",    "\"",       "\\", "0",   "-",
					      ".",    "e",        "+1", "\\u", "\\ud800",
					      "\xff", "\xe2\x82", " ",  "\n",  "true",
					      "nul",  "1.",       "00", "1e5", "/" };
	const char *token = tokens[draw(sizeof tokens / sizeof *tokens)];
	size_t at = d->n ? draw((unsigned)d->n) : 0, n = d->n - at;
	char piece[40];

	n = n > 30 ? draw(30) : draw((unsigned)n + 1);
	if (draw(3) == 0) {
		insert(d, at, token, strlen(token));
	} else if (draw(3) == 0) {
		memcpy(piece, d->text + at, n);
		insert(d, draw((unsigned)d->n + 1), piece, n);
	} else if (draw(2) == 0) {
		n = n > 3 ? 1 + draw(3) : n;
		memmove(d->text + at, d->text + at + n, d->n - at - n);
		d->n -= n;
	} else if (draw(4) == 0) {
		d->n = at;
	} else if (d->n > 0) {
		d->text[at] = (char)(draw(3) ? draw(256) : 32 + draw(96));
	}
}

/* ---- two readers ---- */

/* What comes next in p is this value: false at the first difference. */
static bool same(const json_t *json, struct nn_pull *p)
{
	enum nn_pull_kind kind = nn_pull_next(p);
	double value;
	size_t n = 0;
	char key[ROOM];

	switch (kind) {
	case NN_PULL_OBJECT:
		while (nn_pull_peek(p) == NN_PULL_KEY) {
			if (nn_pull_next(p) != NN_PULL_KEY || memchr(p->text, 0, p->length))
				return false;
			memcpy(key, p->text, p->length);
			key[p->length] = '\0';
			if (!json_object_get(json, key) || !same(json_object_get(json, key), p))
				return false;
			n++;
		}
		return nn_pull_next(p) == NN_PULL_OBJECT_END && json_is_object(json) &&
		       json_object_size(json) == n;
	case NN_PULL_ARRAY:
		while (nn_pull_peek(p) > NN_PULL_END && nn_pull_peek(p) != NN_PULL_ARRAY_END)
			if (!same(json_array_get(json, n++), p))
				return false;
		return nn_pull_next(p) == NN_PULL_ARRAY_END && json_is_array(json) &&
		       json_array_size(json) == n;
	case NN_PULL_STRING:
		return json_is_string(json) && json_string_length(json) == p->length &&
		       memcmp(json_string_value(json), p->text, p->length) == 0;
	case NN_PULL_NUMBER:
		return nn_pull_f64(p, &value) && json_is_real(json) &&
		       value == json_real_value(json) &&
		       signbit(value) == signbit(json_real_value(json));
	case NN_PULL_TRUE:
	case NN_PULL_FALSE:
		return json_is_boolean(json) && json_is_true(json) == (kind == NN_PULL_TRUE);
	default:
		return kind == NN_PULL_NULL && json_is_null(json);
	}
}

static bool same_tree(const json_t *json, const struct nn_json *tree)
{
	const struct nn_json *value;
	const char *key, *before = NULL;
	size_t n = nn_json_size(tree);

	switch (nn_json_type(tree)) {
	case NN_JSON_OBJECT:
		for (size_t i = 0; i < n; i++, before = key) {
			key = nn_json_key(tree, i, &value);
			if ((before && strcmp(before, key) >= 0) ||
			    nn_json_get(tree, key) != value || !json_object_get(json, key) ||
			    !same_tree(json_object_get(json, key), value))
				return false;
		}
		return json_is_object(json) && json_object_size(json) == n;
	case NN_JSON_ARRAY:
		for (size_t i = 0; i < n; i++)
			if (!same_tree(json_array_get(json, i), nn_json_at(tree, i)))
				return false;
		return json_is_array(json) && json_array_size(json) == n;
	case NN_JSON_STRING:
		key = nn_json_string(tree, &n);
		return json_is_string(json) && json_string_length(json) == n && strlen(key) == n &&
		       memcmp(json_string_value(json), key, n) == 0;
	case NN_JSON_NUMBER:
		return json_is_real(json) && json_real_value(json) == nn_json_number(tree);
	case NN_JSON_BOOL:
		return json_is_boolean(json) && json_is_true(json) == nn_json_bool(tree);
	default:
		return json_is_null(json);
	}
}

/* Is the tree refused, or that of jansson? */
static bool tree_agrees(const struct document *d, const json_t *json)
{
	struct nn_json *tree = nn_json_parse(d->text, d->n, &err);
	bool good = tree ? json && same_tree(json, tree) : !json || strstr(err.text, "a NUL");

	nn_json_free(tree);
	return good;
}

/* A copy in memory of just that size. */
static char *begin(struct nn_pull *p, const struct document *d)
{
	char *copy = memcpy(malloc(d->n + !d->n), d->text, d->n);

	err.text[0] = '\0';
	nn_pull_begin(p, copy, d->n, 100, false, &err);
	return copy;
}

enum verdict { REFUSED, TAKEN, NUL_KEY };

/* By tokens alone; each number must fit f64, each key be there once. */
static enum verdict verdict(const struct document *d)
{
	struct nn_pull p;
	enum nn_pull_kind kind;
	char *copy = begin(&p, d);
	bool nul = false;
	double value;

	nn_pull_once(&p, keys);
	do {
		kind = nn_pull_next(&p);
		nul |= kind == NN_PULL_KEY && p.length > 0 && memchr(p.text, 0, p.length);
		if (kind == NN_PULL_NUMBER && !nn_pull_f64(&p, &value))
			kind = NN_PULL_BAD;
	} while (kind > NN_PULL_END);
	free(copy);
	return kind == NN_PULL_BAD ? REFUSED : nul ? NUL_KEY : TAKEN;
}

/* Does a number or word stand before a NUL? */
static bool nul_behind_word(const struct document *d)
{
	for (size_t i = 1; i < d->n; i++)
		if (d->text[i] == '\0' && isalnum((unsigned char)d->text[i - 1]))
			return true;
	return false;
}

static bool agree(const struct document *d, bool *taken)
{
	json_t *json = json_loadb(d->text, d->n,
				  JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL |
					  JSON_REJECT_DUPLICATES,
				  NULL);
	enum verdict ours = verdict(d);
	struct nn_pull p;
	char *copy = begin(&p, d);
	bool good = true;

	if (ours == NUL_KEY)
		good = !json;
	else if (ours == REFUSED)
		good = !json || nul_behind_word(d);
	else
		good = json && same(json, &p) && nn_pull_next(&p) == NN_PULL_END;
	good = good && (tree_agrees(d, json) || nul_behind_word(d));
	*taken = ours == TAKEN;
	free(copy);
	json_decref(json);
	return good;
}

/* ---- arrays at once ---- */

/* Is it numbers in a rectangle? They go to `to`, their number to dims->count. */
static bool rectangle(const json_t *json, unsigned level, struct nn_pull_dims *dims, double *to)
{
	if (json_is_real(json)) {
		if (dims->rank == UINT32_MAX)
			dims->rank = level;
		to[dims->count++] = json_real_value(json);
		return dims->rank == level;
	}
	if (!json_is_array(json) || level == NN_PULL_RANK || level >= dims->rank)
		return false;
	if (dims->size[level] == SIZE_MAX)
		dims->size[level] = json_array_size(json);
	if (json_array_size(json) != dims->size[level])
		return false;
	if (json_array_size(json) == 0 && dims->rank == UINT32_MAX)
		dims->rank = level + 1;
	for (size_t i = 0; i < json_array_size(json); i++)
		if (!rectangle(json_array_get(json, i), level + 1, dims, to))
			return false;
	return json_array_size(json) > 0 || dims->rank == level + 1;
}

/* What nn_pull_f64s, nn_pull_f32s and nn_pull_skip say of a document that is JSON. */
static bool arrays_agree(const struct document *d)
{
	static double want[ROOM], f64[ROOM];
	static float f32[ROOM];
	json_t *json = json_loadb(d->text, d->n,
				  JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
	struct nn_pull_dims dims = { .rank = UINT32_MAX }, got;
	bool good, is, fits = true;
	struct nn_pull p;
	char *copy;

	memset(dims.size, 0xff, sizeof dims.size);
	is = rectangle(json, 0, &dims, want);
	json_decref(json);
	copy = begin(&p, d);
	good = (nn_pull_f64s(&p, f64, ROOM, &got) == 0) == is;
	if (is)
		good = good && nn_pull_next(&p) == NN_PULL_END && got.rank == dims.rank &&
		       got.count == dims.count &&
		       memcmp(got.size, dims.size, got.rank * sizeof *got.size) == 0 &&
		       memcmp(f64, want, got.count * sizeof *f64) == 0;
	free(copy);
	for (size_t i = 0; is && i < dims.count; i++)
		fits &= fabs(want[i]) < 0x1.ffffffp127;
	copy = begin(&p, d);
	good = good && (nn_pull_f32s(&p, f32, ROOM, &got) == 0) == (is && fits);
	free(copy);
	for (size_t i = 0; good && is && fits && i < dims.count; i++)
		good = fabs((double)f32[i] - want[i]) <= fabs(want[i]) * 0x1p-24 + 0x1p-150;
	copy = begin(&p, d);
	good = good && nn_pull_skip(&p) == 0 && nn_pull_next(&p) == NN_PULL_END;
	free(copy);
	return good;
}

#ifndef DOCUMENTS
#define DOCUMENTS 60000
#endif

int main(void)
{
	static struct document d;
	unsigned long bad = 0, bad_arrays = 0, n_taken = 0, n_damaged = 0;

	keys = nn_pull_keys_new(10000, &err);
	for (unsigned i = 0; keys && i < DOCUMENTS && bad + bad_arrays < 5; i++) {
		bool damaged = draw(3) > 0, taken;

		d.n = 0;
		put_value(&d, 0);
		for (unsigned times = damaged ? 1 + draw(3) : 0; times > 0; times--)
			damage(&d);
		if (!agree(&d, &taken)) {
			note("%.*s", (int)d.n, d.text);
			bad++;
		} else if (taken && !arrays_agree(&d)) {
			note("array: %.*s: %s", (int)d.n, d.text, err.text);
			bad_arrays++;
		}
		n_taken += taken;
		n_damaged += damaged && !taken;
	}
	ok(bad == 0, "documents, whole and damaged, are what jansson says");
	ok(bad_arrays == 0, "arrays of numbers have the values and dimensions of jansson's");
	ok(n_taken > DOCUMENTS / 5 && n_damaged > DOCUMENTS / 5,
	   "enough documents are JSON, and enough of the damaged ones are not");
	note("%lu are JSON, %lu damaged", n_taken, n_damaged);
	nn_pull_keys_free(keys);
	return tap_done();
}
