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
#include "data/dataset.h"

/* ---- drop ---- */

static bool input_misses(const struct nn_dataset *ds, size_t input, size_t row)
{
	const struct nn_row_block *s = &ds->inputs[input].source;
	size_t n = s->slots ? ds->schema->inputs[input].n_columns
			    : nn_shape_count(&ds->schema->inputs[input].shape);

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

	for (size_t i = row * t->size; i < (row + 1) * t->size; i++) {
		if (t->classes ? ((const int32_t *)t->values.data)[i] < 0
			       : isnan(nn_real_at(ds->dtype, t->values.data, i)))
			return true;
	}
	return false;
}

int nn_dataset_leave_out(struct nn_dataset *ds, struct nn_error *err)
{
	size_t n = 0;

	if (ds->rules.missing != NN_MISSING_DROP || ds->source.ops)
		return 0;
	if (!(ds->left_out = nn_alloc(ds->rows, sizeof *ds->left_out, err)))
		return -1;
	for (size_t r = 0; r < ds->rows; r++) {
		for (size_t i = 0; i < ds->schema->n_inputs; i++)
			ds->left_out[r] |= input_misses(ds, i, r);
		for (size_t i = 0; i < ds->schema->n_targets; i++)
			ds->left_out[r] |= target_misses(ds, i, r);
		ds->left_out[r] |= ds->weights && isnan(ds->weights[r]);
		n += ds->left_out[r];
	}
	return n == 0 ? 0
		      : nn_dataset_notice_add(ds, err,
					      "%s: %zu of %zu rows miss a value and are left out",
					      ds->files.file[0].path, n, ds->rows);
}

bool nn_dataset_left_out(const struct nn_dataset *ds, size_t row)
{
	return ds->left_out && ds->left_out[row];
}

/* ---- mean ---- */

/* A column's mean: f64, over the values that are there, in the order of the rows. */
static int measure_column(const struct nn_row_block *s, size_t column, const uint64_t *rows,
			  size_t n, double *mean, struct nn_error *err)
{
	double sum = 0, present = 0;

	for (size_t r = 0; r < n; r++) {
		double v = nn_row_value(s, rows[r], column);

		sum += v == v ? v : 0;
		present += v == v;
	}
	if (present == 0)
		return nn_fail(err, NN_EFORMAT,
			       "column %zu has no value at all in the rows that are trained on",
			       column + 1);
	if (!isfinite(sum))
		return nn_fail(err, NN_EFORMAT,
			       "the values of column %zu are too large to be measured", column + 1);
	*mean = sum / present;
	return 0;
}

int nn_dataset_measure_missing(struct nn_dataset *ds, const uint64_t *rows, size_t n,
			       struct nn_error *err)
{
	for (size_t i = 0; ds->rules.missing == NN_MISSING_MEAN && i < ds->schema->n_inputs; i++) {
		struct nn_input_schema *schema = &ds->schema->inputs[i];

		if (ds->inputs[i].source.dtype == NN_U8 || schema->rows)
			continue;
		for (size_t c = 0; schema->columns && c < schema->n_columns; c++) {
			struct nn_column *column = &schema->columns[c];

			if (column->category || (ds->fixed && column->fills))
				continue; /* what a start model puts there stays */
			if (measure_column(&ds->inputs[i].source, c, rows, n, &column->missing,
					   err) < 0)
				return -1;
			column->fills = true;
		}
		if (nn_coding_input(ds->coding, i, schema, false, err) < 0)
			return -1;
	}
	return 0;
}
