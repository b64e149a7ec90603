/* Ranks of one training: which of them speaks and writes (rank 0), where they run, and what they
 * share at the start. */
#ifndef NN_TRAIN_RANKS_H
#define NN_TRAIN_RANKS_H

#include "train/job.h"

/* Where the time of a rank went. */
struct nn_rank_times {
	char host[64];
	long pid;
	double compute_s, comm_s, wait_s; /* comm_s: exposed; wait_s: for slower ranks */
	uint64_t steps;                   /* it computed by itself; 0: its share of those of all */
	size_t bytes;                     /* of memory, its part of what ranks share */
};

/* The rank that writes model, state, log and plot and says what all would say; the only one where
 * there are no ranks. */
bool nn_train_first(const struct nn_train *train);
/* How many train together. */
int nn_train_ranks(const struct nn_train *train);
/* Those with the same parameters, who share the samples: all, or of each grid those with the same
 * part. NULL in a plan. */
struct nn_comm *nn_train_sharers(const struct nn_train *train);

/* Do ranks have parts of the network, stages or columns, which come together on rank 0 alone? */
bool nn_train_in_parts(const struct nn_train *train);

/* Of these does this rank get all of its stage's parameters, in the first pipeline or group? */
bool nn_train_gathers(const struct nn_train *train);
/* Elements of each parameter that this rank has for files: train->keeps, once the step is made. */
int nn_train_find_kept(struct nn_train *train, struct nn_error *err);

/*
 * Does this rank evaluate held-out rows? Those that share them: all; where ranks have parts of the
 * network the first of each pipeline or group, which has all parameters for that. NULL: this one is
 * alone with them.
 */
bool nn_train_evaluates(const struct nn_train *train);
struct nn_comm *nn_train_evaluators(const struct nn_train *train);

/* The times of all ranks into train->ranks; collective. Before that, and where it fails, there is
 * none. */
int nn_train_gather_times(struct nn_train *train, struct nn_error *err);
/* The same where ranks will not meet again: who and where they are, with no memory. The strategy
 * fills in the times. Collective. */
int nn_train_share_times(struct nn_train *train, struct nn_error *err);
/* Those of this rank. */
struct nn_rank_times nn_train_times(const struct nn_train *train);

/* train->on_host: ranks of this host, and ->sharing, those that may use the same cores as this one:
 * who shares them by --threads. */
int nn_train_sharing(struct nn_train *train, struct nn_error *err);
/* Of memory, by all ranks of this host; 0: not known, or it is alone. */
size_t nn_train_host_bytes(const struct nn_train *train);
/* Are network, data, held-out data, options and program those of rank 0? Every rank fails with the
 * first difference, naming its rank. */
int nn_train_compare(struct nn_train *train, struct nn_error *err);
/* --check-every: are the parameters of all ranks the same bytes after this step? */
int nn_train_check_parameters(struct nn_train *train, struct nn_error *err);
/* A set of parameters, or of a slot, from rank 0 to all: of ranks that have parts each its own. */
int nn_train_share_set(struct nn_train *train, void *const *set, struct nn_error *err);
/* Parameters, slots, best parameters and counters of rank 0 to all. *resumed is rank 0's. */
int nn_train_share_state(struct nn_train *train, bool *resumed, struct nn_error *err);

#endif
