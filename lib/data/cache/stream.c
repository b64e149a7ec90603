/* Rows that stay in a cache: they are read whenever they are wanted, ahead of the steps or on the spot. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/cache/cache.h"

void nn_cached_rows_free(struct nn_cached_rows *rows)
{
	if (!rows)
		return;
	if (rows->fd >= 0)
		close(rows->fd);
	nn_free(rows->path);
	nn_free(rows);
}

int nn_cached_bytes(const struct nn_cached_rows *rows, uint64_t from, void *bytes, size_t n,
		    struct nn_error *err)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = pread(rows->fd, (char *)bytes + at, n - at, (off_t)(from + at));

		if (got == 0)
			return nn_fail(err, NN_EFAIL, "%s: was cut while it was read", rows->path);
		if (got < 0 && errno != EINTR)
			return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", rows->path);
		at += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int read_row(const struct nn_dataset *ds, uint64_t row, void *to, struct nn_error *err)
{
	const struct nn_cached_rows *rows = ds->files.cached;

	return nn_cached_bytes(rows, rows->at + row * rows->row_bytes, to, rows->row_bytes, err);
}

int nn_dataset_cached_row(const struct nn_dataset *ds, uint64_t row, unsigned char *to,
			  struct nn_error *err)
{
	return read_row(ds, row, to, err);
}

static int read_rows(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	for (size_t i = 0; i < rows->n; i++)
		if (read_row(ds, rows->rows[i], rows->to + i * ds->files.cached->row_bytes, err) < 0)
			return -1;
	return 0;
}

static void sizes(const void *data, size_t *row_bytes, size_t *handed_bytes)
{
	*row_bytes = ((const struct nn_dataset *)data)->files.cached->row_bytes;
	*handed_bytes = 0;
}

static int fill_made(const void *data, size_t input, const unsigned char *made, size_t n,
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

static int fill_input(const void *data, size_t input, const uint64_t *rows, size_t n,
		      bool channels_last, void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;
	size_t row_bytes = ds->coding->inputs[input].size * nn_dtype_size(ds->dtype);
	unsigned char *made = nn_alloc(1, ds->files.cached->row_bytes, err);
	int status = made ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n; i++) {
		status = read_row(ds, rows[i], made, err);
		if (status == 0)
			status = fill_made(ds, input, made, 1, channels_last,
					   (char *)values + i * row_bytes, err);
	}
	nn_free(made);
	return status;
}

static int fill_target(const void *data, size_t target, const uint64_t *rows, size_t n,
		       void *values, struct nn_error *err)
{
	(void)err;
	nn_dataset_fill_target(data, target, rows, n, values);
	return 0;
}

static int fill_weights(const void *data, const uint64_t *rows, size_t n, double *weights,
			struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	(void)err;
	for (size_t i = 0; i < n; i++)
		weights[i] = ds->weights[rows[i]];
	return 0;
}

void nn_dataset_stream_cached(struct nn_dataset *ds)
{
	static const struct nn_source_stages stages = {
		.n = 1,
		.stage = { { "read", true, read_rows } },
		.sizes = sizes,
		.fill_input = fill_made,
	};
	static const struct nn_source_ops plain = { .fill_input = fill_input,
						    .fill_target = fill_target,
						    .stages = &stages },
					  weighed = { .fill_input = fill_input,
						      .fill_target = fill_target,
						      .fill_weights = fill_weights,
						      .stages = &stages };

	ds->source = (struct nn_source){ ds->weights ? &weighed : &plain, ds, ds->rows };
}
