/* Ranks that hold columns of the network: a part of the out-channels of products and of the rows of
 * tables each (graph.h, nn_columns). */
#ifndef NN_TRAIN_STRATEGY_TENSOR_H
#define NN_TRAIN_STRATEGY_TENSOR_H

#include "comm/window.h"
#include "graph/graph.h"

struct nn_train;

/* Of a group g rank g * T + t has the t-th part of all that is shared; those of one g work on the
 * same samples. */
struct nn_tensor_group {
	struct nn_columns columns;
	struct nn_comm *line; /* the ranks of this group, in order of their parts; NULL in a plan */
	struct nn_comm *side; /* of each group the rank with this part: without a pipeline they sum
				 gradients */
	struct nn_window *window; /* NULL: messages alone */
	size_t turn;              /* pieces that went through the window */
	size_t *channels; /* [params of the program] out-channels, groups or rows of what is shared,
			     in any stage; 0: every rank has all of it */
	size_t *bounds;  /* of nn_tensor_squares: [params][ranks + 1], and behind them counts of all
			    ranks [ranks][params] */
	double *squares; /* [room] numbers of all ranks */
	size_t room, *squares_at; /* [ranks][params + 1] where those of a parameter begin */
	double seconds, told;     /* in exchanges so far; of these counted by steps */
	uint64_t bytes;           /* sent and received in them */
	bool failed;
	struct nn_error why;
};

/* --tensor; nothing is made where it is 1. */
int nn_tensor_open(struct nn_train *train, struct nn_error *err);
void nn_tensor_free(struct nn_tensor_group *group);
/* Ranks of a group, 1 where there is none. */
int nn_tensor_ranks(const struct nn_train *train);
/* A network of which nothing can be shared by so many is refused; the step's parameters are known.
 * Collective. */
int nn_tensor_check(const struct nn_train *train, struct nn_error *err);
int nn_tensor_attach(struct nn_train *train, struct nn_error *err);
/* -1 where an exchange has failed; the seconds of those since the last call. */
int nn_tensor_settle(struct nn_train *train, double *seconds, struct nn_error *err);
/* Parameters are loaded: seconds and bytes are counted from here on. -1 as above. */
int nn_tensor_begin(struct nn_train *train, struct nn_error *err);

/* Do this rank and its group share the parameter? Of stages each has its own. */
bool nn_tensor_shares(const struct nn_train *train, int param);
/* The part of a parameter that rank r of a group has: elements [*from, *from + n) of it; returns n.
 */
size_t nn_tensor_slice(const struct nn_train *train, int param, int r, size_t *from);
/* nn_optimizer_ranks.cut: every rank adds up its blocks, and all have the sum that one rank would
 * have. arg: the training. */
int nn_tensor_squares(void *train, const void *const *values, const size_t *counts, double *squares,
		      struct nn_error *err);
/* The parts of set[] (parameters, a slot) to the first rank of each group that has them whole: the
 * first group, and of each of its stages. */
int nn_tensor_collect(struct nn_train *train, void *const *set, struct nn_error *err);

/* What people are told: the groups, and at the end what they exchanged. */
void nn_tensor_tell(struct nn_train *train);
void nn_tensor_end(struct nn_train *train);

#endif
