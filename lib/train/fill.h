/* Inputs of a batch, filled by all threads of a pool. */
#ifndef NN_TRAIN_FILL_H
#define NN_TRAIN_FILL_H

#include "base/pool.h"
#include "data/data.h"

/* What a batch takes, and what the one after it will: these rows are fetched on the way, by the
 * threads that will most likely fill them. */
struct nn_fill_rows {
	const uint64_t *rows, *next; /* [n], [n_next] */
	size_t n, n_next;            /* n_next 0: nobody knows */
};

/* Where they go: so many copies, `step` bytes apart, each as a thread's own if there are as many as
 * threads. */
struct nn_fill_place {
	void *values;
	size_t row_bytes, copies, step;
	bool channels_last;
};

/* nn_dataset_fill_input in pieces over the pool. */
void nn_fill(const struct nn_dataset *dataset, size_t input, const struct nn_fill_rows *rows,
	     const struct nn_fill_place *place, struct nn_pool *pool);

#endif
