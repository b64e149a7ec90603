/*
 * Optimizers as PyTorch 2 computes them, element by element over a run of the flat block; scalars
 * are rounded to the type once. Moments decay where a gradient is 0 for long (most of an image's
 * border), and end at NN_CUT.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/optimizer.h"

#define NN_ETA_MINUS 0.5
#define NN_ETA_PLUS 1.2
#define NN_STEP_LEAST 1e-6
#define NN_STEP_MOST 50

static double root(double x)
{
	return x > 0 ? __builtin_sqrt(x) : 0;
}

/* The update, and what lies at `at` in its arrays; slots that it does not keep are not read. */
#define NN_UPDATE_AT(sink, gradients) \
	const struct nn_ready_update *const u = (const struct nn_ready_update *)(sink); \
	const real *const g = (gradients); \
	real *const w = u->w + at

/* The gradient as the optimizers see it. */
NN_INLINE vr gradient(const real *g, size_t k, vr clip, vr decay, vr w)
{
	return v_fma(decay, w, v_mul(v_get(g, k), clip));
}

/* sgd, and lars (You et al., 2017): the gradient and its decay times the trust ratio, 1 in sgd. */
static void sgd(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
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

static void adam(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAM, false, sink, at, gradients, n);
}

/* Nothing clipped, no decay: what a gradient passes through would leave it as it is. */
static void adam_plain(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAM, true, sink, at, gradients, n);
}

static void adamw(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	adam_of(NN_OPTIMIZER_ADAMW, false, sink, at, gradients, n);
}

/* First its direction, then a step along it, which is what it is given then. */
static void lamb(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
{
	NN_UPDATE_AT(sink, gradients);
	if (u->direction) {
		adam_of(NN_OPTIMIZER_LAMB, false, sink, at, gradients, n);
		return;
	}
	const vr rate = v_set(u->along);
	NN_EACH(i, k, n, { v_put(w + i, k, v_fma(rate, v_get(g + i, k), v_get(w + i, k))); });
}

static void rmsprop(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
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
static void rprop(const struct nn_sink *sink, size_t at, const void *gradients, size_t n)
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

#define lars sgd /* the kernel of its row */

void NN_K(ready)(struct nn_ready_update *ready, const struct nn_update *u, void *direction)
{
	static void (*const updates[NN_N_OPTIMIZERS])(const struct nn_sink *sink, size_t at,
						      const void *gradients, size_t n) = {
#define NN_OPTIMIZER(ID, id, ...) id,
#include "device/optimizers.def"
	};
	const struct nn_now *now = u->now;
	const double ratio = u->ratio ? *u->ratio : 1;
	*ready = (struct nn_ready_update){
		.sink = { updates[u->kind], { u->w, u->slot[0], u->slot[1] } },
		.w = u->w,
		.a = u->slot[0],
		.b = u->slot[1],
		.direction = direction,
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
		.inverse2 = (real)(1 / root(now->correction[1])),
		.corrected = (real)(-now->lr / now->correction[0]),
		.keep = (real)(1 - now->lr * u->weight_decay),
		.alpha = (real)u->alpha,
		.rest = (real)(1 - u->alpha),
		.eps = (real)u->eps,
		.nesterov = u->nesterov,
	};
	if (u->kind == NN_OPTIMIZER_ADAM && ready->clip == 1 && ready->decay == 0)
		ready->sink.take = adam_plain;
}

/* ---- tables: gradients of some of their rows ---- */

#define NN_ZEROS 4096 /* gradients of rows that have none, as many as go at once */
#define NN_AHEAD 8    /* rows asked for before they are needed */
static const real zeros[NN_ZEROS];

static void ask_for(const struct nn_ready_update *u, size_t at)
{
	__builtin_prefetch(u->w + at, 1);
	if (u->a)
		__builtin_prefetch(u->a + at, 1);
	if (u->b)
		__builtin_prefetch(u->b + at, 1);
}

struct job {
	struct nn_ready_update ready;
	const real *g;
	const struct nn_row_list *rows; /* in its place */
};

/* Elements [at, at + n), whose gradients are g. */
static void update_run(const struct job *job, size_t at, const real *g, size_t n)
{
	job->ready.sink.take(&job->ready.sink, at, g, n);
}

static void piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	update_run(job, begin, job->g + begin, end - begin);
}

/* Rows of the list, numbered as they stand there. */
static void listed_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_row_list *rows = job->rows;
	const real *value = rows->value;
	(void)thread;
	for (size_t j = begin; j < end; j++) {
		if (j + NN_AHEAD < end)
			ask_for(&job->ready, rows->row[j + NN_AHEAD] * rows->width);
		update_run(job, rows->row[j] * rows->width, value + j * rows->width, rows->width);
	}
}

/* The first of the list that is not before row r. */
static size_t find_row(const struct nn_row_list *rows, size_t r)
{
	size_t low = 0, high = *rows->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows->row[middle] < r)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All rows from begin on, in the list or not. */
static void every_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_row_list *rows = job->rows;
	size_t j = find_row(rows, begin), w = rows->width;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		size_t next = j < *rows->n && rows->row[j] < end ? rows->row[j] : end;
		for (size_t at = r * w, count; at < next * w; at += count) {
			count = next * w - at < NN_ZEROS ? next * w - at : NN_ZEROS;
			update_run(job, at, zeros, count);
		}
		if (next == end)
			return;
		update_run(job, next * w, (const real *)rows->value + j++ * w, w);
		r = next;
	}
}

void NN_K(direction)(const struct nn_update *u, void *direction)
{
	struct job job = { .g = u->g, .rows = u->rows };
	if (u->now->hold)
		return;
	NN_K(ready)(&job.ready, u, direction);
	if (!u->rows)
		nn_cpu_split(u->pool, u->n, 64, 7 * sizeof(real), piece, &job);
	else if (u->every)
		nn_cpu_split(u->pool, u->n / u->rows->width, 1, 7 * sizeof(real) * u->rows->width,
			     every_piece, &job);
	else
		nn_cpu_split(u->pool, *u->rows->n, 1, 7 * sizeof(real) * u->rows->width + 200,
			     listed_piece, &job);
}

void NN_K(update)(const struct nn_update *u)
{
	NN_K(direction)(u, NULL);
}
