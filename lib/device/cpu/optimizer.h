/* An update made ready to take its gradient in pieces, from whoever computes it. */
#ifndef NN_DEVICE_CPU_OPTIMIZER_H
#define NN_DEVICE_CPU_OPTIMIZER_H

#include "device/cpu/product/product.h"
#include "device/device.h"

struct nn_ready_update {
	struct nn_sink sink; /* of gradients by element, counted from the update's first */
	real *w, *a, *b;     /* weights, slots */
	real *direction;     /* lamb's first half; NULL: the second */
	/* what the steps are made of, rounded to the type once */
	real ratio, clip, decay, momentum;
	real rate, along; /* of a step, negative; the same times the ratio */
	real rest1, beta2, rest2;
	real inverse1, inverse2; /* of the corrections; inverse2: of the root */
	real corrected, keep;    /* rate / correction; what decay leaves of a weight */
	real alpha, rest, eps;
	bool nesterov;
};

/* direction: where lamb's goes, or NULL. Threads may call the sink for runs that do not overlap. */
void NN_K(ready)(struct nn_ready_update *ready, const struct nn_update *update, void *direction);

#endif
