/* What the options say of ranks that train together. */
#ifndef NN_PARALLEL_OPTIONS_H
#define NN_PARALLEL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/option.h"

struct nn_parallel_options {
	const char *strategy; /* how ranks work together; NULL: sync */
	/* updates that a gradient of async may be behind; 0 where none was given: filled in */
	uint64_t staleness;
	bool staleness_lr;
	const char *record, *replay_run;
	bool shard_optimizer;
	uint64_t bucket;      /* bytes of a message of gradients, 0: by the link */
	const char *pipeline; /* P[:SCHEDULE], NULL: none */
	uint64_t tensor;      /* ranks that share the columns of products */
	uint64_t check_every; /* steps between comparisons of the ranks' parameters, 0: none */
};

extern const struct nn_opt nn_parallel_opts[];

#endif
