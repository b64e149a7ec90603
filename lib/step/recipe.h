/* How a training makes its steps: what its options say of them, with every default filled in. */
#ifndef NN_STEP_RECIPE_H
#define NN_STEP_RECIPE_H

#include <stdbool.h>
#include <stdint.h>
#include "step/optimizer.h"

struct nn_recipe {
	enum nn_loss_kind loss;
	int optimizer; /* enum nn_optimizer_kind */
	double lr, momentum;
	bool nesterov;
	const char *schedule;
	uint64_t warmup;
	double weight_decay, clip_norm;
	uint64_t epochs, steps;
	double time_limit; /* seconds, 0: none */
	uint64_t batch, leaves, micro_batch;
	const char *shuffle; /* yes, no or N */
	uint64_t replay;     /* samples of a stream that steps draw from; 0: of all samples */
	bool stateful;       /* rows of a batch continue those of the batch before */
	/* bytes of a row, as nn_graph_options has them; 0: not asked for */
	size_t recompute, offload;
	const char *offload_folder; /* NULL: as usual */
};

static inline struct nn_optimizer_options nn_recipe_optimizer(const struct nn_recipe *r)
{
	return (struct nn_optimizer_options){ (enum nn_optimizer_kind)r->optimizer, r->momentum,
					      r->weight_decay, r->nesterov, r->clip_norm };
}

#endif
