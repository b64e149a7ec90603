/*
 * --replay: the newest samples of a stream, from which steps draw. The first of them were read as
 * a dataset, which knows schema and scales by them; those that follow are read on from where it
 * ended and take the places of the oldest. Which rows a batch has depends on the seed, the number
 * of the batch and the stream alone.
 */
#ifndef NN_DATA_RING_H
#define NN_DATA_RING_H

#include <signal.h>

#include "data/data.h"

struct nn_ring;

struct nn_ring_options {
	const struct nn_dataset *dataset; /* opened with nn_want.first, measured; borrowed */
	const char *data, *targets;       /* as it was opened; borrowed */
	const struct nn_shape *outputs;   /* [n_targets] of the network; copied */
	size_t rows;                      /* as many as it holds */
	uint64_t seed;
};

/* Of the rows of the dataset, which go in. Nothing more is read yet. */
int nn_ring_new(struct nn_ring **ring, const struct nn_ring_options *options,
		struct nn_error *err);
void nn_ring_free(struct nn_ring *ring); /* NULL allowed */
/* Bytes that a row takes. */
size_t nn_ring_row_bytes(const struct nn_dataset *dataset);
/*
 * Read on until `taken` samples came after the first ones, or the stream ended: *ended, and *total
 * samples were in it. Waits for what has not been sent, unless *stop (NULL: never) is set meanwhile.
 */
int nn_ring_follow(struct nn_ring *ring, uint64_t taken, const volatile sig_atomic_t *stop,
		   bool *ended, uint64_t *total, struct nn_error *err);
/* The rows of a batch: each one of those that are there, all equally likely. */
void nn_ring_draw(const struct nn_ring *ring, uint64_t batch, uint64_t *rows, size_t n);
struct nn_source nn_ring_source(const struct nn_ring *ring);
/* As nn_rows_notice, of what followed. */
const char *nn_ring_notice(const struct nn_ring *ring, size_t i);

#endif
