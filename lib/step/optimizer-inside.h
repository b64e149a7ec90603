/* Inside the optimizer: what it keeps. */
#ifndef NN_STEP_OPTIMIZER_INSIDE_H
#define NN_STEP_OPTIMIZER_INSIDE_H

#include "step/optimizer-table.h"
#include "step/optimizer.h"

struct nn_optimizer {
	struct nn_optimizer_options options;
	const struct nn_device *device;
	struct nn_queue *queue; /* the graph's */
	struct nn_graph *graph;
	const struct nn_program *program;
	struct nn_pool *pool;
	struct nn_update update; /* the constants; n, w, g and slots are set per call */
	struct nn_update now;    /* the update under way */
	struct nn_loss_scale scale;
	bool scales; /* products are of f16 */
	struct nn_optimizer_ranks ranks;
	struct nn_optimizer_place place; /* memory of others */
	size_t n_slots, block;
	size_t from, to;              /* elements of the block that are updated here */
	char *slots;                  /* n_slots runs of to - from elements */
	struct nn_table_steps tables; /* behind the block */
	char *direction;              /* a block; NULL: it has none */
	/* scratch in device memory: all trained parameters in file order */
	char *canonical;
	const void **at;        /* [n_params] place in canonical */
	struct nn_mirror roles; /* uint8_t [n_params], enum nn_param_role */
	/* double [n_params]: squares of weights, of gradients or directions; trust ratios */
	struct nn_mirror w_norm, g_norm, ratios;
	struct nn_mirror length; /* double: the gradient's norm */
	void *work;              /* device memory: real [n_params] */
};

#endif
