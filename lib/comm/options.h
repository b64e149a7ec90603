/* The options of ranks, the same in all tools that have them. */
#ifndef NN_COMM_OPTIONS_H
#define NN_COMM_OPTIONS_H

#include "base/option.h"

struct nn_ranks_options {
	uint64_t ranks;              /* 0: not given */
	double timeout;              /* seconds without progress that end a job */
};

extern const struct nn_opt nn_ranks_opts[];

#endif
