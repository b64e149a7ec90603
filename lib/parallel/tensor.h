/*
 * Ranks that hold columns of the network: a part of the out-channels of products and of the rows of
 * tables each (graph.h, nn_column_shard).
 *
 * Rank g * T + t has the t-th part of group g; with --pipeline=P rank (d * P + s) * T + t that of
 * stage s. A layer narrower than T is computed by each rank as a whole, and so are norms and
 * depthwise convolutions: shared, these took 1.4 times the processor time, and their weights are
 * few. Groups of a convolution are shared whole. More than the widest layer has is status 2 for
 * inline text and 1 for a file. Of an embedding of r rows rank t has floor(t r / T) to floor((t +
 * 1) r / T) - 1; every rank knows the numbers of all samples, so each sends the different rows of
 * its own that a micro-batch needs, and nothing travels back. Rank 0 has all parameters for files.
 */
#ifndef NN_PARALLEL_TENSOR_H
#define NN_PARALLEL_TENSOR_H

#include "comm/shared.h"
#include "parallel/layout.h"

struct nn_task;
struct nn_worker;

/* What a group exchanges. */
struct nn_tensor_exchange {
	const struct nn_tensor_parallel *group;
	struct nn_shared *window; /* NULL: messages alone */
	size_t turn;              /* pieces that went through the window */
	/*
	 * of nn_tensor_squares: [params][ranks + 1], and behind them counts of all ranks
	 * [ranks][params]
	 */
	size_t *bounds;
	double *squares;           /* [room] numbers of all ranks */
	size_t room, *squares_at;  /* [ranks][params + 1] where those of a parameter begin */
	double seconds, counted_s; /* in exchanges so far; of these counted by steps */
	uint64_t bytes;            /* sent and received in them */
	bool failed;
	struct nn_error why;
};

/* Collective; close: NULL allowed. */
int nn_tensor_exchange_open(struct nn_tensor_parallel *group, struct nn_error *err);
void nn_tensor_exchange_close(struct nn_tensor_exchange *exchange);

/* --tensor; nothing is made where it is 1. */
int nn_tensor_open(struct nn_layout *layout, struct nn_error *err);
void nn_tensor_free(struct nn_tensor_parallel *group);
/*
 * A network of which nothing can be shared by all ranks of a group is refused; the step's
 * parameters are known. Collective.
 */
int nn_tensor_check(const struct nn_layout *layout, const struct nn_task *task,
		    struct nn_error *err);
int nn_tensor_attach(struct nn_worker *worker, struct nn_error *err);
/* Seconds of exchanges since the last call; -1 where one has failed. */
int nn_tensor_exchanged(struct nn_worker *worker, double *seconds, struct nn_error *err);
/* Parameters are loaded: seconds and bytes are counted from here on. -1 as above. */
int nn_tensor_begin(struct nn_worker *worker, struct nn_error *err);

/* Do this rank and its group share the parameter? Of stages each has its own. */
bool nn_tensor_shares(const struct nn_worker *worker, int param);
/*
 * The part of a parameter that rank r of a group has: elements [*from, *from + n) of it; returns n.
 */
size_t nn_tensor_slice(const struct nn_worker *worker, int param, int r, size_t *from);
/*
 * nn_optimizer_ranks.cut: every rank adds up its blocks, and all have the sum that one rank would
 * have. arg: the training.
 */
int nn_tensor_squares(void *worker, const void *const *values, const size_t *counts,
		      double *squares, struct nn_error *err);
/*
 * The parts of set[] (parameters, a slot) to the first rank of each group that has them whole: the
 * first group, and of each of its stages.
 */
int nn_tensor_gather(struct nn_worker *worker, void *const *set, struct nn_error *err);

/* Notes for the user: the groups, and at the end what they exchanged. */
void nn_tensor_note(struct nn_worker *worker);
void nn_tensor_end(struct nn_worker *worker);

#endif
