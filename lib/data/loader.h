/* Batches of a source: what stands between data and whoever runs a graph. */
#ifndef NN_DATA_LOADER_H
#define NN_DATA_LOADER_H

#include "base/error.h"
#include "base/pool.h"
#include "data/source.h"

/* Rows that go through a graph together; borrowed until the loader's next call. */
struct nn_batch {
	struct nn_source source;
	const uint64_t *rows; /* [n] their numbers */
	size_t n;
	const uint32_t *lengths; /* [n] positions of each; NULL: rows are all of one length */
	const uint64_t *next;    /* [n_next] rows of the batch after it, to be fetched meanwhile */
	size_t n_next;           /* 0: nobody knows */
};

/* Members are the loader's own. */
struct nn_loader {
	struct nn_source source;
	const uint64_t *order;
	size_t n, at, size; /* rows of the order; drawn so far; of a full batch */
	bool ahead;
	uint32_t *lengths; /* [most] */
};

/* Batches of at most `most` rows. */
int nn_loader_init(struct nn_loader *loader, const struct nn_source *source, size_t most,
		   struct nn_error *err);
void nn_loader_fini(struct nn_loader *loader); /* of zeros allowed */
/* From now on each batch names the rows that follow it, which are fetched while it is filled. */
void nn_loader_prefetch(struct nn_loader *loader, bool ahead);
/* Draw order[n] in batches of `size` rows, the last of what is left, from row `at` of it on. */
void nn_loader_begin(struct nn_loader *loader, const uint64_t *order, size_t n, size_t size,
		     size_t at);
/* false: the order is at its end. */
bool nn_loader_next(struct nn_loader *loader, struct nn_batch *batch);

/* Rows by number without a loader, of a source whose rows are all of one length. */
struct nn_batch nn_batch_of(const struct nn_source *source, const uint64_t *rows, size_t n);

/*
 * Where values of an input go: so many copies, `step` bytes apart, each as a thread's own if there
 * are as many as threads.
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
 * caller's).
 */
void nn_batch_input(const struct nn_batch *batch, size_t input, size_t from, size_t n,
		    const struct nn_place *place, struct nn_pool *pool);
void nn_batch_target(const struct nn_batch *batch, size_t target, size_t from, size_t n,
		     void *values);

#endif
