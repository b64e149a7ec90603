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
/* Where the options put a state: a file of its own, beside the regular file -o, nowhere. */
enum nn_checkpoint_place { NN_CHECKPOINT_NONE, NN_CHECKPOINT_BESIDE, NN_CHECKPOINT_NAMED };
enum nn_checkpoint_place nn_checkpoint_place(const struct nn_train_options *options,
					     const char *output);
/* Why it is nowhere: "without -o FILE or ...". */
const char *nn_checkpoint_none(const struct nn_train_options *options);
/*
 * The sets of tensors of a state and the thread that writes it, and the effective options as JSON.
 */
int nn_checkpoint_open(struct nn_keeping *keeping, struct nn_error *err);
/* With --resume: load it into params, optimizer and counters. *resumed: there was one. */
int nn_checkpoint_resume(struct nn_keeping *keeping, bool *resumed, struct nn_error *err);
/*
 * Training has come to its end and the model is written: a state that nobody asked for (no
 * --checkpoint, --checkpoint-every or --resume) is removed.
 */
void nn_checkpoint_end(const struct nn_keeping *keeping);
/* What nn_checkpoint_open made; a state that is being written is ended first. */
void nn_checkpoint_free(struct nn_keeping *keeping);

#endif
