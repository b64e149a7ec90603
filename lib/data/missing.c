/*
 * Missing numbers: which rows they leave out, and the means that take their place. They lie in
 * memory as nan all the while.
 *
 * An infinity is not a missing number, and the empty field of a text target is the label "".
 * nn.input keeps the value that fills a column as "missing", in units of the data; with drop
 * nothing is kept, and a missing number in a prediction is a matter of --on-error. A row that is
 * left out keeps its number. The fillings of a start model stay.
 */
#include <math.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/array/file-rows.h"
#include "data/sequence/sequence.h"

/* ---- drop ---- */

static bool input_misses(const struct nn_dataset *ds, size_t input, const struct nn_row_block *s,
			 size_t row)
{
	size_t n = s->slots ? ds->schema->inputs[input].n_columns
			    : nn_shape_count(&ds->schema->inputs[input].shape);

	if (ds->sequences && input == ds->sequences->input)
		n = nn_sequences_step(ds);
	/* columns of text are as wide as they have values, in the table they are one number */
	if (!s->slots && ds->schema->inputs[input].columns)
		n = ds->schema->inputs[input].n_columns;
	for (size_t i = 0; s->dtype != NN_U8 && i < n; i++)
		if (isnan(nn_row_value(s, row, i)))
			return true;
	return false;
}

/* Classes that are not there are -1; labels that are only unknown were refused. */
static bool target_misses(const struct nn_dataset *ds, size_t target, size_t row)
{
	const struct nn_data_target *t = &ds->targets[target];
	size_t from = row * t->size, to = from + t->size;

	if (t->steps) {
		from = nn_sequence_begin(ds->sequences, row) * nn_sequences_width(ds, t);
		to = nn_sequence_begin(ds->sequences, row + 1) * nn_sequences_width(ds, t);
	}
	for (size_t i = from; i < to; i++) {
		if (t->classes ? ((const int32_t *)t->values.data)[i] < 0
			       : isnan(nn_real_at(ds->dtype, t->values.data, i)))
			return true;
	}
	return false;
}

/* Of a target whose rows stay in a file; classes of arrays are all there. */
static int note_targets(struct nn_dataset *ds, size_t target, struct nn_error *err)
{
	const struct nn_data_target *t = &ds->targets[target];
	void *values;
	int status = 0;

	if (t->classes)
		return 0;
	if (!(values = nn_alloc(1, nn_file_rows_size(t->file), err)))
		return -1;
	for (size_t r = 0; status == 0 && r < ds->rows; r++) {
		status = nn_file_rows_read(t->file, r, 1, values, err);
		for (size_t i = 0; status == 0 && i < t->size; i++)
			ds->left_out[r] |= isnan(nn_real_at(ds->dtype, values, i));
	}
	nn_free(values);
	return status;
}

/* One of its steps does. */
static bool steps_miss(const struct nn_dataset *ds, size_t input, size_t row)
{
	const struct nn_sequences *s = ds->sequences;
	bool found = false;

	for (size_t i = nn_sequence_begin(s, row); i < nn_sequence_begin(s, row + 1) && !found; i++)
		found = input_misses(ds, input, &ds->inputs[input].source, i);
	return found;
}

/* An input whose rows stay in a file. */
struct streamed {
	struct nn_dataset *ds;
	size_t input;
};

static int note_row(void *arg, const struct nn_row_block *row, size_t number, struct nn_error *err)
{
	const struct streamed *s = arg;

	(void)err;
	s->ds->left_out[number] |= input_misses(s->ds, s->input, row, 0);
	return 0;
}

static int note_rows(struct nn_dataset *ds, size_t input, struct nn_error *err)
{
	struct streamed s = { ds, input };

	return ds->inputs[input].source.dtype == NN_U8
		       ? 0
		       : nn_dataset_stream_each(ds, input, note_row, &s, err);
}

int nn_dataset_leave_out(struct nn_dataset *ds, struct nn_error *err)
{
	size_t n = 0;

	if (ds->rules.missing != NN_MISSING_DROP ||
	    (ds->source.ops && !nn_dataset_in_files(ds) && !ds->sequences))
		return 0;
	if (!(ds->left_out = nn_alloc(ds->rows, sizeof *ds->left_out, err)))
		return -1;
	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		if (ds->inputs[i].file && note_rows(ds, i, err) < 0)
			return -1;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (ds->targets[i].file && note_targets(ds, i, err) < 0)
			return -1;
	for (size_t r = 0; r < ds->rows; r++) {
		for (size_t i = 0; i < ds->schema->n_inputs; i++)
			ds->left_out[r] |= ds->inputs[i].file ? false
					   : ds->sequences && i == ds->sequences->input
						   ? steps_miss(ds, i, r)
						   : input_misses(ds, i, &ds->inputs[i].source, r);
		for (size_t i = 0; i < ds->schema->n_targets; i++)
			ds->left_out[r] |= !ds->targets[i].file && target_misses(ds, i, r);
		ds->left_out[r] |= ds->weights && isnan(ds->weights[r]);
		n += ds->left_out[r];
	}
	return n == 0 ? 0
		      : nn_dataset_notice_add(ds, err,
					      "%s: %zu of %zu row%s %s a value and %s left out",
					      ds->files.file[0].path, n, ds->rows, nn_s(ds->rows),
					      n == 1 ? "misses" : "miss", n == 1 ? "is" : "are");
}

bool nn_dataset_left_out(const struct nn_dataset *ds, size_t row)
{
	return ds->left_out && ds->left_out[row];
}

/* ---- mean ---- */

/* What fills a column: f64, over the values that are there, in the order of the rows. */
static int set_mean(struct nn_column *columns, size_t i, double sum, double present,
		    struct nn_error *err)
{
	if (present == 0)
		return nn_fail(err, NN_EFORMAT,
			       "column %zu has no value at all in the rows that are trained on",
			       i + 1);
	if (!isfinite(sum))
		return nn_fail(err, NN_EFORMAT,
			       "the values of column %zu are too large to be measured", i + 1);
	columns[i].missing = sum / present;
	columns[i].fills = true;
	return 0;
}

static int measure_input(struct nn_dataset *ds, size_t input, const uint64_t *rows, size_t n,
			 struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[input];
	double *sums = nn_alloc(schema->n_columns, sizeof *sums, err),
	       *present = nn_alloc(schema->n_columns, sizeof *present, err);
	int status = sums && present
			     ? nn_dataset_sum_columns(ds, input, rows, n, sums, present, err)
			     : -1;

	/* what a start model puts there stays */
	for (size_t c = 0; status == 0 && c < schema->n_columns; c++)
		if (!schema->columns[c].category && !(ds->fixed && schema->columns[c].fills))
			status = set_mean(schema->columns, c, sums[c], present[c], err);
	nn_free(sums);
	nn_free(present);
	return status;
}

int nn_dataset_measure_missing(struct nn_dataset *ds, const uint64_t *rows, size_t n,
			       struct nn_error *err)
{
	for (size_t i = 0; ds->rules.missing == NN_MISSING_MEAN && i < ds->schema->n_inputs; i++) {
		struct nn_input_schema *schema = &ds->schema->inputs[i];

		if (ds->inputs[i].source.dtype == NN_U8 || schema->rows)
			continue;
		if (schema->columns && measure_input(ds, i, rows, n, err) < 0)
			return -1;
		if (nn_coding_input(ds->coding, i, schema, false, err) < 0)
			return -1;
	}
	return 0;
}
