/*
 * JSON lines of rows of different length, whole: steps one after another, and their targets, which
 * may be a file of their own.
 */
#include <string.h>

#include "base/memory.h"
#include "data/sequence/line.h"

/* The one column of the target, by the name of its member. */
static int name_column(struct nn_target_schema *schema, const char *name, struct nn_error *err)
{
	schema->columns = nn_alloc(1, sizeof *schema->columns, err);
	schema->positions = nn_alloc(1, sizeof *schema->positions, err);
	if (!schema->columns || !schema->positions)
		return -1;
	schema->n_columns = 1;
	schema->columns[0] = nn_strdup(name, err);
	return schema->columns[0] ? 0 : -1;
}

/* Lists with an element for each step: numbers, or as many of them in lists. */
static int set_step_numbers(struct nn_dataset *ds, const char *file, size_t i,
			    const struct nn_want_target *want, struct nn_line_target *t,
			    struct nn_error *err)
{
	struct nn_raw_target raw = { .place = file,
				     .rows = nn_sequence_begin(ds->sequences, ds->rows),
				     .ends = (const size_t *)ds->sequences->ends.data };

	raw.array = (struct nn_array){ .dtype = NN_F64,
				       .shape = nn_shape2(raw.rows, t->each ? t->each : 1),
				       .data = t->values.data };
	if (nn_dataset_set_target(ds, i, want, &raw, err) < 0)
		return -1;
	nn_sequences_by_step(ds, i);
	return 0;
}

/* Lists of numbers, as many in each row. */
static int set_numbers(struct nn_dataset *ds, const char *file, size_t i,
		       const struct nn_want_target *want, struct nn_line_target *t,
		       struct nn_error *err)
{
	struct nn_raw_target raw = { .place = file, .rows = ds->rows };

	if (t->width == SIZE_MAX || t->words)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: %.60s: lists of %s are classes of steps, as many as the row has", file,
			t->name, t->words ? "strings" : "different length");
	raw.array = (struct nn_array){ .dtype = NN_F64,
				       .shape = nn_shape2(ds->rows, t->width),
				       .data = t->values.data };
	return nn_dataset_set_target(ds, i, want, &raw, err);
}

static int set_classes(struct nn_dataset *ds, const char *file, size_t i,
		       const struct nn_want_target *want, struct nn_line_target *t,
		       struct nn_error *err)
{
	struct nn_table_column column = { .name = t->name,
					  .cell = t->words ? NN_CELL_WORD : NN_CELL_NUMBER,
					  .words = t->words,
					  .point_line = t->point_line };
	const struct nn_table_column *columns[] = { &column };
	struct nn_want_target classes = { 0 };
	const struct nn_raw_target raw = { .place = file,
					   .from_table = true,
					   .values = t->values.data,
					   .stride = 1,
					   .columns = columns,
					   .n_columns = 1,
					   .rows = t->n };

	if (want && name_column(&ds->schema->targets[i], t->name, err) < 0)
		return -1;
	if (want && t->list) { /* of steps, which are never numbers */
		classes = *want;
		classes.classes = true;
		want = &classes;
	}
	if (nn_dataset_set_target(ds, i, want, &raw, err) < 0)
		return -1;
	if (t->list)
		nn_sequences_by_step(ds, i);
	return 0;
}

static int set_target(struct nn_dataset *ds, const char *file, size_t i,
		      const struct nn_want_target *want, struct nn_line_target *t,
		      struct nn_error *err)
{
	bool numbers = want ? want->numbers || t->point_line : !ds->schema->targets[i].labels;

	if (t->list && t->by_step && !t->words && (numbers || t->each) &&
	    ds->schema->targets[i].steps)
		return set_step_numbers(ds, file, i, want, t, err);
	if (t->list && (!t->by_step || numbers || t->each))
		return set_numbers(ds, file, i, want, t, err);
	return set_classes(ds, file, i, want, t, err);
}

static int set_targets(struct nn_dataset *ds, const struct nn_want *want, struct nn_line_reader *l,
		       struct nn_error *err)
{
	for (size_t i = 0; i < l->n_targets; i++)
		if (set_target(ds, l->file, i, want ? &want->targets[i] : NULL, &l->targets[i],
			       err) < 0)
			return -1;
	return 0;
}

static int read_rows(struct nn_dataset *ds, struct nn_line_reader *l, struct nn_error *err)
{
	struct nn_block *values = &ds->inputs[0].array.block;
	size_t step = nn_sequences_step(ds), at = 0;
	int status;

	while ((status = nn_line_reader_next(l, values, at, err)) > 0) {
		if (status == 2 ? nn_dataset_pass(ds, ds->rows, false, err) < 0
				: nn_sequences_add(ds, l->file, l->length, err) < 0)
			return -1;
		at += status == 1 ? l->length * step : 0;
	}
	return status;
}

static int take_values(struct nn_dataset *ds, const char *file, const struct nn_want_input *want,
		       struct nn_error *err)
{
	struct nn_data_input *input = &ds->inputs[0];

	input->array.data = input->array.block.data;
	input->array.dtype = ds->dtype;
	return nn_sequences_take_input(ds, file, want, err);
}

int nn_sequences_read_line(struct nn_dataset *ds, struct nn_line_reader *l, struct nn_error *err)
{
	struct nn_sequences *s = ds->sequences;
	int status;

	s->before += ds->rows;
	ds->rows = 0;
	nn_bad_rows_clear(&ds->bad);
	status = nn_line_reader_next(l, &ds->inputs[0].array.block, 0, err);
	s->before += status == 2;
	if (status != 1)
		return status;
	if (nn_sequences_add(ds, l->file, l->length, err) < 0)
		return -1;
	if (ds->bad.n == 0 && take_values(ds, l->file, NULL, err) < 0)
		return -1;
	nn_sequences_source(ds);
	return 1;
}

int nn_sequences_read_lines(struct nn_dataset *ds, struct nn_input *input,
			    const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_want *want = ds->fixed ? NULL : reading->want;
	struct nn_line_reader l;
	int status = nn_line_reader_open(&l, ds, input, reading, err);

	if (status == 0)
		status = read_rows(ds, &l, err);
	if (status == 0)
		status = nn_sequences_close(ds, l.file, err);
	if (status == 0)
		status = take_values(ds, l.file, want ? &want->inputs[0] : NULL, err);
	if (status == 0 && l.weighs)
		status = nn_dataset_take_weights(ds, &l.weights, 1, 0, err);
	if (status == 0)
		status = set_targets(ds, want, &l, err);
	nn_line_reader_close(&l);
	return status;
}

int nn_sequences_read_target_lines(struct nn_dataset *ds, struct nn_input *input,
				   const struct nn_reading *reading, struct nn_error *err)
{
	struct nn_line_reader l;
	int status = nn_line_reader_open(&l, ds, input, reading, err);

	if (status == 0)
		while ((status = nn_line_reader_next(&l, NULL, 0, err)) == 1)
			;
	status = status == 2 ? -1 : status;
	if (status == 0 && l.rows != ds->rows)
		status = nn_fail(err, NN_EFORMAT, "%s: found %zu row%s, expected %zu", l.file,
				 l.rows, nn_s(l.rows), ds->rows);
	if (status == 0)
		status = set_targets(ds, ds->fixed ? NULL : reading->want, &l, err);
	nn_line_reader_close(&l);
	return status;
}
