/* Inputs of rows that do not lie in memory, whichever file they come from. */
#include "base/memory.h"
#include "data/array/file-rows.h"
#include "data/dataset.h"

bool nn_dataset_in_files(const struct nn_dataset *ds)
{
	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		if (ds->inputs[i].file)
			return true;
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (ds->targets[i].file)
			return true;
	return false;
}

static size_t row_bytes(const struct nn_row_block *source)
{
	return source->stride * nn_dtype_size(source->dtype);
}

/* Bytes of it in a row that is made; targets are not beside pictures. */
static size_t made_bytes(const struct nn_dataset *ds, size_t part)
{
	size_t n = ds->schema->n_inputs;

	if (part < n)
		return nn_dataset_input_streams(ds, part) ? row_bytes(&ds->inputs[part].source) : 0;
	return ds->targets[part - n].file && !ds->files.pictures
		       ? nn_file_rows_size(ds->targets[part - n].file)
		       : 0;
}

/* Bytes and numbers may lie side by side: each begins where numbers may. */
size_t nn_dataset_made_at(const struct nn_dataset *ds, size_t part)
{
	size_t at = 0, unit = ds->files.pictures ? 1 : nn_dtype_size(ds->dtype);

	for (size_t i = 0; i < part; i++)
		at += (made_bytes(ds, i) + unit - 1) / unit * unit;
	return at;
}

size_t nn_dataset_made_bytes(const struct nn_dataset *ds)
{
	return nn_dataset_made_at(ds, ds->schema->n_inputs + ds->schema->n_targets);
}

/* Rows that lie at `made`, `step` bytes from one to the next. */
static void fill_rows(const struct nn_dataset *ds, size_t input, const unsigned char *made,
		      size_t step, size_t n, bool channels_last, void *values)
{
	struct nn_row_block block = ds->inputs[input].source;

	block.data = made;
	block.stride = step / nn_dtype_size(block.dtype);
	nn_fill_input(&ds->coding->inputs[input], ds->dtype, &block, NULL, n, channels_last,
		      values);
}

int nn_dataset_fill_made(const void *data, size_t input, const uint64_t *rows,
			 const unsigned char *made, size_t n, bool channels_last, void *values,
			 struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	(void)err;
	if (nn_dataset_input_streams(ds, input))
		fill_rows(ds, input, made + nn_dataset_made_at(ds, input),
			  nn_dataset_made_bytes(ds), n, channels_last, values);
	else
		nn_dataset_fill_input(ds, input, rows, n, channels_last, values);
	return 0;
}

int nn_dataset_fill_streamed(const void *data, size_t input, const uint64_t *rows, size_t n,
			     bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	size_t filled = ds->coding->inputs[input].size * nn_dtype_size(ds->dtype),
	       bytes = row_bytes(&ds->inputs[input].source);
	unsigned char *made;
	int status;

	if (!nn_dataset_input_streams(ds, input)) {
		nn_dataset_fill_input(ds, input, rows, n, channels_last, values);
		return 0;
	}
	made = nn_alloc(1, bytes, err);
	status = made ? 0 : -1;
	for (size_t i = 0; status == 0 && i < n; i++) {
		status = nn_dataset_stream_row(ds, input, rows[i], made, err);
		if (status == 0)
			fill_rows(ds, input, made, bytes, 1, channels_last,
				  (char *)values + i * filled);
	}
	nn_free(made);
	return status;
}

int nn_dataset_fill_target_file(const struct nn_dataset *ds, size_t target, const uint64_t *rows,
				size_t n, void *values, struct nn_error *err)
{
	const struct nn_file_rows *file = ds->targets[target].file;
	size_t bytes = nn_file_rows_size(file);
	void *row = nn_alloc(1, bytes, err);
	int status = row ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n; i++) {
		status = nn_file_rows_read(file, rows[i], 1, row, err);
		if (status == 0)
			nn_dataset_code_target(ds, target, row, (char *)values + i * bytes);
	}
	nn_free(row);
	return status;
}

int nn_dataset_stream_each(const struct nn_dataset *ds, size_t input,
			   int (*visit)(void *arg, const struct nn_row_block *row, size_t number,
					struct nn_error *err),
			   void *arg, struct nn_error *err)
{
	struct nn_row_block row = ds->inputs[input].source;
	unsigned char *values = nn_alloc(row.stride, nn_dtype_size(row.dtype), err);
	int status = values ? 0 : -1;

	row.data = values;
	for (size_t r = 0; status == 0 && r < ds->rows; r++) {
		status = nn_dataset_stream_row(ds, input, r, values, err);
		if (status == 0)
			status = visit(arg, &row, r, err);
	}
	nn_free(values);
	return status;
}
