/* The steps that stand for a shared node's. */
#ifndef NN_GRAPH_SHARDED_STEPS_H
#define NN_GRAPH_SHARDED_STEPS_H

#include "graph/steps.h"

/* sharded-forward.c, sharded-backward.c: of a product */
void nn_sharded_product_forward(struct nn_steps *to, const struct nn_planned_step *step,
				const struct nn_bound *bound,
				const struct nn_graph_options *options);
void nn_sharded_product_backward(struct nn_steps *to, const struct nn_planned_step *step,
				 const struct nn_bound *bound);
/* sharded-rows.c: of a table. May ranks share it? It becomes this rank's part of it. */
bool nn_rows_splits(const struct nn_bound *bound, const struct nn_bound_node *node);
void nn_rows_make(const struct nn_bound *bound, struct nn_bound_node *node);
/* Host memory of its calls, on a device with memory of its own. */
size_t nn_sharded_rows_bytes(const struct nn_bound *b, const struct nn_bound_node *node,
			     size_t max_rows);
void nn_sharded_rows_step(struct nn_steps *to, const struct nn_planned_step *step,
			  const struct nn_bound *bound, const struct nn_graph_options *options);
/* sharded-weights.c: ranks exchange weights, behind what else is made of them */
int nn_sharded_weights_steps(struct nn_steps *after, struct nn_bound *bound, struct nn_error *err);

#endif
