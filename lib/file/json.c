/* JSON for metadata: jansson parses, then everything lies in one block with sorted keys. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "file/json.h"

struct nn_json {
	enum nn_json_type type;
	bool whole;               /* a number without point and exponent */
	double number;            /* of a boolean 0 or 1 */
	int64_t integer;          /* of a whole number */
	const char *string;       /* own text, or NULL */
	const char *key;          /* as a member of an object */
	size_t length;            /* of string, or number of children */
	struct nn_json *children; /* contiguous; an object's sorted by key */
};

/* Depth and number of values before anybody recurses or allocates. */
static int check_size(const char *text, size_t n, struct nn_error *err)
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
		else if (c == ',' || c == ':')
			values++;
		if (depth > nn_limit(NN_LIMIT_DEPTH))
			return nn_fail(err, NN_EFORMAT, "JSON is nested more than %s",
				       nn_limit_said(NN_LIMIT_DEPTH, 0, said));
		if (values > nn_limit(NN_LIMIT_JSON_VALUES))
			return nn_fail(err, NN_EFORMAT, "JSON has more than %s",
				       nn_limit_said(NN_LIMIT_JSON_VALUES, 0, said));
	}
	return 0;
}

/* ---- one block: all nodes, then all text ---- */

struct maker {
	struct nn_json *nodes;
	size_t used;
	char *text;
};

static void count(const json_t *j, size_t *nodes, size_t *text)
{
	const json_t *child;
	const char *key;
	size_t i;

	if (json_is_string(j))
		*text += json_string_length(j) + 1;
	*nodes += json_is_array(j) ? json_array_size(j) : json_object_size(j);
	json_array_foreach(j, i, child) count(child, nodes, text);
	json_object_foreach((json_t *)j, key, child)
	{
		*text += strlen(key) + 1;
		count(child, nodes, text);
	}
}

static const char *keep(struct maker *m, const char *bytes, size_t n)
{
	char *at = m->text;

	memcpy(at, bytes, n + 1);
	m->text += n + 1;
	return at;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct nn_json *)a)->key, ((const struct nn_json *)b)->key);
}

static void make(struct maker *m, const json_t *j, struct nn_json *to)
{
	const json_t *child;
	const char *key;
	size_t i;

	switch (json_typeof(j)) {
	case JSON_NULL:
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		to->type = NN_JSON_BOOL;
		to->number = json_is_true(j);
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		to->type = NN_JSON_NUMBER;
		to->number = json_number_value(j);
		to->whole = json_is_integer(j);
		to->integer = json_integer_value(j);
		break;
	case JSON_STRING:
		to->type = NN_JSON_STRING;
		to->length = json_string_length(j);
		to->string = keep(m, json_string_value(j), to->length);
		break;
	case JSON_ARRAY:
		to->type = NN_JSON_ARRAY;
		to->length = json_array_size(j);
		to->children = m->nodes + m->used;
		m->used += to->length;
		json_array_foreach(j, i, child) make(m, child, &to->children[i]);
		break;
	case JSON_OBJECT:
		to->type = NN_JSON_OBJECT;
		to->length = json_object_size(j);
		to->children = m->nodes + m->used;
		m->used += to->length;
		i = 0;
		json_object_foreach((json_t *)j, key, child)
		{
			to->children[i].key = keep(m, key, strlen(key));
			make(m, child, &to->children[i++]);
		}
		qsort(to->children, to->length, sizeof *to->children, by_key);
		break;
	}
}

struct nn_json *nn_json_parse(const char *text, size_t n, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	struct maker m = { .used = 1 };
	size_t nodes = 1, characters = 1;
	json_error_t why;
	json_t *j;

	if (check_size(text, n, err) < 0)
		return NULL;
	j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	if (!j) {
		enum json_error_code code = json_error_code(&why);

		nn_fail(err, code == json_error_out_of_memory ? NN_ENOMEM : NN_EFORMAT, "JSON: %s",
			nn_quote(quoted, why.text, strlen(why.text)));
		return NULL;
	}
	count(j, &nodes, &characters);
	m.nodes = nn_alloc(nodes * sizeof *m.nodes + characters, 1, err);
	if (m.nodes) {
		m.text = (char *)(m.nodes + nodes);
		make(&m, j, m.nodes);
	}
	json_decref(j);
	return m.nodes;
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

/* Recursion is bounded: nothing deeper than MAX_DEPTH was parsed. */
bool nn_json_equal(const struct nn_json *a, const struct nn_json *b)
{
	if (nn_json_type(a) != nn_json_type(b))
		return false;
	if (!a || !b)
		return true;
	if (a->number != b->number || a->length != b->length)
		return false;
	if (a->string)
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
