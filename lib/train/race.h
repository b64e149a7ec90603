/*
 * --race: the same training with one strategy after the other, each for the same time, and what it
 * came to.
 *
 * Each strategy is a process of its own with the same command line. Without --ranks a rank for
 * each core takes part (2 to the leaves of a batch); under mpirun it is refused. The table is CSV
 * on stdout, so -o is refused. bytes are those that rank 0 sent and received, through shared
 * memory too. Steps are logged at least twenty times within a --time-limit.
 */
#ifndef NN_TRAIN_RACE_H
#define NN_TRAIN_RACE_H

#include "train/train.h"

/*
 * Run the command line of setup once for each strategy, as a process of `program`, and write a
 * table to stdout: strategy, seconds, step, loss, bytes. *stopped: the signal that ended it. A
 * status above 0 is that of a training, which has said why it failed.
 */
int nn_race_run(const struct nn_train_setup *setup, const char *program,
		const volatile sig_atomic_t *stop, int *stopped, struct nn_error *err);

#endif
