/*
 * Ranks of one training: which of them speaks and writes (rank 0), where they run, and what they
 * share at the start.
 */
#ifndef NN_PARALLEL_RANKS_H
#define NN_PARALLEL_RANKS_H

#include "parallel/worker.h"

/* Where the time of a rank went. */
struct nn_rank_times {
	char host[64];
	long pid;
	double compute_s, comm_s, wait_s; /* comm_s: exposed; wait_s: for slower ranks */
	uint64_t steps;                   /* it computed by itself; 0: its share of those of all */
	size_t bytes;                     /* of memory, its part of what ranks share */
};

/* Elements of each parameter that this rank has for files: worker->keeps, once the step is made. */
int nn_worker_find_kept(struct nn_worker *worker, struct nn_error *err);

/*
 * The times of all ranks into worker->ranks; collective. Before that, and where it fails, there is
 * none.
 */
int nn_worker_gather_times(struct nn_worker *worker, struct nn_error *err);
/*
 * The same where ranks will not meet again: who and where they are, with no memory. The strategy
 * fills in the times. Collective.
 */
int nn_worker_share_times(struct nn_worker *worker, struct nn_error *err);
/* Those of this rank. */
struct nn_rank_times nn_worker_times(const struct nn_worker *worker);

/* Memory of all ranks of this host, what they share once; 0: not known, or it is alone. */
size_t nn_worker_host_bytes(const struct nn_worker *worker);
/* --check-every: are the parameters of all ranks the same bytes after this step? Collective. */
int nn_worker_check_parameters(struct nn_worker *worker, struct nn_error *err);
/* A set of parameters, or of a slot, from rank 0 to all: of ranks that have parts each its own. */
int nn_worker_share_set(struct nn_worker *worker, void *const *set, struct nn_error *err);
#endif
