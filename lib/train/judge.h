/* How good the parameters are, and whether none were better. */
#ifndef NN_TRAIN_JUDGE_H
#define NN_TRAIN_JUDGE_H

#include "train/job.h"

/*
 * Evaluate the held-out rows or, where there are none, take what the rows said as they passed: into
 * train->found, and the best so far, the patience and the plateau into train->counters. Collective;
 * parameters are settled. -1 with *err.
 */
int nn_train_evaluate(struct nn_train *train, struct nn_error *err);
/* The evaluator, where this rank has one, with parameters as train->params. Collective. */
int nn_train_evaluate_params(struct nn_train *train, void *const *params, struct nn_error *err);

#endif
