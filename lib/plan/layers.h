/* Parameters, FLOP and memory of each layer of a network, for one sample. */
#ifndef NN_PLAN_LAYERS_H
#define NN_PLAN_LAYERS_H

#include "step/task.h"

/* A canonical line. Counts that do not fit are UINT64_MAX. */
struct nn_layer_cost {
	int line;
	const char *name, *layer; /* of the network */
	struct nn_shape output;
	uint64_t parameters, forward_flops, train_flops;
	size_t activation_bytes;
	struct nn_relief relief;
};

struct nn_layers {
	struct nn_layer_cost *layer; /* [n] */
	int n;
	uint64_t parameters; /* of all */
};

/* Free them in any case. */
int nn_layers_make(struct nn_layers *layers, const struct nn_task *task, struct nn_error *err);
void nn_layers_free(struct nn_layers *layers);
/* FLOP of one sample, all layers together: forward, or with backward; NaN: out of memory. */
double nn_layers_flops(const struct nn_program *program, bool training);

#endif
