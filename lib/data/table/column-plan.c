/* Columns of a table for a schema that is known. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/data.h"
#include "data/table/column-plan.h"

void nn_plan_free(struct nn_column_plan *plan)
{
	for (size_t i = 0; plan->slots && i < plan->n_inputs; i++)
		nn_free(plan->slots[i]);
	nn_free(plan->slots);
	nn_free(plan->target_slots);
	*plan = (struct nn_column_plan){ 0 };
}

static int no_column(const struct nn_table *t, const char *name, struct nn_error *err)
{
	char quoted[NN_QUOTED], instead[NN_TABLE_INSTEAD];
	size_t n = strlen(name);

	return nn_fail(err, NN_EFORMAT, "%s: has no column \"%s\"%s", nn_input_name(t->csv.input),
		       nn_quote(quoted, name, n), nn_table_instead(t, name, n, instead));
}

/* ---- targets: before the inputs, which may be "all the others" ---- */

/* The column of target column i. */
static int target_column(const struct nn_table *t, const struct nn_target_schema *schema, size_t i,
			 const char *override, size_t *column, struct nn_error *err)
{
	const char *name = override ? override : schema->columns[i];
	char digits[24];

	if (!name && !t->header && schema->positions && schema->positions[i]) {
		snprintf(digits, sizeof digits, "%zu", schema->positions[i]);
		name = digits;
	}
	if (!name && t->width == schema->n_columns) {
		*column = i; /* a file of targets alone */
		return 0;
	}
	if (!name)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: the model does not know the name of its target; say --target=COLUMN",
			nn_input_name(t->csv.input));
	if (!t->header && !override && schema->columns[i]) {
		if (t->width == schema->n_columns) {
			*column = i;
			return 0;
		}
		return nn_fail(err, NN_EFORMAT,
			       "%s: has no header, but the target is the column \"%s\"; say "
			       "--target=NUMBER",
			       nn_input_name(t->csv.input), name);
	}
	if (nn_table_find(t, name, strlen(name), column, err) < 0)
		return -1;
	if (*column == t->width && t->width == schema->n_columns && schema->n_columns == 1 &&
	    !override)
		*column = 0; /* the only column of a file of targets, whatever it is called */
	return *column == t->width ? no_column(t, name, err) : 0;
}

static int plan_target(struct nn_column_plan *plan, struct nn_table *t, size_t target,
		       const struct nn_target_schema *schema, struct nn_target_code *code,
		       const struct nn_plan_options *options, const char *override,
		       struct nn_error *err)
{
	plan->target_slots[target] = t->n_targets;
	for (size_t i = 0; i < schema->n_columns; i++) {
		struct nn_table_column *c;
		size_t column;

		if (target_column(t, schema, i, override, &column, err) < 0)
			return -1;
		c = &t->columns[column];
		if (c->cell != NN_CELL_SKIP)
			return nn_fail(err, NN_EFORMAT, "%s: a column is target twice",
				       nn_input_name(t->csv.input));
		c->target = true;
		c->slot = t->n_targets++;
		c->cell = NN_CELL_NUMBER;
		if (schema->labels && schema->n_columns == 1) {
			c->cell = nn_words_integers(code->labels) ? NN_CELL_LABEL : NN_CELL_WORD;
			c->words = code->labels;
			c->grow = options->grow && !code->fixed && !code->closed;
			c->closed = code->closed;
		}
	}
	return 0;
}

int nn_plan_weight(struct nn_table *t, const char *name, bool needed, size_t *slot,
		   struct nn_error *err)
{
	struct nn_field field = { name, name ? strlen(name) : 0 };
	struct nn_table_column *c;
	size_t column;

	*slot = SIZE_MAX;
	if (!name)
		return 0;
	if (nn_table_find(t, name, field.length, &column, err) < 0)
		return -1;
	if (column == t->width)
		return needed ? nn_table_no_column(t, "--weight", &field, err) : 0;
	c = &t->columns[column];
	if (c->cell != NN_CELL_SKIP)
		return nn_fail(err, NN_EUSAGE, "--weight=%s: the column is the target, too", name);
	c->target = c->weight = true;
	c->cell = NN_CELL_NUMBER;
	*slot = t->n_targets++;
	c->slot = *slot;
	return 0;
}

/* ---- inputs ---- */

static int take(struct nn_table *t, size_t column, const struct nn_column *schema, size_t rows,
		struct nn_words *words, size_t *slot, struct nn_error *err)
{
	struct nn_table_column *c = &t->columns[column];
	enum nn_table_cell cell = schema && schema->category ? NN_CELL_WORD : NN_CELL_NUMBER;
	char name[NN_QUOTED];

	if (c->target || (c->cell != NN_CELL_SKIP && c->cell != cell))
		return nn_fail(err, NN_EFORMAT, "%s: %s is wanted twice, as different things",
			       nn_input_name(t->csv.input), nn_table_column_name(t, column, name));
	if (c->cell == NN_CELL_SKIP) {
		c->cell = cell;
		c->words = words;
		c->missing = schema && schema->fills;
		c->listed = cell == NN_CELL_WORD && rows;
		c->slot = t->n_values++;
	}
	if (cell == NN_CELL_NUMBER && rows)
		c->rows = c->rows && c->rows < rows ? c->rows : rows;
	*slot = c->slot;
	return 0;
}

static int check_names(const struct nn_table *t, const struct nn_input_schema *input, int header,
		       struct nn_error *err)
{
	char quoted[NN_QUOTED];
	const char *name = input->columns[0].hashed ? input->columns[0].hashed[0].name
						    : input->columns[0].name;

	if (t->header || header == NN_HEADER_NO)
		return 0;
	return nn_fail(err, NN_EFORMAT,
		       "%s: has no header, but the model knows its columns by name (\"%s\"%s); "
		       "--header=no takes them in order",
		       nn_input_name(t->csv.input), nn_quote(quoted, name, strlen(name)),
		       input->n_columns > 1 ? ", ..." : "");
}

/* By name, where both have names, else by position. */
static int find(const struct nn_table *t, struct nn_plan_order *order, const char *name,
		size_t position, size_t *column, struct nn_error *err)
{
	if (!name || !t->header)
		return nn_plan_order_column(order, t, position, column, err);
	if (nn_table_find(t, name, strlen(name), column, err) < 0)
		return -1;
	return *column == t->width ? no_column(t, name, err) : 0;
}

/* Without a header, named columns cannot be told: a field's hash has its column's name in it. */
static int take_hashed(struct nn_table *t, const struct nn_column *column, size_t buckets,
		       struct nn_plan_order *order, size_t *slot, struct nn_error *err)
{
	size_t *columns = nn_alloc(column->n_hashed, sizeof *columns, err);
	int status = columns ? 0 : -1;

	for (size_t k = 0; status == 0 && k < column->n_hashed; k++) {
		const struct nn_hashed *from = &column->hashed[k];

		if (from->name && !t->header)
			status = nn_fail(err, NN_EFORMAT,
					 "%s: has no header, but the model hashes columns by name",
					 nn_input_name(t->csv.input));
		else
			status = find(t, order, from->name, from->position, &columns[k], err);
	}
	if (status == 0)
		status = nn_table_add_hash(t, columns, column->n_hashed, buckets, slot, err);
	for (size_t k = 0; status == 0 && k < column->n_hashed; k++)
		t->columns[columns[k]].hash_start =
			nn_hash_name(column->hashed[k].name, column->hashed[k].position);
	nn_free(columns);
	return status;
}

/* Inputs of a schema with columns. */
static int plan_columns(struct nn_column_plan *plan, struct nn_table *t,
			const struct nn_schema *schema, size_t i, struct nn_input_code *code,
			struct nn_plan_order *order, int header, struct nn_error *err)
{
	const struct nn_input_schema *input = &schema->inputs[i];
	bool named =
		input->n_columns && (input->columns[0].hashed ? input->columns[0].hashed[0].name
							      : input->columns[0].name);

	if (named && check_names(t, input, header, err) < 0)
		return -1;
	plan->slots[i] = nn_alloc(input->n_columns, sizeof **plan->slots, err);
	if (!plan->slots[i])
		return -1;
	for (size_t c = 0; c < input->n_columns; c++) {
		const struct nn_column *column = &input->columns[c];
		size_t at;

		if (column->hashed) {
			if (take_hashed(t, column, input->rows, order, &plan->slots[i][c], err) < 0)
				return -1;
			continue;
		}
		if (find(t, order, column->name, column->position, &at, err) < 0 ||
		    take(t, at, column, input->rows, code->words[c], &plan->slots[i][c], err) < 0)
			return -1;
	}
	return 0;
}

/* Inputs that were arrays: all columns but the targets, as numbers. */
static int plan_array(struct nn_table *t, const struct nn_schema *schema,
		      const struct nn_plan_order *o, struct nn_error *err)
{
	size_t size = nn_shape_count(&schema->inputs[0].shape), slot;

	if (schema->n_inputs > 1)
		return nn_fail(err, NN_EFORMAT, "%s: the model has %zu inputs that are not columns",
			       nn_input_name(t->csv.input), schema->n_inputs);
	if (o->n_others != size)
		return nn_plan_wrong_width(o, t, size, err);
	for (size_t i = 0; i < size; i++)
		if (take(t, o->others[i], NULL, schema->inputs[0].rows, NULL, &slot, err) < 0)
			return -1;
	return 0;
}

static bool in_order(const size_t *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i] != i)
			return false;
	return true;
}

/* Members of an object have no order. */
static int check_lines(const struct nn_table *t, const struct nn_schema *schema,
		       struct nn_error *err)
{
	for (size_t i = 0; t->lines && i < schema->n_inputs; i++) {
		const struct nn_column *c = schema->inputs[i].columns;

		if (!c || !(c->name || (c->hashed && c->hashed[0].name)))
			return nn_fail(
				err, NN_EFORMAT,
				"%s: members of JSON lines have names, but the model knows its "
				"columns by their places",
				nn_input_name(t->csv.input));
	}
	return 0;
}

static int plan_ordered(struct nn_column_plan *plan, struct nn_table *t,
			const struct nn_schema *schema, struct nn_coding *coding, int header,
			struct nn_plan_order *o, struct nn_error *err)
{
	for (size_t i = 0; i < schema->n_inputs; i++) {
		const struct nn_input_schema *input = &schema->inputs[i];

		if (input->columns ? plan_columns(plan, t, schema, i, &coding->inputs[i], o, header,
						  err) < 0
				   : plan_array(t, schema, o, err) < 0)
			return -1;
	}
	return o->used && o->used != o->n_others ? nn_plan_wrong_width(o, t, o->used, err) : 0;
}

static int plan_inputs(struct nn_column_plan *plan, struct nn_table *t,
		       const struct nn_schema *schema, struct nn_coding *coding, int header,
		       struct nn_error *err)
{
	struct nn_plan_order o = { 0 };
	int status = check_lines(t, schema, err);

	if (status == 0)
		status = nn_plan_order_init(&o, t, schema, err);

	if (status == 0)
		status = plan_ordered(plan, t, schema, coding, header, &o, err);
	nn_plan_order_fini(&o);
	for (size_t i = 0; status == 0 && i < schema->n_inputs; i++)
		if (plan->slots[i] && t->n_values == schema->inputs[i].n_columns &&
		    in_order(plan->slots[i], schema->inputs[i].n_columns)) {
			nn_free(plan->slots[i]);
			plan->slots[i] = NULL;
		}
	return status;
}

int nn_plan_schema(struct nn_column_plan *plan, struct nn_table *t, const struct nn_schema *schema,
		   struct nn_coding *coding, const struct nn_plan_options *options,
		   struct nn_error *err)
{
	*plan = (struct nn_column_plan){ .n_inputs = schema->n_inputs, .weight_slot = SIZE_MAX };
	plan->slots = nn_alloc(schema->n_inputs, sizeof *plan->slots, err);
	plan->target_slots = nn_alloc(schema->n_targets, sizeof *plan->target_slots, err);
	if (!plan->slots || !plan->target_slots)
		return -1;
	for (size_t i = 0; options->targets && i < schema->n_targets; i++)
		if (plan_target(plan, t, i, &schema->targets[i], &coding->targets[i], options,
				schema->n_targets == 1 && schema->targets[0].n_columns == 1
					? options->target
					: NULL,
				err) < 0)
			return -1;
	if (!options->inputs)
		return 0;
	if (nn_plan_weight(t, options->weight, options->weight_needed, &plan->weight_slot, err) < 0)
		return -1;
	return plan_inputs(plan, t, schema, coding, options->header, err);
}
