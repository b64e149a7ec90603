/* --tensorboard: figures of a training as TensorBoard reads them. */
#ifndef NN_TRAIN_TELL_TENSORBOARD_H
#define NN_TRAIN_TELL_TENSORBOARD_H

#include <stdint.h>
#include "base/error.h"

struct nn_tensorboard;

/*
 * A new file in the directory, which is made where it is not there: TensorBoard reads all that lie
 * there, so a training that is resumed goes on with its curves. NULL: *board is NULL, which all
 * below take and do nothing.
 */
int nn_tensorboard_open(struct nn_tensorboard **board, const char *directory, struct nn_error *err);
void nn_tensorboard_close(struct nn_tensorboard *board);
/* A figure after that step, written at once; one that is not known (NaN) is left out. */
void nn_tensorboard_add(struct nn_tensorboard *board, uint64_t step, const char *name,
			double value);
/* -1 when something could not be written. */
int nn_tensorboard_check(const struct nn_tensorboard *board, struct nn_error *err);

#endif
