/* What a recorded training was made with: --record writes it, --replay-run compares. */
#ifndef NN_TRAIN_ORIGIN_H
#define NN_TRAIN_ORIGIN_H

#include "train/job.h"

/* The worker's origin, before its first step; where neither option was given it stays empty. */
int nn_origin_take(struct nn_train *train, struct nn_error *err);

#endif
