/* Rows of different length as a source: each is filled up to the longest as it goes into a batch.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "data/sequence/sequence.h"

void nn_sequences_free(struct nn_sequences *s)
{
	if (!s)
		return;
	nn_block_free(&s->ends);
	nn_free(s);
}

size_t nn_sequences_step(const struct nn_dataset *ds)
{
	return nn_schema_values(&ds->schema->inputs[ds->sequences->input]);
}

size_t nn_sequences_bytes(const struct nn_dataset *ds)
{
	const struct nn_row_block *source = &ds->inputs[ds->sequences->input].source;
	size_t steps = nn_sequence_begin(ds->sequences, ds->rows);

	return steps * source->stride * nn_dtype_size(source->dtype) + ds->rows * sizeof(size_t);
}

/* ---- rows of a batch ---- */

/* Steps behind the length are no category, else zeros; nothing that counts depends on them. */
static void pad(const struct nn_dataset *ds, const struct nn_input_code *code, size_t from,
		void *to)
{
	for (size_t i = from; i < code->size; i++)
		nn_real_put(ds->dtype, to, i, code->rows ? -1 : 0);
}

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	const struct nn_sequences *s = ds->sequences;
	const struct nn_input_code *code = &ds->coding->inputs[input];
	struct nn_row_block source = ds->inputs[input].source;
	struct nn_input_code row = { .channels = 1,
				     .n_columns = code->n_columns,
				     .mean = code->mean,
				     .sd = code->sd,
				     .missing = code->missing };
	size_t step = source.stride;

	(void)err;
	if (input != s->input) {
		nn_dataset_fill_input(ds, input, rows, n, channels_last, values);
		return 0;
	}
	/* each step as a row is, or where nothing is done to its values all of them as one */
	if (!code->mean && !code->missing)
		row = (struct nn_input_code){ .channels = 1 };
	for (size_t r = 0; r < n; r++) {
		char *to = (char *)values + r * code->size * nn_dtype_size(ds->dtype);
		size_t length = nn_sequence_length(s, rows[r]);

		source.data = (const char *)ds->inputs[input].source.data +
			      nn_sequence_begin(s, rows[r]) * step * nn_dtype_size(source.dtype);
		source.stride = row.size = row.n_columns ? step : length * step;
		nn_fill_input(&row, ds->dtype, &source, NULL, row.n_columns ? length : 1, false,
			      to);
		pad(ds, code, length * step, to);
	}
	return 0;
}

/* Numbers of steps, or class probabilities; NaN behind the length, which no loss counts. */
static void fill_numbers(const struct nn_dataset *ds, size_t target, const uint64_t *rows, size_t n,
			 void *values)
{
	const struct nn_data_target *t = &ds->targets[target];
	size_t width = nn_sequences_width(ds, t), real = nn_dtype_size(ds->dtype);

	for (size_t r = 0; r < n; r++) {
		char *to = (char *)values + r * t->size * real;
		size_t there = nn_sequence_length(ds->sequences, rows[r]) * width;

		nn_fill_numbers(&ds->coding->targets[target], ds->dtype,
				(const char *)t->values.data +
					nn_sequence_begin(ds->sequences, rows[r]) * width * real,
				there, NULL, 1, to);
		for (size_t i = there; i < t->size; i++)
			nn_real_put(ds->dtype, to, i, NAN);
	}
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	const struct nn_data_target *t = &ds->targets[target];
	const int32_t *ids = (const int32_t *)(const void *)t->values.data;
	int32_t *to = values;

	(void)err;
	if (!t->steps) {
		nn_dataset_fill_target(ds, target, rows, n, values);
		return 0;
	}
	if (!t->classes) {
		fill_numbers(ds, target, rows, n, values);
		return 0;
	}
	for (size_t r = 0; r < n; r++) {
		size_t length = nn_sequence_length(ds->sequences, rows[r]),
		       begin = nn_sequence_begin(ds->sequences, rows[r]);

		for (size_t i = 0; i < t->size; i++)
			*to++ = i < length ? nn_code_class(&ds->coding->targets[target],
							   ids[begin + i])
					   : NN_CLASS_IGNORED;
	}
	return 0;
}

static int lengths_of(const void *data, const uint64_t *rows, size_t n, uint32_t *lengths,
		      struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	(void)err;
	for (size_t r = 0; r < n; r++)
		lengths[r] = (uint32_t)nn_sequence_length(ds->sequences, rows[r]);
	return 0;
}

static const struct nn_source_ops sequences = { .fill_input = fill_input,
						.fill_target = fill_target,
						.lengths = lengths_of },
				  weighed = { .fill_input = fill_input,
					      .fill_target = fill_target,
					      .fill_weights = nn_dataset_source_weights,
					      .lengths = lengths_of };

/* ---- measuring ---- */

int nn_sequences_steps(const struct nn_dataset *ds, const uint64_t *rows, size_t n,
		       uint64_t **steps, size_t *n_steps, struct nn_error *err)
{
	const struct nn_sequences *s = ds->sequences;

	*n_steps = 0;
	for (size_t r = 0; r < n; r++)
		*n_steps += nn_sequence_length(s, rows[r]);
	if (!(*steps = nn_alloc(*n_steps, sizeof **steps, err)))
		return -1;
	for (size_t r = 0, at = 0; r < n; r++)
		for (size_t i = 0; i < nn_sequence_length(s, rows[r]); i++)
			(*steps)[at++] = nn_sequence_begin(s, rows[r]) + i;
	return 0;
}

/* ---- while they are read ---- */

int nn_sequences_new(struct nn_dataset *ds, struct nn_error *err)
{
	ds->sequences = nn_alloc(1, sizeof *ds->sequences, err);
	if (!ds->sequences)
		return -1;
	ds->sequences->input = nn_schema_lengths(ds->schema);
	return nn_block_reserve(&ds->sequences->ends, sizeof(size_t), err);
}

static int check_length(const struct nn_dataset *ds, const char *place, size_t length,
			struct nn_error *err)
{
	const struct nn_sequences *s = ds->sequences;
	size_t most = ds->schema->inputs[s->input].shape.dim[0], row = s->before + ds->rows;

	if (length == 0)
		return nn_fail(err, NN_EFORMAT, "%s: row %zu has no steps, expected at least one",
			       place, row + 1);
	if (most ? length > most : length > UINT32_MAX)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: row %zu has %zu step%s, the model takes at most %zu (max= of its "
			"input line)",
			place, row + 1, length, nn_s(length), most ? most : (size_t)UINT32_MAX);
	return 0;
}

int nn_sequences_add(struct nn_dataset *ds, const char *place, size_t length, struct nn_error *err)
{
	struct nn_sequences *s = ds->sequences;
	size_t row = ds->rows;

	if (check_length(ds, place, length, err) < 0 && nn_dataset_pass(ds, row, true, err) < 0)
		return -1;
	if (nn_block_reserve(&s->ends, (row + 1) * sizeof(size_t), err) < 0)
		return nn_fail_at(err, "%s", place);
	((size_t *)(void *)s->ends.data)[row] = nn_sequence_begin(s, row) + length;
	s->longest = length > s->longest ? length : s->longest;
	ds->rows++;
	return 0;
}

int nn_sequences_close(struct nn_dataset *ds, const char *file, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[ds->sequences->input];
	size_t bytes;

	if (schema->shape.dim[0] == 0)
		schema->shape.dim[0] = ds->sequences->longest;
	if (schema->shape.dim[0] == 0)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: has no rows, so how long they may be is not known (max=N of the "
			"input line says it)",
			file);
	if (!nn_shape_check(&schema->shape, sizeof(double), &bytes))
		return nn_fail(err, NN_EFORMAT, "%s: rows of %zu steps are too large", file,
			       schema->shape.dim[0]);
	ds->rows_known = true;
	ds->files.read_rows = ds->rows;
	return 0;
}

void nn_sequences_by_step(struct nn_dataset *ds, size_t target)
{
	ds->targets[target].steps = true;
	ds->targets[target].size *= ds->schema->inputs[ds->sequences->input].shape.dim[0];
}

size_t nn_sequences_width(const struct nn_dataset *ds, const struct nn_data_target *t)
{
	return t->size / ds->schema->inputs[ds->sequences->input].shape.dim[0];
}

size_t nn_dataset_target_values(const struct nn_dataset *ds, const struct nn_data_target *t)
{
	return t->steps ? nn_sequence_begin(ds->sequences, ds->rows) * nn_sequences_width(ds, t)
			: ds->rows * t->size;
}

bool nn_sequences_are_records(const struct nn_dataset *ds, size_t n)
{
	bool steps = ds->sequences && n == nn_sequence_begin(ds->sequences, ds->rows);

	for (size_t i = 0; i < ds->schema->n_targets; i++)
		steps = steps && ds->schema->targets[i].steps;
	return steps;
}

int nn_sequences_check_records(const struct nn_dataset *ds, const char *file, size_t n,
			       struct nn_error *err)
{
	if (n == ds->rows || nn_sequences_are_records(ds, n))
		return 0;
	return nn_fail(err, NN_EFORMAT,
		       "%s: found %zu row%s, expected %zu, or %zu of their steps one after another",
		       file, n, nn_s(n), ds->rows, nn_sequence_begin(ds->sequences, ds->rows));
}

void nn_sequences_source(struct nn_dataset *ds)
{
	ds->source = (struct nn_source){ ds->weights ? &weighed : &sequences, ds, ds->rows };
}

/* ---- formats ---- */

int nn_sequences_read(struct nn_dataset *ds, struct nn_input *input,
		      const struct nn_reading *reading, struct nn_error *err)
{
	static const struct {
		enum nn_format_id id;
		int (*read)(struct nn_dataset *ds, struct nn_input *input,
			    const struct nn_reading *reading, struct nn_error *err);
	} readers[] = { { NN_FORMAT_zip, nn_sequences_read_tensors },
			{ NN_FORMAT_safetensors, nn_sequences_read_tensors },
			{ NN_FORMAT_npy, nn_sequences_read_array },
			{ NN_FORMAT_jsonl, nn_sequences_read_lines } };
	const size_t n = sizeof readers / sizeof *readers;
	size_t i = 0;

	if (!reading->inputs)
		return nn_sequences_read_target_lines(ds, input, reading, err);
	while (i < n && readers[i].id != reading->format->id)
		i++;
	if (i == n)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: rows of different length (input ?xN) come as JSON lines or .npz, "
			"this is %s",
			nn_input_name(input), reading->format->name);
	if (nn_sequences_new(ds, err) < 0 || readers[i].read(ds, input, reading, err) < 0)
		return -1;
	nn_sequences_source(ds);
	return 0;
}
