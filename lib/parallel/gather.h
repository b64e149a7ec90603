/* A block of which every rank has its pieces of the buckets, brought together on all of them. */
#ifndef NN_PARALLEL_GATHER_H
#define NN_PARALLEL_GATHER_H

#include "comm/comm.h"
#include "parallel/buckets.h"

/* The last bucket comes first: what forward needs first is there first. */
struct nn_gather {
	struct nn_sync_group *team;
	const struct nn_buckets *buckets;
	struct nn_posted *coming; /* [buckets] */
	size_t left;              /* buckets that are still coming: 0 .. left - 1 */
	struct nn_posted sent;
};

/* team and buckets are borrowed. close: of what was never opened too. */
int nn_gather_open(struct nn_gather *gather, struct nn_sync_group *team,
		   const struct nn_buckets *buckets, struct nn_error *err);
void nn_gather_close(struct nn_gather *gather);
/* The pieces of other ranks will come into the block. */
int nn_gather_begin(struct nn_gather *gather, char *block, struct nn_error *err);
/* This rank's piece of a bucket to all. */
int nn_gather_send(struct nn_gather *gather, char *block, size_t bucket, struct nn_error *err);
/* Wait for the elements before `end`. */
int nn_gather_until(struct nn_gather *gather, size_t end, struct nn_error *err);
/* Wait for all of them, and until what others need of this rank has left; *seconds grow by that. */
int nn_gather_end(struct nn_gather *gather, double *seconds, struct nn_error *err);

#endif
