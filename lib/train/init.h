/* The values a training begins with: -m FILE's, --init's, or drawn from the seed. */
#ifndef NN_TRAIN_INIT_H
#define NN_TRAIN_INIT_H

#include "train/job.h"

/* Do the options go together? Once -m is open. */
int nn_init_check(const struct nn_train *train, struct nn_error *err);
/* Read --init, once the network's shapes are known, and say what it leaves as initialized. */
int nn_init_open(struct nn_train *train, struct nn_error *err);
/* --freeze, once the network's shapes are known. */
int nn_init_freeze(struct nn_train *train, struct nn_error *err);
void nn_init_close(struct nn_train *train);
/* All parameters, canonical, of the device's type. */
int nn_init_values(const struct nn_train *train, void *const *params, struct nn_error *err);

#endif
