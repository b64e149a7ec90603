/*
 * Filling inputs on the pool: pieces of some 16 KiB, so that a small batch costs one barrier and no
 * more. Rows of the next batch are fetched on the way, by the threads that will most likely fill
 * them.
 */
#include <pthread.h>

#include "data/augment/augment.h"
#include "data/loader.h"

#define PIECE_BYTES 16384
/* bytes of a batch whose rows stay in the caches until it is filled */
#define MOST_FETCHED ((size_t)1 << 20)

/* What went wrong where: of several pieces in the first one, whoever comes first. */
struct failure {
	pthread_mutex_t lock;
	size_t at; /* SIZE_MAX: nowhere */
	struct nn_error error;
};

struct fill {
	struct failure *failure;
	const struct nn_batch *batch;
	struct nn_place place;
	size_t input, from, n, n_next;
	size_t piece, pieces; /* rows of a piece; pieces of a copy */
};

/* Of m rows those of a piece that begins at `at`. */
static size_t part(const struct fill *f, size_t m, size_t at)
{
	return m <= at ? 0 : m - at < f->piece ? m - at : f->piece;
}

static void fail(struct failure *f, size_t at, const struct nn_error *error)
{
	pthread_mutex_lock(&f->lock);
	if (at < f->at) {
		f->at = at;
		f->error = *error;
	}
	pthread_mutex_unlock(&f->lock);
}

static void fill_piece(void *arg, size_t i, int thread)
{
	const struct fill *f = arg;
	const struct nn_source *source = &f->batch->source;
	size_t at = i % f->pieces * f->piece, copy = i / f->pieces;
	char *values = (char *)f->place.values + copy * f->place.step + at * f->place.row_bytes;

	struct nn_error error;

	(void)thread;
	if (source->ops->fill_input(source->data, f->input, f->batch->rows + f->from + at,
				    part(f, f->n, at), f->place.channels_last, values, &error) < 0 ||
	    (f->batch->augment &&
	     nn_augment_input(f->batch, f->input, f->from + at, part(f, f->n, at),
			      f->place.channels_last, values, &error) < 0))
		fail(f->failure, at, &error);
	if (f->n_next > at)
		source->ops->fetch(source->data, f->batch->next + f->from + at,
				   part(f, f->n_next, at));
}

/* Of the next batch the rows at the same places, where fetching them is worth it. */
static size_t rows_to_fetch(const struct nn_batch *b, size_t from, size_t n,
			    const struct nn_place *place)
{
	if (!place->fetch || !b->source.ops->fetch || b->n_next <= from ||
	    n * place->row_bytes > MOST_FETCHED)
		return 0;
	return b->n_next - from < n ? b->n_next - from : n;
}

int nn_batch_input(const struct nn_batch *batch, size_t input, size_t from, size_t n,
		   const struct nn_place *place, struct nn_pool *pool, struct nn_error *err)
{
	struct failure failure = { PTHREAD_MUTEX_INITIALIZER, SIZE_MAX, { 0 } };
	struct fill f = { &failure,
			  batch,
			  *place,
			  input,
			  from,
			  n,
			  rows_to_fetch(batch, from, n, place),
			  place->row_bytes < PIECE_BYTES ? PIECE_BYTES / place->row_bytes : 1,
			  0 };

	if (place->copies > 1)
		/* whole, or a thread that is done would help with another's copy */
		f.piece = n;
	f.pieces = (n + f.piece - 1) / f.piece;
	nn_pool_run(pool, place->copies * f.pieces, fill_piece, &f);
	if (failure.at == SIZE_MAX)
		return 0;
	if (err)
		*err = failure.error;
	return -1;
}
