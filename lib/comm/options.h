/* The options of ranks, the same in all tools that have them. */
#ifndef NN_COMM_OPTIONS_H
#define NN_COMM_OPTIONS_H

#include "base/option.h"

struct nn_ranks_options {
	uint64_t ranks;               /* 0: not given */
	const char *hosts, *hostfile; /* NULL: not given */
};

extern const struct nn_opt nn_ranks_opts[];

/*
 * What the command line alone rules out (NN_EUSAGE); ranks is set to the slots of --hosts where it
 * is not given. *several: they are to be started.
 */
int nn_ranks_check(struct nn_ranks_options *options, bool *several, struct nn_error *err);

#endif
