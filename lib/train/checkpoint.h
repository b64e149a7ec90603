/* When and where the state of a training is kept, and how one is taken up again. */
#ifndef NN_TRAIN_CHECKPOINT_H
#define NN_TRAIN_CHECKPOINT_H

#include "train/job.h"

/* Where the state lies, and its lock: before any output is opened, so that what a kill left can be swept away. */
int nn_checkpoint_lock(struct nn_train *train, struct nn_error *err);
/* Do the options ask for one? */
bool nn_checkpoint_wanted(const struct nn_train *train);
/* The sets of tensors of a state, and the effective options as JSON. */
int nn_checkpoint_open(struct nn_train *train, struct nn_error *err);
/* With --resume: load it into params, optimizer and counters. *resumed: there was one. */
int nn_checkpoint_resume(struct nn_train *train, bool *resumed, struct nn_error *err);
/* Is it time by --checkpoint-every? */
bool nn_checkpoint_due(const struct nn_train *train);
/*
 * Write the state of this moment; params are saved from the graph first. What cannot be written is a warning; weights that are
 * not finite are NN_EDIVERGED and keep the older state.
 */
int nn_checkpoint_save(struct nn_train *train, struct nn_error *err);
/* The error to end with when the last try to write the state failed. */
int nn_checkpoint_end(struct nn_train *train, struct nn_error *err);

/* Parameters of the step's graph into train->params; NN_EDIVERGED when one is not finite. */
int nn_train_collect(struct nn_train *train, struct nn_error *err);

/* A warning or note for the user and, a warning, for the log. */
void nn_train_warn(struct nn_train *train, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nn_train_note(struct nn_train *train, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
