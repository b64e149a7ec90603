/* JSON a token at a time: a state says what may come next, a bit per level what is open. */
#include "base/text.h"
#include "config.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number-list.h"
#include "base/number.h"
#include "file/json/pull-inside.h"

enum state {
	BAD,
	VALUE,       /* at the beginning, behind a colon, behind a comma of an array */
	FIRST_VALUE, /* behind [ */
	KEY,         /* behind a comma of an object */
	FIRST_KEY,   /* behind { */
	COLON,       /* behind a key */
	AFTER,       /* behind a value in an array or object */
	DONE         /* behind the whole value */
};

#define NOTHING (-1) /* where a byte would be: the end of the text */

void nn_pull_begin(struct nn_pull *p, char *text, size_t bytes, unsigned max_depth, bool words,
		   struct nn_error *err)
{
	if (max_depth > NN_PULL_DEPTH)
		NN_BUG("JSON of depth %u", max_depth);
	p->begin = p->at = text;
	p->end = text + bytes;
	p->text = p->token = text;
	p->length = 0;
	p->err = err;
	p->keys = NULL;
	p->depth = 0;
	p->max_depth = max_depth;
	p->depth_said = "a fixed limit";
	p->state = VALUE;
	p->words = words;
	p->nulls = false;
}

void nn_pull_once(struct nn_pull *p, struct nn_pull_keys *keys)
{
	p->keys = keys;
	nn_pull_keys_begin(keys);
}

/* ---- what is wrong ---- */

int nn_pull_fail(struct nn_pull *p, const char *format, ...)
{
	char text[400];
	va_list args;

	if (p->state == BAD)
		return -1;
	p->state = BAD;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return nn_fail(p->err, NN_EFORMAT, "JSON, byte %zu: %s", (size_t)(p->token - p->begin) + 1,
		       text);
}

static bool in_object(const struct nn_pull *p)
{
	unsigned level = p->depth - 1;

	return p->depth > 0 && p->objects[level / 64] >> (level % 64) & 1;
}

/* What stands at p->at is nothing that may stand there. */
static enum nn_pull_kind unexpected(struct nn_pull *p)
{
	static const char *const wanted[] = {
		[VALUE] = "a value", [FIRST_VALUE] = "a value or ]",
		[KEY] = "a key",     [FIRST_KEY] = "a key or }",
		[COLON] = "a colon", [DONE] = "nothing behind the document",
	};
	const char *expected = p->state != AFTER ? wanted[p->state]
			       : in_object(p)    ? "a comma or }"
						 : "a comma or ]";
	char quoted[NN_QUOTED];
	size_t n = 0;

	while (n < (size_t)(p->end - p->at) && !memchr(" \t\r\n,:\"[]{}", p->at[n], 11))
		n++;
	p->token = p->at;
	if (p->at == p->end)
		nn_pull_fail(p, "found the end of the text, expected %s", expected);
	else
		nn_pull_fail(p, "found %s, expected %s", nn_quote(quoted, p->at, n ? n : 1),
			     expected);
	return NN_PULL_BAD;
}

/* ---- numbers and words ---- */

/* Where the word at s ends; NULL: it is another. */
static const char *word_end(const char *s, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - s) >= n && memcmp(s, word, n) == 0 ? s + n : NULL;
}

static enum nn_pull_kind take_number(struct nn_pull *p)
{
	const char *end = nn_number_end(p->at, p->end);

	if (!end && p->words) {
		end = word_end(p->at, p->end, "NaN");
		end = end ? end : word_end(p->at, p->end, "Infinity");
		end = end ? end : word_end(p->at, p->end, "-Infinity");
	}
	if (!end)
		return unexpected(p);
	p->text = p->at;
	p->length = (size_t)(end - p->at);
	p->at += end - p->at;
	p->state = p->depth > 0 ? AFTER : DONE;
	return NN_PULL_NUMBER;
}

static enum nn_pull_kind take_word(struct nn_pull *p, enum nn_pull_kind kind)
{
	const char *word = kind == NN_PULL_TRUE ? "true" : kind == NN_PULL_FALSE ? "false" : "null";
	const char *end = word_end(p->at, p->end, word);

	if (!end)
		return unexpected(p);
	p->at += end - p->at;
	p->state = p->depth > 0 ? AFTER : DONE;
	return kind;
}

void nn_pull_pass(struct nn_pull *p, const char *end)
{
	p->at += end - p->at;
	p->state = AFTER;
}

/* ---- keys and levels ---- */

static enum nn_pull_kind too_many_keys(struct nn_pull *p)
{
	nn_pull_fail(p, "found more than %zu keys in objects that are open (a fixed limit)",
		     nn_pull_keys_most(p->keys));
	return NN_PULL_BAD;
}

static enum nn_pull_kind take_key(struct nn_pull *p)
{
	enum nn_pull_once once = NN_PULL_ONCE;
	char quoted[NN_QUOTED];

	if (nn_pull_string(p) < 0)
		return NN_PULL_BAD;
	p->state = COLON;
	if (p->keys)
		once = nn_pull_keys_add(p->keys, p->text, p->length, p->depth);
	if (once == NN_PULL_FULL)
		return too_many_keys(p);
	if (once == NN_PULL_TWICE) {
		nn_pull_fail(p, "found the key %s twice", nn_quote(quoted, p->text, p->length));
		return NN_PULL_BAD;
	}
	return NN_PULL_KEY;
}

static enum nn_pull_kind open_level(struct nn_pull *p, bool object)
{
	uint64_t bit = UINT64_C(1) << (p->depth % 64), *word = &p->objects[p->depth / 64];

	if (p->depth == p->max_depth) {
		nn_pull_fail(p, "found more than %u level%s of arrays and objects (%s)",
			     p->max_depth, nn_s(p->max_depth), p->depth_said);
		return NN_PULL_BAD;
	}
	if (object && p->keys && !nn_pull_keys_open(p->keys))
		return too_many_keys(p);
	*word = object ? *word | bit : *word & ~bit;
	p->depth++;
	p->at++;
	p->state = object ? FIRST_KEY : FIRST_VALUE;
	return object ? NN_PULL_OBJECT : NN_PULL_ARRAY;
}

static enum nn_pull_kind close_level(struct nn_pull *p)
{
	bool object = in_object(p);

	if (object && p->keys)
		nn_pull_keys_close(p->keys);
	p->depth--;
	p->at++;
	p->state = p->depth > 0 ? AFTER : DONE;
	return object ? NN_PULL_OBJECT_END : NN_PULL_ARRAY_END;
}

/* ---- tokens ---- */

static int skip_blanks(struct nn_pull *p)
{
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
		p->at++;
	return p->at < p->end ? (unsigned char)*p->at : NOTHING;
}

/* Goes behind the comma or colon that a token follows; the token's first byte. */
static int settle(struct nn_pull *p)
{
	int c = skip_blanks(p);

	if (p->state == AFTER && c == ',')
		p->state = in_object(p) ? KEY : VALUE;
	else if (p->state == COLON && c == ':')
		p->state = VALUE;
	else
		return c;
	p->at++;
	return skip_blanks(p);
}

/* What begins with c in a state; BAD: nothing does. */
static enum nn_pull_kind kind_of(const struct nn_pull *p, int c)
{
	bool value = p->state == VALUE || p->state == FIRST_VALUE;
	bool key = p->state == KEY || p->state == FIRST_KEY;

	switch (c) {
	case NOTHING:
		return p->state == DONE ? NN_PULL_END : NN_PULL_BAD;
	case '"':
		return key ? NN_PULL_KEY : value ? NN_PULL_STRING : NN_PULL_BAD;
	case ']':
		return p->state == FIRST_VALUE || (p->state == AFTER && !in_object(p))
			       ? NN_PULL_ARRAY_END
			       : NN_PULL_BAD;
	case '}':
		return p->state == FIRST_KEY || (p->state == AFTER && in_object(p))
			       ? NN_PULL_OBJECT_END
			       : NN_PULL_BAD;
	}
	if (!value)
		return NN_PULL_BAD;
	switch (c) {
	case '{':
		return NN_PULL_OBJECT;
	case '[':
		return NN_PULL_ARRAY;
	case 't':
		return NN_PULL_TRUE;
	case 'f':
		return NN_PULL_FALSE;
	case 'n':
		return NN_PULL_NULL;
	case 'N':
	case 'I':
		return p->words ? NN_PULL_NUMBER : NN_PULL_BAD;
	}
	return c == '-' || (c >= '0' && c <= '9') ? NN_PULL_NUMBER : NN_PULL_BAD;
}

enum nn_pull_kind nn_pull_peek(struct nn_pull *p)
{
	return p->state == BAD ? NN_PULL_BAD : kind_of(p, settle(p));
}

enum nn_pull_kind nn_pull_next(struct nn_pull *p)
{
	enum nn_pull_kind kind = nn_pull_peek(p);

	if (p->state == BAD)
		return NN_PULL_BAD;
	p->token = p->at;
	switch (kind) {
	case NN_PULL_BAD:
		return unexpected(p);
	case NN_PULL_END:
		return kind;
	case NN_PULL_OBJECT:
	case NN_PULL_ARRAY:
		return open_level(p, kind == NN_PULL_OBJECT);
	case NN_PULL_OBJECT_END:
	case NN_PULL_ARRAY_END:
		return close_level(p);
	case NN_PULL_KEY:
		return take_key(p);
	case NN_PULL_STRING:
		if (nn_pull_string(p) < 0)
			return NN_PULL_BAD;
		p->state = p->depth > 0 ? AFTER : DONE;
		return kind;
	case NN_PULL_NUMBER:
		return take_number(p);
	default:
		return take_word(p, kind);
	}
}

int nn_pull_skip(struct nn_pull *p)
{
	unsigned depth = p->depth;

	do {
		if (nn_pull_next(p) == NN_PULL_BAD)
			return -1;
	} while (p->depth > depth);
	return 0;
}

bool nn_pull_is(const struct nn_pull *p, const char *word)
{
	size_t n = strlen(word);

	return p->length == n && memcmp(p->text, word, n) == 0;
}

/* ---- the current number ---- */

static bool is_word(const struct nn_pull *p, double *value)
{
	char c = p->text[*p->text == '-'];

	if (c != 'N' && c != 'I')
		return false;
	*value = c == 'N' ? NAN : *p->text == '-' ? -INFINITY : INFINITY;
	return true;
}

bool nn_pull_f32(const struct nn_pull *p, float *value)
{
	double word;

	if (!is_word(p, &word))
		return nn_parse_f32(p->text, p->length, value);
	*value = (float)word;
	return true;
}

bool nn_pull_f64(const struct nn_pull *p, double *value)
{
	return is_word(p, value) || nn_parse_f64(p->text, p->length, value);
}

bool nn_pull_i64(const struct nn_pull *p, int64_t *value)
{
	return nn_parse_i64(p->text, p->length, value);
}

bool nn_pull_u64(const struct nn_pull *p, uint64_t *value)
{
	return nn_parse_u64(p->text, p->length, value);
}
