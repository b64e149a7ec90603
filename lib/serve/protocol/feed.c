/* Inputs as they come, then rows: a single tensor where it was parsed, several side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "file/convert.h"
#include "serve/protocol/base64.h"
#include "serve/protocol/feed.h"

int nn_feed_begin(struct nn_query *q)
{
	size_t bytes = q->served->n_inputs * sizeof(struct nn_fed);

	if (nn_block_reserve(&q->fed, bytes, &q->error) < 0)
		return -1;
	memset(q->fed.data, 0, bytes);
	return 0;
}

int nn_feed_find(struct nn_query *q, const char *name, size_t n, size_t *input)
{
	const struct nn_served *served = q->served;
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < served->n_inputs; i++)
		if (strlen(served->inputs[i].name) == n &&
		    memcmp(served->inputs[i].name, name, n) == 0) {
			*input = i;
			return 0;
		}
	return nn_query_fail(q, 400, "the model has no input \"%s\"; its first is \"%s\"",
			     nn_quote(quoted, name, n),
			     served->n_inputs ? served->inputs[0].name : "");
}

/* ---- values as they come ---- */

/* A value of JSON takes two bytes at least. */
static size_t most_values(const struct nn_query *q)
{
	return q->exchange->bytes / 2 + 2;
}

static bool is_plain(const struct nn_query *q, size_t input)
{
	return !q->served->table && !q->served->inputs[input].text;
}

static float *values_at(const struct nn_query *q, size_t at)
{
	return (float *)q->values.data + at;
}

static char *cell(const struct nn_query *q, size_t i)
{
	return q->cells.data + ((const size_t *)q->offsets.data)[i];
}

static int reserve_values(struct nn_query *q, size_t n)
{
	size_t bytes;

	if (!nn_add(q->n_values, n, &n) || !nn_mul(n, sizeof(float), &bytes))
		return nn_query_fail(q, 413, "the inputs do not fit into memory");
	return nn_block_reserve(&q->values, bytes, &q->error);
}

static int reserve_cells(struct nn_query *q, size_t n)
{
	size_t bytes;

	if (!nn_add(q->n_cells, n, &n) || !nn_mul(n, sizeof(size_t), &bytes))
		return nn_query_fail(q, 413, "the inputs do not fit into memory");
	return nn_block_reserve(&q->offsets, bytes, &q->error);
}

/* The room is there (reserve_cells). */
static int add_cell(struct nn_query *q, char kind, const char *text, size_t n)
{
	((size_t *)q->offsets.data)[q->n_cells++] = q->cells.length;
	nn_text_add_bytes(&q->cells, &kind, 1);
	nn_text_add_bytes(&q->cells, text, n);
	nn_text_add_bytes(&q->cells, "", 1);
	return q->cells.failed ? nn_fail(&q->error, NN_ENOMEM, "memory is out") : 0;
}

int nn_feed_base64(struct nn_query *q)
{
	struct nn_pull *p = &q->pull;
	const char *bytes;
	size_t n;

	if (nn_pull_next(p) != NN_PULL_STRING)
		return nn_pull_fail(p, "\"b64\": expected a string");
	if (reserve_cells(q, 1) < 0 || nn_block_reserve(&q->out, p->length + 2, &q->error) < 0)
		return -1;
	bytes = q->out.data;
	if (!nn_base64_decode(p->text, p->length, q->out.data, &n))
		return nn_pull_fail(p, "\"b64\": found what is not base64");
	if (memchr(bytes, '\0', n) || nn_utf8_prefix(bytes, n) != n)
		return nn_pull_fail(p,
				    "\"b64\": found bytes that are not text (UTF-8 without NUL)");
	return add_cell(q, 's', bytes, n);
}

/* {"b64": "..."}, behind its brace. */
static int add_object(struct nn_query *q)
{
	struct nn_pull *p = &q->pull;

	if (nn_pull_next(p) != NN_PULL_KEY || !nn_pull_is(p, "b64"))
		return nn_pull_fail(p, "expected a value or {\"b64\": \"...\"}");
	if (nn_feed_base64(q) < 0)
		return -1;
	return nn_pull_next(p) == NN_PULL_OBJECT_END
		       ? 0
		       : nn_pull_fail(p, "expected {\"b64\": \"...\"} and nothing else");
}

/* The current token as a cell: n number, s string, b true or false, 0 null. */
static int add_token(struct nn_query *q, enum nn_pull_kind kind)
{
	struct nn_pull *p = &q->pull;

	switch (kind) {
	case NN_PULL_NUMBER:
		if (*p->text == 'N')
			return add_cell(q, '0', "", 0);
		return add_cell(q, 'n', p->text, p->length);
	case NN_PULL_STRING:
		if (memchr(p->text, '\0', p->length))
			return nn_pull_fail(p, "found a NUL in a string");
		return add_cell(q, 's', p->text, p->length);
	case NN_PULL_TRUE:
		return add_cell(q, 'b', "true", 4);
	case NN_PULL_FALSE:
		return add_cell(q, 'b', "false", 5);
	case NN_PULL_NULL:
		return add_cell(q, '0', "", 0);
	default:
		return nn_pull_fail(p, "expected a value, not an array or object");
	}
}

static int leaf(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg)
{
	(void)p;
	(void)i;
	return add_token(arg, kind);
}

static int leaf_or_bytes(struct nn_pull *p, enum nn_pull_kind kind, size_t i, void *arg)
{
	return kind == NN_PULL_OBJECT ? add_object(arg) : leaf(p, kind, i, arg);
}

int nn_feed_any(struct nn_query *q, bool base64, size_t *first, struct nn_pull_dims *dims)
{
	*first = q->n_cells;
	if (reserve_cells(q, most_values(q)) < 0)
		return -1;
	return nn_pull_array(&q->pull, base64 ? leaf_or_bytes : leaf, q, dims);
}

int nn_feed_json(struct nn_query *q, size_t input, struct nn_pull_dims *dims)
{
	struct nn_fed *fed = nn_query_fed(q, input);
	size_t most = most_values(q);

	if (!is_plain(q, input)) {
		fed->kind = NN_FED_CELLS;
		return nn_feed_any(q, true, &fed->at, dims);
	}
	if (reserve_values(q, most) < 0)
		return -1;
	fed->kind = NN_FED_FLOATS;
	fed->at = q->n_values;
	if (nn_pull_f32s(&q->pull, values_at(q, fed->at), most, dims) < 0)
		return -1;
	q->n_values += dims->count;
	return 0;
}

int nn_feed_rows(struct nn_query *q, size_t input)
{
	struct nn_fed *fed = nn_query_fed(q, input);
	size_t end = q->n_values + most_values(q);
	struct nn_pull_dims dims;

	if (reserve_values(q, most_values(q)) < 0)
		return -1;
	fed->kind = NN_FED_FLOATS;
	fed->at = q->n_values;
	if (nn_pull_next(&q->pull) != NN_PULL_ARRAY)
		return nn_pull_fail(&q->pull, "expected an array of rows");
	for (fed->rows = 0; nn_pull_peek(&q->pull) != NN_PULL_ARRAY_END; fed->rows++) {
		if (nn_pull_f32s(&q->pull, values_at(q, q->n_values), end - q->n_values, &dims) <
			    0 ||
		    nn_feed_length(q, input, fed->rows, dims.size, dims.rank) < 0)
			return -1;
		q->n_values += dims.count;
	}
	return nn_pull_next(&q->pull) == NN_PULL_BAD ? -1 : 0;
}

/* Bytes of pictures are scaled as training stored it, as nn-predict scales arrays of them. */
static void scale(struct nn_query *q, size_t input, enum nn_datatype type, size_t n)
{
	const struct nn_schema *schema;
	float *values = values_at(q, q->n_values), factor;

	if (type != NN_DT_UINT8 || q->served->inputs[input].shape.rank < 2)
		return;
	schema = q->served->model->schema;
	if (input >= schema->n_inputs || schema->inputs[input].n_columns > 0 ||
	    schema->inputs[input].scale == 0)
		return;
	factor = (float)schema->inputs[input].scale;
	for (size_t i = 0; i < n; i++)
		values[i] *= factor;
}

/* ---- cells of a type ---- */

static bool cell_is(char *text, enum nn_datatype type)
{
	size_t n = strlen(text + 1);

	if (type == NN_DT_ANY)
		return true;
	if (type == NN_DT_BYTES)
		return *text == 's';
	if (type == NN_DT_BOOL && *text == 'b') {
		memcpy(text, text[1] == 't' ? "n1" : "n0", 3);
		return true;
	}
	return *text == 'n' && nn_datatype_holds(type, text + 1, n);
}

/* May an input take values of that type? */
static int check_type(struct nn_query *q, size_t input, enum nn_datatype type)
{
	const struct nn_port *port = &q->served->inputs[input];

	if (type == NN_DT_ANY || port->text == (type == NN_DT_BYTES))
		return 0;
	return nn_query_fail(q, 400, "input \"%s\": found datatype %s, expected %s", port->name,
			     nn_datatype_names[type], port->text ? "BYTES" : "FP32");
}

int nn_feed_cells(struct nn_query *q, size_t input, enum nn_datatype type, size_t first, size_t n)
{
	const struct nn_port *port = &q->served->inputs[input];
	struct nn_fed *fed = nn_query_fed(q, input);
	char quoted[NN_QUOTED];
	bool plain = is_plain(q, input);

	if (check_type(q, input, type) < 0 || (plain && reserve_values(q, n) < 0))
		return -1;
	fed->kind = plain ? NN_FED_FLOATS : NN_FED_CELLS;
	fed->at = plain ? q->n_values : first;
	for (size_t i = 0; i < n; i++) {
		char *text = cell(q, first + i);

		if (!cell_is(text, type) ||
		    (plain && (*text != 'n' || !nn_parse_f32(text + 1, strlen(text + 1),
							     values_at(q, q->n_values + i)))))
			return nn_query_fail(
				q, 400, "input \"%s\": found %s, expected %s", port->name,
				*text == '0' ? "null"
					     : nn_quote(quoted, text + 1, strlen(text + 1)),
				type == NN_DT_ANY ? "a number" : nn_datatype_names[type]);
	}
	if (plain)
		scale(q, input, type, n);
	q->n_values += plain ? n : 0;
	return 0;
}

/* ---- binary ---- */

/* Strings, each behind its length (u32). */
static int take_strings(struct nn_query *q, const char *bytes, size_t size, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t length;

		if (size - at < sizeof length)
			return nn_query_fail(q, 400, "binary data end in string %zu of %zu", i + 1,
					     n);
		memcpy(&length, bytes + at, sizeof length);
		at += sizeof length;
		if (length > size - at)
			return nn_query_fail(q, 400, "binary data end in string %zu of %zu", i + 1,
					     n);
		if (memchr(bytes + at, '\0', length) ||
		    nn_utf8_prefix(bytes + at, length) != length)
			return nn_query_fail(q, 400, "string %zu is not text (UTF-8 without NUL)",
					     i + 1);
		if (add_cell(q, 's', bytes + at, length) < 0)
			return -1;
		at += length;
	}
	if (at != size)
		return nn_query_fail(q, 400, "binary data have %zu byte%s behind %zu string%s",
				     size - at, nn_s(size - at), n, nn_s(n));
	return 0;
}

static int take_number(struct nn_query *q, enum nn_datatype type, const char *raw, size_t i,
		       bool plain)
{
	double value = nn_datatype_value(type, raw);
	char text[NN_NUMBER];

	if (!isfinite(value))
		return nn_query_fail(q, 400, "value %zu is not finite", i + 1);
	if (!isfinite((float)value))
		return nn_query_fail(q, 400, "value %zu is beyond the range of 32-bit floats",
				     i + 1);
	if (!plain)
		return add_cell(q, 'n', text, nn_datatype_text(type, raw, text));
	values_at(q, q->n_values)[i] = (float)value;
	return 0;
}

/* FP32 is most of it: as it lies, and one look for what is not finite. */
static int take_floats(struct nn_query *q, const char *bytes, size_t n)
{
	float *values = values_at(q, q->n_values);
	size_t bad;

	memcpy(values, bytes, n * sizeof *values);
	bad = nn_find_not_finite(NN_F32, values, n);
	return bad < n ? nn_query_fail(q, 400, "value %zu is not finite", bad + 1) : 0;
}

static int take_binary(struct nn_query *q, enum nn_datatype type, const char *bytes, size_t size,
		       size_t n, bool plain)
{
	size_t each = nn_datatype_size(type), wanted;

	if (type == NN_DT_BYTES)
		return take_strings(q, bytes, size, n);
	if (!nn_mul(n, each, &wanted) || wanted != size)
		return nn_query_fail(q, 400,
				     "found %zu byte%s of binary data, expected %zu value%s of %zu",
				     size, nn_s(size), n, nn_s(n), each);
	if ((plain ? reserve_values(q, n) : reserve_cells(q, n)) < 0)
		return -1;
	if (plain && type == NN_DT_FP32)
		return take_floats(q, bytes, n);
	for (size_t i = 0; i < n; i++)
		if (take_number(q, type, bytes + i * each, i, plain) < 0)
			return -1;
	return 0;
}

int nn_feed_binary(struct nn_query *q, size_t input, enum nn_datatype type, const char *bytes,
		   size_t size, size_t n)
{
	struct nn_fed *fed = nn_query_fed(q, input);
	bool plain = is_plain(q, input);

	if (check_type(q, input, type) < 0)
		return -1;
	fed->kind = plain ? NN_FED_FLOATS : NN_FED_CELLS;
	fed->at = plain ? q->n_values : q->n_cells;
	if (type == NN_DT_BYTES && (n > size || reserve_cells(q, n) < 0))
		return n > size ? nn_query_fail(q, 400,
						"input \"%s\": found %zu byte%s of binary data, "
						"expected %zu string%s",
						q->served->inputs[input].name, size, nn_s(size), n,
						nn_s(n))
				: -1;
	if (take_binary(q, type, bytes, size, n, plain) < 0) {
		nn_fail_at(&q->error, "input \"%s\"", q->served->inputs[input].name);
		return -1;
	}
	if (plain)
		scale(q, input, type, n);
	q->n_values += plain ? n : 0;
	return 0;
}
