/* --stateful: what rows of the next batch go on with, in a state. */
#ifndef NN_TRAIN_STATE_CARRIED_H
#define NN_TRAIN_STATE_CARRIED_H

#include "train/state/keeping.h"

/* Room for it. */
int nn_carried_open(struct nn_keeping *keeping, struct nn_error *err);
/* Of all ranks to all: each has the rows of its leaves. Nothing without --stateful. */
int nn_carried_collect(struct nn_keeping *keeping, struct nn_error *err);
/* What rank 0 has read to all; what was read to the graph. */
int nn_carried_share(struct nn_keeping *keeping, struct nn_error *err);
void nn_carried_load(struct nn_keeping *keeping);

#endif
