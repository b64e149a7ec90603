/* When and where the state of a training is kept, and how one is taken up again. */
#ifndef NN_TRAIN_STATE_CHECKPOINT_H
#define NN_TRAIN_STATE_CHECKPOINT_H

#include "train/state/keeping.h"

/*
 * Where the state lies, and its lock: before any output is opened, so that what a kill left can be
 * swept away.
 */
int nn_checkpoint_lock(struct nn_keeping *keeping, struct nn_error *err);
/* The name of the state beside a model: m.safetensors -> m.state.safetensors. Freed by the caller.
 */
char *nn_checkpoint_beside(const char *output, struct nn_error *err);
/* Do the options ask for one? */
bool nn_checkpoint_wanted(const struct nn_keeping *keeping);
/*
 * The sets of tensors of a state and the thread that writes it, and the effective options as JSON.
 */
int nn_checkpoint_open(struct nn_keeping *keeping, struct nn_error *err);
/* With --resume: load it into params, optimizer and counters. *resumed: there was one. */
int nn_checkpoint_resume(struct nn_keeping *keeping, bool *resumed, struct nn_error *err);
/* What nn_checkpoint_open made; a state that is being written is ended first. */
void nn_checkpoint_free(struct nn_keeping *keeping);

#endif
