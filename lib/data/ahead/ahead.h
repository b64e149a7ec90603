/*
 * Batches whose rows are made ahead of the steps that take them. What a batch holds and the order
 * of batches do not depend on threads, memory or time: these decide how early rows are made.
 */
#ifndef NN_DATA_AHEAD_AHEAD_H
#define NN_DATA_AHEAD_AHEAD_H

#include "data/ahead/stages.h"

struct nn_ahead;

struct nn_ahead_options {
	struct nn_source source; /* with stages */
	size_t batch;            /* rows of one, at most */
	size_t memory;           /* bytes that batches may take */
	int threads;             /* of a stage that computes, at most */
	/* rows of a batch, counted over all epochs; borrowed until the next call */
	const uint64_t *(*rows)(void *arg, uint64_t number, size_t *n);
	void *arg;
	/* this process takes all rows of a batch; false: which part is seen at the first one */
	bool whole;
};

/* *ahead NULL where the memory does not hold two batches: rows are then made on the spot. */
int nn_ahead_new(struct nn_ahead **ahead, const struct nn_ahead_options *options,
		 struct nn_error *err);
/* Bytes that batches of a source, or of rows of so many bytes, may take then. */
size_t nn_ahead_bytes(const struct nn_source *source, size_t batch, size_t memory);
size_t nn_ahead_row_bytes(size_t row_bytes, size_t batch, size_t memory);
void nn_ahead_free(struct nn_ahead *ahead); /* NULL allowed */

/*
 * Batch `number`: a source that fills with what was made, and its rows, until the next call. Where
 * it is not the one after the last, all begins anew there. The error is that of the first row that
 * could not be made.
 */
int nn_ahead_draw(struct nn_ahead *ahead, uint64_t number, struct nn_source *source,
		  const uint64_t **rows, struct nn_error *err);

/* What was seen so far. */
struct nn_ahead_figures {
	double seconds, waited_s; /* since the first batch; of these steps waited for rows */
	uint64_t rows;            /* drawn */
	double wanted;            /* rows a second that steps would take if they never waited */
	double achieved;          /* that they took */
	double predicted;         /* the least of wanted and of what each stage can do; NAN */
	size_t batches, most;     /* made or in the making; at most */
	size_t bytes;             /* that they take */
};
struct nn_stages *nn_ahead_stages(struct nn_ahead *ahead);
double nn_ahead_waited(const struct nn_ahead *ahead); /* seconds */
struct nn_ahead_figures nn_ahead_figures(struct nn_ahead *ahead);

#endif
