/* Saving: a snapshot of the moment, which a thread writes while the training goes on. */
#ifndef NN_TRAIN_STATE_SAVE_H
#define NN_TRAIN_STATE_SAVE_H

#include "train/state/keeping.h"

/* What has to be the same when a state is resumed; borrowed from the training. */
struct nn_state_facts nn_save_facts(const struct nn_keeping *keeping);

/* The thread, where a state is kept, and when states are due. */
int nn_save_open(struct nn_keeping *keeping, struct nn_error *err);
void nn_save_close(
	struct nn_keeping *keeping); /* ends what is being written; nothing is told any more */

/*
 * Is it time by --checkpoint-every, by the number of the step; by the clock, on which ranks have to
 * agree?
 */
bool nn_save_due(const struct nn_keeping *keeping);
bool nn_save_late(const struct nn_keeping *keeping);
/*
 * Could the state of this step be begun: one was due while an older one was being written, which is
 * done?
 */
bool nn_save_ready(const struct nn_keeping *keeping);
/*
 * After each step: tell what came of a state that was being written, and begin one where `due` says
 * so. While an older one is still being written nothing waits: the next begins after the step at
 * which that is done. What cannot be written is a warning; weights that are not finite are
 * NN_EDIVERGED and keep the older state. Of several ranks a state begins only where `due` says so.
 */
int nn_save_follow(struct nn_keeping *keeping, bool due, struct nn_error *err);
/*
 * Begin the state of this step, unless it is on disk or on its way; an older one is waited for.
 * Errors as before.
 */
int nn_save_newest(struct nn_keeping *keeping, struct nn_error *err);
/* Wait until what is being written is on disk, or could not be written, and tell it. */
void nn_save_wait(struct nn_keeping *keeping);
/* The error to end with when the last try to write the state failed. */
int nn_save_end(struct nn_keeping *keeping, struct nn_error *err);

/* Parameters of the step's graph into those of the worker; NN_EDIVERGED when one is not finite. */
int nn_save_export_params(struct nn_keeping *keeping, struct nn_error *err);

#endif
