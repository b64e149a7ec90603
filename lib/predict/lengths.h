/* Lengths of the rows of a session, where the model takes rows of different length. */
#ifndef NN_PREDICT_LENGTHS_H
#define NN_PREDICT_LENGTHS_H

#include "device/queue.h"
#include "op/program.h"

struct nn_session_lengths {
	struct nn_queue *queue;
	struct nn_mirror rows; /* uint32_t [max_rows] */
	size_t max_rows;
	size_t longest; /* 0: rows are of one length, and nothing below does anything */
	bool ran;       /* they are those of the last run */
};

int nn_session_lengths_open(struct nn_session_lengths *lengths, const struct nn_program *program,
			    struct nn_queue *queue, size_t max_rows, struct nn_error *err);
void nn_session_lengths_close(struct nn_session_lengths *lengths); /* of zeros allowed */
void nn_session_lengths_set(struct nn_session_lengths *lengths, size_t first, size_t n,
			    const uint32_t *from);
/* A run of n rows: where they lie for kernels, or NULL. */
const uint32_t *nn_session_lengths_run(struct nn_session_lengths *lengths, size_t n);

#endif
