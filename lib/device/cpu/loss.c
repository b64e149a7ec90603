/*
 * Losses and their gradients towards the logits: softmax and sigmoid are part of them, for accuracy
 * and speed.
 */
#include <string.h>
#include "device/cpu/kernels.h"
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
	const struct position *p = arg;
	return v_exp(v_sub(v_get(p->x + i, k), v_set(p->largest)));
}

/* weight * (log of the sum - (x - largest)) of the class; masked: nothing */
static real class_loss(struct position *p, int32_t class)
{
	if (class < 0) {
		if (p->d)
			memset(p->d, 0, p->n * sizeof(real));
		return 0;
	}
	p->largest = v_largest(p->x, p->n);
	real chosen = p->x[class] - p->largest, weight = p->weights ? p->weights[class] : 1;
	real g = p->scale * weight, sum;
	if (p->n <= VL) {
		vr e = v_exp_sum_one(p->x, p->n, p->largest, &sum);
		vr hit = v_select(v_eq(v_iota(), v_set((real) class)), v_set(g), v_zero());
		if (p->d)
			v_store_n(p->d, p->n, v_sub(v_mul(e, v_set(g / sum)), hit));
		return weight * (v_log_one(sum) - chosen);
	}
	sum = p->d ? v_exp_sum(p->x, p->d, p->n, p->largest) : v_sum(term_exp, p, p->n);
	if (p->d) {
		const vr scale = v_set(g / sum);
		NN_EACH(i, k, p->n, { v_put(p->d + i, k, v_mul(v_get(p->d + i, k), scale)); });
		p->d[class] -= g;
	}
	return weight * (v_log_one(sum) - chosen);
}

/* weight * target */
NN_INLINE vr term_share(const void *arg, size_t i, size_t k)
{
	const struct position *p = arg;
	vr t = v_get(p->target + i, k);
	return p->weights ? v_mul(v_get(p->weights + i, k), t) : t;
}

/* scale holds the log of the sum here */
NN_INLINE vr term_probability(const void *arg, size_t i, size_t k)
{
	const struct position *p = arg;
	return v_mul(term_share(arg, i, k),
		     v_sub(v_set(p->scale), v_sub(v_get(p->x + i, k), v_set(p->largest))));
}

static real probability_loss(struct position *p)
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
			     v_log1p_unit(v_exp(v_neg(v_abs(x)))));
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
		const struct position *p = arg; \
		return column_loss(kind, v_get(p->x + i, k), v_get(p->target + i, k)); \
	} \
	static real name##_loss(struct position *p) \
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

static real (*const loss_of[])(struct position *) = {
	[NN_LOSS_CROSS_ENTROPY] = probability_loss,
	[NN_LOSS_MSE] = mse_loss,
	[NN_LOSS_BCE] = bce_loss,
	[NN_LOSS_HUBER] = huber_loss,
	[NN_LOSS_MAE] = mae_loss,
};

static void rows_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_loss_call *call = arg;
	size_t n = call->columns;
	real scale = call->now ? (real)call->now->scale : 1;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		const real *weights = call->row_weights;
		real weight = weights ? weights[r] : 1;
		struct nn_summer sum = { .n = 0 };
		for (size_t q = r * call->positions; q < (r + 1) * call->positions; q++) {
			struct position p = {
				.x = (const real *)call->logits + q * n,
				.target =
					call->numbers ? (const real *)call->numbers + q * n : NULL,
				.weights = call->class_weights,
				.n = n,
				.scale = scale * weight,
				.d = call->dlogits ? (real *)call->dlogits + q * n : NULL,
			};
			nn_summer_add(&sum, call->classes ? class_loss(&p, call->classes[q])
							  : loss_of[call->kind](&p));
		}
		((real *)call->row_loss)[r] = weight * nn_summer_total(&sum);
	}
}

void NN_K(loss)(const struct nn_loss_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 64 * sizeof(real) * call->positions * call->columns,
		     rows_piece, (void *)call);
}
