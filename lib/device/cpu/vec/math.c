/* The functions of math.h over arrays: what tests measure, and the sigmoid of predictions. */
#include "device/cpu/cpu.h"
#include "device/cpu/vec/math.h"

#define NN_OVER(name, function) \
	static void name(const real *x, real *y, size_t n) \
	{ \
		size_t i = 0; \
		for (; i + VL <= n; i += VL) \
			v_store(y + i, function(v_load(x + i))); \
		if (i < n) \
			v_store_n(y + i, n - i, function(v_load_n(x + i, n - i))); \
	}

NN_OVER(over_exp, v_exp)
NN_OVER(over_expm1, v_expm1)
NN_OVER(over_log, v_log)
NN_OVER(over_tanh, v_tanh)
NN_OVER(over_sigmoid, v_sigmoid)
NN_OVER(over_erf, v_erf)
NN_OVER(over_softplus, v_softplus)

void NN_K(math)(enum nn_cpu_function function, const real *x, real *y, size_t n)
{
	static void (*const over[])(const real *, real *, size_t) = {
		[NN_CPU_EXP] = over_exp,           [NN_CPU_EXPM1] = over_expm1,
		[NN_CPU_LOG] = over_log,           [NN_CPU_TANH] = over_tanh,
		[NN_CPU_SIGMOID] = over_sigmoid,   [NN_CPU_ERF] = over_erf,
		[NN_CPU_SOFTPLUS] = over_softplus,
	};
	over[function](x, y, n);
}
