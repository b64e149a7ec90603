/*
 * Gradients on their way in buckets during backward: pieces of sums travel to their owners.
 *
 * A bucket ends where a parameter begins, once it has 1 MiB (the first) or 32 times what the link
 * carries in the time of an empty message, 1 to 25 MiB; 4 MiB where the link is not known;
 * --bucket=SIZE, which rank 0 reads, cuts everywhere at that size. Each rank owns a piece of every
 * bucket; with --shard-optimizer that of its shard. New parameters leave in the opposite order,
 * those of the first layers first, and forward waits for a node's before it reads them.
 */
#ifndef NN_PARALLEL_BUCKETS_H
#define NN_PARALLEL_BUCKETS_H

#include "parallel/sync-group.h"

struct nn_buckets;

/*
 * Bytes of the first bucket and of the others, each ending where the next parameter begins, and
 * the upper limit of any.
 */
struct nn_bucket_sizes {
	uint64_t first, rest, most;
};
/*
 * All of `given` bytes; where that is 0, from the measured link between the ranks. Collective:
 * rank 0's answer counts.
 */
int nn_bucket_sizes(const struct nn_sync_group *team, uint64_t given, struct nn_bucket_sizes *sizes,
		    struct nn_error *err);

/*
 * Buckets follow each other from the end of the flat block, as backward finishes it. Needs the
 * step.
 */
int nn_buckets_open(struct nn_buckets **buckets, struct nn_worker *worker,
		    const struct nn_bucket_sizes *sizes, struct nn_error *err);
void nn_buckets_close(struct nn_buckets *buckets); /* NULL allowed; not collective */
size_t nn_buckets_n(const struct nn_buckets *buckets);
struct nn_shard nn_buckets_cut(const struct nn_buckets *buckets, size_t bucket);
/* The piece of a bucket that rank r owns: it adds it up and updates it. */
struct nn_shard nn_buckets_piece(const struct nn_sync_group *team, const struct nn_buckets *buckets,
				 size_t bucket, int r);

/*
 * A batch: after begin the sums of the step go to their owners as they are final; all are on their
 * way after flush, which ends what begin began. add waits for a bucket, buckets in order, and
 * leaves this rank's piece of its sum in the step's gradients; seconds grow by the wait. drop:
 * they are not needed.
 */
int nn_buckets_begin(struct nn_worker *worker, struct nn_buckets *buckets, struct nn_error *err);
int nn_buckets_flush(struct nn_worker *worker, struct nn_buckets *buckets, struct nn_error *err);
int nn_buckets_add(struct nn_worker *worker, struct nn_buckets *buckets, size_t bucket,
		   double *seconds, struct nn_error *err);
int nn_buckets_drop(struct nn_sync_group *team, struct nn_buckets *buckets, struct nn_error *err);

#endif
