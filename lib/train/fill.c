/* Filling inputs on the pool: pieces of some 16 KiB, so that a small batch costs one barrier and no
 * more. */
#include "train/fill.h"

#define PIECE_BYTES 16384
#define MOST_FETCHED \
	((size_t)1 << 20) /* bytes of a batch whose rows stay in the caches until it is filled */

struct fill {
	const struct nn_dataset *dataset;
	struct nn_fill_rows rows;
	struct nn_fill_place place;
	size_t input, piece, pieces; /* rows of a piece; pieces of a copy */
};

/* Of m rows those of a piece that begins at `at`. */
static size_t part(const struct fill *f, size_t m, size_t at)
{
	return m <= at ? 0 : m - at < f->piece ? m - at : f->piece;
}

static void fill_piece(void *arg, size_t i, int thread)
{
	const struct fill *f = arg;
	size_t at = i % f->pieces * f->piece, copy = i / f->pieces;
	char *values = (char *)f->place.values + copy * f->place.step + at * f->place.row_bytes;

	(void)thread;
	nn_dataset_fill_input(f->dataset, f->input, f->rows.rows + at, part(f, f->rows.n, at),
			      f->place.channels_last, values);
	if (f->rows.n_next > at)
		nn_dataset_fetch(f->dataset, f->rows.next + at, part(f, f->rows.n_next, at));
}

void nn_fill(const struct nn_dataset *dataset, size_t input, const struct nn_fill_rows *rows,
	     const struct nn_fill_place *place, struct nn_pool *pool)
{
	struct fill f = { dataset,
			  *rows,
			  *place,
			  input,
			  place->row_bytes < PIECE_BYTES ? PIECE_BYTES / place->row_bytes : 1,
			  0 };

	if (place->copies > 1)
		f.piece = rows->n; /* whole, or a thread that is done would help with another's copy
				    */
	if (rows->n * place->row_bytes > MOST_FETCHED)
		f.rows.n_next = 0;
	f.pieces = (rows->n + f.piece - 1) / f.piece;
	nn_pool_run(pool, place->copies * f.pieces, fill_piece, &f);
}
