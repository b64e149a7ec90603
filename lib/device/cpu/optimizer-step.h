/*
 * Optimizers as PyTorch 2 computes them, element by element over a run of the flat block; scalars
 * are rounded to the type once. Moments decay where a gradient is 0 for long (most of an image's
 * border), and end at NN_CUT.
 */
#ifndef NN_DEVICE_CPU_OPTIMIZER_STEP_H
#define NN_DEVICE_CPU_OPTIMIZER_STEP_H

#include "device/cpu/cpu.h"
#include "device/cpu/optimizer.h"

#define NN_ETA_MINUS 0.5
#define NN_ETA_PLUS 1.2
#define NN_STEP_LEAST 1e-6
#define NN_STEP_MOST 50

NN_INLINE double nn_root_of(double x)
{
	return x > 0 ? __builtin_sqrt(x) : 0;
}

/* The update, and what lies at `at` in its arrays; slots that it does not keep are not read. */
#define NN_UPDATE_AT(sink, gradients) \
	const struct nn_ready_update *const u = (const struct nn_ready_update *)(sink); \
	const real *const g = (const real *)(gradients); \
	real *const w = u->w + at

/* The gradient as the optimizers see it. */
NN_INLINE vr gradient(const real *g, size_t k, vr clip, vr decay, vr w)
{
	return v_fma(decay, w, v_mul(v_get(g, k), clip));
}

/* sgd, and lars (You et al., 2017): the gradient and its decay times the trust ratio, 1 in sgd. */
NN_INLINE void sgd(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	const vr ratio = v_set(u->ratio), clip = v_set(u->clip), decay = v_set(u->decay),
		 rate = v_set(u->rate), momentum = v_set(u->momentum);
	const bool nesterov = u->nesterov, keeps = u->momentum != 0 && u->a;
	real *const a = keeps ? u->a + at : NULL;
	NN_EACH(i, k, n, {
		vr x = v_get(w + i, k);
		vr d = v_mul(ratio, gradient(g + i, k, clip, decay, x));
		if (keeps) {
			vr m = v_cut(v_fma(momentum, v_get(a + i, k), d));
			v_put(a + i, k, m);
			d = nesterov ? v_fma(momentum, m, d) : m;
		}
		v_put(w + i, k, v_fma(rate, d, x));
	});
}

/* adam, adamw (Loshchilov and Hutter, 2019), and lamb's direction (You et al., 2020). */
NN_INLINE void adam_of(enum nn_optimizer_kind kind, bool plain, const struct nn_sink *sink,
		       size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	real *const a = u->a + at, *const b = u->b + at;
	const vr clip = v_set(u->clip), decay = v_set(u->decay), zero = v_zero();
	const vr rest1 = v_set(u->rest1), beta2 = v_set(u->beta2), rest2 = v_set(u->rest2);
	const vr inverse1 = v_set(u->inverse1), inverse2 = v_set(u->inverse2), eps = v_set(u->eps);
	const vr rate = v_set(u->corrected), keep = v_set(u->keep);
	NN_EACH(i, k, n, {
		vr x = v_get(w + i, k);
		vr d = plain ? v_get(g + i, k)
			     : gradient(g + i, k, clip, kind == NN_OPTIMIZER_ADAM ? decay : zero,
					x);
		vr m = v_get(a + i, k);
		m = v_cut(v_fma(rest1, v_sub(d, m), m));
		vr v = v_cut(v_fma(beta2, v_get(b + i, k), v_mul(v_mul(rest2, d), d)));
		vr deviation = v_fma(v_sqrt(v), inverse2, eps);
		v_put(a + i, k, m);
		v_put(b + i, k, v);
		if (kind == NN_OPTIMIZER_ADAMW)
			x = v_mul(x, keep);
		if (kind == NN_OPTIMIZER_LAMB)
			v_put(u->direction + at + i, k,
			      v_fma(decay, x, v_mul(v_div(m, deviation), inverse1)));
		else
			v_put(w + i, k, v_fma(rate, v_div(m, deviation), x));
	});
}

NN_INLINE void adam(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAM, false, sink, at, gradients, n);
}

/* Nothing clipped, no decay: what a gradient passes through would leave it as it is. */
NN_INLINE void adam_plain(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAM, true, sink, at, gradients, n);
}

NN_INLINE void adamw(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAMW, false, sink, at, gradients, n);
}

/* First its direction, then a step along it, which is what it is given then. */
NN_INLINE void lamb(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	if (u->direction) {
		adam_of(NN_OPTIMIZER_LAMB, false, sink, at, gradients, n);
		return;
	}
	const vr rate = v_set(u->along);
	NN_EACH(i, k, n, { v_put(w + i, k, v_fma(rate, v_get(g + i, k), v_get(w + i, k))); });
}

NN_INLINE void rmsprop(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	const vr clip = v_set(u->clip), decay = v_set(u->decay), rate = v_set(u->rate);
	const vr alpha = v_set(u->alpha), rest = v_set(u->rest), eps = v_set(u->eps);
	const vr momentum = v_set(u->momentum);
	const bool keeps = u->momentum != 0 && u->b;
	real *const a = u->a + at, *const b = keeps ? u->b + at : NULL;
	NN_EACH(i, k, n, {
		vr x = v_get(w + i, k);
		vr d = gradient(g + i, k, clip, decay, x);
		vr v = v_cut(v_fma(alpha, v_get(a + i, k), v_mul(v_mul(rest, d), d)));
		d = v_div(d, v_add(v_sqrt(v), eps));
		v_put(a + i, k, v);
		if (keeps) {
			d = v_cut(v_fma(momentum, v_get(b + i, k), d));
			v_put(b + i, k, d);
		}
		v_put(w + i, k, v_fma(rate, d, x));
	});
}

/*
 * The step grows while the gradient keeps its sign; where the sign turns, it shrinks and the
 * gradient is forgotten.
 */
NN_INLINE void rprop(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	real *const a = u->a + at, *const b = u->b + at;
	const vr clip = v_set(u->clip), decay = v_set(u->decay), zero = v_zero();
	const vr plus = v_set((real)NN_ETA_PLUS), minus = v_set((real)NN_ETA_MINUS), one = v_set(1);
	const vr least = v_set((real)NN_STEP_LEAST), most = v_set((real)NN_STEP_MOST),
		 start = v_set(-u->rate);
	NN_EACH(i, k, n, {
		vr x = v_get(w + i, k);
		vr d = gradient(g + i, k, clip, decay, x);
		vr product = v_mul(d, v_get(a + i, k));
		vm turned = v_lt(product, zero);
		vr factor = v_select(v_gt(product, zero), plus, v_select(turned, minus, one));
		vr before = v_get(b + i, k); /* 0: it had no step yet */
		vr step = v_mul(v_select(v_eq(before, zero), start, before), factor);
		step = v_max(least, v_min(most, step));
		d = v_select(turned, zero, d);
		v_put(a + i, k, d);
		v_put(b + i, k, step);
		vr move = v_select(v_gt(d, zero), step, v_select(v_lt(d, zero), v_neg(step), d));
		v_put(w + i, k, v_sub(x, move));
	});
}

/* What all steps of an update are made of; its sink is not set. */
NN_INLINE void nn_ready_numbers(struct nn_ready_update *ready, const struct nn_update *u,
				void *direction)
{
	const struct nn_now *now = u->now;
	const double ratio = u->ratio ? *u->ratio : 1;
	const struct nn_ready_update r = {
		.w = (real *)u->w,
		.a = (real *)u->slot[0],
		.b = (real *)u->slot[1],
		.direction = (real *)direction,
		.ratio = (real)ratio,
		.clip = (real)now->clip,
		.decay = (real)u->weight_decay,
		.momentum = (real)u->momentum,
		.rate = (real)-now->lr,
		.along = (real)(-now->lr * ratio),
		.rest1 = (real)(1 - u->beta1),
		.beta2 = (real)u->beta2,
		.rest2 = (real)(1 - u->beta2),
		.inverse1 = (real)(1 / now->correction[0]),
		.inverse2 = (real)(1 / nn_root_of(now->correction[1])),
		.corrected = (real)(-now->lr / now->correction[0]),
		.keep = (real)(1 - now->lr * u->weight_decay),
		.alpha = (real)u->alpha,
		.rest = (real)(1 - u->alpha),
		.eps = (real)u->eps,
		.nesterov = u->nesterov,
	};
	*ready = r;
}

#endif
