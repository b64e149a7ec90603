/* nn.input and nn.target of a model file: nothing in them is believed before it was checked. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/schema/json.h"
#include "data/schema/schema.h"
#include "data/table/words.h"
#include "file/json/json.h"

#define MOST_ROWS 16777216.0 /* numbers of categories that f32 holds */

static int parse_hashed(const struct nn_json *value, struct nn_column *column, struct nn_error *err)
{
	size_t n = nn_json_size(value);
	bool good = true;
	double position;

	if (nn_json_type(value) != NN_JSON_ARRAY || n == 0)
		return nn_fail(err, NN_EFORMAT, "of: expected an array of columns");
	column->hashed = nn_alloc(n, sizeof *column->hashed, err);
	if (!column->hashed)
		return -1;
	column->n_hashed = n;
	for (size_t i = 0; i < n; i++) {
		if (nn_schema_whole(nn_json_at(value, i), 1, NN_EXACT, &position)) {
			column->hashed[i].position = (size_t)position;
			continue;
		}
		column->hashed[i].name = nn_schema_string(nn_json_at(value, i), "of", &good, err);
		if (!good)
			return -1;
		if (!column->hashed[i].name)
			return nn_fail(err, NN_EFORMAT, "of[%zu]: expected a column", i);
	}
	return 0;
}

static int parse_column(const struct nn_json *value, struct nn_column *column, struct nn_error *err)
{
	const char *kind = nn_json_string(nn_json_get(value, "kind"), NULL);
	const struct nn_json *mean = nn_json_get(value, "mean"), *sd = nn_json_get(value, "sd");
	const struct nn_json *missing = nn_json_get(value, "missing");
	bool good = true;
	double position = 0;

	if (!kind || (strcmp(kind, "number") != 0 && strcmp(kind, "category") != 0 &&
		      strcmp(kind, "hash") != 0))
		return nn_fail(err, NN_EFORMAT,
			       "kind is neither \"number\", \"category\" nor \"hash\"");
	if (kind[0] == 'h')
		return parse_hashed(nn_json_get(value, "of"), column, err);
	column->category = kind[0] == 'c';
	column->name = nn_schema_string(nn_json_get(value, "name"), "name", &good, err);
	if (!good)
		return -1;
	if (nn_json_get(value, "position") &&
	    !nn_schema_whole(nn_json_get(value, "position"), 1, NN_EXACT, &position))
		return nn_fail(err, NN_EFORMAT, "position: expected a whole number from 1");
	column->position = (size_t)position;
	if (column->category) {
		if (nn_schema_words(nn_json_get(value, "values"), "values", NULL, &column->values,
				    &column->n_values, err) < 0)
			return -1;
		if (column->n_values == 0)
			return nn_fail(err, NN_EFORMAT, "values are empty");
	}
	column->fills = missing != NULL;
	column->missing = nn_json_number(missing);
	if (missing && (column->category || nn_json_type(missing) != NN_JSON_NUMBER ||
			!isfinite(column->missing)))
		return nn_fail(err, NN_EFORMAT,
			       "missing: expected a number, of a column of numbers");
	if (!mean && !sd)
		return 0;
	column->scaled = true;
	column->mean = nn_json_number(mean);
	column->sd = nn_json_number(sd);
	if (column->category || nn_json_type(mean) != NN_JSON_NUMBER ||
	    nn_json_type(sd) != NN_JSON_NUMBER || !isfinite(column->mean) ||
	    !isfinite(column->sd) || !(column->sd > 0))
		return nn_fail(err, NN_EFORMAT, "mean and sd are not two numbers, sd above 0");
	return 0;
}

/* A name stands for one column. */
static int check_names(const struct nn_input_schema *input, struct nn_error *err)
{
	struct nn_words *names = NULL;
	char quoted[NN_QUOTED];
	int status = nn_words_new(&names, false, err);

	for (size_t i = 0; i < input->n_columns && status == 0; i++) {
		const char *name = input->columns[i].name;
		size_t known = nn_words_count(names);

		if (name && nn_words_add(names, name, strlen(name), err) < 0)
			status = -1;
		else if (name && nn_words_count(names) == known)
			status = nn_fail(err, NN_EFORMAT, "two columns are named \"%s\"",
					 nn_quote(quoted, name, strlen(name)));
	}
	nn_words_free(names);
	return status;
}

static int parse_columns(const struct nn_json *value, struct nn_input_schema *input,
			 struct nn_error *err)
{
	size_t n = nn_json_size(value), width = 0, listed = 0;

	if (nn_json_type(value) != NN_JSON_ARRAY)
		return nn_fail(err, NN_EFORMAT, "columns: expected an array");
	input->columns = nn_alloc(n, sizeof *input->columns, err);
	if (!input->columns)
		return -1;
	input->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		struct nn_column *column = &input->columns[i];

		if (parse_column(nn_json_at(value, i), column, err) < 0)
			return nn_fail_at(err, "columns[%zu]", i);
		if (input->rows ? column->scaled || column->fills : column->hashed != NULL)
			return nn_fail(err, NN_EFORMAT, "columns[%zu] is %s", i,
				       input->rows ? "scaled in an input with rows"
						   : "hashed in an input without rows");
		width += nn_column_width(input, column);
		listed += column->n_values;
	}
	if (input->rows && listed > input->rows)
		return nn_fail(err, NN_EFORMAT, "rows are %zu, columns have %zu value%s",
			       input->rows, listed, nn_s(listed));
	if (width != nn_schema_values(input))
		return nn_fail(err, NN_EFORMAT, "columns give %zu value%s, the shape has %zu",
			       width, nn_s(width), nn_schema_values(input));
	return check_names(input, err);
}

/* Bytes in rising order, none of them NUL. */
static int parse_characters(const struct nn_json *value, struct nn_input_schema *input,
			    struct nn_error *err)
{
	struct nn_characters *c = &input->characters;
	size_t n = nn_json_size(value);
	double byte, least = 1;

	if (nn_json_type(value) != NN_JSON_ARRAY || n == 0 || n > 255)
		return nn_fail(err, NN_EFORMAT, "characters: expected an array of 1 to 255 bytes");
	if (n > input->rows || input->columns)
		return nn_fail(err, NN_EFORMAT,
			       input->columns ? "characters: an input has these or columns"
					      : "expected at most %zu characters (rows), found %zu",
			       input->rows, n);
	for (; c->n < n; least = byte + 1) {
		if (!nn_schema_whole(nn_json_at(value, c->n), least, 255, &byte))
			return nn_fail(err, NN_EFORMAT,
				       "characters[%zu]: expected a byte from %.0f to 255", c->n,
				       least);
		c->bytes[c->n++] = (unsigned char)byte;
	}
	return 0;
}

static int parse_input(const struct nn_json *value, struct nn_input_schema *input,
		       struct nn_error *err)
{
	const struct nn_json *scale = nn_json_get(value, "scale"),
			     *columns = nn_json_get(value, "columns"),
			     *separator = nn_json_get(value, "separator");
	bool good = true;
	double rows;

	if (nn_json_type(value) != NN_JSON_OBJECT)
		return nn_fail(err, NN_EFORMAT, "expected an object");
	input->name = nn_schema_string(nn_json_get(value, "name"), "name", &good, err);
	if (!good || nn_schema_shape(nn_json_get(value, "shape"), &input->shape, err) < 0)
		return -1;
	if (nn_json_get(value, "rows")) {
		if (!nn_schema_whole(nn_json_get(value, "rows"), 1, MOST_ROWS, &rows))
			return nn_fail(err, NN_EFORMAT,
				       "rows: expected a whole number from 1 to %.0f", MOST_ROWS);
		input->rows = (size_t)rows;
	}
	input->lengths = nn_json_get(value, "lengths") != NULL;
	if (input->lengths &&
	    (!nn_json_bool(nn_json_get(value, "lengths")) || input->shape.rank == 0))
		return nn_fail(err, NN_EFORMAT, "lengths: expected true, of an input with a shape");
	if (columns && parse_columns(columns, input, err) < 0)
		return -1;
	for (size_t i = 0; input->lengths && i < input->n_columns; i++)
		if (input->columns[i].category || input->columns[i].hashed)
			return nn_fail(err, NN_EFORMAT,
				       "columns[%zu]: expected a number, of an input with lengths",
				       i);
	if (nn_json_get(value, "characters") &&
	    parse_characters(nn_json_get(value, "characters"), input, err) < 0)
		return -1;
	if (nn_json_get(value, "index_base") &&
	    !nn_schema_whole(nn_json_get(value, "index_base"), 0, 0, &rows))
		return nn_fail(err, NN_EFORMAT, "index_base: expected 0");
	input->zero_based = nn_json_get(value, "index_base") != NULL;
	if (separator && (nn_json_type(separator) != NN_JSON_STRING ||
			  strlen(nn_json_string(separator, NULL)) != 1))
		return nn_fail(err, NN_EFORMAT, "separator: expected one character");
	if (separator)
		input->separator = nn_json_string(separator, NULL)[0];
	input->scale = nn_json_number(scale);
	if (scale &&
	    (nn_json_type(scale) != NN_JSON_NUMBER || !isfinite(input->scale) || input->scale == 0))
		return nn_fail(err, NN_EFORMAT, "scale: expected a number other than 0");
	return 0;
}

static int parse_target_columns(const struct nn_json *value, struct nn_target_schema *target,
				struct nn_error *err)
{
	size_t n = nn_json_size(value);
	bool good = true;
	double position;

	if (nn_json_type(value) != NN_JSON_ARRAY || n == 0)
		return nn_fail(err, NN_EFORMAT, "columns: expected an array of names");
	target->columns = nn_alloc(n, sizeof *target->columns, err);
	target->positions = nn_alloc(n, sizeof *target->positions, err);
	if (!target->columns || !target->positions)
		return -1;
	target->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		if (nn_schema_whole(nn_json_at(value, i), 1, NN_EXACT, &position)) {
			target->positions[i] = (size_t)position;
			continue;
		}
		target->columns[i] = nn_schema_string(nn_json_at(value, i), "columns", &good, err);
		if (!good)
			return -1;
	}
	return 0;
}

static int parse_target(const struct nn_json *value, struct nn_target_schema *target,
			struct nn_error *err)
{
	const struct nn_json *labels = nn_json_get(value, "labels"),
			     *mean = nn_json_get(value, "mean"), *sd = nn_json_get(value, "sd");
	bool good = true;

	if (nn_json_type(value) != NN_JSON_OBJECT)
		return nn_fail(err, NN_EFORMAT, "expected an object");
	target->name = nn_schema_string(nn_json_get(value, "name"), "name", &good, err);
	if (!good || parse_target_columns(nn_json_get(value, "columns"), target, err) < 0)
		return -1;
	if (nn_json_type(labels) != NN_JSON_NULL &&
	    nn_schema_words(labels, "labels", &target->integer_labels, &target->labels,
			    &target->n_labels, err) < 0)
		return -1;
	if (!mean && !sd)
		return 0;
	if (target->labels)
		return nn_fail(err, NN_EFORMAT, "has labels and mean or sd");
	return nn_schema_scale(mean, "mean", false, target->n_columns, &target->mean, err) < 0
		       ? -1
		       : nn_schema_scale(sd, "sd", true, target->n_columns, &target->sd, err);
}

/* One object, or an array of them. */
static size_t count(const struct nn_json *j)
{
	return nn_json_type(j) == NN_JSON_ARRAY ? nn_json_size(j) : 1;
}

static const struct nn_json *nth(const struct nn_json *j, size_t i)
{
	return nn_json_type(j) == NN_JSON_ARRAY ? nn_json_at(j, i) : j;
}

static int parse_inputs(struct nn_schema *schema, const struct nn_json *j, struct nn_error *err)
{
	schema->inputs = nn_alloc(count(j), sizeof *schema->inputs, err);
	if (!schema->inputs)
		return -1;
	schema->n_inputs = count(j);
	for (size_t i = 0; i < count(j); i++)
		if (parse_input(nth(j, i), &schema->inputs[i], err) < 0)
			return nn_json_type(j) == NN_JSON_ARRAY ? nn_fail_at(err, "[%zu]", i) : -1;
	for (size_t i = nn_schema_lengths(schema) + 1; i < schema->n_inputs; i++)
		if (schema->inputs[i].lengths)
			return nn_fail(err, NN_EFORMAT, "[%zu]: a second input with lengths", i);
	return 0;
}

static int parse_targets(struct nn_schema *schema, const struct nn_json *j, struct nn_error *err)
{
	schema->targets = nn_alloc(count(j), sizeof *schema->targets, err);
	if (!schema->targets)
		return -1;
	schema->n_targets = count(j);
	for (size_t i = 0; i < count(j); i++)
		if (parse_target(nth(j, i), &schema->targets[i], err) < 0)
			return nn_json_type(j) == NN_JSON_ARRAY ? nn_fail_at(err, "[%zu]", i) : -1;
	return 0;
}

static int parse_part(struct nn_schema *schema, const char *key, const char *text,
		      int (*part)(struct nn_schema *, const struct nn_json *, struct nn_error *),
		      struct nn_error *err)
{
	struct nn_json *j;
	int status;

	if (!text)
		return 0;
	j = nn_json_parse(text, strlen(text), err);
	status = j ? part(schema, j, err) : -1;
	nn_json_free(j);
	return status < 0 ? nn_fail_at(err, "%s", key) : 0;
}

int nn_schema_parse(struct nn_schema **result, const char *input_json, const char *target_json,
		    struct nn_error *err)
{
	struct nn_schema *schema = nn_alloc(1, sizeof *schema, err);

	if (!schema)
		return -1;
	if (parse_part(schema, "nn.input", input_json, parse_inputs, err) < 0 ||
	    parse_part(schema, "nn.target", target_json, parse_targets, err) < 0) {
		nn_schema_free(schema);
		return -1;
	}
	*result = schema;
	return 0;
}
