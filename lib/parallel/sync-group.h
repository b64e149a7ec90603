/*
 * The ranks of sync: which rank owns which run of the flat block, and two transports of sums:
 * memory that all ranks see, or messages.
 */
#ifndef NN_PARALLEL_SYNC_GROUP_H
#define NN_PARALLEL_SYNC_GROUP_H

#include "comm/shared.h"
#include "parallel/worker.h"
#include "step/cut.h"

/* A rank's report of its step. */
struct nn_rank_report {
	struct nn_control control;
	bool finite;
	int nonfinite_line;
	double compute_s; /* of its leaves */
	struct nn_noise_sums noise;
};

/* A subtree of leaves whose sum a rank has: its index-th. */
struct nn_sync_sum {
	struct nn_cut_node node;
	int rank;
	size_t index;
};

struct nn_sync_group {
	const struct nn_sync_transport *transport;
	struct nn_comm *comm;
	bool master;           /* rank 0 owns all of it */
	bool sharded;          /* --shard-optimizer: what a rank owns is a run of the block */
	size_t elements, size; /* of the flat block; bytes of one */
	size_t own, others;    /* sums of this rank and of other ranks in a batch, at most */
	/*
	 * After open, NULL on the CPU: the queue of the step's graph; one whose pinned memory
	 * outlives the step.
	 */
	struct nn_queue *queue, *pins;
	struct nn_shard mine;
	struct nn_step_place place;
	struct nn_rank_report *reports; /* [size] of the step under way */
	struct nn_sync_sum *sums;       /* of the batch under way, in order of leaves */
	size_t n_sums;
	double coming_s; /* time forward waited for parameters under way */
	struct nn_sync_shared *shared;
	struct nn_sync_messages *messages;
};

/*
 * A transport. Functions are collective, called in this order for each batch, and add to
 * result->comm_s and wait_s. NULL: nothing to do.
 *
 *   open              once, before the first batch: the step is made, parameters are loaded
 *   share_weights     the weights of all leaves are known after it, where targets decide them
 *   exchange_reports  gradients of all ranks are computed: figures and statistics by leaf are
 *                     complete, and reports[]
 *   drop              sums under way are not wanted: in place of update, where a loss is not finite
 *   update            gradients are summed, parameters updated; those that others updated may still
 *                     be under way
 *   wait_weights      before parameters are read by anything but the next step: all have arrived.
 *                     *seconds grow by the wait
 *   synchronize       slots are whole on all ranks
 */
struct nn_sync_transport {
	int (*open)(struct nn_worker *worker, struct nn_error *err);
	int (*share_weights)(struct nn_worker *worker, const struct nn_step_tables *tables,
			     struct nn_step_result *result, struct nn_error *err);
	int (*exchange_reports)(struct nn_worker *worker, const struct nn_step_tables *tables,
				struct nn_step_result *result, struct nn_error *err);
	int (*drop)(struct nn_sync_group *team, struct nn_error *err);
	int (*update)(struct nn_worker *worker, const struct nn_strategy_update *update, bool norm,
		      struct nn_step_result *result, struct nn_error *err);
	int (*wait_weights)(struct nn_worker *worker, double *seconds, struct nn_error *err);
	int (*synchronize)(struct nn_worker *worker, struct nn_error *err);
	void (*close)(struct nn_sync_group *team);
};

/*
 * sync's work before the step is made and after it is freed, for strategies whose ranks at times
 * work as sync does: by messages only.
 */
int nn_sync_prepare(struct nn_worker *worker, struct nn_step_options *options,
		    struct nn_error *err);
void nn_sync_release(struct nn_worker *worker);
/* Wait for parameters that a step of sync has left under way. */
int nn_sync_wait_weights(struct nn_worker *worker, struct nn_error *err);
/* All-gather of a block (nn_buckets_piece of each rank), by messages. */
int nn_sync_all_gather(struct nn_sync_group *team, void *block, double *seconds,
		       struct nn_error *err);
/* The shard of rank r. */
static inline struct nn_shard nn_sync_shard(const struct nn_sync_group *team, int r)
{
	if (team->master)
		return (struct nn_shard){ r == 0 ? 0 : team->elements,
					  r == 0 ? team->elements : 0 };
	return nn_shard_of(team->elements, r, team->comm->size);
}

/*
 * Memory that all ranks see, and the step's place in it; team->shared is NULL where they have none.
 */
int nn_sync_shared_open(struct nn_worker *worker, const struct nn_step_options *options,
			struct nn_error *err);
int nn_sync_messages_open(struct nn_worker *worker, struct nn_error *err);
/* Are parameters few enough that each rank keeps its own copy? */
bool nn_sync_shared_copies(size_t bytes);
/* Are parameters and slots in memory that all ranks share? */
bool nn_sync_is_shared(const struct nn_worker *worker);
/* Reset slots to their first values: in shared memory those of this rank's shard. */
void nn_sync_reset_slots(struct nn_worker *worker);

#endif
