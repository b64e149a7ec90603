/* Sharing among ranks, as two passes. */
#ifndef NN_GRAPH_SHARDED_H
#define NN_GRAPH_SHARDED_H

#include "graph/steps.h"

/* The nodes that ranks may share become this rank's part of them. */
int nn_sharded_pass(struct nn_bound *bound, struct nn_error *err);

/*
 * The pass over steps: those of a shared product (sharded-forward.c, sharded-backward.c) or table
 * (sharded-rows.c) come in the place of a kernel's, and after an update ranks exchange weights
 * (sharded-weights.c).
 */
int nn_sharded_steps(struct nn_steps *steps, struct nn_steps *after, struct nn_bound *bound,
		     const struct nn_graph_options *options, struct nn_error *err);

#endif
