/* Filling inputs on the pool: pieces of some 16 KiB, so that a small batch costs one barrier and no more. */
#include "train/fill.h"

#define PIECE_BYTES 16384

struct fill {
	const struct nn_dataset *dataset;
	const uint64_t *rows;
	size_t input, n, piece, row_bytes;
	bool channels_last;
	char *values;
};

static void fill_piece(void *arg, size_t i, int thread)
{
	const struct fill *f = arg;
	size_t at = i * f->piece, n = f->n - at < f->piece ? f->n - at : f->piece;

	(void)thread;
	nn_dataset_fill_input(f->dataset, f->input, f->rows + at, n, f->channels_last, f->values + at * f->row_bytes);
}

void nn_fill(const struct nn_dataset *dataset, size_t input, const uint64_t *rows, size_t n, bool channels_last,
	     void *values, size_t row_bytes, struct nn_pool *pool)
{
	struct fill f = { dataset, rows, input, n, row_bytes < PIECE_BYTES ? PIECE_BYTES / row_bytes : 1, row_bytes,
			  channels_last, values };

	nn_pool_run(pool, (n + f.piece - 1) / f.piece, fill_piece, &f);
}
