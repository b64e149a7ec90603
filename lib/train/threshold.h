/* --threshold: where the model says the second of two classes, found on the held-out rows. */
#ifndef NN_TRAIN_THRESHOLD_H
#define NN_TRAIN_THRESHOLD_H

#include "train/job.h"

/* Before training: are there two classes, and held-out rows of both? NN_EFAIL. */
int nn_train_check_threshold(const struct nn_train *train, struct nn_error *err);
/*
 * After the last evaluation, which was of params, into train->found; the evaluator then has the
 * figures with it. Collective.
 */
int nn_train_find_threshold(struct nn_train *train, void *const *params, struct nn_error *err);

#endif
