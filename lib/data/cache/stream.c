/* Rows that stay in a cache: they are read whenever they are wanted, ahead of the steps or on the spot. */
#include <errno.h>
#include <unistd.h>

#include "base/descriptor.h"
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
	if (nn_read_at(rows->fd, bytes, n, from))
		return 0;
	return errno ? nn_fail_errno(err, NN_EFAIL, "%s: cannot read", rows->path)
		     : nn_fail(err, NN_EFAIL, "%s: was cut while it was read", rows->path);
}

int nn_dataset_cached_row(const struct nn_dataset *ds, uint64_t row, unsigned char *to,
			  struct nn_error *err)
{
	const struct nn_cached_rows *rows = ds->files.cached;

	return nn_cached_bytes(rows, rows->at + row * rows->row_bytes, to, rows->row_bytes, err);
}

static int read_rows(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	for (size_t i = 0; i < rows->n; i++)
		if (nn_dataset_cached_row(ds, rows->rows[i],
					  rows->to + i * ds->files.cached->row_bytes, err) < 0)
			return -1;
	return 0;
}

static void sizes(const void *data, size_t *row_bytes, size_t *handed_bytes)
{
	*row_bytes = ((const struct nn_dataset *)data)->files.cached->row_bytes;
	*handed_bytes = 0;
}

void nn_dataset_stream_cached(struct nn_dataset *ds)
{
	static const struct nn_source_stages stages = {
		.n = 1,
		.stage = { { "read", true, read_rows } },
		.sizes = sizes,
		.fill_input = nn_dataset_fill_made,
	};
	static const struct nn_source_ops plain = { .fill_input = nn_dataset_fill_streamed,
						    .fill_target = nn_dataset_source_target,
						    .stages = &stages },
					  weighed = { .fill_input = nn_dataset_fill_streamed,
						      .fill_target = nn_dataset_source_target,
						      .fill_weights = nn_dataset_source_weights,
						      .stages = &stages };

	ds->source = (struct nn_source){ ds->weights ? &weighed : &plain, ds, ds->rows };
}
