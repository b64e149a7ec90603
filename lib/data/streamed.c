/* Inputs of rows that do not lie in memory, whichever file they come from. */
#include "base/memory.h"
#include "data/dataset.h"

int nn_dataset_fill_made(const void *data, size_t input, const unsigned char *made, size_t n,
			 bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	struct nn_row_block block = ds->inputs[input].source;

	(void)err;
	block.data = made;
	nn_fill_input(&ds->coding->inputs[input], ds->dtype, &block, NULL, n, channels_last,
		      values);
	return 0;
}

int nn_dataset_fill_streamed(const void *data, size_t input, const uint64_t *rows, size_t n,
			     bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	size_t row_bytes = ds->coding->inputs[input].size * nn_dtype_size(ds->dtype), bytes, handed;
	unsigned char *made;
	int status;

	ds->source.ops->stages->sizes(ds, &bytes, &handed);
	made = nn_alloc(1, bytes, err);
	status = made ? 0 : -1;
	for (size_t i = 0; status == 0 && i < n; i++) {
		status = nn_dataset_stream_row(ds, rows[i], made, err);
		if (status == 0)
			status = nn_dataset_fill_made(ds, input, made, 1, channels_last,
						      (char *)values + i * row_bytes, err);
	}
	nn_free(made);
	return status;
}

int nn_dataset_stream_each(const struct nn_dataset *ds,
			   int (*visit)(void *arg, const struct nn_row_block *row, size_t number,
					struct nn_error *err),
			   void *arg, struct nn_error *err)
{
	struct nn_row_block row = ds->inputs[0].source;
	unsigned char *values = nn_alloc(row.stride, nn_dtype_size(row.dtype), err);
	int status = values ? 0 : -1;

	row.data = values;
	for (size_t r = 0; status == 0 && r < ds->rows; r++) {
		status = nn_dataset_stream_row(ds, r, values, err);
		if (status == 0)
			status = visit(arg, &row, r, err);
	}
	nn_free(values);
	return status;
}
