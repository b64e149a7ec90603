/* What a model knows of its data, as structures: freeing them, and their canonical JSON. */
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "data/schema/schema.h"

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

int nn_schema_label(const struct nn_target_schema *target, const char *label)
{
	for (size_t i = 0; label && target->labels && i < target->n_labels; i++)
		if (strcmp(target->labels[i], label) == 0)
			return (int)i;
	return -1;
}

int nn_schema_ignore(struct nn_target_schema *target, const char *label, struct nn_error *err)
{
	if (!label || !target->labels || nn_schema_label(target, label) >= 0)
		return 0;
	nn_free(target->ignored);
	target->ignored = nn_strdup(label, err);
	return target->ignored ? 0 : -1;
}

int nn_schema_ignored(const struct nn_target_schema *target, const char *label)
{
	return label && target->ignored && strcmp(label, target->ignored) == 0
		       ? NN_CLASS_IGNORED
		       : nn_schema_label(target, label);
}

bool nn_schema_is_headerless(const struct nn_schema *schema, bool inputs)
{
	for (size_t i = 0; inputs && i < schema->n_inputs; i++) {
		const struct nn_column *c = schema->inputs[i].columns;

		if (c && schema->inputs[i].n_columns)
			return c->position || (c->hashed && c->hashed[0].position);
	}
	return !inputs && schema->n_targets && schema->targets[0].positions &&
	       schema->targets[0].positions[0];
}

static void free_target(struct nn_target_schema *target)
{
	free_strings(target->columns, target->n_columns);
	free_strings(target->labels, target->n_labels);
	nn_free(target->positions);
	nn_free(target->ignored);
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

size_t nn_schema_lengths(const struct nn_schema *schema)
{
	size_t i = 0;

	while (i < schema->n_inputs && !schema->inputs[i].lengths)
		i++;
	return i;
}

size_t nn_schema_values(const struct nn_input_schema *input)
{
	struct nn_shape shape = input->shape;

	if (input->lengths && shape.rank > 0)
		shape.dim[0] = 1;
	return nn_shape_count(&shape);
}

int nn_schema_take_lengths(struct nn_input_schema *input, bool lengths,
			   const struct nn_shape *shape, struct nn_error *err)
{
	if (input->lengths == lengths)
		return 0;
	if (input->lengths || input->columns)
		return nn_fail(err, NN_EFORMAT, "%s, but the input of nn.model has %s ?",
			       lengths ? "has columns and no \"lengths\":true" : "lengths are true",
			       lengths ? "a" : "no");
	input->lengths = true;
	input->shape = *shape;
	return 0;
}

size_t nn_column_width(const struct nn_input_schema *input, const struct nn_column *column)
{
	return column->category && !input->rows ? column->n_values : 1;
}

/* ---- JSON: keys are written in bytewise order ---- */

static void add_strings(struct nn_text *json, char *const *strings, size_t n, bool bare)
{
	nn_json_put(json, "[");
	for (size_t i = 0; i < n; i++)
		if (bare)
			nn_json_put(json, strings[i]);
		else
			nn_json_put_string(json, strings[i]);
	nn_text_add(json, "]");
}

static void add_numbers(struct nn_text *json, const char *key, const double *values, size_t n)
{
	nn_json_add(json, key, "[");
	for (size_t i = 0; i < n; i++)
		nn_json_put_real(json, values[i]);
	nn_text_add(json, "]");
}

static void add_hashed(struct nn_text *json, const struct nn_column *column)
{
	nn_json_add(json, "of", "[");
	for (size_t i = 0; i < column->n_hashed; i++)
		if (column->hashed[i].name)
			nn_json_put_string(json, column->hashed[i].name);
		else
			nn_json_put_count(json, column->hashed[i].position);
	nn_text_add(json, "]");
}

static void add_column(struct nn_text *json, const struct nn_column *column)
{
	nn_json_put(json, "{");
	nn_json_add_string(json, "kind",
			   column->category ? "category"
			   : column->hashed ? "hash"
					    : "number");
	if (column->scaled)
		nn_json_add_real(json, "mean", column->mean);
	if (column->fills)
		nn_json_add_real(json, "missing", column->missing);
	if (column->name)
		nn_json_add_string(json, "name", column->name);
	if (column->hashed)
		add_hashed(json, column);
	if (column->position)
		nn_json_add_count(json, "position", column->position);
	if (column->scaled)
		nn_json_add_real(json, "sd", column->sd);
	if (column->category) {
		nn_json_add_key(json, "values");
		add_strings(json, column->values, column->n_values, false);
	}
	nn_text_add(json, "}");
}

/* After the brace that opens it: the text may have begun with something else. */
static void add_input(struct nn_text *json, const struct nn_input_schema *input)
{
	if (input->characters.n) {
		nn_json_add(json, "characters", "[");
		for (size_t i = 0; i < input->characters.n; i++)
			nn_json_put_count(json, input->characters.bytes[i]);
		nn_text_add(json, "]");
	}
	if (input->columns) {
		nn_json_add(json, "columns", "[");
		for (size_t i = 0; i < input->n_columns; i++)
			add_column(json, &input->columns[i]);
		nn_text_add(json, "]");
	}
	if (input->zero_based)
		nn_json_add_count(json, "index_base", 0);
	if (input->lengths)
		nn_json_add(json, "lengths", "true");
	if (input->name)
		nn_json_add_string(json, "name", input->name);
	if (input->rows)
		nn_json_add_count(json, "rows", input->rows);
	if (input->scale)
		nn_json_add_real(json, "scale", input->scale);
	if (input->separator)
		nn_json_add_string(json, "separator", (char[]){ input->separator, '\0' });
	nn_json_add(json, "shape", "[");
	for (int d = 0; d < input->shape.rank; d++)
		nn_json_put_count(json, input->shape.dim[d]);
	nn_text_add(json, "]}");
}

static void add_target(struct nn_text *json, const struct nn_target_schema *target)
{
	nn_json_add(json, "columns", "[");
	for (size_t i = 0; i < target->n_columns; i++)
		if (!target->columns[i] && target->positions && target->positions[i])
			nn_json_put_count(json, target->positions[i]);
		else
			nn_json_put_string(json, target->columns[i]);
	nn_text_add(json, "]");
	nn_json_add_key(json, "labels");
	if (target->labels)
		add_strings(json, target->labels, target->n_labels, target->integer_labels);
	else
		nn_json_put(json, "null");
	if (target->mean)
		add_numbers(json, "mean", target->mean, target->n_columns);
	if (target->name)
		nn_json_add_string(json, "name", target->name);
	if (target->sd)
		add_numbers(json, "sd", target->sd, target->n_columns);
	nn_text_add(json, "}");
}

int nn_schema_input_json(const struct nn_schema *schema, struct nn_text *text)
{
	if (schema->n_inputs != 1)
		nn_text_add(text, "[");
	for (size_t i = 0; i < schema->n_inputs; i++) {
		nn_text_add(text, i ? ",{" : "{");
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
		nn_text_add(text, i ? ",{" : "{");
		add_target(text, &schema->targets[i]);
	}
	if (schema->n_targets != 1)
		nn_text_add(text, "]");
	return text->failed ? -1 : 0;
}
