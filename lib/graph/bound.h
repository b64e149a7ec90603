/* A program bound to a device: nodes with their kernels' shapes and parameters, no memory yet. */
#ifndef NN_GRAPH_BOUND_H
#define NN_GRAPH_BOUND_H

#include "graph/graph.h"

#define NN_NOWHERE SIZE_MAX /* of an offset in the graph's memory */

/*
 * A value as nodes see it. Views (flatten, reshape) of one value have the same root, whose memory
 * they are.
 */
struct nn_bound_value {
	struct nn_shape shape; /* of one row, language order */
	/*
	 * Memory of a row is [positions][channels] where the language has [channels][positions];
	 * channels 0: language order.
	 */
	size_t channels, positions;
	int root;     /* a value; itself if it is no view */
	bool learns;  /* of a root: is its gradient of use to anything upstream? */
	int permuted; /* of a root, while lowering: the node that last permuted it; -1: none did */
};

struct nn_bound_node {
	enum nn_op_id op;
	void *attrs; /* owned */
	int n_in;
	int *in; /* values; owned, with room for one more (a residual) */
	int out;
	int source; /* node of the program whose parameters it has; -1: inserted */
	int line;
	int permuted; /* of a permute, while lowering: the one of the same root before it; -1 */
	int norm; /* node of the program, a batchnorm folded into this one's parameters; -1: none */
	bool removed; /* fused into another */
	/* Arguments of a kernel: shapes whose order in memory its op knows. */
	struct nn_shape *shapes; /* [n_in]; owned */
	struct nn_shape shape;
	/* Ranks share it (sharded.c; owned): attributes, shapes and want_dx are this rank's. */
	struct nn_sharded_node *sharded;
	size_t units; /* what goes to ranks of the whole: groups, out-channels, rows; 0: all here */
	int n_params, param; /* bound.params[param .. param + n_params - 1] */
	bool backward;       /* does it run backward, and is dx[0] wanted then? */
	bool want_dx;
	size_t derived; /* where what is derived of weights lies; NN_NOWHERE: nothing is */
	size_t state, state_bytes; /* the same of states, a row after the other; bytes of a row */
};

struct nn_bound_param {
	int node, index; /* index: which of the node's */
	int source;      /* parameter of the program; -1: made by folding */
	struct nn_op_param desc;
	size_t packed; /* elements */
	/* elements, in the block of weights or of buffers; tables lie behind the block */
	size_t offset;
};

/* What lies in a file between forward and backward. */
struct nn_spilled {
	bool saved;              /* what a node saves; else a value */
	int index;               /* a node; a root */
	int node;                /* that made it */
	size_t bytes, row_bytes; /* of all rows; of one, 0: they are not one after the other */
	size_t at;               /* in the file, in the part of a slot */
	/* the last step forward that uses it, the first one backward, before there are any for it
	 */
	int last, first;
};

struct nn_bound {
	const struct nn_program *program;
	const struct nn_device *device;
	const struct nn_column_shard *columns;
	struct nn_queue *queue; /* of a graph; NULL on the CPU */
	bool training, fold;    /* fold: batchnorm into products */
	struct nn_bound_value *values;
	int n_values;
	struct nn_bound_node *nodes;
	int n_nodes;
	int *inputs, *outputs; /* values, one per input and output of the program */
	int n_outputs;         /* the program's; 0 in a part that is not the last */
	int *edges[2],
		n_edges[2]; /* roots that cross the bounds of a part, by enum nn_graph_side */
	struct nn_bound_param *params;
	int n_params;
	int *place;                    /* [program->n_params]: bound parameter, or -1 */
	size_t block, tables, buffers; /* elements */
	int *table_params, n_tables;   /* bound parameters that are tables */
	/* [n_nodes]: computed again in backward; NULL: none is, and nothing lies elsewhere there */
	bool *again;
	struct nn_spilled *spilled;
	int n_spilled;
	size_t spilled_bytes; /* of a slot's part of the file */
};

/* lower.c: nodes with their layouts, permutes inserted, dropout gone at prediction. */
int nn_bound_lower(struct nn_bound *bound, struct nn_error *err);
/* fuse.c: epilogues, poolings behind convolutions, folded batchnorms; shapes for the kernels. */
int nn_bound_fuse(struct nn_bound *bound, struct nn_error *err);
/* part.c: keep nodes first .. last - 1 alone, note what crosses their bounds. */
int nn_bound_part(struct nn_bound *bound, int first, int last, struct nn_error *err);
/* params.c: where each parameter lies in the block. */
int nn_bound_place(struct nn_bound *bound, struct nn_error *err);

/* ---- bound.c: what all passes ask ---- */

void nn_bound_fini(struct nn_bound *bound);
/* What the node at hand owns. */
void nn_bound_node_fini(struct nn_bound_node *node);
/* Value whose memory `value` is. */
static inline int nn_bound_root(const struct nn_bound *bound, int value)
{
	while (bound->values[value].root != value)
		value = bound->values[value].root;
	return value;
}
/* Which of the tables is bound parameter `param`? */
int nn_bound_table(const struct nn_bound *bound, int param);
/* The epilogue in a node's attributes; NULL for ops without one. */
struct nn_epilogue *nn_bound_epilogue(const struct nn_bound_node *node);
/* Is its last input added to its product? */
bool nn_bound_has_residual(const struct nn_bound_node *node);
/* What backward of the node reads: NN_OP_NEEDS_X, NN_OP_NEEDS_Y. */
unsigned nn_bound_needs(const struct nn_bound_node *node);
/* Of one row forward. */
static inline uint64_t nn_bound_flops(const struct nn_bound_node *node)
{
	return nn_op_flops(node->op, node->attrs, node->shapes, node->n_in, &node->shape);
}
struct nn_site nn_bound_site(const struct nn_bound *bound, const struct nn_bound_node *node);
static inline size_t nn_bound_count(const struct nn_bound *bound, int value)
{
	return nn_shape_count(&bound->values[value].shape);
}

#endif
