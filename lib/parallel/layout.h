/*
 * Who has what, and when it travels: the ranks of a training or of a plan, their parts of the
 * network, and the strategy by which they work together.
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
 * --tensor: rank g * T + t has the t-th part of all shared parameters in group g; the ranks of a
 * group work on the same samples.
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
	struct nn_pairs pairs; /* transport of each pair of ranks; ranks 0: a plan, or one rank */
	uint64_t asked;        /* a plan: the --ranks given, 0: none */
	int sharing, on_host;  /* ranks on the cores, on the host of this one, itself included */
	struct {
		int rank, ranks; /* ranks 0: as it is */
	} as; /* a plan: which of those with the same parameters it is made for */
};

/*
 * Is this the rank that writes model, state, log, plot and messages? True for a run without ranks.
 */
bool nn_layout_first(const struct nn_layout *layout);
/* Number of ranks that train together. */
int nn_layout_ranks(const struct nn_layout *layout);
/*
 * The ranks with the same parameters, which share the samples: all ranks, or those with the same
 * part of the network. NULL in a plan.
 */
struct nn_comm *nn_layout_sharers(const struct nn_layout *layout);
/* Number of ranks: those of the training, or of the plan. */
int nn_layout_n_sharers(const struct nn_layout *layout);

/* Do ranks have parts of the network, stages or columns, which come together on rank 0 alone? */
bool nn_layout_in_parts(const struct nn_layout *layout);
/* Ranks of a group of --tensor, 1 where there is none. */
int nn_tensor_ranks(const struct nn_layout *layout);
/* Number of ranks that hold the network together. */
int nn_layout_parts(const struct nn_layout *layout);
/* Does this rank gather all of its stage's parameters, in the first pipeline or group? */
bool nn_layout_gathers(const struct nn_layout *layout);

/*
 * Does this rank evaluate n held-out rows? All ranks share them; where ranks have parts of the
 * network, the first of each pipeline or group does, which gathers all parameters for that.
 * nn_layout_evaluators: the ranks that share them, NULL: this rank alone.
 */
bool nn_layout_evaluates(const struct nn_layout *layout, uint64_t n);
struct nn_comm *nn_layout_evaluators(const struct nn_layout *layout, uint64_t n);

/*
 * Fill in on_host and sharing: ranks of this host, and ranks that may use the same cores as this
 * one, among which --threads divides them. Collective.
 */
int nn_layout_find_sharing(struct nn_layout *layout, struct nn_error *err);

/* The name of the layout, for messages, pipeline and tensor included. */
const char *nn_layout_name(const struct nn_layout *layout);

#endif
