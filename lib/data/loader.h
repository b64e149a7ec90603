/*
 * Batches of a source, epoch after epoch: what stands between data and whoever runs a graph. Rows
 * are had by asking a loader for a batch, never by their numbers, so that stages may stand in
 * between: rows read ahead, decoded, or shuffled in a window.
 */
#ifndef NN_DATA_LOADER_H
#define NN_DATA_LOADER_H

#include "base/pool.h"
#include "data/source.h"

struct nn_ahead;
struct nn_augment;
struct nn_ring;

/* Rows that go through a graph together; borrowed until the loader's next call. */
struct nn_batch {
	struct nn_source source;
	const struct nn_augment *augment; /* changes its rows as they are filled (data/augment/augment.h); NULL */
	uint64_t epoch;                   /* which decides how */
	const uint64_t *rows; /* [n] their numbers */
	size_t n;
	uint64_t sample;         /* rows drawn before it, in epochs before, too */
	const uint32_t *lengths; /* [n] positions of each; NULL: rows are all of one length */
	const uint64_t *next;    /* [n_next] rows of the batch after it, to be fetched meanwhile */
	size_t n_next;           /* 0: not known, or not asked for */
};

struct nn_loader_options {
	struct nn_source source;
	const struct nn_augment *augment; /* borrowed; NULL: rows stay as they are */
	const uint64_t *rows; /* [n] borrowed; each is drawn once in an epoch */
	uint64_t n;
	size_t batch;          /* rows of one; the last of an epoch has what is left */
	uint64_t seed, window; /* of nn_shuffle; window 0: rows in their order, all epochs alike */
	/*
	 * Of a source with stages: bytes of rows that may be made ahead (0: none are), by how many
	 * threads a stage, and whether this process takes all rows of a batch.
	 */
	size_t ahead;
	int threads;
	bool whole;
	struct nn_ring *ring; /* borrowed: batches are drawn from it, `rows` are not; NULL */
	bool prefetch; /* the rows of the batch after it are fetched while a batch is filled */
};

/* Members are the loader's own. */
struct nn_loader {
	struct nn_loader_options options;
	uint64_t *order;   /* [n] of the epoch; NULL: that of the rows */
	uint64_t epoch;    /* + 1, 0: none yet */
	uint32_t *lengths; /* [batch] */
	struct nn_ahead *ahead; /* NULL: rows lie in memory, or are made when they are wanted */
};

int nn_loader_init(struct nn_loader *loader, const struct nn_loader_options *options,
		   struct nn_error *err);
void nn_loader_fini(struct nn_loader *loader);              /* of zeros allowed */
uint64_t nn_loader_batches(const struct nn_loader *loader); /* of an epoch */
/* Rows of batch `number`, from 0 and in whatever epoch it lies. */
size_t nn_loader_rows(const struct nn_loader *loader, uint64_t number);
/* Draw that batch: any, but one after another costs least. */
int nn_loader_draw(struct nn_loader *loader, uint64_t number, struct nn_batch *batch,
		   struct nn_error *err);
/* What was made ahead and measured is forgotten: steps that were tried do not count. */
void nn_loader_restart(struct nn_loader *loader);
double nn_loader_waited(const struct nn_loader *loader); /* seconds, for rows made ahead */

/* Rows by number without a loader, of a source whose rows are all of one length. */
struct nn_batch nn_batch_of(const struct nn_source *source, const uint64_t *rows, size_t n);

/*
 * Where values of an input go: a number of copies, `step` bytes apart, each as a thread's own if
 * there are as many as threads.
 */
struct nn_place {
	void *values;
	size_t row_bytes, copies, step;
	bool channels_last;
	bool fetch; /* and bring rows of the next batch into the caches, where the batch knows them
		     */
};
/*
 * Values of rows `from` to from + n - 1 of the batch, by all threads of the pool (NULL: the
 * caller's). The error is that of the first row that has one.
 */
int nn_batch_input(const struct nn_batch *batch, size_t input, size_t from, size_t n,
		   const struct nn_place *place, struct nn_pool *pool, struct nn_error *err);
int nn_batch_target(const struct nn_batch *batch, size_t target, size_t from, size_t n,
		    void *values, struct nn_error *err);
/* What they weigh, of a source whose ops say it. */
int nn_batch_weights(const struct nn_batch *batch, size_t from, size_t n, double *weights,
		     struct nn_error *err);

#endif
