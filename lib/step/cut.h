/*
 * How a global batch is cut: leaves fix the order of summation, spans are what goes through the
 * graph at once.
 */
#ifndef NN_STEP_CUT_H
#define NN_STEP_CUT_H

#include "graph/graph.h"

/*
 * A span is either an aligned run of 2^level whole leaves or a piece of one leaf (level 0). The sum
 * over the spans of a leaf or run is node `node` of its level in the tree over leaves; `last` says
 * that it is complete after this span.
 */
struct nn_cut_span {
	size_t row; /* its first row in the batch */
	unsigned level;
	size_t node;
	bool last;
	size_t group;        /* the first of its groups in the batch */
	struct nn_span span; /* bounds relative to `row`; sample and statistics are the caller's */
};

/*
 * A node of the tree over leaves: leaves node << level to (node + 1) << level, the last left out.
 */
struct nn_cut_node {
	unsigned level;
	size_t node;
};

/*
 * The run of leaves that is a rank's share of a batch: rank r of n has floor(r L / n) to floor((r +
 * 1) L / n) - 1.
 */
struct nn_cut_run {
	size_t from, to; /* from == to: none */
};

struct nn_cut {
	size_t rows, n_leaves;
	unsigned levels;       /* log2(n_leaves) */
	size_t *leaf;          /* [n_leaves + 1] rows */
	size_t *group_of_leaf; /* [n_leaves + 1] with batch norm, else NULL */
	struct nn_cut_run run; /* the leaves that spans are made of */
	struct nn_cut_span *spans;
	size_t n_spans;
	size_t max_rows, max_leaves; /* of a span */
	size_t *bounds;              /* where the arrays of spans and leaves lie */
};

/*
 * Cut `rows` rows into n_leaves leaves (a power of two) and those of `run` into spans of at most
 * `micro` rows. With batch norm (group > 0) leaves and spans are whole groups, and micro is rounded
 * up to them. NULL with *err on failure.
 */
struct nn_cut *nn_cut_new(size_t rows, size_t n_leaves, size_t group, size_t micro,
			  struct nn_cut_run run, struct nn_error *err);
void nn_cut_free(struct nn_cut *cut);

/* What such a cut is, without making it: time and memory do not grow with groups that fit in micro.
 */
struct nn_cut_size {
	size_t n_spans, n_bounds;
	size_t max_rows, max_leaves; /* of a span */
	unsigned waits;              /* bit l: a sum waits for its neighbour at level l */
};
struct nn_cut_size nn_cut_measure(size_t rows, size_t n_leaves, size_t group, size_t micro,
				  struct nn_cut_run run);

struct nn_cut_run nn_cut_share(size_t n_leaves, int rank, int ranks);

/* The largest subtrees that a run of leaves consists of, in order: how many. */
#define NN_CUT_NODES 128
size_t nn_cut_nodes(struct nn_cut_run run, struct nn_cut_node nodes[NN_CUT_NODES]);
/* Is a node one of them? */
bool nn_cut_tops(struct nn_cut_run run, struct nn_cut_node node);
/*
 * The node that is complete with this span, the last of its own; false: it waits for no neighbour,
 * but is a sum of the run.
 */
bool nn_cut_waits_at(struct nn_cut_run run, const struct nn_cut_span *span,
		     struct nn_cut_node *node);

/*
 * Groups that batch norm makes of `rows` rows (numerics.md): a rest under half a group joins the
 * one before. At least 1.
 */
size_t nn_group_count(size_t rows, size_t group);

#endif
