/*
 * The checkpoint writer: one thread that writes while the training goes on.
 *
 * A state is copied between two steps, then hashed and written by one thread. One that becomes due
 * while another is being written is taken at the step at which that is done: a single copy is
 * enough, nothing queues, and what reaches the disk is never older than need be.
 */
#ifndef NN_TRAIN_STATE_SAVER_H
#define NN_TRAIN_STATE_SAVER_H

#include <stdbool.h>
#include "base/error.h"

struct nn_saver;

/* What came of a write. */
struct nn_saved {
	int status; /* 0, or -1 and why */
	struct nn_error why;
	double end_s; /* when it ended, by nn_now_s */
};

/* write(arg) is what the thread does each time it is started: 0, or -1 with *err. */
int nn_saver_new(struct nn_saver **saver, int (*write)(void *arg, struct nn_error *err), void *arg,
		 struct nn_error *err);
void nn_saver_free(
	struct nn_saver *saver); /* NULL allowed; a write that was started is ended first */

/*
 * Start a write, where none is under way and no result waits to be taken. What it reads belongs to
 * the thread until nn_saver_take gave the result.
 */
void nn_saver_start(struct nn_saver *saver);
/* Was a write started whose result was not yet taken? */
bool nn_saver_busy(const struct nn_saver *saver);
/*
 * The result of the write that was started, once. false: none was, or without `wait` it is still
 * under way.
 */
bool nn_saver_take(struct nn_saver *saver, bool wait, struct nn_saved *saved);

#endif
