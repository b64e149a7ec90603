/* A table into a dataset: columns get their meaning, then all records become rows of one matrix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"

#define SAMPLE_LINES 1000 /* of JSON, whose members are the columns */

/* ---- learning: the schema is made from the table ---- */

static int no_target(const struct nn_table *t, struct nn_error *err)
{
	char names[300];

	nn_table_names(t, names, sizeof names);
	return nn_fail(err, NN_EUSAGE, "--target=COLUMN is needed for %s; its columns: %s",
		       nn_input_name(t->csv.input), names);
}

/* Where the loss wants classes any label may be text: whether one is, is seen in the end. */
static int learn_target_columns(struct nn_dataset *ds, struct nn_table *t, size_t target,
				bool classes, const struct nn_columns *names, struct nn_error *err)
{
	struct nn_target_schema *schema = &ds->schema->targets[target];

	ds->target_plan.target_slots[target] = t->n_targets;
	schema->columns = nn_alloc(names->n, sizeof *schema->columns, err);
	schema->positions = nn_alloc(names->n, sizeof *schema->positions, err);
	if (!schema->columns || !schema->positions)
		return -1;
	schema->n_columns = names->n;
	for (size_t i = 0; i < names->n; i++) {
		struct nn_table_column *c;
		size_t column;

		if (nn_table_find(t, names->name[i].text, names->name[i].length, &column, err) < 0)
			return -1;
		if (column == t->width)
			return nn_table_no_column(t, "--target", &names->name[i], err);
		c = &t->columns[column];
		if (c->target)
			return nn_fail(err, NN_EUSAGE, "--target: a column of %s is named twice",
				       nn_input_name(t->csv.input));
		c->target = true;
		c->slot = t->n_targets++;
		if (names->n == 1 && nn_dataset_closed_labels(ds, target, c))
			;
		else if (!(c->words = nn_coding_words(ds->coding, false, err)))
			return -1;
		else
			c->cell = classes && names->n == 1 ? NN_CELL_WORD : NN_CELL_OPEN;
		c->grow = !c->closed;
		if ( nn_table_name_column(t, column, &schema->columns[i],
						      &schema->positions[i], err) < 0)
			return -1;
	}
	return 0;
}

static int learn_targets(struct nn_dataset *ds, struct nn_table *t, const struct nn_want *want,
			 bool alone, struct nn_error *err)
{
	ds->target_plan.target_slots =
		nn_alloc(want->n_targets, sizeof *ds->target_plan.target_slots, err);
	if (!ds->target_plan.target_slots)
		return -1;
	for (size_t i = 0; i < want->n_targets; i++) {
		const char *list = want->targets[i].columns;
		struct nn_columns names;
		int status;

		if (!list && want->n_targets == 1)
			list = ds->rules.target;
		if (!list && !(alone && t->width == 1 && want->n_targets == 1))
			return no_target(t, err);
		if (nn_columns_parse(&names,
				     list        ? list
				     : t->header ? t->columns[0].name
						 : "1",
				     err) < 0)
			return -1;
		if (!list && t->header) { /* the only column, commas and quotes included */
			names.n = 1;
			names.name[0] =
				(struct nn_field){ t->columns[0].name, strlen(t->columns[0].name) };
		}
		status = learn_target_columns(ds, t, i, want->targets[i].classes, &names, err);
		nn_columns_free(&names);
		if (status < 0)
			return -1;
	}
	return 0;
}

/* Column c of the input is column `column` of the table. */
static int learn_column(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
			size_t column, struct nn_error *err)
{
	struct nn_column *schema = &ds->schema->inputs[input].columns[c];
	struct nn_table_column *from = &t->columns[column];
	char name[NN_QUOTED];

	if (from->target)
		return nn_fail(err, NN_EFORMAT, "%s: %s is the target, not an input",
			       nn_input_name(t->csv.input), nn_table_column_name(t, column, name));
	if (from->twice)
		return nn_fail(err, NN_EFORMAT, "%s: %s occurs twice", nn_input_name(t->csv.input),
			       nn_table_column_name(t, column, name));
	if (from->listed || from->rows)
		return nn_dataset_two_uses(t, column, err);
	if (from->cell == NN_CELL_SKIP) {
		from->cell = NN_CELL_OPEN;
		from->slot = t->n_values++;
		from->grow = true;
		from->limit = NN_MAX_CATEGORIES;
		from->words = nn_coding_words(ds->coding, false, err);
		if (!from->words)
			return -1;
	}
	ds->plan.slots[input][c] = from->slot;
	ds->coding->inputs[input].words[c] = from->words;
	return nn_table_name_column(t, column, &schema->name, &schema->position, err);
}

static int learn_input(struct nn_dataset *ds, struct nn_table *t, size_t i,
		       const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[i];
	struct nn_input_code *code = &ds->coding->inputs[i];
	size_t n = want->n_columns, column;

	for (column = 0; !want->columns && column < t->width; column++)
		n += !t->columns[column].target;
	if (n == 0)
		return nn_fail(err, NN_EFORMAT, "%s: no columns are left as input",
			       nn_input_name(t->csv.input));
	schema->columns = nn_alloc(n, sizeof *schema->columns, err);
	code->words = nn_alloc(n, sizeof *code->words, err);
	code->place = nn_alloc(n, sizeof *code->place, err);
	ds->plan.slots[i] = nn_alloc(n, sizeof *ds->plan.slots[i], err);
	if (!schema->columns || !code->words || !code->place || !ds->plan.slots[i])
		return -1;
	schema->n_columns = n;
	column = 0;
	for (size_t c = 0; c < n; c++, column++) {
		if (want->columns) {
			struct nn_field name = { want->columns[c], strlen(want->columns[c]) };

			if (nn_table_find(t, name.text, name.length, &column, err) < 0)
				return -1;
			if (column == t->width)
				return nn_table_no_column(t, "columns", &name, err);
		}
		while (!want->columns && t->columns[column].target)
			column++;
		if (learn_column(ds, t, i, c, column, err) < 0)
			return -1;
	}
	return 0;
}

static int learn_inputs(struct nn_dataset *ds, struct nn_table *t, const struct nn_want *want,
			struct nn_error *err)
{
	ds->plan.slots = nn_alloc(want->n_inputs, sizeof *ds->plan.slots, err);
	if (!ds->plan.slots)
		return -1;
	ds->plan.n_inputs = want->n_inputs;
	for (size_t i = 0; i < want->n_inputs; i++)
		if ((want->inputs[i].categories ? nn_dataset_learn_categories
						: learn_input)(ds, t, i, &want->inputs[i], err) < 0)
			return -1;
	return 0;
}

/* ---- after the rows were read: what the columns turned out to be ---- */

static int learn_values(struct nn_column *column, struct nn_words *words, struct nn_error *err)
{
	const int32_t *order, *place;
	size_t n = nn_words_count(words);

	if (nn_words_sort(words, &order, &place, err) < 0)
		return -1;
	column->category = true;
	column->values = nn_alloc(n, sizeof *column->values, err);
	if (!column->values)
		return -1;
	column->n_values = n;
	for (size_t i = 0; i < n; i++) {
		column->values[i] = nn_strdup(nn_words_text(words, order[i]), err);
		if (!column->values[i])
			return -1;
	}
	return 0;
}

static int finish_input(struct nn_dataset *ds, const struct nn_table *t, size_t i,
			const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[i];
	struct nn_words **words = ds->coding->inputs[i].words;
	size_t *slots = ds->plan.slots[i], width = 0;
	bool in_order = t->n_values == schema->n_columns;

	for (size_t c = 0; c < schema->n_columns; c++) {
		if (!words[c])
			; /* hashed, or the number of a category */
		else if (nn_words_count(words[c]) == 0)
			words[c] = NULL; /* a number */
		else if (learn_values(&schema->columns[c], words[c], err) < 0)
			return -1;
		width += nn_column_width(schema, &schema->columns[c]);
		in_order = in_order && slots[c] == c;
	}
	if (in_order) {
		nn_free(slots);
		ds->plan.slots[i] = NULL;
	}
	schema->shape = nn_shape1(width);
	if (want->categories && nn_dataset_count_categories(ds, t, i, want, err) < 0)
		return -1;
	return nn_fit_shape(&schema->shape, want, nn_input_name(t->csv.input), err);
}

/* A column that never had a value is neither number nor text. */
static int check_open(const struct nn_table *t, struct nn_error *err)
{
	char name[NN_QUOTED];

	for (size_t i = 0; i < t->width; i++)
		if (t->columns[i].cell == NN_CELL_OPEN && t->columns[i].empty_line)
			return nn_fail(err, NN_EFORMAT,
				       "%s:%llu:%zu: no value in %s, in this row and in all others",
				       nn_input_name(t->csv.input),
				       (unsigned long long)t->columns[i].empty_line, i + 1,
				       nn_table_column_name(t, i, name));
	return 0;
}

/* ---- both ---- */

int nn_dataset_set_targets(struct nn_dataset *ds, const struct nn_table *t,
			   const struct nn_want *want, const struct nn_block *values, size_t rows,
			   struct nn_error *err)
{
	const struct nn_table_column **columns = nn_alloc(t->n_targets, sizeof *columns, err);
	int status = columns ? 0 : -1;

	ds->unseen = t->labels;
	for (size_t i = 0; columns && i < t->width; i++)
		if (t->columns[i].target)
			columns[t->columns[i].slot] = &t->columns[i];
	for (size_t i = 0; status == 0 && i < ds->schema->n_targets; i++) {
		size_t first =
			(ds->target_plan.target_slots ? ds->target_plan : ds->plan).target_slots[i];
		struct nn_raw_target raw = { .from_table = true,
					     .values = (const void *)nn_block_at(
						     values, first * sizeof(double)),
					     .stride = t->n_targets,
					     .columns = columns + first,
					     .rows = rows,
					     .n_columns = ds->schema->targets[i].n_columns,
					     .place = nn_input_name(t->csv.input) };

		status = nn_dataset_set_target(ds, i, want && !ds->fixed ? &want->targets[i] : NULL,
					       &raw, err);
		if (status == 0 && nn_sequences_are_records(ds, rows))
			nn_sequences_by_step(ds, i);
	}
	nn_free(columns);
	return status;
}

/* Which columns may miss numbers, and what is said where one may not. */
static void allow_missing(const struct nn_dataset *ds, struct nn_table *t,
			  const struct nn_want *want)
{
	for (size_t i = 0; i < t->width; i++)
		t->columns[i].missing = ds->rules.missing == NN_MISSING_DROP ||
					(ds->rules.missing == NN_MISSING_MEAN &&
					 !t->columns[i].target && !t->columns[i].rows);
	if (ds->lenient)
		return;
	t->hints.number = "; --missing=mean fills it, --missing=drop leaves the row out";
	t->hints.target = "; --missing=drop leaves the row out";
	if (want && !ds->fixed && want->n_targets == 1 && !want->targets[0].numbers)
		t->hints.label = "; --loss=cross-entropy takes all as labels";
}

/*
 * Fields without a value before the first one of an input that turned out to be text were the word
 * "", not missing numbers.
 */
static void mend_words(struct nn_dataset *ds, const struct nn_table *t, size_t rows)
{
	for (size_t i = 0; i < t->width; i++) {
		const struct nn_table_column *c = &t->columns[i];

		if (c->target || !c->missing || c->cell != NN_CELL_WORD || !c->empty_line)
			continue;
		for (size_t r = 0; r < rows; r++) {
			size_t at = r * t->n_values + c->slot;

			if (isnan(nn_real_at(ds->dtype, ds->table.data, at)))
				nn_real_put(ds->dtype, ds->table.data, at, 0);
		}
	}
}

/* Values of text columns that the schema does not have. */
static int note_unseen(struct nn_dataset *ds, const struct nn_table *t, struct nn_error *err)
{
	char name[NN_QUOTED];

	for (size_t i = 0; i < t->width; i++) {
		const struct nn_table_column *c = &t->columns[i];

		if (!c->target && c->unseen &&
		    nn_dataset_notice_add(ds, err,
					  "%s: %llu value%s of %s %s not in the training data; "
					  "%s as all zeros",
					  nn_input_name(t->csv.input),
					  (unsigned long long)c->unseen, nn_s(c->unseen),
					  nn_table_column_name(t, i, name),
					  c->unseen == 1 ? "was" : "were",
					  c->unseen == 1 ? "it counts" : "they count") < 0)
			return -1;
	}
	return 0;
}

static int make_plan(struct nn_dataset *ds, struct nn_table *t, const struct nn_want *want,
		     bool inputs, bool targets, struct nn_error *err)
{
	struct nn_plan_options options = {
		inputs,       targets,          ds->rules.target,       ds->rules.table.header,
		!ds->lenient, ds->rules.weight, !ds->rules.weight_known
	};

	if (!want || ds->fixed) {
		struct nn_column_plan *plan = inputs ? &ds->plan : &ds->target_plan;

		return nn_plan_schema(plan, t, ds->schema, ds->coding, &options, err);
	}
	if (targets && learn_targets(ds, t, want, !inputs, err) < 0)
		return -1;
	if (!inputs)
		return 0;
	if (nn_plan_weight(t, ds->rules.weight, options.weight_needed, &ds->plan.weight_slot, err) <
	    0)
		return -1;
	return learn_inputs(ds, t, want, err);
}

static int read_table(struct nn_dataset *ds, struct nn_table *t, const struct nn_want *want,
		      bool inputs, bool targets, struct nn_block *values, struct nn_error *err)
{
	bool learn = want && !ds->fixed;
	size_t rows;

	if (t->empty)
		return nn_fail(err, NN_EFORMAT, "%s: has no rows", nn_input_name(t->csv.input));
	if (make_plan(ds, t, want, inputs, targets, err) < 0)
		return -1;
	allow_missing(ds, t, want);
	t->most = ds->files.sample;
	t->first_rows = ds->files.first;
	if (nn_table_read(t, ds->pool, 0, &ds->table, values, &rows, err) < 0 ||
	    check_open(t, err) < 0 ||
	    (ds->sequences ? nn_sequences_check_records(ds, nn_input_name(t->csv.input), rows, err)
			   : nn_dataset_set_rows(ds, nn_input_name(t->csv.input), rows, err)) < 0)
		return -1;
	nn_dataset_set_share(ds, t->more, 0);
	mend_words(ds, t, rows);
	if (learn && targets && nn_dataset_settle_labels(ds, t, values, rows, err) < 0)
		return -1;
	for (size_t i = 0; inputs && i < ds->schema->n_inputs; i++) {
		struct nn_row_block *source = &ds->inputs[i].source;

		if (learn && finish_input(ds, t, i, &want->inputs[i], err) < 0)
			return -1;
		*source = (struct nn_row_block){ ds->table.data, ds->dtype, t->n_values,
						 ds->plan.slots[i], false };
	}
	if (learn && inputs && nn_dataset_tell_columns(ds, t, err) < 0)
		return -1;
	if (learn && inputs && t->csv.unusual)
		ds->schema->inputs[0].separator = t->csv.separator;
	if (note_unseen(ds, t, err) < 0 ||
	    (inputs && ds->plan.weight_slot != SIZE_MAX &&
	     nn_dataset_take_weights(ds, values, t->n_targets, ds->plan.weight_slot, err) < 0))
		return -1;
	return targets ? nn_dataset_set_targets(ds, t, want, values, rows, err) : 0;
}

int nn_dataset_read_table(struct nn_dataset *ds, struct nn_input *input,
			  const struct nn_reading *reading, struct nn_error *err)
{
	struct nn_block values = { 0 };
	struct nn_table t;
	bool learn = reading->want && !ds->fixed;
	struct nn_table_form form =
		nn_dataset_form(&ds->rules.table, learn ? NULL : ds->schema, reading->inputs);
	int status;

	form.lines = reading->format->lines ? SAMPLE_LINES : 0;
	status = nn_table_open(&t, input, &form, ds->dtype, err);

	if (status == 0)
		status = read_table(ds, &t, reading->want, reading->inputs, reading->targets,
				    &values, err);
	nn_table_close(&t);
	nn_block_free(&values);
	return status;
}
