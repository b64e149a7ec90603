/* What the files of nn-train share. */
#ifndef NN_CMD_TRAIN_H
#define NN_CMD_TRAIN_H

#include "cmd/tool.h"
#include "comm/launch.h"
#include "comm/options.h"
#include "train/train.h"

/*
 * This tool as ranks->ranks ranks under mpirun, with the options as they are here; the status of
 * the whole, or -1 and what rank 0 advises in setup->advice.
 */
int train_launch(struct nn_train_setup *setup, const struct nn_ranks_options *ranks,
		 volatile sig_atomic_t *save, struct nn_error *err);
/*
 * setup->comm of this process and, in a rank that train_launch has started, the way back (else
 * NULL).
 */
int train_join(struct nn_train_setup *setup, const struct nn_ranks_options *ranks,
	       struct nn_attach **attach, struct nn_error *err);
/*
 * The end of a rank, or of the only process: comm is closed, an error printed once. stopped: the
 * signal that ended a training whose status is 0. The exit status.
 */
int train_leave(const struct nn_train_setup *setup, struct nn_attach *attach, int status,
		int stopped, const struct nn_error *err);

#endif
