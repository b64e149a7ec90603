/* What the steps of a shared product are made of. */
#ifndef NN_GRAPH_SHARDED_PARTS_H
#define NN_GRAPH_SHARDED_PARTS_H

#include "graph/instance.h"
#include "graph/sharded/node.h"

/*
 * Where this rank's channels of rows lie: of y or dy, of a residual, of places of maxima, of x, of
 * the input's gradient, and of what that is added to; and dy of all channels before a pooling.
 */
struct nn_shared_rooms {
	size_t residual, places, x, back, old, image, end; /* bytes from the beginning */
};

struct nn_shared_rooms nn_shared_rooms_of(const struct nn_bound *bound,
					  const struct nn_bound_node *node, size_t rows);

/* `bytes` at `at` of every line of `line` bytes become lines of their own. */
struct nn_take_call {
	struct nn_call call;
	const unsigned char *from;
	unsigned char *to;
	size_t lines; /* of a row */
	size_t line, at, bytes;
};

/* What each rank has of lines of `units`, `bytes` each. */
struct nn_gather_call {
	struct nn_call call;
	const struct nn_column_shard *columns;
	const void *part;
	void *whole;
	size_t lines; /* of a row */
	size_t units, bytes;
	unsigned char
		*host; /* of a device with memory of its own: whole lines, and behind them a part */
};

/* A kernel over parts, or over what an epilogue stands for. */
struct nn_part_call {
	struct nn_call call;
	const void *x[2];
	void *dx[2], *w[1], *dw[2];
	bool add[2];
	union {
		struct nn_activation_attrs activation;
		struct nn_pool2d pool;
	} attrs;
};

/* What all steps of a node are made from. */
struct nn_shared_parts {
	struct nn_graph *graph;
	const struct nn_bound *b;
	const struct nn_bound_node *node;
	const struct nn_sharded_node *s;
	const struct nn_call *call; /* of the node, over whole rows */
	const struct nn_kernel *kernel;
	unsigned char *room;
	struct nn_shared_rooms rooms;
	size_t size; /* of an element */
	size_t in_lines, out_lines;
};

struct nn_shared_parts nn_shared_parts_of(struct nn_graph *graph,
					  const struct nn_planned_step *step);
/* A call of `bytes` bytes that begins as the node's. */
void *nn_shared_call(const struct nn_shared_parts *h, struct nn_graph_step *made,
		     void (*run)(const struct nn_call *call), size_t bytes, struct nn_error *err);
/* Steps that take, gather and add: *as says what, but for the call. */
int nn_shared_take(const struct nn_shared_parts *h, struct nn_graph_step *made,
		   const struct nn_take_call *as, struct nn_error *err);
int nn_shared_gather(const struct nn_shared_parts *h, struct nn_graph_step *made,
		     const struct nn_gather_call *as, struct nn_error *err);
/* to += from, n elements of a row */
int nn_shared_add(const struct nn_shared_parts *h, struct nn_graph_step *made, void *to,
		  const void *from, size_t n, struct nn_error *err);
/* This rank's channels of the input, or of its gradient. */
int nn_shared_take_in(const struct nn_shared_parts *h, struct nn_graph_step *made, const void *from,
		      void *to, struct nn_error *err);
/* This rank's out-channels of what has all, before a pooling. */
int nn_shared_take_out(const struct nn_shared_parts *h, struct nn_graph_step *made,
		       const void *from, void *to, struct nn_error *err);
/* The input as this rank's product reads it, which nn_shared_fill_input brings there. */
const void *nn_shared_input(const struct nn_shared_parts *h);
int nn_shared_fill_input(struct nn_graph *graph, const struct nn_planned_step *step,
			 struct nn_graph_step *made, struct nn_error *err);

typedef int nn_fill(struct nn_graph *graph, const struct nn_planned_step *step,
		    struct nn_graph_step *made, struct nn_error *err);
/* Of the steps that stand for `step`, all of which use what it used: the one that does `fill`. */
void nn_shared_put(struct nn_steps *to, const struct nn_planned_step *step, bool wanted,
		   nn_fill *fill);

#endif
