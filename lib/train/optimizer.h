/* Optimizers: what PyTorch 2 defines, as updates of the flat block of a graph. */
#ifndef NN_TRAIN_OPTIMIZER_H
#define NN_TRAIN_OPTIMIZER_H

#include "graph/graph.h"

struct nn_optimizer_info {
	const char *name;
	enum nn_optimizer_kind kind;
	double lr, weight_decay;     /* defaults */
	bool momentum;               /* takes --momentum */
	bool per_param;              /* the update has a trust ratio for each parameter */
};

extern const struct nn_optimizer_info nn_optimizers[];    /* in the order of enum nn_optimizer_kind */
extern const char *const nn_optimizer_names[];            /* NULL-terminated */

struct nn_optimizer_options {
	enum nn_optimizer_kind kind;
	double momentum, weight_decay;
	bool nesterov;
	double clip_norm;            /* 0: none */
};

struct nn_optimizer;

/* For a training graph, which is borrowed, as is its pool. Slots are zero (rprop's steps are set by the first update). */
int nn_optimizer_new(struct nn_optimizer **optimizer, const struct nn_optimizer_options *options,
		     const struct nn_device *device, struct nn_graph *graph, const struct nn_program *program,
		     struct nn_pool *pool, struct nn_error *err);
void nn_optimizer_free(struct nn_optimizer *optimizer);

/* Bytes that nn_optimizer_new takes for a graph of `block` elements and n_params parameters. */
size_t nn_optimizer_bytes(const struct nn_optimizer_options *options, size_t block, enum nn_dtype dtype);

/*
 * Update the weights from the graph's gradients, step counted from 1, and refresh what is derived from them. norm (may be NULL):
 * the gradient's global norm before clipping. Allocates nothing.
 */
void nn_optimizer_update(struct nn_optimizer *optimizer, uint64_t step, double lr, double *norm);

/* Slots by number, 0..n-1, in the form of the graph's block (nn_graph_pack and unpack): for states. */
size_t nn_optimizer_slots(const struct nn_optimizer *optimizer);
void *nn_optimizer_slot(struct nn_optimizer *optimizer, size_t slot);

#endif
