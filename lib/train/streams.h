/* --stateful: rows that go on from batch to batch. */
#ifndef NN_TRAIN_STREAMS_H
#define NN_TRAIN_STREAMS_H

#include "train/job.h"

/* Options that it does not go with. */
int nn_streams_check(const struct nn_train_setup *setup, struct nn_error *err);
/* Can the network go on? Then rows of the task are put in the order of streams. */
int nn_streams_order(struct nn_train *train, struct nn_error *err);

#endif
