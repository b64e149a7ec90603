/* --replay: a training on a stream, of which a ring keeps the newest samples. */
#ifndef NN_TRAIN_REPLAY_H
#define NN_TRAIN_REPLAY_H

#include "train/job.h"

/* Options that it does not go with (NN_EUSAGE). */
int nn_train_replay_check(const struct nn_train_setup *setup, struct nn_error *err);
/* Once data are measured: the ring, with their first samples. Nothing without --replay. */
int nn_train_replay_open(struct nn_train *train, struct nn_error *err);
/* As many samples as were drawn so far are taken from the stream; its end may be that of training. */
int nn_train_replay_follow(struct nn_train *train, struct nn_error *err);
/* What the samples had that the first of them did not. */
void nn_train_replay_tell(const struct nn_train *train);

#endif
