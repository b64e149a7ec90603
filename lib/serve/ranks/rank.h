/* What a rank other than 0 is. */
#ifndef NN_SERVE_RANKS_RANK_H
#define NN_SERVE_RANKS_RANK_H

#include "serve/ranks/wire.h"

struct nn_rank_setup {
	int rank, ranks;
	unsigned channels, threads; /* threads: that compute at once */
	const char *device;
	int control;
	int up[NN_MOST_CHANNELS], down[NN_MOST_CHANNELS];
};

_Noreturn void nn_rank_be(const struct nn_rank_setup *setup);

#endif
