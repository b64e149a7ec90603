/* Means and deviations over the training rows: f64, in the order of the rows, two passes. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/array/file-rows.h"
#include "data/dataset.h"

/* The sums of one table of columns. */
struct sums {
	double *mean, *sd; /* or least and largest */
	double *present;   /* rows that have a value */
	size_t n;
	/* rows that do not lie in memory: where each is decoded, and what went wrong */
	const struct nn_dataset *streams;
	size_t input;
	const struct nn_file_rows *target; /* of which they are the rows instead; NULL: of none */
	unsigned char *decoded;
	int status;
	struct nn_error *err;
};

/* Value i of a row that was taken; of rows that stream, of the one that was taken last. */
static double value_of(const struct sums *m, const struct nn_row_block *s, uint64_t row, size_t i)
{
	struct nn_row_block one = *s;

	if (!m->streams)
		return nn_row_value(s, row, i);
	one.data = m->decoded;
	return nn_row_value(&one, 0, i);
}

/* How many values a row has that can be looked at: of one that cannot be decoded none. */
static size_t take(struct sums *m, uint64_t row)
{
	if (m->streams && m->status == 0)
		m->status = m->target ? nn_file_rows_read(m->target, row, 1, m->decoded, m->err)
				      : nn_dataset_stream_row(m->streams, m->input, row, m->decoded,
							      m->err);
	return m->status == 0 ? m->n : 0;
}

/* mean becomes the sum. */
static void sum_up(struct sums *m, const struct nn_row_block *s, const uint64_t *rows, size_t n)
{
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0, values = take(m, rows[r]); i < values; i++) {
			double v = value_of(m, s, rows[r], i);

			m->mean[i] += v == v ? v : 0;
			m->present[i] += v == v;
		}
}

/* sd is the root of the mean square distance (population), 1 where it is 0. */
static void measure_standard(struct sums *m, const struct nn_row_block *s, const uint64_t *rows,
			     size_t n)
{
	sum_up(m, s, rows, n);
	for (size_t i = 0; i < m->n; i++)
		m->mean[i] /= m->present[i];
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0, values = take(m, rows[r]); i < values; i++) {
			double v = value_of(m, s, rows[r], i), d = v - m->mean[i];

			m->sd[i] += v == v ? d * d : 0;
		}
	for (size_t i = 0; i < m->n; i++)
		m->sd[i] = sqrt(m->sd[i] / m->present[i]);
}

/* mean becomes the least value, sd the range. */
static void measure_minmax(struct sums *m, const struct nn_row_block *s, const uint64_t *rows,
			   size_t n)
{
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0, values = take(m, rows[r]); i < values; i++) {
			double v = value_of(m, s, rows[r], i);

			if (v != v)
				continue;
			if (m->present[i]++ == 0)
				m->mean[i] = m->sd[i] = v;
			m->mean[i] = v < m->mean[i] ? v : m->mean[i];
			m->sd[i] = v > m->sd[i] ? v : m->sd[i];
		}
	for (size_t i = 0; i < m->n; i++)
		m->sd[i] -= m->mean[i];
}

static void sums_free(struct sums *m)
{
	nn_free(m->mean);
	nn_free(m->sd);
	nn_free(m->present);
	nn_free(m->decoded);
}

/* Room for a row, where they do not lie in memory. */
static int open_stream(struct sums *m, const struct nn_row_block *s, struct nn_error *err)
{
	m->err = err;
	return !m->streams || (m->decoded = nn_alloc(s->stride, nn_dtype_size(s->dtype), err)) ? 0
											       : -1;
}

/* Of rows of different length the steps are what is measured: *rows[*n], *steps to be nn_freed. */
static int find_steps(const struct nn_dataset *ds, size_t input, const uint64_t **rows, size_t *n,
		      uint64_t **steps, struct nn_error *err)
{
	*steps = NULL;
	if (!ds->sequences || !ds->schema->inputs[input].lengths)
		return 0;
	if (nn_sequences_steps(ds, *rows, *n, steps, n, err) < 0)
		return -1;
	*rows = *steps;
	return 0;
}

int nn_dataset_sum_columns(const struct nn_dataset *ds, size_t input, const uint64_t *rows, size_t n,
			   double *sums, double *present, struct nn_error *err)
{
	const struct nn_row_block *s = &ds->inputs[input].source;
	struct sums m = { .mean = sums,
			  .present = present,
			  .n = ds->schema->inputs[input].n_columns,
			  .streams = nn_dataset_input_streams(ds, input) ? ds : NULL,
			  .input = input };
	uint64_t *steps;

	if (find_steps(ds, input, &rows, &n, &steps, err) < 0 || open_stream(&m, s, err) < 0)
		return -1;
	sum_up(&m, s, rows, n);
	nn_free(m.decoded);
	nn_free(steps);
	return m.status;
}

static int measure(struct sums *m, const struct nn_row_block *s, size_t n_columns, bool minmax,
		   const uint64_t *rows, size_t n, struct nn_error *err)
{
	m->n = n_columns;
	m->mean = nn_alloc(n_columns, sizeof *m->mean, err);
	m->sd = nn_alloc(n_columns, sizeof *m->sd, err);
	m->present = nn_alloc(n_columns, sizeof *m->present, err);
	if (!m->mean || !m->sd || !m->present)
		return -1;
	if (open_stream(m, s, err) < 0)
		return -1;
	if (n > 0)
		(minmax ? measure_minmax : measure_standard)(m, s, rows, n);
	if (m->status < 0)
		return -1;
	for (size_t i = 0; i < n_columns; i++) {
		if (n > 0 && m->present[i] == 0)
			return nn_fail(
				err, NN_EFORMAT,
				"column %zu has no value at all in the rows that are trained on",
				i + 1);
		if (!isfinite(m->mean[i]) || !isfinite(m->sd[i]))
			return nn_fail(err, NN_EFORMAT,
				       "the values of column %zu are too large to be measured",
				       i + 1);
		if (m->sd[i] == 0 || (s->dtype != NN_F64 && (float)m->sd[i] == 0))
			m->sd[i] = 1;
	}
	return 0;
}

static int measure_input(struct nn_dataset *ds, size_t input, const uint64_t *rows, size_t n,
			 struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[input];
	struct sums m = { .streams = nn_dataset_input_streams(ds, input) ? ds : NULL,
			  .input = input };
	uint64_t *steps;
	int status = find_steps(ds, input, &rows, &n, &steps, err);

	if (status == 0)
		status = measure(&m, &ds->inputs[input].source, schema->n_columns,
				 ds->rules.normalize == NN_NORMALIZE_MINMAX, rows, n, err);

	for (size_t i = 0; status == 0 && i < schema->n_columns; i++) {
		struct nn_column *column = &schema->columns[i];

		if (column->category || column->hashed)
			continue;
		column->scaled = true;
		column->mean = m.mean[i];
		column->sd = m.sd[i];
	}
	sums_free(&m);
	nn_free(steps);
	return status;
}

static int measure_target(struct nn_dataset *ds, size_t target, const uint64_t *rows, size_t n,
			  struct nn_error *err)
{
	struct nn_target_schema *schema = &ds->schema->targets[target];
	struct nn_row_block source = { ds->targets[target].values.data, ds->dtype,
				       ds->targets[target].size, NULL, false };
	struct sums m = { .target = ds->targets[target].file };

	m.streams = m.target ? ds : NULL;

	int status = measure(&m, &source, schema->n_columns, false, rows, n, err);

	if (status == 0) {
		nn_free(schema->mean);
		nn_free(schema->sd);
		schema->mean = m.mean;
		schema->sd = m.sd;
		m.mean = m.sd = NULL;
	}
	sums_free(&m);
	return status;
}

/* Columns that a factor scales know it without measuring. */
static void scale_by_factor(struct nn_input_schema *schema, double factor)
{
	for (size_t i = 0; i < schema->n_columns; i++)
		if (!schema->columns[i].category) {
			schema->columns[i].scaled = true;
			schema->columns[i].mean = 0;
			schema->columns[i].sd = 1 / factor;
		}
}

/* Columns of an array, which have neither names nor places, may be there for what fills them alone.
 */
static bool inputs_scaled(const struct nn_dataset *ds, size_t input)
{
	const struct nn_column *first = ds->schema->inputs[input].columns;

	return ds->rules.normalize == NN_NORMALIZE_STANDARD ||
	       ds->rules.normalize == NN_NORMALIZE_MINMAX ||
	       (ds->rules.normalize == NN_NORMALIZE_AUTO &&
		(first->name || first->position || first->hashed));
}

static bool targets_scaled(const struct nn_dataset *ds, size_t target)
{
	const struct nn_data_target *t = &ds->targets[target];

	if (ds->schema->targets[target].labels || t->plain || t->steps ||
	    ds->coding->targets[target].positions)
		return false;
	return ds->rules.normalize == NN_NORMALIZE_STANDARD ||
	       ds->rules.normalize == NN_NORMALIZE_MINMAX ||
	       (ds->rules.normalize == NN_NORMALIZE_AUTO && t->from_table);
}

int nn_dataset_measure(struct nn_dataset *ds, const uint64_t *rows, size_t n, struct nn_error *err)
{
	if (ds->training)
		return 0;
	if (nn_dataset_measure_missing(ds, rows, n, err) < 0)
		return nn_fail_at(err, "%s", ds->files.file[0].path);
	if (ds->fixed)
		return 0;
	for (size_t i = 0; i < ds->schema->n_inputs; i++) {
		struct nn_input_schema *schema = &ds->schema->inputs[i];

		if (schema->rows)
			continue; /* numbers of categories */
		if (schema->columns && ds->rules.normalize == NN_NORMALIZE_FACTOR)
			scale_by_factor(schema, ds->rules.factor);
		else if (schema->n_columns && inputs_scaled(ds, i) &&
			 measure_input(ds, i, rows, n, err) < 0)
			return nn_fail_at(err, "%s", ds->files.file[0].path);
		if (nn_coding_input(ds->coding, i, schema, false, err) < 0)
			return nn_fail_at(err, "%s", ds->files.file[0].path);
	}
	for (size_t i = 0; i < ds->schema->n_targets; i++) {
		if (targets_scaled(ds, i) && measure_target(ds, i, rows, n, err) < 0)
			return nn_fail_at(err, "%s: target", ds->files.file[ds->files.n - 1].path);
		if (nn_coding_target(ds->coding, i, &ds->schema->targets[i], err) < 0)
			return nn_fail_at(err, "%s: target", ds->files.file[ds->files.n - 1].path);
	}
	return 0;
}
