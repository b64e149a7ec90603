/* The model of a training on its way to the output. */
#ifndef NN_TRAIN_WRITE_H
#define NN_TRAIN_WRITE_H

#include "train/job.h"

/* Before training: can the output's format hold this model? */
int nn_train_check_output(const struct nn_train *train, struct nn_error *err);
/* To the output that was opened at the start; then it is closed. Other ranks do nothing. */
int nn_train_write(struct nn_train *train, void *const *params, struct nn_error *err);

#endif
