/* Inputs of a batch, filled by all threads of a pool. */
#ifndef NN_TRAIN_FILL_H
#define NN_TRAIN_FILL_H

#include "base/pool.h"
#include "data/data.h"

/* nn_dataset_fill_input over rows[n], row_bytes apart in values, in pieces over the pool. */
void nn_fill(const struct nn_dataset *dataset, size_t input, const uint64_t *rows, size_t n, bool channels_last,
	     void *values, size_t row_bytes, struct nn_pool *pool);

#endif
