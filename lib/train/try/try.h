/*
 * --try: the same training with each value of an option, every combination of several, side by
 * side.
 *
 * Each is a process made from this one, so that all share the data in memory and none can harm
 * another; a process has one thread where there are as many trainings as threads. Bytes do not
 * depend on threads, so the best model is the one that its options give alone. Held-out rows
 * decide, or the mean over the folds; after folds the best options are trained on all rows. The
 * table goes to stdout as TSV, the best model to -o.
 */
#ifndef NN_TRAIN_TRY_TRY_H
#define NN_TRAIN_TRY_TRY_H

#include "train/train.h"

#define NN_MOST_TRIES 1000 /* combinations */
#define NN_MOST_AXES 8     /* options that are tried at once */

/* check(setup) with the values of each combination in turn; NN_EUSAGE also where --try is wrong. */
int nn_try_check(const struct nn_train_setup *setup,
		 int (*check)(const struct nn_train_setup *setup, struct nn_error *err),
		 struct nn_error *err);
/* *stopped: the signal that ended it; no model is written then. */
int nn_try_run(struct nn_train_setup *setup, int *stopped, struct nn_error *err);

#endif
