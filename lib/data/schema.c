/* What a model knows of its data, as structures: freeing them, and their canonical JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/schema.h"

static void free_strings(char **strings, size_t n)
{
	for (size_t i = 0; strings && i < n; i++)
		nn_free(strings[i]);
	nn_free(strings);
}

static void free_input(struct nn_input_schema *input)
{
	for (size_t i = 0; input->columns && i < input->n_columns; i++) {
		nn_free(input->columns[i].name);
		free_strings(input->columns[i].values, input->columns[i].n_values);
		for (size_t k = 0; k < input->columns[i].n_hashed; k++)
			nn_free(input->columns[i].hashed[k].name);
		nn_free(input->columns[i].hashed);
	}
	nn_free(input->columns);
	nn_free(input->name);
}

static void free_target(struct nn_target_schema *target)
{
	free_strings(target->columns, target->n_columns);
	free_strings(target->labels, target->n_labels);
	nn_free(target->positions);
	nn_free(target->mean);
	nn_free(target->sd);
	nn_free(target->name);
}

void nn_schema_free(struct nn_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; schema->inputs && i < schema->n_inputs; i++)
		free_input(&schema->inputs[i]);
	for (size_t i = 0; schema->targets && i < schema->n_targets; i++)
		free_target(&schema->targets[i]);
	nn_free(schema->inputs);
	nn_free(schema->targets);
	nn_free(schema);
}

size_t nn_column_width(const struct nn_input_schema *input, const struct nn_column *column)
{
	return column->category && !input->rows ? column->n_values : 1;
}

/* ---- JSON: keys are written in bytewise order ---- */

static void add_number(struct nn_text *text, double value)
{
	char buffer[NN_NUMBER];

	nn_text_add_bytes(text, buffer, nn_format_f64(buffer, value));
}

static void add_string(struct nn_text *text, const char *string)
{
	if (string)
		nn_text_add_json(text, string, strlen(string));
	else
		nn_text_add(text, "null");
}

static void add_strings(struct nn_text *text, char *const *strings, size_t n, bool bare)
{
	nn_text_add(text, "[");
	for (size_t i = 0; i < n; i++) {
		nn_text_add(text, i ? "," : "");
		if (bare)
			nn_text_add(text, strings[i]);
		else
			add_string(text, strings[i]);
	}
	nn_text_add(text, "]");
}

static void add_numbers(struct nn_text *text, const double *values, size_t n)
{
	nn_text_add(text, "[");
	for (size_t i = 0; i < n; i++) {
		nn_text_add(text, i ? "," : "");
		add_number(text, values[i]);
	}
	nn_text_add(text, "]");
}

static void add_hashed(struct nn_text *text, const struct nn_column *column)
{
	nn_text_add(text, ",\"of\":[");
	for (size_t i = 0; i < column->n_hashed; i++) {
		nn_text_add(text, i ? "," : "");
		if (column->hashed[i].name)
			add_string(text, column->hashed[i].name);
		else
			nn_text_addf(text, "%zu", column->hashed[i].position);
	}
	nn_text_add(text, "]");
}

static void add_column(struct nn_text *text, const struct nn_column *column)
{
	nn_text_addf(text, "{\"kind\":\"%s\"", column->category ? "category" : column->hashed ? "hash" : "number");
	if (column->scaled) {
		nn_text_add(text, ",\"mean\":");
		add_number(text, column->mean);
	}
	if (column->fills) {
		nn_text_add(text, ",\"missing\":");
		add_number(text, column->missing);
	}
	if (column->name) {
		nn_text_add(text, ",\"name\":");
		add_string(text, column->name);
	}
	if (column->hashed)
		add_hashed(text, column);
	if (column->position)
		nn_text_addf(text, ",\"position\":%zu", column->position);
	if (column->scaled) {
		nn_text_add(text, ",\"sd\":");
		add_number(text, column->sd);
	}
	if (column->category) {
		nn_text_add(text, ",\"values\":");
		add_strings(text, column->values, column->n_values, false);
	}
	nn_text_add(text, "}");
}

static void add_input(struct nn_text *text, const struct nn_input_schema *input)
{
	nn_text_add(text, "{");
	if (input->columns) {
		nn_text_add(text, "\"columns\":[");
		for (size_t i = 0; i < input->n_columns; i++) {
			nn_text_add(text, i ? "," : "");
			add_column(text, &input->columns[i]);
		}
		nn_text_add(text, "],");
	}
	if (input->name) {
		nn_text_add(text, "\"name\":");
		add_string(text, input->name);
		nn_text_add(text, ",");
	}
	if (input->rows)
		nn_text_addf(text, "\"rows\":%zu,", input->rows);
	if (input->scale) {
		nn_text_add(text, "\"scale\":");
		add_number(text, input->scale);
		nn_text_add(text, ",");
	}
	nn_text_add(text, "\"shape\":[");
	for (int d = 0; d < input->shape.rank; d++)
		nn_text_addf(text, "%s%zu", d ? "," : "", input->shape.dim[d]);
	nn_text_add(text, "]}");
}

static void add_target(struct nn_text *text, const struct nn_target_schema *target)
{
	nn_text_add(text, "{\"columns\":[");
	for (size_t i = 0; i < target->n_columns; i++) {
		nn_text_add(text, i ? "," : "");
		if (!target->columns[i] && target->positions && target->positions[i])
			nn_text_addf(text, "%zu", target->positions[i]);
		else
			add_string(text, target->columns[i]);
	}
	nn_text_add(text, "],\"labels\":");
	if (target->labels)
		add_strings(text, target->labels, target->n_labels, target->integer_labels);
	else
		nn_text_add(text, "null");
	if (target->mean) {
		nn_text_add(text, ",\"mean\":");
		add_numbers(text, target->mean, target->n_columns);
	}
	if (target->name) {
		nn_text_add(text, ",\"name\":");
		add_string(text, target->name);
	}
	if (target->sd) {
		nn_text_add(text, ",\"sd\":");
		add_numbers(text, target->sd, target->n_columns);
	}
	nn_text_add(text, "}");
}

int nn_schema_input_json(const struct nn_schema *schema, struct nn_text *text)
{
	if (schema->n_inputs != 1)
		nn_text_add(text, "[");
	for (size_t i = 0; i < schema->n_inputs; i++) {
		nn_text_add(text, i ? "," : "");
		add_input(text, &schema->inputs[i]);
	}
	if (schema->n_inputs != 1)
		nn_text_add(text, "]");
	return text->failed ? -1 : 0;
}

int nn_schema_target_json(const struct nn_schema *schema, struct nn_text *text)
{
	if (schema->n_targets != 1)
		nn_text_add(text, "[");
	for (size_t i = 0; i < schema->n_targets; i++) {
		nn_text_add(text, i ? "," : "");
		add_target(text, &schema->targets[i]);
	}
	if (schema->n_targets != 1)
		nn_text_add(text, "]");
	return text->failed ? -1 : 0;
}
