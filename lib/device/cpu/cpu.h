/* What the kernels of this wing share: loops over lanes, and how samples lie in memory. */
#ifndef NN_DEVICE_CPU_CPU_H
#define NN_DEVICE_CPU_CPU_H

#include "device/cpu/split.h"
#include "device/cpu/vec/vec.h"
#include "device/device.h"

/*
 * C,H,W is held H,W,C: channels are the last dimension in memory; a vector is one position of its
 * values.
 */
static inline size_t nn_cpu_channels(const struct nn_shape *shape)
{
	return nn_shape_columns(shape);
}

/* The first k lanes; k == VL where the compiler can see it costs nothing. */
NN_INLINE vr v_get(const real *p, size_t k)
{
	return k == VL ? v_load(p) : v_load_n(p, k);
}

NN_INLINE void v_put(real *p, size_t k, vr a)
{
	if (k == VL)
		v_store(p, a);
	else
		v_store_n(p, k, a);
}

/* The statements for i = 0, VL, ... below n, with k = VL lanes, fewer at the end. */
#define NN_EACH(i, k, n, ...) \
	do { \
		size_t i = 0; \
		for (; i + VL <= (n); i += VL) { \
			enum { k = VL }; \
			__VA_ARGS__ \
		} \
		if (i < (n)) { \
			const size_t k = (n)-i; \
			__VA_ARGS__ \
		} \
	} while (0)

enum nn_cpu_function {
	NN_CPU_EXP,
	NN_CPU_EXPM1,
	NN_CPU_LOG,
	NN_CPU_TANH,
	NN_CPU_SIGMOID,
	NN_CPU_ERF,
	NN_CPU_SOFTPLUS,
	NN_CPU_N_FUNCTIONS
};
void NN_K(math)(enum nn_cpu_function function, const real *x, real *y, size_t n);

/* dx = d, or dx + d. */
NN_INLINE void v_put_gradient(real *dx, size_t k, vr d, bool add)
{
	v_put(dx, k, add ? v_add(v_get(dx, k), d) : d);
}

#endif
