/* Softmax of one row of numbers. */
#ifndef NN_DEVICE_CPU_SOFTMAX_H
#define NN_DEVICE_CPU_SOFTMAX_H

#include "device/cpu/vec/math.h"
#include "device/cpu/sum.h"

/*
 * The largest of n > 0 numbers; whichever order, the same (-0 and 0 are the same to softmax, NaN
 * shows in the sum).
 */
NN_INLINE real v_largest(const real *x, size_t n)
{
	vr most = v_set((real)-__builtin_inff());
	real t[VL];
	NN_EACH(i, k, n, { most = v_max(v_select(vm_first(k), v_get(x + i, k), most), most); });
	v_store(t, most);
	NN_UNROLL
	for (int w = VL / 2; w > 0; w /= 2)
		for (int i = 0; i < w; i++)
			t[i] = t[i + w] > t[i] ? t[i + w] : t[i];
	return t[0];
}

struct powers {
	const real *x;
	real *y, largest;
};

NN_INLINE vr term_power(const void *arg, size_t i, size_t k)
{
	const struct powers *e = (const struct powers *)arg;
	const vr y = v_exp_negative(v_sub(v_get(e->x + i, k), v_set(e->largest)));
	v_put(e->y + i, k, y);
	return y;
}

/* y = exp(x - largest), their nn_sum. y may be x. */
NN_INLINE real v_exp_sum(const real *x, real *y, size_t n, real largest)
{
	const struct powers e = { x, y, largest };
	return v_sum(term_power, &e, n);
}

NN_INLINE void v_divide(real *y, size_t n, real by)
{
	const vr sum = v_set(by);
	NN_EACH(i, k, n, { v_put(y + i, k, v_div(v_get(y + i, k), sum)); });
}

/*
 * The same of n <= VL numbers, which stay in a register: a masked store would have to arrive before
 * it can be read again.
 */
NN_INLINE vr v_exp_sum_one(const real *x, size_t n, real largest, real *sum)
{
	vr partial[NN_SUM_VECTORS], e = v_exp_negative(v_sub(v_load_n(x, n), v_set(largest)));
	NN_UNROLL
	for (int j = 1; j < NN_SUM_VECTORS; j++)
		partial[j] = v_zero();
	partial[0] = v_select(vm_first(n), e, v_zero());
	*sum = v_sum_pairs(partial);
	return e;
}

/* y = softmax of x, which may be y. */
NN_INLINE void v_softmax(const real *x, real *y, size_t n)
{
	if (n <= VL) {
		real sum;
		vr e = v_exp_sum_one(x, n, v_largest(x, n), &sum);
		v_store_n(y, n, v_div(e, v_set(sum)));
		return;
	}
	v_divide(y, n, v_exp_sum(x, y, n, v_largest(x, n)));
}

/* The sum of y dy. */
NN_INLINE real v_softmax_dot(const real *y, const real *dy, size_t n)
{
	const struct nn_sum_pair pair = { dy, y };
	return v_sum(v_term_product, &pair, n);
}

/* dx = y (dy - dot), or dx + that; dx may be dy. */
NN_INLINE void v_softmax_slope(const real *y, const real *dy, real dot, real *dx, size_t n,
			       bool add)
{
	const vr sum = v_set(dot);
	NN_EACH(i, k, n, {
		v_put_gradient(dx + i, k, v_mul(v_get(y + i, k), v_sub(v_get(dy + i, k), sum)),
			       add);
	});
}

NN_INLINE void v_softmax_back(const real *y, const real *dy, real *dx, size_t n, bool add)
{
	v_softmax_slope(y, dy, v_softmax_dot(y, dy, n), dx, n, add);
}

NN_INLINE real v_log_one(real x)
{
	real t[VL];
	v_store(t, v_log(v_set(x)));
	return t[0];
}

/*
 * x - largest - log(sum), the last two subtracted one after the other; y may be x, so the sum keeps
 * nothing
 */
struct shifted {
	const real *x;
	real largest;
};

NN_INLINE vr term_shifted_exp(const void *arg, size_t i, size_t k)
{
	const struct shifted *shifted = (const struct shifted *)arg;
	return v_exp_negative(v_sub(v_get(shifted->x + i, k), v_set(shifted->largest)));
}

NN_INLINE void log_softmax_row(const real *x, real *y, size_t n)
{
	struct shifted shifted = { x, v_largest(x, n) };
	const vr most = v_set(shifted.largest),
		 log_sum = v_set(v_log_one(v_sum(term_shifted_exp, &shifted, n)));
	NN_EACH(i, k, n, { v_put(y + i, k, v_sub(v_sub(v_get(x + i, k), most), log_sum)); });
}

NN_INLINE void log_softmax_back_row(const real *y, const real *dy, real *dx, size_t n, bool add)
{
	struct nn_sum_pair pair = { dy, dy };
	const vr sum = v_set(v_sum(v_term_value, &pair, n));
	NN_EACH(i, k, n, {
		v_put_gradient(dx + i, k, v_fnma(v_exp(v_get(y + i, k)), sum, v_get(dy + i, k)),
			       add);
	});
}

#endif
