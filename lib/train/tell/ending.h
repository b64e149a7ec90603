/* What a person is told at the end of a training. */
#ifndef NN_TRAIN_TELL_ENDING_H
#define NN_TRAIN_TELL_ENDING_H

#include "train/job.h"

/*
 * Has the net not converged when the training ends for this reason? Its loss still falls by more
 * than a hundredth of the whole fall in a tenth of the steps (trend.h) and, where rows are held
 * out, their --metric is as good as it ever was.
 */
bool nn_ending_unconverged(const struct nn_train *train, const char *reason);
/* A note that says so of one training (folds 0), or of n of these folds. */
void nn_ending_note(const struct nn_train *train, const char *reason, uint64_t n, uint64_t folds);

/* The line at the end: why it ended, what is kept and its --metric, where it was written. */
void nn_ending_line(const struct nn_train *train, const char *reason);
/* A signal ended it: where the state is, and what can be done with it. */
void nn_ending_stopped(const struct nn_train *train);
/* --resume of a training that had come to its end: says so, and what would go on. */
void nn_ending_nothing_left(const struct nn_train *train, const char *reason);

#endif
