/* Rows that stay in a file: they are read whenever they are wanted, ahead of the steps or on the
 * spot. */
#include <errno.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/array/file-rows.h"
#include "file/convert.h"

struct nn_file_rows *nn_file_rows_new(int fd, const char *path, struct nn_error *err)
{
	struct nn_file_rows *rows = nn_alloc(1, sizeof *rows, err);

	if (rows) {
		rows->fd = fd;
		rows->path = nn_strdup(path, err);
	}
	if (rows && rows->path)
		return rows;
	close(fd);
	nn_free(rows);
	return NULL;
}

void nn_file_rows_free(struct nn_file_rows *rows)
{
	if (!rows)
		return;
	close(rows->fd);
	nn_free(rows->path);
	nn_free(rows);
}

size_t nn_file_rows_size(const struct nn_file_rows *rows)
{
	return rows->values * nn_dtype_size(rows->to);
}

int nn_file_rows_bytes(const struct nn_file_rows *rows, uint64_t from, void *bytes, size_t n,
		       struct nn_error *err)
{
	if (nn_read_at(rows->fd, bytes, n, from))
		return 0;
	return errno ? nn_fail_errno(err, NN_EFAIL, "%s: cannot read", rows->path)
		     : nn_fail(err, NN_EFAIL, "%s: was cut while it was read", rows->path);
}

/* Values of another type come through a small buffer. */
int nn_file_rows_read(const struct nn_file_rows *rows, uint64_t first, size_t n, void *to,
		      struct nn_error *err)
{
	size_t size = nn_dtype_size(rows->from), values = n * rows->values, some;
	uint64_t at = rows->at + first * rows->values * size;
	_Alignas(NN_ALIGN) char part[16384];

	if (nn_dtype_size(rows->to) == 1 || (rows->from == rows->to && !rows->swap))
		return nn_file_rows_bytes(rows, at, to, values * size, err);
	for (size_t done = 0; done < values; done += some) {
		some = values - done < sizeof part / size ? values - done : sizeof part / size;
		if (nn_file_rows_bytes(rows, at + done * size, part, some * size, err) < 0)
			return -1;
		if (rows->swap)
			nn_swap_bytes(part, some, size);
		nn_convert(rows->from, part, some, rows->to,
			   (char *)to + done * nn_dtype_size(rows->to));
	}
	return 0;
}

/* ---- a source ---- */

int nn_dataset_file_row(const struct nn_dataset *ds, size_t input, uint64_t row, unsigned char *to,
			struct nn_error *err)
{
	return nn_file_rows_read(ds->inputs[input].file, row, 1, to, err);
}

static int read_rows(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	size_t size = nn_dataset_made_bytes(ds), n = ds->schema->n_inputs;

	for (size_t i = 0; i < n + ds->schema->n_targets; i++) {
		const struct nn_file_rows *file =
			i < n ? ds->inputs[i].file : ds->targets[i - n].file;
		unsigned char *to = rows->to + nn_dataset_made_at(ds, i);

		for (size_t r = 0; file && r < rows->n; r++)
			if (nn_file_rows_read(file, rows->rows[r], 1, to + r * size, err) < 0)
				return -1;
	}
	return 0;
}

static void sizes(const void *data, size_t *row_bytes, size_t *handed_bytes)
{
	*row_bytes = nn_dataset_made_bytes(data);
	*handed_bytes = 0;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows,
		       const unsigned char *made, size_t n, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	const struct nn_file_rows *file = ds->targets[target].file;
	size_t at = nn_dataset_made_at(ds, ds->schema->n_inputs + target),
	       size = nn_dataset_made_bytes(ds);

	for (size_t i = 0; file && i < n; i++)
		nn_dataset_code_target(ds, target, made + i * size + at,
				       (char *)values + i * nn_file_rows_size(file));
	return file ? 0 : nn_dataset_source_target(ds, target, rows, n, values, err);
}

void nn_dataset_stream_files(struct nn_dataset *ds)
{
	static const struct nn_source_stages stages = {
		.n = 1,
		.stage = { { "read", true, read_rows } },
		.sizes = sizes,
		.fill_input = nn_dataset_fill_made,
		.fill_target = fill_target,
	};
	static const struct nn_source_ops plain = { .fill_input = nn_dataset_fill_streamed,
						    .fill_target = nn_dataset_source_target,
						    .stages = &stages },
					  weighed = { .fill_input = nn_dataset_fill_streamed,
						      .fill_target = nn_dataset_source_target,
						      .fill_weights = nn_dataset_source_weights,
						      .stages = &stages };

	if (nn_dataset_in_files(ds) && !ds->files.pictures)
		ds->source = (struct nn_source){ ds->weights ? &weighed : &plain, ds, ds->rows };
}
