/* One training per state: a lock that no kill can leave behind. */
#ifndef NN_TRAIN_STATE_LOCK_H
#define NN_TRAIN_STATE_LOCK_H

#include "base/error.h"

struct nn_lock;

/* Lock the state at path; "PATH: in use by pid N" when another process has it. */
int nn_lock_take(struct nn_lock **lock, const char *path, struct nn_error *err);
void nn_lock_release(struct nn_lock *lock); /* NULL allowed */

#endif
