/*
 * JSON lines: an object a line, whose members are the fields of a record, by their names. A number
 * is the field that it would be in CSV, null and a member that is not there are missing; anything
 * else than these and strings is an error, and so is a name that occurs twice.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "base/number-line.h"
#include "base/number.h"
#include "data/table/lines.h"
#include "data/table/missing-word.h"
#include "file/json/json.h"

/* ---- lines ---- */

int nn_lines_hold(struct nn_input *input, size_t lines, size_t most, size_t *n,
		  struct nn_error *err)
{
	const char *bytes, *end;
	size_t got, before = SIZE_MAX, found = 0;

	*n = 0;
	bytes = (const char *)nn_input_held(input, &got);
	while (found < lines && *n < most) {
		const unsigned char *more;

		if ((end = memchr(bytes + *n, '\n', got - *n))) {
			found += !nn_is_blank(bytes + *n, (size_t)(end - bytes) - *n);
			*n = (size_t)(end - bytes) + 1;
			continue;
		}
		if (got == before || got - *n > nn_limit(NN_LIMIT_LINE)) {
			*n = got;
			break;
		}
		before = got;
		if (nn_input_more(input, &more, &got, err) < 0)
			return -1;
		bytes = (const char *)more;
	}
	return 0;
}

/* A byte order mark before the first line. */
static void start(struct nn_csv *csv)
{
	size_t got;
	const unsigned char *b = nn_input_held(csv->input, &got);

	if (!csv->started && got >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
		nn_input_take(csv->input, 3);
	csv->started = true;
}

/* The next line whatever it holds: 1; 2: without a newline, the last one; 0; -1. */
static int take_line(struct nn_csv *csv, struct nn_record *r, struct nn_error *err)
{
	const unsigned char *b;
	const char *end = NULL;
	size_t got, seen = 0;

	if (nn_input_some(csv->input, &b, &got, err) < 0)
		return -1;
	start(csv);
	b = nn_input_held(csv->input, &got);
	while (!(end = got > seen ? memchr(b + seen, '\n', got - seen) : NULL)) {
		if (got > nn_limit(NN_LIMIT_LINE))
			return nn_csv_too_long(csv, err);
		seen = got;
		if (nn_input_more(csv->input, &b, &got, err) < 0)
			return -1;
		if (got == seen)
			break;
	}
	r->text = (const char *)b;
	r->length = end ? (size_t)(end - r->text) : got;
	r->line = csv->line;
	if (r->length > nn_limit(NN_LIMIT_LINE))
		return nn_csv_too_long(csv, err);
	nn_input_take(csv->input, r->length + (end != NULL));
	csv->line += end != NULL;
	return end ? 1 : got > 0 ? 2 : 0;
}

static bool is_passed(const struct nn_csv *csv, const char *text, size_t n)
{
	return (csv->comments ? nn_is_comment : nn_is_blank)(text, n);
}

int nn_lines_next(struct nn_csv *csv, struct nn_record *r, struct nn_error *err)
{
	int status;

	*r = (struct nn_record){ 0 };
	do {
		status = take_line(csv, r, err);
	} while (status > 0 && is_passed(csv, r->text, r->length));
	return status == 2 ? 1 : status;
}

int nn_lines_ready(struct nn_csv *csv, struct nn_error *err)
{
	const char *end, *bytes;
	const unsigned char *more;
	size_t got, before = SIZE_MAX;

	for (;;) {
		bytes = (const char *)nn_input_held(csv->input, &got);
		while (got && (end = memchr(bytes, '\n', got)) &&
		       is_passed(csv, bytes, (size_t)(end - bytes))) {
			nn_input_take(csv->input, (size_t)(end - bytes) + 1);
			csv->line++;
			bytes = (const char *)nn_input_held(csv->input, &got);
		}
		if ((got && memchr(bytes, '\n', got)) || got == before)
			return 1;
		if (!nn_input_ready(csv->input))
			return 0;
		before = got;
		if (nn_input_more(csv->input, &more, &got, err) < 0)
			return -1;
	}
}

/* ---- objects ---- */

static const char *const kinds[] = {
	[NN_JSON_NULL] = "null",       [NN_JSON_BOOL] = "true or false",
	[NN_JSON_NUMBER] = "a number", [NN_JSON_STRING] = "a string",
	[NN_JSON_ARRAY] = "an array",  [NN_JSON_OBJECT] = "an object",
};

static struct nn_json *parse(const struct nn_csv *csv, const struct nn_record *r,
			     struct nn_error *err)
{
	struct nn_json *object = nn_json_parse(r->text, r->length, err);

	if (object && nn_json_type(object) != NN_JSON_OBJECT) {
		nn_fail(err, NN_EFORMAT, "found %s, expected an object",
			kinds[nn_json_type(object)]);
		nn_json_free(object);
		object = NULL;
	}
	if (!object)
		nn_fail_at(err, "%s:%" PRIu64, nn_input_name(csv->input), r->line);
	return object;
}

struct nn_json *nn_lines_parse(const struct nn_table *t, const struct nn_record *r)
{
	struct nn_error none;

	return r->text ? parse(&t->csv, r, &none) : NULL;
}

/*
 * A number as it would stand in CSV: whole ones without a point, which others have.
 */
static size_t put_number(const struct nn_json *value, char text[NN_NUMBER + 2])
{
	double number = nn_json_number(value);
	size_t n = nn_format_f64(text, number);

	if (nn_json_whole(value) && fabs(number) < 1e18)
		n = (size_t)snprintf(text, NN_NUMBER, "%.0f", number);
	else if (!nn_json_whole(value) && !strpbrk(text, ".e"))
		n = (size_t)sprintf(text + n, ".0") + n;
	return n;
}

static int wrong_type(const struct nn_table *t, const struct nn_record *r, size_t column,
		      const struct nn_json *value, struct nn_error *err)
{
	char name[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT,
		       "%s:%" PRIu64 ": found %s in %s, expected a number, a string or null%s",
		       nn_input_name(t->csv.input), r->line, kinds[nn_json_type(value)],
		       nn_table_column_name(t, column, name),
		       t->hints.number ? "; columns= of the input line chooses others" : "");
}

static int read_member(struct nn_table *t, const struct nn_record *r, size_t column,
		       const struct nn_json *value, void *values, double *targets,
		       struct nn_error *err)
{
	char number[NN_NUMBER + 2 + NN_LINE_PAD];
	struct nn_field field = { "", 0 };

	switch (nn_json_type(value)) {
	case NN_JSON_NULL:
		break;
	case NN_JSON_NUMBER:
		field = (struct nn_field){ number, put_number(value, number) };
		break;
	case NN_JSON_STRING:
		field.text = nn_json_string(value, &field.length);
		break;
	default:
		return wrong_type(t, r, column, value, err);
	}
	return nn_table_put_field(t, r, column, &field, values, targets, err);
}

int nn_lines_read(struct nn_table *t, const struct nn_record *r, void *values, double *targets,
		  struct nn_error *err)
{
	struct nn_json *object = parse(&t->csv, r, err);
	int status = object ? 0 : -1;

	for (size_t i = 0; status == 0 && i < t->width; i++)
		if (t->columns[i].cell != NN_CELL_SKIP || t->columns[i].hashed)
			status = read_member(t, r, i, nn_json_get(object, t->columns[i].name),
					     values, targets, err);
	if (status == 0)
		nn_table_put_hashes(t, values);
	nn_json_free(object);
	return status;
}

void nn_lines_count(const struct nn_table *t, const struct nn_record *r, size_t *numbers,
		    size_t *words)
{
	struct nn_error none;
	struct nn_json *object = parse(&t->csv, r, &none);

	for (size_t i = 0; object && i < t->width; i++) {
		const struct nn_json *value = nn_json_get(object, t->columns[i].name);
		size_t n;
		const char *text = nn_json_string(value, &n);

		numbers[i] += nn_json_type(value) == NN_JSON_NUMBER;
		words[i] += text && !nn_says_missing(text, n);
	}
	nn_json_free(object);
}

/* ---- columns ---- */

static int add_columns(struct nn_table *t, const struct nn_json *object, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];
	const char *name;

	for (size_t i = 0; (name = nn_json_key(object, i, NULL)); i++)
		if (nn_words_add(t->names, name, strlen(name), err) < 0)
			return -1;
	t->width = nn_words_count(t->names);
	if (t->width > nn_limit(NN_LIMIT_COLUMNS))
		return nn_fail(err, NN_EFORMAT, "found %zu, expected at most %s", t->width,
			       nn_limit_said(NN_LIMIT_COLUMNS, t->width, said));
	return 0;
}

static int name_columns(struct nn_table *t, struct nn_error *err)
{
	t->columns = nn_alloc(t->width, sizeof *t->columns, err);
	t->column_of = nn_alloc(t->width, sizeof *t->column_of, err);
	if (!t->columns || !t->column_of)
		return -1;
	for (size_t i = 0; i < t->width; i++) {
		t->column_of[i] = i;
		t->columns[i].name = nn_strdup(nn_words_text(t->names, (int32_t)i), err);
		if (!t->columns[i].name)
			return -1;
	}
	return 0;
}

int nn_lines_open(struct nn_table *t, size_t lines, struct nn_error *err)
{
	struct nn_input *held;
	struct nn_csv csv;
	struct nn_record record;
	struct nn_json *object;
	size_t n, got;
	int status = nn_words_new(&t->names, false, err);

	if (status < 0 || nn_lines_hold(t->csv.input, lines, NN_SAMPLE_BYTES, &n, err) < 0 ||
	    nn_input_open_memory(&held, nn_input_name(t->csv.input), err) < 0)
		return -1;
	nn_input_give(held, nn_input_held(t->csv.input, &got), n);
	nn_csv_init(&csv, held);
	t->lines = t->header = t->empty = true;
	while (lines-- > 0 && (status = nn_lines_next(&csv, &record, err)) == 1) {
		t->empty = false;
		/* of bad lines the first is told here, where nothing is known without it */
		object = parse(&csv, &record, err);
		status = object ? add_columns(t, object, err) : t->width ? 0 : -1;
		nn_json_free(object);
		if (status < 0)
			break;
	}
	nn_csv_fini(&csv);
	nn_input_close(held);
	return status < 0 ? -1 : name_columns(t, err);
}
