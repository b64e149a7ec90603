/* A node that ranks share: a product by out-channels, a table by rows. */
#ifndef NN_GRAPH_SHARDED_NODE_H
#define NN_GRAPH_SHARDED_NODE_H

#include "graph/bound.h"

/*
 * A product whose out-channels ranks share, or a table whose rows (sharded-rows.c: `out` are rows).
 * What the node itself says is this rank's part of it.
 */
struct nn_sharded_node {
	/*
	 * groups of channels go to ranks as they are, and no rank needs another's input or weights
	 */
	bool grouped;
	size_t in_units;         /* as the node's units: in-channels that go to ranks, or groups */
	size_t out, from, width; /* out-channels: of the whole, this rank's */
	size_t in, in_from, in_width; /* the same of the input */
	size_t taps;                  /* elements of a kernel */
	bool pooled;                  /* a pooling is behind it */
	bool turned; /* dx[0] is a product forward, of turned weights; else backward of a kernel */
	/* the product as it was; this rank's without epilogue; what makes its part of dx[0] */
	union nn_op_attrs whole, bare, back;
	struct nn_shape whole_in[2], whole_out; /* whole_in[1]: of a residual */
	bool want_dx;                           /* is dx[0] wanted? */
	struct nn_epilogue epilogue;
	struct nn_shape image, bare_out; /* before a pooling: of the whole, this rank's */
	struct nn_shape back_part;       /* this rank's channels of the input */
	size_t weights; /* bytes from the start of the graph's memory: those of `back` */
};

/* The first of the channels that rank r has. */
static inline size_t nn_sharded_first(size_t channels, int r, int ranks)
{
	return channels * (size_t)r / (size_t)ranks;
}
/* May ranks share this product? It becomes this rank's part of it. */
bool nn_sharded_may_product(const struct nn_bound *bound, const struct nn_bound_node *node);
int nn_sharded_make_product(const struct nn_bound *bound, struct nn_bound_node *node,
			    struct nn_error *err);
/* sharded-count.c: adds what sharing this node brings and costs; of a whole one its FLOP alone. */
void nn_sharded_count(const struct nn_bound *bound, const struct nn_bound_node *node,
		      size_t max_rows, struct nn_graph_sharing *sharing);
struct nn_site nn_sharded_back_site(const struct nn_bound *bound, const struct nn_bound_node *node);
/* What is saved for backward, of the whole; of that the bytes that say where a maximum was. */
size_t nn_sharded_saved(const struct nn_bound *bound, const struct nn_bound_node *node,
			size_t rows);
size_t nn_sharded_place_size(const struct nn_bound *bound, const struct nn_bound_node *node);

#endif
