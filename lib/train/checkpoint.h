/* When and where the state of a training is kept, and how one is taken up again. */
#ifndef NN_TRAIN_CHECKPOINT_H
#define NN_TRAIN_CHECKPOINT_H

#include "train/job.h"

/* Where the state lies, and its lock: before any output is opened, so that what a kill left can be
 * swept away. */
int nn_checkpoint_lock(struct nn_train *train, struct nn_error *err);
/* Do the options ask for one? */
bool nn_checkpoint_wanted(const struct nn_train *train);
/* The sets of tensors of a state and the thread that writes it, and the effective options as JSON.
 */
int nn_checkpoint_open(struct nn_train *train, struct nn_error *err);
/* With --resume: load it into params, optimizer and counters. *resumed: there was one. */
int nn_checkpoint_resume(struct nn_train *train, bool *resumed, struct nn_error *err);
/* What nn_checkpoint_open made; a state that is being written is ended first. */
void nn_checkpoint_free(struct nn_train *train);
/* What has to be the same when a state is resumed; borrowed from the training. */
struct nn_state_facts nn_checkpoint_facts(const struct nn_train *train);

/* All effective options as a JSON object of texts, sorted by name; freed by the caller. NULL: no
 * memory. */
char *nn_checkpoint_options(const struct nn_opt_list *list, struct nn_error *err);

#endif
