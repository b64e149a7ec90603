/*
 * Who has what, and when it travels: the ranks of a training, or those that a plan is made for,
 * their parts, and the strategy by which they work together.
 */
#ifndef NN_PARALLEL_LAYOUT_H
#define NN_PARALLEL_LAYOUT_H

#include "comm/comm.h"
#include "comm/pairs.h"
#include "graph/graph.h"
#include "parallel/options.h"
#include "parallel/strategy.h"
#include "step/stages.h"

struct nn_tensor_exchange;

/* --pipeline: rank d * stages + s is stage s of pipeline d. */
struct nn_pipe {
	int stages, stage;
	enum nn_pipeline_schedule schedule;
	struct nn_comm *line; /* the stages of this pipeline, in their order */
	struct nn_comm *side; /* the ranks of this stage, which sum gradients as if they were all */
	struct nn_graph_node *nodes; /* of the network */
	int n_nodes;
	int *bounds;   /* [stages + 1] */
	double *costs; /* [n_nodes] seconds for a micro-batch, or FLOP */
	int threads;   /* with which they were measured, 0: these are FLOP */
	int *owner; /* [params of the program] the stage that has it; NULL before there is a step */
};

/*
 * --tensor: of a group g rank g * T + t has the t-th part of all that is shared; those of one g
 * work on the same samples.
 */
struct nn_tensor_parallel {
	struct nn_column_shard columns;
	struct nn_comm *line; /* the ranks of this group, in order of their parts; NULL in a plan */
	/* of each group the rank with this part: without a pipeline they sum gradients */
	struct nn_comm *side;
	/*
	 * [params of the program] out-channels, groups or rows of what is shared, in any stage; 0:
	 * every rank has all of it; NULL before there is a step
	 */
	size_t *channels;
	struct nn_tensor_exchange *exchange; /* how these travel (tensor.c); NULL in a plan */
};

struct nn_layout {
	const struct nn_parallel_options *options;
	struct nn_comm *comm;              /* the ranks that train; NULL in a plan */
	struct nn_pipe *pipe;              /* --pipeline; NULL: every rank has all layers */
	struct nn_tensor_parallel *tensor; /* --tensor; NULL: every rank has all columns */
	const struct nn_strategy *strategy;
	struct nn_strategy_terms terms;
	struct nn_pairs pairs; /* what each two of them can use; ranks 0: a plan, or one alone */
	uint64_t asked;        /* a plan: ranks that were asked for, 0: not said */
	int sharing, on_host;  /* ranks on the cores, on the host of this one, itself included */
	struct {
		int rank, ranks; /* ranks 0: as it is */
	} as; /* a plan: which of those with the same parameters it is made for */
};

/*
 * The rank that writes model, state, log and plot and says what all would say; the only
 * one without ranks.
 */
bool nn_layout_first(const struct nn_layout *layout);
/* How many train together. */
int nn_layout_ranks(const struct nn_layout *layout);
/*
 * Those with the same parameters, who share the samples: all, or of each grid those with the same
 * part. NULL in a plan.
 */
struct nn_comm *nn_layout_sharers(const struct nn_layout *layout);
/* Number of ranks: those of the training, or of the plan. */
int nn_layout_n_sharers(const struct nn_layout *layout);

/* Do ranks have parts of the network, stages or columns, which come together on rank 0 alone? */
bool nn_layout_in_parts(const struct nn_layout *layout);
/* Ranks of a group of --tensor, 1 where there is none. */
int nn_tensor_ranks(const struct nn_layout *layout);
/* How many ranks hold the network together. */
int nn_layout_parts(const struct nn_layout *layout);
/* Of these does this rank get all of its stage's parameters, in the first pipeline or group? */
bool nn_layout_gathers(const struct nn_layout *layout);

/*
 * Does this rank evaluate n held-out rows? Those that share them: all; where ranks have parts of
 * the network the first of each pipeline or group, which has all parameters for that. NULL: this
 * one is alone with them.
 */
bool nn_layout_evaluates(const struct nn_layout *layout, uint64_t n);
struct nn_comm *nn_layout_evaluators(const struct nn_layout *layout, uint64_t n);

/*
 * Fill in on_host and sharing: ranks of this host, and those that may use the same cores as this
 * one, who share them by --threads. Collective.
 */
int nn_layout_find_sharing(struct nn_layout *layout, struct nn_error *err);

/* The name of what was asked for, pipeline and tensor included. */
const char *nn_layout_name(const struct nn_layout *layout);

#endif
