/* The first part of opening a training: its model, data, losses and samples. */
#ifndef NN_TRAIN_PREPARE_H
#define NN_TRAIN_PREPARE_H

#include "train/job.h"

/* Needs setup, device and net; fills what job.h lists under "what is trained" and "what it is trained on". */
int nn_train_prepare(struct nn_train *train, struct nn_error *err);

#endif
