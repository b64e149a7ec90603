/* On the device: where weights lie in panels, and what stands behind a product. */
#ifndef NN_DEVICE_CUDA_PANELS_H
#define NN_DEVICE_CUDA_PANELS_H

#include "device/cuda/phase.h"

/* Lanes of n channels' panels, and the width of the panel that channel o is in. */
NN_INLINE size_t lanes_of(size_t n)
{
	return (n + NN_LANES - 1) / NN_LANES * NN_LANES;
}

NN_INLINE size_t width_at(size_t n, size_t o)
{
	return n - o / NN_PANEL * NN_PANEL > NN_LANES ? NN_PANEL : NN_LANES;
}

/* Weights of one channel along the chain: `step` apart. */
struct column {
	const real *w;
	size_t step;
};

/* Channel o of n in panels of group g, each step of whose chain is `chain` long. */
NN_INLINE struct column column_of(const real *w, size_t g, size_t o, size_t n, size_t chain)
{
	struct column c;
	size_t panel = o / NN_PANEL * NN_PANEL;
	c.step = width_at(n, o);
	c.w = w + (g * lanes_of(n) + panel) * chain + (o - panel);
	return c;
}

/* Do rows of `row` reals begin where NN_COPY_WIDE may read? */
NN_INLINE bool is_wide(const real *p, size_t row)
{
	return ((uintptr_t)p | row * sizeof(real)) % 16 == 0;
}

/* What stands behind a product: its bias and residual are read before they are needed. */
struct behind {
	real bias, residual;
};

NN_INLINE struct behind behind_of(const struct nn_product_args *a, size_t o, size_t at)
{
	struct behind b;
	b.bias = a->bias ? a->bias[o] : 0;
	b.residual = a->residual ? a->residual[at] : 0;
	return b;
}

NN_INLINE real tail_of(const struct nn_product_args *a, real v, struct behind b)
{
	if (a->bias)
		v = v_add(v, b.bias);
	if (a->residual)
		v = v_add(v, b.residual);
	if (a->act == NN_TAIL_RELU)
		v = v_max(v_zero(), v);
	else if (a->act == NN_TAIL_LEAKY)
		v = v_select(v_gt(v, v_zero()), v, v_mul(a->slope, v));
	return v;
}

NN_INLINE real tail(const struct nn_product_args *a, real v, size_t o, size_t at)
{
	return tail_of(a, v, behind_of(a, o, at));
}

#endif
