/* Inside the graph room: a program lowered for a device, its fusions, its places in memory. */
#ifndef NN_GRAPH_BOUND_H
#define NN_GRAPH_BOUND_H

#include "graph/graph.h"

/* A value as nodes see it. Views (flatten, reshape) of one value have the same root, whose memory
 * they are. */
struct nn_bound_value {
	struct nn_shape shape; /* of one row, language order */
	/* Memory of a row is [positions][channels] where the language has [channels][positions];
	 * channels 0: language order. */
	size_t channels, positions;
	int root;    /* a value; itself if it is no view */
	bool learns; /* of a root: is its gradient of use to anything upstream? */
};

/* A product whose out-channels ranks share (split.c), or a table whose rows (split-rows.c: `part`,
 * and `out` are rows). */
union nn_product {
	struct nn_dense dense;
	struct nn_conv2d conv2d;
	struct nn_embedding embedding;
};
struct nn_split {
	bool grouped; /* groups of channels go to ranks as they are, and no rank needs another's
			 input or weights */
	size_t units, in_units;  /* what goes to ranks: groups or rows; else out-channels and, for
				    the input's gradient, in-channels */
	size_t out, from, width; /* out-channels: of the whole, this rank's */
	size_t in, in_from, in_width;      /* the same of the input */
	size_t taps;                       /* elements of a kernel */
	union nn_product part, bare, back; /* this rank's product, with its epilogue and without;
					      what makes its part of the input's gradient */
	struct nn_epilogue epilogue;
	struct nn_shape part_in[2], part_out; /* part_in[1]: of a residual */
	struct nn_shape image, bare_out;      /* before a pooling: of the whole, this rank's */
	struct nn_shape back_part;            /* this rank's channels of the input */
	size_t weights; /* bytes from the start of the graph's memory: those of `back` */
};

struct nn_bound_node {
	enum nn_op_id op;
	void *attrs; /* owned */
	int n_in;
	int *in; /* values; owned, with room for one more (a residual) */
	int out;
	int source; /* node of the program whose parameters it has; -1: inserted */
	int line;
	int norm; /* node of the program, a batchnorm folded into this one's parameters; -1: none */
	bool removed;           /* fused into another */
	struct nn_split *split; /* owned; NULL: whole */
	/* What a kernel is told: shapes whose order in memory its op knows. */
	struct nn_shape *shapes; /* [n_in]; owned */
	struct nn_shape shape;
	int n_params, param; /* bound.params[param .. param + n_params - 1] */
	bool backward;       /* does it run backward, and is dx[0] wanted then? */
	bool want_dx;
};

struct nn_bound_param {
	int node, index; /* index: which of the node's */
	int source;      /* parameter of the program; -1: made by folding */
	struct nn_op_param desc;
	size_t packed; /* elements */
	size_t offset; /* elements, in the block of weights or of buffers; tables lie behind the
			  block */
};

struct nn_bound {
	const struct nn_program *program;
	const struct nn_device *device;
	const struct nn_columns *columns;
	bool training, fold; /* fold: batchnorm into products */
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
};

/* lower.c: nodes with their layouts, permutes inserted, dropout gone at prediction. */
int nn_bound_lower(struct nn_bound *bound, struct nn_error *err);
/* fuse.c: epilogues, poolings behind convolutions, folded batchnorms; shapes for the kernels. */
int nn_bound_fuse(struct nn_bound *bound, struct nn_error *err);
/* The first of the channels that rank r has. */
static inline size_t nn_split_first(size_t channels, int r, int ranks)
{
	return channels * (size_t)r / (size_t)ranks;
}
/* split.c: may ranks share this node? What it then is; what it needs of memory and when rows go
 * through. */
bool nn_bound_splits(const struct nn_bound *bound, const struct nn_bound_node *node);
/* Adds what sharing this node brings and costs; of one that is whole its FLOP alone. */
void nn_split_count(const struct nn_bound *bound, const struct nn_bound_node *node,
		    struct nn_graph_sharing *sharing);
int nn_split_make(const struct nn_bound *bound, struct nn_bound_node *node, struct nn_error *err);
struct nn_site nn_split_back_site(const struct nn_bound_node *node);
/* What is saved for backward, of the whole. */
size_t nn_split_saved(const struct nn_bound *bound, const struct nn_bound_node *node, size_t rows);
size_t nn_split_room(const struct nn_bound *bound, const struct nn_bound_node *node,
		     size_t max_rows);
/* part.c: keep nodes first .. last - 1 alone, note what crosses their bounds. */
int nn_bound_part(struct nn_bound *bound, int first, int last, struct nn_error *err);
/* params.c: where each parameter lies in the block. */
int nn_bound_place(struct nn_bound *bound, struct nn_error *err);
void nn_bound_fini(struct nn_bound *bound);

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
/* What backward of the node reads: NN_OP_NEEDS_X, NN_OP_NEEDS_Y. */
unsigned nn_bound_needs(const struct nn_bound_node *node);
struct nn_site nn_bound_site(const struct nn_bound *bound, const struct nn_bound_node *node);
static inline size_t nn_bound_count(const struct nn_bound *bound, int value)
{
	return nn_shape_count(&bound->values[value].shape);
}

/* ---- memory ---- */

#define NN_NOWHERE SIZE_MAX

/* Offsets in bytes from the start of the graph's memory. Values and gradients are by root. */
/* Of a table's two lists, entries and sums: where their arrays begin. */
struct nn_list_place {
	size_t width, room, row[2], leaf[2], value[2];
};

struct nn_plan {
	size_t *value, *gradient; /* [n_values]; NN_NOWHERE: not a root, or has none */
	size_t *saved, *derived;  /* [n_nodes] */
	bool *kept;               /* [n_values], by root: does it outlive forward? */
	size_t work, room,
		parcels;   /* of split nodes: rows, and weights on their way between ranks */
	size_t *copy_step; /* [n_values]: of an input that each thread has a copy of, how far apart
			      they are; else 0 */
	size_t slot, slot_bytes;     /* where what each slot has of its own begins, and its bytes */
	struct nn_list_place *lists; /* [bound.n_tables] */
	size_t list_work;            /* of nn_row_sum */
	size_t bytes;                /* of all of it: the one allocation */
	struct nn_graph_memory memory;
};

int nn_plan_make(struct nn_plan *plan, struct nn_bound *bound,
		 const struct nn_graph_options *options, struct nn_error *err);
void nn_plan_fini(struct nn_plan *plan);
/* copies.c: of an input (a root), 1 or as many as threads. */
size_t nn_plan_copies(const struct nn_bound *bound, const struct nn_graph_options *options,
		      int input);

/* Something that needs memory from time `first` to time `last`, both included. */
struct nn_arena_item {
	size_t bytes;
	int first, last;
	int same;      /* shares the memory of this item; -1: has its own */
	size_t offset; /* result */
};
/* plan.c: *end grows by `bytes`, rounded up to whole lines; *offset (may be NULL) is where they
 * begin. */
int nn_plan_append(size_t *end, size_t bytes, size_t *offset, struct nn_error *err);
/* arena.c: offsets for all, multiples of 64; *bytes is what they take together. */
int nn_arena_place(struct nn_arena_item *items, int n, size_t *bytes, struct nn_error *err);

/* ---- the graph ---- */

struct nn_graph {
	struct nn_bound bound;
	struct nn_plan plan;
	struct nn_pool *pool;
	size_t max_rows;
	const struct nn_graph *share;
	bool given;                            /* weights and gradients are another's memory */
	void (*arrive)(void *arg, size_t end); /* weights are on their way; NULL: all are there */
	void *arrive_arg;
	unsigned char
		*memory; /* inputs, activations, work, derived; device memory as the following */
	void *weights, *gradients,
		*buffers;      /* weights, buffers: those of `share` if there is one */
	size_t slots, slot;    /* how many, the one in use */
	struct nn_call *calls; /* [n_nodes] of the slot in use, everything filled in but the span */
	struct nn_call *all_calls; /* [slots][n_nodes] */
	size_t *statistics,
		n_statistics; /* [n_nodes] where a node's begin among those of a group */
	void **pointers;      /* x, dx, w, dw of all calls */
	bool *adds;           /* dx_add of all calls */
	struct nn_row_list *entries, *sums; /* [bound.n_tables] */
};

/* params.c: the weights of a node arrive, where they are on their way. */
void nn_graph_arrive_at(struct nn_graph *graph, int node);
/* split.c: what stands for a kernel's forward and backward. split-weights.c: the weights of `back`
 * after an update, and its room. */
void nn_split_forward(struct nn_graph *graph, const struct nn_bound_node *node,
		      struct nn_call *call);
void nn_split_backward(struct nn_graph *graph, const struct nn_bound_node *node,
		       struct nn_call *call);
size_t nn_split_parcels(const struct nn_bound *bound, const struct nn_bound_node *node);
size_t nn_split_weights(const struct nn_bound *bound, const struct nn_bound_node *node);
void nn_split_refresh(struct nn_graph *graph, const struct nn_bound_node *node);
/* split-rows.c: the same for tables. */
bool nn_rows_splits(const struct nn_bound *bound, const struct nn_bound_node *node);
void nn_rows_make(const struct nn_bound *bound, struct nn_bound_node *node);
size_t nn_rows_room(const struct nn_bound *bound, const struct nn_bound_node *node,
		    size_t max_rows);
void nn_rows_forward(struct nn_graph *graph, const struct nn_bound_node *node,
		     const struct nn_call *call);
void nn_rows_backward(struct nn_graph *graph, const struct nn_bound_node *node,
		      const struct nn_call *call);

/* What lies at an offset of the plan, in the slot in use. */
static inline void *nn_graph_at(const struct nn_graph *graph, size_t offset)
{
	if (offset == NN_NOWHERE)
		return NULL;
	return graph->memory + offset +
	       (offset >= graph->plan.slot ? graph->slot * graph->plan.slot_bytes : 0);
}
static inline void *nn_graph_value_at(const struct nn_graph *graph, int value)
{
	return nn_graph_at(graph, graph->plan.value[nn_bound_root(&graph->bound, value)]);
}
static inline void *nn_graph_gradient_at(const struct nn_graph *graph, int value)
{
	return nn_graph_at(graph, graph->plan.gradient[nn_bound_root(&graph->bound, value)]);
}
/* tables.c: their lists, in the memory of the graph; bytes of a list's arrays. */
int nn_graph_take_lists(struct nn_graph *graph, struct nn_error *err);
int nn_plan_lists(struct nn_plan *plan, const struct nn_bound *bound,
		  const struct nn_graph_options *options, struct nn_error *err);

/* fold.c: weight and bias of node with its batchnorm in them; canonical parameters of the program
 * in, canonical out. */
void nn_fold_batchnorm(const struct nn_bound *bound, const struct nn_bound_node *node,
		       const void *const *params, void *weight, void *bias);

#endif
