/* What fusion puts behind a product, as the product kernels take it, and the rest of it. */
#ifndef NN_DEVICE_CPU_TAIL_H
#define NN_DEVICE_CPU_TAIL_H

#include "device/cpu/activation.h"
#include "device/cpu/product/product.h"

/* residual: where the piece begins, or NULL. */
static inline struct nn_tail nn_tail_of(const struct nn_epilogue *epilogue, const void *bias,
					const void *residual)
{
	struct nn_tail tail = { .bias = bias, .residual = residual, .slope = epilogue->slope };
	if (epilogue->activation == NN_ACT_RELU)
		tail.act = NN_TAIL_RELU;
	else if (epilogue->activation == NN_ACT_LEAKY_RELU)
		tail.act = NN_TAIL_LEAKY;
	return tail;
}

/* Is there an activation that the product kernels leave to NN_K(activate)? */
static inline bool nn_tail_rest(const struct nn_epilogue *epilogue)
{
	return epilogue->activation != NN_ACT_NONE && epilogue->activation != NN_ACT_RELU &&
	       epilogue->activation != NN_ACT_LEAKY_RELU;
}

#endif
