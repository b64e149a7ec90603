/* Progress for people: a line per epoch, and on a terminal a bar below them. */
#ifndef NN_TRAIN_TELL_PROGRESS_H
#define NN_TRAIN_TELL_PROGRESS_H

#include <stdint.h>
#include "base/error.h"

struct nn_progress;
struct nn_text;

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
/* Where a training is: steps done and planned (UINT64_MAX: only time ends it), their loss. */
struct nn_progress_at {
	uint64_t done, planned;
	uint64_t epoch, epochs; /* epochs 0: not known */
	double loss;
};
void nn_progress_step(struct nn_progress *progress, const struct nn_progress_at *at, double now_s);
/*
 * A line that stays, on a terminal no wider than it is: fields are left out whole. Elsewhere all of
 * them stand there.
 */
void nn_progress_epoch(struct nn_progress *progress, const struct nn_progress_line *line);
/*
 * Training that began at start_s ends at end_s (0: no such limit), if its steps have not ended it
 * before.
 */
void nn_progress_limit(struct nn_progress *progress, double start_s, double end_s);
/* A fold begins: lines say so. */
void nn_progress_fold(struct nn_progress *progress, uint64_t fold, uint64_t folds);
/* A line of its own, which ends here, in place of the bar. */
void nn_progress_say(struct nn_progress *progress, struct nn_text *line);
/* Take the bar away before something else is written to the terminal. */
void nn_progress_clear(struct nn_progress *progress);

#endif
