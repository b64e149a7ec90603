/* JSON for metadata: a document lies in one block, nodes and then its text, with sorted keys. */
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "file/json/json.h"
#include "file/json/pull.h"

struct nn_json {
	enum nn_json_type type;
	bool whole;               /* a number without point and exponent, of 64 bits */
	double number;            /* of a boolean 0 or 1 */
	int64_t integer;          /* of a whole number; of an array or object bytes of its text */
	const char *string;       /* own text; of a number as it was written, not ended; or NULL */
	const char *key;          /* as a member of an object */
	size_t length;            /* of string, or number of children */
	struct nn_json *children; /* an object's sorted by key; while it is open its parent */
};

/* Depth and number of values before anything is allocated: at least as many as there are, or 0. */
static size_t check_size(const char *text, size_t n, struct nn_error *err)
{
	size_t depth = 0, values = 1;
	char said[NN_LIMIT_TEXT];
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
			continue;
		}
		if (c == '"')
			quoted = true;
		else if (c == '[' || c == '{')
			depth++, values++;
		else if (c == ']' || c == '}')
			depth -= depth > 0;
		else if (c == ',')
			values++;
		if (depth > nn_limit(NN_LIMIT_DEPTH))
			nn_fail(err, NN_EFORMAT, "JSON is nested more than %s",
				nn_limit_said(NN_LIMIT_DEPTH, 0, said));
		else if (values > nn_limit(NN_LIMIT_JSON_VALUES))
			nn_fail(err, NN_EFORMAT, "JSON has more than %s",
				nn_limit_said(NN_LIMIT_JSON_VALUES, 0, said));
		else
			continue;
		return 0;
	}
	return values;
}

/*
 * Values of what is open are a stack at the beginning of the nodes; those of an array or object
 * that ends go to the end of them, before those that ended earlier.
 */
struct maker {
	struct nn_pull pull;
	const char *text;            /* as it came: the pull writes to its own */
	struct nn_json *top, *ended; /* behind the stack; the first of those that ended */
	struct nn_json *open;        /* the innermost; NULL: none */
};

/* The text of the current token, with a NUL where its quote was or before; NULL: it has NULs. */
static const char *end_text(struct nn_pull *p)
{
	if (memchr(p->text, 0, p->length)) {
		nn_pull_fail(p, "found a NUL in a string");
		return NULL;
	}
	p->begin[p->text - p->begin + (ptrdiff_t)p->length] = '\0';
	return p->text;
}

static int take_number(struct nn_pull *p, struct nn_json *to)
{
	size_t n = 0;

	while (n < p->length && p->text[n] != '.' && (p->text[n] | 0x20) != 'e')
		n++;
	to->type = NN_JSON_NUMBER;
	to->string = p->text;
	to->length = p->length;
	to->whole = n == p->length && nn_pull_i64(p, &to->integer);
	return nn_pull_f64(p, &to->number) ? 0
					   : nn_pull_fail(p, "found a number that is too large");
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct nn_json *)a)->key, ((const struct nn_json *)b)->key);
}

static int refuse_duplicates(struct nn_pull *p, const struct nn_json *object)
{
	for (size_t i = 1; i < object->length; i++) {
		const char *key = object->children[i].key;
		char quoted[NN_QUOTED];

		if (strcmp(object->children[i - 1].key, key) == 0)
			return nn_pull_fail(p, "found the duplicate key %s",
					    nn_quote(quoted, key, strlen(key)));
	}
	return 0;
}

/* What lies on the stack above the one that is open are its children. */
static int end_level(struct maker *m)
{
	struct nn_json *j = m->open;
	size_t n = j->length = (size_t)(m->top - j - 1);

	m->open = j->children;
	m->top = j + 1;
	m->ended = memmove(m->ended - n, m->top, n * sizeof *j);
	j->children = n > 0 ? m->ended : NULL;
	j->integer = (m->text + (m->pull.at - m->pull.begin)) - j->string;
	if (j->type == NN_JSON_ARRAY)
		return 0;
	qsort(m->ended, n, sizeof *j, by_key);
	return refuse_duplicates(&m->pull, j);
}

/* A value that begins, or one that is nothing but a token. */
static int add(struct maker *m, enum nn_pull_kind kind, const char *key)
{
	struct nn_json *to = m->top++;

	*to = (struct nn_json){ .key = key };
	switch (kind) {
	case NN_PULL_TRUE:
	case NN_PULL_FALSE:
		to->type = NN_JSON_BOOL;
		to->number = kind == NN_PULL_TRUE;
		return 0;
	case NN_PULL_NUMBER:
		return take_number(&m->pull, to);
	case NN_PULL_STRING:
		to->type = NN_JSON_STRING;
		to->length = m->pull.length;
		to->string = end_text(&m->pull);
		return to->string ? 0 : -1;
	case NN_PULL_ARRAY:
	case NN_PULL_OBJECT:
		to->type = kind == NN_PULL_ARRAY ? NN_JSON_ARRAY : NN_JSON_OBJECT;
		to->string = m->text + (m->pull.token - m->pull.begin);
		to->children = m->open;
		m->open = to;
		return 0;
	default:
		return 0;
	}
}

static int make(struct maker *m)
{
	const char *key = NULL;
	int status = 0;

	while (status == 0) {
		enum nn_pull_kind kind = nn_pull_next(&m->pull);

		switch (kind) {
		case NN_PULL_BAD:
			return -1;
		case NN_PULL_END:
			return 0;
		case NN_PULL_KEY:
			key = end_text(&m->pull);
			status = key ? 0 : -1;
			continue;
		case NN_PULL_ARRAY_END:
		case NN_PULL_OBJECT_END:
			status = end_level(m);
			break;
		default:
			status = add(m, kind, key);
		}
		key = NULL;
	}
	return -1;
}

struct nn_json *nn_json_parse(const char *text, size_t n, struct nn_error *err)
{
	size_t values = check_size(text, n, err);
	struct nn_json *nodes;
	struct maker m = { .text = text };

	if (values == 0 || !(nodes = nn_alloc(values * sizeof *nodes + n + 1, 1, err)))
		return NULL;
	m.top = nodes;
	m.ended = nodes + values;
	nn_pull_begin(&m.pull, memcpy(m.ended, text, n), n, (unsigned)nn_limit(NN_LIMIT_DEPTH),
		      false, err);
	if (make(&m) == 0)
		return nodes;
	nn_free(nodes);
	return NULL;
}

void nn_json_free(struct nn_json *document)
{
	nn_free(document);
}

enum nn_json_type nn_json_type(const struct nn_json *value)
{
	return value ? value->type : NN_JSON_NULL;
}

const struct nn_json *nn_json_get(const struct nn_json *object, const char *key)
{
	struct nn_json wanted = { .key = key };

	if (nn_json_type(object) != NN_JSON_OBJECT || object->length == 0)
		return NULL;
	return bsearch(&wanted, object->children, object->length, sizeof wanted, by_key);
}

size_t nn_json_size(const struct nn_json *value)
{
	return value && value->children ? value->length : 0;
}

const struct nn_json *nn_json_at(const struct nn_json *array, size_t i)
{
	return i < nn_json_size(array) ? &array->children[i] : NULL;
}

const char *nn_json_key(const struct nn_json *object, size_t i, const struct nn_json **value)
{
	const struct nn_json *child = nn_json_at(object, i);

	if (value)
		*value = child;
	return child ? child->key : NULL;
}

const char *nn_json_string(const struct nn_json *value, size_t *length)
{
	if (nn_json_type(value) != NN_JSON_STRING)
		return NULL;
	if (length)
		*length = value->length;
	return value->string;
}

const char *nn_json_source(const struct nn_json *value, size_t *length)
{
	enum nn_json_type type = nn_json_type(value);

	if (type != NN_JSON_NUMBER && type != NN_JSON_ARRAY && type != NN_JSON_OBJECT)
		return NULL;
	*length = type == NN_JSON_NUMBER ? value->length : (size_t)value->integer;
	return value->string;
}

double nn_json_number(const struct nn_json *value)
{
	return nn_json_type(value) == NN_JSON_NUMBER ? value->number : 0;
}

bool nn_json_bool(const struct nn_json *value)
{
	return nn_json_type(value) == NN_JSON_BOOL && value->number != 0;
}

int64_t nn_json_integer(const struct nn_json *value)
{
	return nn_json_whole(value) ? value->integer : 0;
}

bool nn_json_whole(const struct nn_json *value)
{
	return nn_json_type(value) == NN_JSON_NUMBER && value->whole;
}

/* Recursion is bounded: nothing deeper than the limit was parsed. */
bool nn_json_equal(const struct nn_json *a, const struct nn_json *b)
{
	if (nn_json_type(a) != nn_json_type(b))
		return false;
	if (!a || !b)
		return true;
	if (a->type == NN_JSON_NUMBER)
		return a->number == b->number;
	if (a->number != b->number || a->length != b->length)
		return false;
	if (a->type == NN_JSON_STRING)
		return memcmp(a->string, b->string, a->length) == 0;
	for (size_t i = 0; i < nn_json_size(a); i++) {
		const struct nn_json *of_a = &a->children[i], *of_b = &b->children[i];

		if ((of_a->key && strcmp(of_a->key, of_b->key) != 0) || !nn_json_equal(of_a, of_b))
			return false;
	}
	return true;
}

/* Where the member ends that begins at `at`, or the object: at its comma or brace; else at the NUL.
 */
static const char *member_end(const char *at)
{
	size_t depth = 0;
	bool quoted = false;

	for (; *at; at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && (*at == '{' || *at == '['))
			depth++;
		else if (!quoted && depth == 0 && (*at == ',' || *at == '}'))
			break;
		else if (!quoted && (*at == '}' || *at == ']'))
			depth--;
	}
	return at;
}

bool nn_json_omit(struct nn_text *result, const char *object, const char *key)
{
	static const char blanks[] = " \t\r\n";
	const char *at = object + strspn(object, blanks), *begin;
	size_t n = strlen(key);

	if (*at != '{')
		return false;
	nn_text_add(result, "{");
	while (*at && *at != '}') {
		begin = at + 1 + strspn(at + 1, blanks);
		at = member_end(begin);
		if (*begin == '"' && strncmp(begin + 1, key, n) == 0 && begin[1 + n] == '"')
			continue;
		if (result->length > 1)
			nn_text_add(result, ",");
		nn_text_add_bytes(result, begin, (size_t)(at - begin));
	}
	nn_text_add(result, "}");
	return *at == '}' && at[1 + strspn(at + 1, blanks)] == '\0';
}
