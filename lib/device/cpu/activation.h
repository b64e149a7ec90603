/*
 * The activations and their derivatives as vector functions: for the op, and for what fusion puts
 * behind others.
 */
#ifndef NN_DEVICE_CPU_ACTIVATION_H
#define NN_DEVICE_CPU_ACTIVATION_H

#include "device/cpu/cpu.h"
#include "device/cpu/vec/math.h"

#define NN_SQRT_HALF 0.70710678118654752440
#define NN_INV_SQRT_2PI 0.39894228040143267794
#define NN_SOFTPLUS_LINEAR 20 /* from here on softplus is the identity, as in PyTorch */

/* `kind` is a constant wherever these are called. */
NN_INLINE vr v_activate(enum nn_activation kind, vr slope, vr x)
{
	const vr zero = v_zero();
	switch (kind) {
	case NN_ACT_RELU: /* NaN stays, -0 becomes 0 */
		return v_select(v_le(x, zero), zero, x);
	case NN_ACT_LEAKY_RELU:
		return v_select(v_gt(x, zero), x, v_mul(slope, x));
	case NN_ACT_ELU:
		return v_select(v_gt(x, zero), x, v_mul(slope, v_expm1(x)));
	case NN_ACT_GELU:
		return v_mul(v_mul(x, v_set((real)0.5)),
			     v_add(v_set(1), v_erf(v_mul(x, v_set((real)NN_SQRT_HALF)))));
	case NN_ACT_SILU:
		return v_mul(x, v_sigmoid(x));
	case NN_ACT_SIGMOID:
		return v_sigmoid(x);
	case NN_ACT_TANH:
		return v_tanh(x);
	case NN_ACT_SOFTPLUS:
		return v_select(v_gt(x, v_set(NN_SOFTPLUS_LINEAR)), x, v_softplus(x));
	case NN_ACT_NONE:
	case NN_N_ACTIVATIONS: /* no default: the compiler says which formula is missing */
		break;
	}
	return x;
}

/* d * derivative, had from the output y (nn_activation_from_y). */
NN_INLINE vr v_activate_back_y(enum nn_activation kind, vr slope, vr y, vr d)
{
	const vr zero = v_zero(), one = v_set(1);
	switch (kind) {
	case NN_ACT_RELU:
		return v_select(v_le(y, zero), zero, d);
	case NN_ACT_LEAKY_RELU:
		return v_select(v_gt(y, zero), d, v_mul(slope, d));
	case NN_ACT_ELU:
		return v_select(v_gt(y, zero), d, v_mul(v_add(y, slope), d));
	case NN_ACT_SIGMOID:
		return v_mul(d, v_mul(y, v_sub(one, y)));
	case NN_ACT_TANH:
		return v_mul(d, v_fnma(y, y, one));
	default:
		return d;
	}
}

/* d * derivative at the input x, for the others. */
NN_INLINE vr v_activate_back_x(enum nn_activation kind, vr slope, vr x, vr d)
{
	const vr zero = v_zero(), one = v_set(1);
	vr s, density;
	switch (kind) {
	case NN_ACT_LEAKY_RELU:
		return v_select(v_gt(x, zero), d, v_mul(slope, d));
	case NN_ACT_ELU:
		return v_select(v_gt(x, zero), d, v_mul(v_mul(slope, v_exp(x)), d));
	case NN_ACT_GELU: /* cdf(x) + x * density(x) of the normal distribution */
		density = v_mul(v_set((real)NN_INV_SQRT_2PI),
				v_exp_negative(v_mul(v_mul(x, x), v_set((real)-0.5))));
		s = v_mul(v_set((real)0.5), v_add(one, v_erf(v_mul(x, v_set((real)NN_SQRT_HALF)))));
		return v_mul(d, v_fma(x, density, s));
	case NN_ACT_SILU:
		s = v_sigmoid(x);
		return v_mul(d, v_mul(s, v_fma(x, v_sub(one, s), one)));
	case NN_ACT_SOFTPLUS:
		return v_select(v_gt(x, v_set(NN_SOFTPLUS_LINEAR)), d, v_mul(d, v_sigmoid(x)));
	default:
		return d;
	}
}

/*
 * x[n] = activation(x), and d[n] = d * derivative from y: for epilogues that are not part of a
 * kernel.
 */
void NN_K(activate)(const struct nn_epilogue *epilogue, const real *x, real *y, size_t n);
void NN_K(activate_back)(const struct nn_epilogue *epilogue, const real *y, const real *dy,
			 real *dz, size_t n);

#endif
