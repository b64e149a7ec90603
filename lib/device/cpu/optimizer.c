/*
 * Optimizers as PyTorch 2 computes them, element by element over a run of the flat block; scalars
 * are rounded to the type once. Moments decay where a gradient is 0 for long (most of an image's
 * border), and end at NN_CUT.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

#define NN_ETA_MINUS 0.5
#define NN_ETA_PLUS 1.2
#define NN_STEP_LEAST 1e-6
#define NN_STEP_MOST 50

static double root(double x)
{
	return x > 0 ? __builtin_sqrt(x) : 0;
}

struct run {
	const struct nn_update *u;
	real *w, *a, *b; /* weights, slots */
	const real *g;
	real *direction; /* lamb's first half */
	double correction1, correction2;
};

/* The gradient as the optimizers see it. */
NN_INLINE vr gradient(const struct run *run, size_t i, size_t k, vr clip, vr decay, vr w)
{
	return v_fma(decay, w, v_mul(v_get(run->g + i, k), clip));
}

NN_INLINE void sgd_of(vr ratio, const struct run *run, size_t begin, size_t end)
{
	const struct nn_update *u = run->u;
	const vr clip = v_set((real)u->now->clip), decay = v_set((real)u->weight_decay),
		 rate = v_set((real)-u->now->lr);
	const vr momentum = v_set((real)u->momentum);
	bool nesterov = u->nesterov, keeps = u->momentum != 0 && run->a;
	NN_EACH(j, k, end - begin, {
		size_t i = begin + j;
		vr w = v_get(run->w + i, k);
		vr d = v_mul(ratio, gradient(run, i, k, clip, decay, w));
		if (keeps) {
			vr m = v_cut(v_fma(momentum, v_get(run->a + i, k), d));
			v_put(run->a + i, k, m);
			d = nesterov ? v_fma(momentum, m, d) : m;
		}
		v_put(run->w + i, k, v_fma(rate, d, w));
	});
}

static void sgd(const struct run *run, size_t begin, size_t end)
{
	sgd_of(v_set(1), run, begin, end);
}

/* You et al., 2017: the same, the gradient and its decay times the trust ratio. */
static void lars(const struct run *run, size_t begin, size_t end)
{
	sgd_of(v_set((real)*run->u->ratio), run, begin, end);
}

/* adam, adamw (Loshchilov and Hutter, 2019), and lamb's direction (You et al., 2020). */
NN_INLINE void adam_of(enum nn_optimizer_kind kind, const struct run *run, size_t begin, size_t end)
{
	const struct nn_update *u = run->u;
	const vr clip = v_set((real)u->now->clip), decay = v_set((real)u->weight_decay),
		 zero = v_zero();
	const vr rest1 = v_set((real)(1 - u->beta1)), beta2 = v_set((real)u->beta2),
		 rest2 = v_set((real)(1 - u->beta2));
	const vr inverse2 = v_set((real)(1 / root(run->correction2))), eps = v_set((real)u->eps);
	const vr rate = v_set((real)(-u->now->lr / run->correction1)),
		 keep = v_set((real)(1 - u->now->lr * u->weight_decay));
	const vr inverse1 = v_set((real)(1 / run->correction1));
	NN_EACH(j, k, end - begin, {
		size_t i = begin + j;
		vr w = v_get(run->w + i, k);
		vr g = gradient(run, i, k, clip, kind == NN_OPTIMIZER_ADAM ? decay : zero, w);
		vr m = v_get(run->a + i, k);
		m = v_cut(v_fma(rest1, v_sub(g, m), m));
		vr v = v_cut(v_fma(beta2, v_get(run->b + i, k), v_mul(v_mul(rest2, g), g)));
		vr b = v_fma(v_sqrt(v), inverse2, eps);
		v_put(run->a + i, k, m);
		v_put(run->b + i, k, v);
		if (kind == NN_OPTIMIZER_ADAMW)
			w = v_mul(w, keep);
		if (kind == NN_OPTIMIZER_LAMB)
			v_put(run->direction + i, k, v_fma(decay, w, v_mul(v_div(m, b), inverse1)));
		else
			v_put(run->w + i, k, v_fma(rate, v_div(m, b), w));
	});
}

static void adam(const struct run *run, size_t begin, size_t end)
{
	adam_of(NN_OPTIMIZER_ADAM, run, begin, end);
}
static void adamw(const struct run *run, size_t begin, size_t end)
{
	adam_of(NN_OPTIMIZER_ADAMW, run, begin, end);
}

/* First its direction, then a step along it, which is g here. */
static void lamb(const struct run *run, size_t begin, size_t end)
{
	if (run->direction) {
		adam_of(NN_OPTIMIZER_LAMB, run, begin, end);
		return;
	}
	const vr rate = v_set((real)(-run->u->now->lr * *run->u->ratio));
	NN_EACH(j, k, end - begin, {
		size_t i = begin + j;
		v_put(run->w + i, k, v_fma(rate, v_get(run->g + i, k), v_get(run->w + i, k)));
	});
}

static void rmsprop(const struct run *run, size_t begin, size_t end)
{
	const struct nn_update *u = run->u;
	const vr clip = v_set((real)u->now->clip), decay = v_set((real)u->weight_decay),
		 rate = v_set((real)-u->now->lr);
	const vr alpha = v_set((real)u->alpha), rest = v_set((real)(1 - u->alpha)),
		 eps = v_set((real)u->eps);
	const vr momentum = v_set((real)u->momentum);
	bool keeps = u->momentum != 0 && run->b;
	NN_EACH(j, k, end - begin, {
		size_t i = begin + j;
		vr w = v_get(run->w + i, k);
		vr g = gradient(run, i, k, clip, decay, w);
		vr v = v_cut(v_fma(alpha, v_get(run->a + i, k), v_mul(v_mul(rest, g), g)));
		vr d = v_div(g, v_add(v_sqrt(v), eps));
		v_put(run->a + i, k, v);
		if (keeps) {
			d = v_cut(v_fma(momentum, v_get(run->b + i, k), d));
			v_put(run->b + i, k, d);
		}
		v_put(run->w + i, k, v_fma(rate, d, w));
	});
}

/*
 * The step grows while the gradient keeps its sign; where the sign turns, it shrinks and the
 * gradient is forgotten.
 */
static void rprop(const struct run *run, size_t begin, size_t end)
{
	const struct nn_update *u = run->u;
	const vr clip = v_set((real)u->now->clip), decay = v_set((real)u->weight_decay),
		 zero = v_zero();
	const vr plus = v_set((real)NN_ETA_PLUS), minus = v_set((real)NN_ETA_MINUS), one = v_set(1);
	const vr least = v_set((real)NN_STEP_LEAST), most = v_set((real)NN_STEP_MOST),
		 start = v_set((real)u->now->lr);
	NN_EACH(j, k, end - begin, {
		size_t i = begin + j;
		vr w = v_get(run->w + i, k);
		vr g = gradient(run, i, k, clip, decay, w);
		vr product = v_mul(g, v_get(run->a + i, k));
		vm turned = v_lt(product, zero);
		vr factor = v_select(v_gt(product, zero), plus, v_select(turned, minus, one));
		vr before = v_get(run->b + i, k); /* 0: it had no step yet */
		vr step = v_mul(v_select(v_eq(before, zero), start, before), factor);
		step = v_max(least, v_min(most, step));
		g = v_select(turned, zero, g);
		v_put(run->a + i, k, g);
		v_put(run->b + i, k, step);
		vr move = v_select(v_gt(g, zero), step, v_select(v_lt(g, zero), v_neg(step), g));
		v_put(run->w + i, k, v_sub(w, move));
	});
}

/* ---- tables: gradients of some of their rows ---- */

#define NN_ZEROS 4096 /* gradients of rows that have none, as many as go at once */
#define NN_AHEAD 8    /* rows asked for before they are needed */
static const real zeros[NN_ZEROS];

/* The same run, moved to element `at`, whose gradients are g. */
static struct run moved(const struct run *run, size_t at, const real *g)
{
	struct run r = *run;
	r.w += at;
	r.a = r.a ? r.a + at : NULL;
	r.b = r.b ? r.b + at : NULL;
	r.direction = r.direction ? r.direction + at : NULL;
	r.g = g;
	return r;
}

static void ask_for(const struct run *run, size_t at)
{
	__builtin_prefetch(run->w + at, 1);
	if (run->a)
		__builtin_prefetch(run->a + at, 1);
	if (run->b)
		__builtin_prefetch(run->b + at, 1);
}

struct job {
	struct run run;
	void (*update)(const struct run *run, size_t begin, size_t end);
};

static void piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	job->update(&job->run, begin, end);
}

/* Rows of the list, numbered as they stand there. */
static void listed_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_row_list *rows = job->run.u->rows;
	(void)thread;
	for (size_t j = begin; j < end; j++) {
		struct run run = moved(&job->run, rows->row[j] * rows->width,
				       (const real *)rows->value + j * rows->width);
		if (j + NN_AHEAD < end)
			ask_for(&job->run, rows->row[j + NN_AHEAD] * rows->width);
		job->update(&run, 0, rows->width);
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
	const struct nn_row_list *rows = job->run.u->rows;
	size_t j = find_row(rows, begin), w = rows->width;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		size_t next = j < *rows->n && rows->row[j] < end ? rows->row[j] : end;
		struct run run;
		for (size_t at = r * w, count; at < next * w; at += count) {
			count = next * w - at < NN_ZEROS ? next * w - at : NN_ZEROS;
			run = moved(&job->run, at, zeros);
			job->update(&run, 0, count);
		}
		if (next == end)
			return;
		run = moved(&job->run, next * w, (const real *)rows->value + j++ * w);
		job->update(&run, 0, w);
		r = next;
	}
}

void NN_K(direction)(const struct nn_update *u, void *direction)
{
	static void (*const updates[NN_N_OPTIMIZERS])(const struct run *, size_t, size_t) = {
#define NN_OPTIMIZER(ID, id, ...) id,
#include "device/optimizers.def"
	};
	struct job job = { { u, u->w, u->slot[0], u->slot[1], u->g, direction,
			     u->now->correction[0], u->now->correction[1] },
			   updates[u->kind] };
	if (u->now->hold)
		return;
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
