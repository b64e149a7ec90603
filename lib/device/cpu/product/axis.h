/* Which taps of an axis meet which positions. */
#ifndef NN_DEVICE_CPU_PRODUCT_AXIS_H
#define NN_DEVICE_CPU_PRODUCT_AXIS_H

#include "device/cpu/product/product.h"

/* a / b rounded down, b > 0. */
static inline long nn_floor_div(long a, long b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static inline long nn_clamp(long v, long lo, long hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* The output positions q with begin <= q < end for which tap t lies inside. */
static inline long nn_axis_begin(const struct nn_axis *a, long t)
{
	return nn_clamp(-nn_floor_div(t * a->dilation - a->pad, a->stride), 0, a->out);
}
static inline long nn_axis_end(const struct nn_axis *a, long t)
{
	return nn_clamp(nn_floor_div(a->in - 1 + a->pad - t * a->dilation, a->stride) + 1,
			nn_axis_begin(a, t), a->out);
}

/* The taps t with begin <= t < end that lie inside at output position q. */
static inline long nn_axis_first_tap(const struct nn_axis *a, long q)
{
	return nn_clamp(-nn_floor_div(q * a->stride - a->pad, a->dilation), 0, a->n);
}
static inline long nn_axis_last_tap(const struct nn_axis *a, long q)
{
	return nn_clamp(nn_floor_div(a->in - 1 + a->pad - q * a->stride, a->dilation) + 1,
			nn_axis_first_tap(a, q), a->n);
}

/* Reals from the beginning of x to what tap t meets at output position q; may be outside. */
static inline long nn_axis_at(const struct nn_axis *a, long q, long t)
{
	return q * a->stride + t * a->dilation - a->pad;
}

/*
 * The gradient towards the input of an axis with stride s falls apart into s phases: input
 * positions phase + s * q are met by every s/gcd(s, dilation)-th tap. The axis of such a phase over
 * the output's gradient, taps counted downwards from the highest one; n = 0 if no tap meets it.
 * *tap is the highest tap, *step from one to the next lower.
 */
struct nn_axis nn_axis_phase(const struct nn_axis *a, long phase, long *tap, long *step);
/*
 * Each tap of a kernel in the order of rotated weights: phase by phase, in each rows and columns
 * descending.
 */
void nn_axis_visit_rotated(const struct nn_axis *h, const struct nn_axis *w,
			   void (*visit)(void *arg, size_t tap), void *arg);

#endif
