/*
 * Pictures that take more memory than they may: a source that reads and decodes them whenever they
 * are wanted, batch by batch, ahead of the steps (data/ahead) or on the spot.
 */
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "data/picture/store.h"

static struct nn_picture_store *store_of(const struct nn_dataset *ds)
{
	return ds->files.pictures;
}

/* ---- the stages ---- */

static int read_rows(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	const struct nn_picture_store *store = store_of(data);
	size_t bytes = 0;

	for (size_t i = 0; i < rows->n; i++)
		bytes += nn_picture_store_size(store, rows->rows[i]);
	if (nn_block_reserve(&rows->bytes, bytes, err) < 0)
		return -1;
	bytes = 0;
	for (size_t i = 0; i < rows->n; i++) {
		if (nn_picture_store_read(store, rows->rows[i], nn_block_at(&rows->bytes, bytes),
					  err) < 0)
			return -1;
		bytes += nn_picture_store_size(store, rows->rows[i]);
	}
	return 0;
}

static int decode_rows(const void *data, struct nn_stage_rows *rows, struct nn_error *err)
{
	const struct nn_picture_store *store = store_of(data);
	size_t size = nn_picture_bytes(nn_picture_store_rows(store)), at = 0;

	for (size_t i = 0; i < rows->n; i++) {
		if (nn_picture_store_decode(store, rows->rows[i], nn_block_at(&rows->bytes, at),
					    rows->to + i * size, err) < 0)
			return -1;
		at += nn_picture_store_size(store, rows->rows[i]);
	}
	return 0;
}

static void sizes(const void *data, size_t *row_bytes, size_t *handed_bytes)
{
	*row_bytes = nn_picture_bytes(nn_picture_store_rows(store_of(data)));
	*handed_bytes = nn_picture_store_mean(store_of(data));
}

/* ---- on the spot ---- */

int nn_dataset_picture_row(const struct nn_dataset *ds, uint64_t row, unsigned char *to,
			  struct nn_error *err)
{
	const struct nn_picture_store *store = store_of(ds);
	void *bytes = nn_alloc(nn_picture_store_size(store, row), 1, err);
	int status = bytes ? nn_picture_store_read(store, row, bytes, err) : -1;

	if (status == 0)
		status = nn_picture_store_decode(store, row, bytes, to, err);
	nn_free(bytes);
	return status;
}

/* The name of the work is what the table of stages has. */
#define STREAMED(id, title) \
	static const struct nn_source_stages id##_stages = { \
		.n = 2, \
		.stage = { { "read", true, read_rows }, { title, false, decode_rows } }, \
		.sizes = sizes, \
		.fill_input = nn_dataset_fill_made, \
	}; \
	static const struct nn_source_ops id = { .fill_input = nn_dataset_fill_streamed, \
						 .fill_target = nn_dataset_source_target, \
						 .stages = &id##_stages };

STREAMED(jpeg, "jpeg decode")
STREAMED(png, "png decode")
STREAMED(npy, "npy decode")
STREAMED(both, "decode")

void nn_dataset_stream(struct nn_dataset *ds)
{
	static const struct nn_source_ops *const all[] = { &jpeg, &png, &npy, &both };
	const char *work = nn_picture_store_work(store_of(ds));
	size_t i = 0;

	while (strcmp(all[i]->stages->stage[1].name, work) != 0)
		i++;
	ds->source = (struct nn_source){ all[i], ds, ds->rows };
}
