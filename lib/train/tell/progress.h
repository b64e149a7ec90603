/* Progress for people: a bar on a terminal, a line per epoch elsewhere. */
#ifndef NN_TRAIN_TELL_PROGRESS_H
#define NN_TRAIN_TELL_PROGRESS_H

#include <stdint.h>
#include "base/error.h"

struct nn_progress;

/* What a line says of an epoch. */
struct nn_progress_line {
	uint64_t epoch, epochs;  /* epochs 0: not known */
	double loss, valid_loss; /* valid_loss NaN: nothing is held out */
	const char *metric;      /* its name, NULL: none */
	double value, seconds, samples_per_s;
};

/* fd -1: silence. A bar is drawn where fd is a terminal, TERM is set and not dumb. */
struct nn_progress *nn_progress_new(int fd, struct nn_error *err);
void nn_progress_free(struct nn_progress *progress); /* takes the bar off the screen */
/* planned UINT64_MAX: only time ends it */
void nn_progress_step(struct nn_progress *progress, uint64_t done, uint64_t planned, double loss,
		      double now_s);
void nn_progress_epoch(struct nn_progress *progress, const struct nn_progress_line *line);
/*
 * Training that began at start_s ends at end_s (0: no such limit), if its steps have not ended it
 * before.
 */
void nn_progress_limit(struct nn_progress *progress, double start_s, double end_s);
/* A fold begins: lines say so. */
void nn_progress_fold(struct nn_progress *progress, uint64_t fold, uint64_t folds);
/* Training is over: the line of the last epoch takes the place of the bar. */
void nn_progress_end(struct nn_progress *progress);
/* Take the bar away before something else is written to the terminal. */
void nn_progress_clear(struct nn_progress *progress);

#endif
