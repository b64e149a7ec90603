/*
 * Losses of one position and their gradients towards the logits: softmax and sigmoid are part of
 * them, for accuracy and speed.
 */
#ifndef NN_DEVICE_CPU_LOSS_H
#define NN_DEVICE_CPU_LOSS_H

#include <string.h>
#include "device/cpu/softmax.h"

/*
 * One position: logits, target numbers (or NULL), gradient (or NULL; may lie where the logits do).
 */
struct position {
	const real *x, *target, *weights;
	real *d;
	size_t n;
	real scale;
	real largest;
};

NN_INLINE vr term_exp(const void *arg, size_t i, size_t k)
{
	const struct position *p = (const struct position *)arg;
	return v_exp_negative(v_sub(v_get(p->x + i, k), v_set(p->largest)));
}

/* weight * (log of the sum - (x - largest)) of the class; masked: nothing */
NN_INLINE real class_loss(struct position *p, int32_t truth)
{
	if (truth < 0) {
		if (p->d)
			memset(p->d, 0, p->n * sizeof(real));
		return 0;
	}
	p->largest = v_largest(p->x, p->n);
	real chosen = p->x[truth] - p->largest, weight = p->weights ? p->weights[truth] : 1;
	real g = p->scale * weight, sum;
	if (p->n <= VL) {
		vr e = v_exp_sum_one(p->x, p->n, p->largest, &sum);
		vr hit = v_select(v_eq(v_iota(), v_set((real)truth)), v_set(g), v_zero());
		if (p->d)
			v_store_n(p->d, p->n, v_sub(v_mul(e, v_set(g / sum)), hit));
		return weight * (v_log_one(sum) - chosen);
	}
	sum = p->d ? v_exp_sum(p->x, p->d, p->n, p->largest) : v_sum(term_exp, p, p->n);
	if (p->d) {
		const vr scale = v_set(g / sum);
		NN_EACH(i, k, p->n, { v_put(p->d + i, k, v_mul(v_get(p->d + i, k), scale)); });
		p->d[truth] -= g;
	}
	return weight * (v_log_one(sum) - chosen);
}

/* weight * target */
NN_INLINE vr term_share(const void *arg, size_t i, size_t k)
{
	const struct position *p = (const struct position *)arg;
	vr t = v_get(p->target + i, k);
	return p->weights ? v_mul(v_get(p->weights + i, k), t) : t;
}

/* scale holds the log of the sum here */
NN_INLINE vr term_probability(const void *arg, size_t i, size_t k)
{
	const struct position *p = (const struct position *)arg;
	return v_mul(term_share(arg, i, k),
		     v_sub(v_set(p->scale), v_sub(v_get(p->x + i, k), v_set(p->largest))));
}

NN_INLINE real probability_loss(struct position *p)
{
	p->largest = v_largest(p->x, p->n);
	real sum = v_sum(term_exp, p, p->n), loss;
	struct position logs = *p;
	logs.scale = v_log_one(sum);
	loss = v_sum(term_probability, &logs, p->n);
	if (p->d) {
		const vr g = v_set(p->scale),
			 factor = v_set(p->scale * v_sum(term_share, p, p->n) / sum);
		NN_EACH(i, k, p->n, {
			vr share = term_share(p, i, k);
			v_put(p->d + i, k, v_fnma(g, share, v_mul(term_exp(p, i, k), factor)));
		});
	}
	return loss;
}

/* ---- losses that are means over columns ---- */

NN_INLINE vr column_loss(enum nn_loss_kind kind, vr x, vr t)
{
	const vr half = v_set((real)0.5), one = v_set(1);
	vr d = v_sub(x, t), a = v_abs(d);
	switch (kind) {
	case NN_LOSS_BCE: /* max(x, 0) - x t + log(1 + e^-|x|) */
		return v_add(v_fnma(x, t, v_select(v_le(x, v_zero()), v_zero(), x)),
			     v_log1p_unit(v_exp_negative(v_neg(v_abs(x)))));
	case NN_LOSS_HUBER:
		return v_select(v_lt(a, one), v_mul(half, v_mul(d, d)), v_sub(a, half));
	case NN_LOSS_MAE:
		return a;
	default:
		return v_mul(d, d);
	}
}

NN_INLINE vr column_gradient(enum nn_loss_kind kind, vr x, vr t)
{
	const vr one = v_set(1), zero = v_zero();
	vr d = v_sub(x, t),
	   sign = v_select(v_gt(d, zero), one, v_select(v_lt(d, zero), v_neg(one), d));
	switch (kind) {
	case NN_LOSS_BCE:
		return v_sub(v_sigmoid(x), t);
	case NN_LOSS_HUBER:
		return v_select(v_lt(v_abs(d), one), d, sign);
	case NN_LOSS_MAE:
		return sign;
	default:
		return v_add(d, d);
	}
}

#define NN_COLUMNS(name, kind) \
	NN_INLINE vr name##_term(const void *arg, size_t i, size_t k) \
	{ \
		const struct position *p = (const struct position *)arg; \
		return column_loss(kind, v_get(p->x + i, k), v_get(p->target + i, k)); \
	} \
	NN_INLINE real name##_loss(struct position *p) \
	{ \
		real loss = v_sum(name##_term, p, p->n) / (real)p->n; \
		const vr scale = v_set(p->scale / (real)p->n); \
		if (p->d) \
			NN_EACH(i, k, p->n, { \
				vr g = column_gradient(kind, v_get(p->x + i, k), \
						       v_get(p->target + i, k)); \
				v_put(p->d + i, k, v_mul(scale, g)); \
			}); \
		return loss; \
	}

NN_COLUMNS(mse, NN_LOSS_MSE)
NN_COLUMNS(bce, NN_LOSS_BCE)
NN_COLUMNS(huber, NN_LOSS_HUBER)
NN_COLUMNS(mae, NN_LOSS_MAE)

NN_INLINE real position_loss(enum nn_loss_kind kind, struct position *p)
{
	if (p->target[0] != p->target[0]) { /* masked */
		if (p->d)
			memset(p->d, 0, p->n * sizeof(real));
		return 0;
	}
	switch (kind) {
	case NN_LOSS_BCE:
		return bce_loss(p);
	case NN_LOSS_HUBER:
		return huber_loss(p);
	case NN_LOSS_MAE:
		return mae_loss(p);
	case NN_LOSS_MSE:
		return mse_loss(p);
	default:
		return probability_loss(p);
	}
}

/* A row's: the sum over its positions. */
NN_INLINE void row_loss(const struct nn_loss_call *call, size_t r)
{
	size_t n = call->columns;
	const real *weights = (const real *)call->row_weights;
	const real scale = call->now ? (real)call->now->scale : 1;
	const real weight = weights ? weights[r] : 1;
	struct nn_summer sum;
	memset(&sum, 0, sizeof sum);
	for (size_t q = r * call->positions; q < (r + 1) * call->positions; q++) {
		struct position p = {
			.x = (const real *)call->logits + q * n,
			.target = call->numbers ? (const real *)call->numbers + q * n : NULL,
			.weights = (const real *)call->class_weights,
			.d = call->dlogits ? (real *)call->dlogits + q * n : NULL,
			.n = n,
			.scale = scale * weight,
		};
		nn_summer_add(&sum, call->classes ? class_loss(&p, call->classes[q])
						  : position_loss(call->kind, &p));
	}
	((real *)call->row_loss)[r] = weight * nn_summer_total(&sum);
}

#endif
