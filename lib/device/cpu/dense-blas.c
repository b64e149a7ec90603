/*
 * dense where sums need no order (--reproducible=no): layers of shapes for which OpenBLAS was
 * measured faster keep their weights as rows of inputs and go to it, all others are dense as it
 * always is.
 *
 * --reproducible=no is the device cpu+openblas: a dense layer goes to OpenBLAS as a whole, forward
 * and both gradients, where that was measured faster for its shape at 128 rows. Answers are kept
 * in the cache (base/cache.h).
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/cpu/activation.h"
#include "device/cpu/blas.h"
#include "device/cpu/kernels.h"
#include "device/cpu/product/product.h"
#include "device/cpu/split.h"

#if defined NN_T_f64
#define GEMM nn_cpu_blas()->gemm_f64
#else
#define GEMM nn_cpu_blas()->gemm_f32
#endif

#define NN_MEASURED_ROWS 128 /* of the batch that decides */
/* weights of a layer that is measured; larger ones are ours */
#define NN_MEASURED_MOST ((size_t)1 << 24)

struct shape {
	size_t in, out;
	bool training;
};

static struct shape shape_of(const struct nn_site *site)
{
	const struct nn_dense *attrs = site->attrs;
	return (struct shape){ .in = site->in[0].dim[site->in[0].rank - 1],
			       .out = attrs->out,
			       .training = site->training };
}

static size_t rows_of(const struct nn_call *call)
{
	size_t positions = nn_shape_count(&call->site.in[0]) / shape_of(&call->site).in;
	return call->rows * positions;
}

/* ---- the choice ---- */

struct arrays {
	struct shape shape;
	struct nn_matrix d;
	real *x, *y, *w, *packed, *dw;
	void *scratch;
};

static void run_ours(const struct arrays *a)
{
	size_t leaf[2] = { 0, NN_MEASURED_ROWS }, panels = NN_K(dense_panels)(&a->d);
	NN_K(dense_forward)(&a->d, leaf[1], a->x, a->packed, NULL, a->y, 0, panels, a->scratch);
	if (!a->shape.training)
		return;
	NN_K(dense_input_gradient)
	(&a->d, leaf[1], a->y, a->packed, a->x, false, 0, a->shape.in, a->scratch);
	NN_K(dense_weight_gradient)
	(&a->d, a->x, a->y, leaf, 1, true, a->dw, NULL, 0, a->shape.in, 0, panels, a->scratch);
}

static void run_blas(const struct arrays *a)
{
	size_t in = a->shape.in, out = a->shape.out, rows = NN_MEASURED_ROWS;
	GEMM(false, true, rows, out, in, a->x, in, a->w, in, false, a->y, out);
	if (!a->shape.training)
		return;
	GEMM(false, false, rows, in, out, a->y, out, a->w, in, false, a->x, in);
	GEMM(true, false, out, in, rows, a->y, out, a->x, in, false, a->dw, in);
}

/*
 * The best of several runs after one to warm up; all values are 0, which no unit here is faster at.
 */
static double best_of(void (*run)(const struct arrays *a), const struct arrays *a)
{
	double best = 1e9;
	run(a);
	for (int i = 0; i < 5; i++) {
		double start = nn_now_s(), s;
		run(a);
		s = nn_now_s() - start;
		best = s < best ? s : best;
	}
	return best;
}

static void measure(const void *arg, double *ours_s, double *blas_s)
{
	struct arrays a = { .shape = *(const struct shape *)arg };
	size_t in = a.shape.in, out = a.shape.out, weights = (in + NN_PANEL) * (out + NN_PANEL);
	a.d = (struct nn_matrix){ .in = in, .out = out, .x_row = in, .y_row = out };
	a.x = nn_alloc(NN_MEASURED_ROWS * in, sizeof(real), NULL);
	a.y = nn_alloc(NN_MEASURED_ROWS * out, sizeof(real), NULL);
	a.w = nn_alloc(weights, sizeof(real), NULL);
	a.packed = nn_alloc(weights, sizeof(real), NULL);
	a.dw = nn_alloc(weights, sizeof(real), NULL);
	a.scratch = nn_alloc(NN_K(dense_scratch)(&a.d, NN_MEASURED_ROWS), 1, NULL);
	*ours_s = 0;
	*blas_s = 1;
	if (a.x && a.y && a.w && a.packed && a.dw && a.scratch) {
		*ours_s = best_of(run_ours, &a);
		*blas_s = best_of(run_blas, &a);
	}
	nn_free(a.x);
	nn_free(a.y);
	nn_free(a.w);
	nn_free(a.packed);
	nn_free(a.dw);
	nn_free(a.scratch);
}

/*
 * Answers of this process by shape, so that a call asks a word of memory: in, out, training,
 * answer, and a bit that is always set.
 */
#define SEEN 256
static _Atomic uint64_t seen[SEEN];

static bool to_blas(const struct nn_site *site)
{
	struct shape s = shape_of(site);
	uint64_t mark = (uint64_t)s.in << 34 | (uint64_t)s.out << 3 | (uint64_t)s.training << 2 | 1,
		 found;
	_Atomic uint64_t *place = &seen[(s.in * 31 + s.out * 7 + s.training) % SEEN];
	char key[96];
	bool wins;
	if (s.in >> 30 || s.out >> 30 || s.in * s.out > NN_MEASURED_MOST)
		return false;
	found = atomic_load_explicit(place, memory_order_relaxed);
	if ((found & ~UINT64_C(2)) == mark)
		return found & 2;
	snprintf(key, sizeof key, "dense %zu %zu f%zu %s", s.in, s.out, 8 * sizeof(real),
		 s.training ? "train" : "predict");
	wins = nn_cpu_blas_wins(key, measure, &s);
	atomic_store_explicit(place, mark | (uint64_t)wins << 1, memory_order_relaxed);
	return wins;
}

/* ---- forward ---- */

static void forward_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_dense *attrs = call->site.attrs;
	const struct nn_epilogue *epilogue = &attrs->epilogue;
	struct shape s = shape_of(&call->site);
	real *y = (real *)call->y + begin * s.out;
	const real *bias = attrs->bias ? call->w[1] : NULL;
	const real *residual = epilogue->residual
				       ? (const real *)call->x[call->site.n_in - 1] + begin * s.out
				       : NULL;
	(void)thread;
	/*
	 * The residual may lie where y goes: the product is then added to it, and the bias after
	 * both.
	 */
	bool add = residual == y;
	GEMM(false, true, end - begin, s.out, s.in, (const real *)call->x[0] + begin * s.in, s.in,
	     call->w[0], s.in, add, y, s.out);
	for (size_t r = 0; r < end - begin; r++)
		for (size_t o = 0; o < s.out; o++)
			y[r * s.out + o] += (bias ? bias[o] : 0) +
					    (residual && !add ? residual[r * s.out + o] : 0);
	if (epilogue->activation != NN_ACT_NONE)
		NN_K(activate)(epilogue, y, y, (end - begin) * s.out);
}

static void blas_forward(const struct nn_call *call)
{
	struct shape s = shape_of(&call->site);
	nn_cpu_split(call->pool, rows_of(call), 8, (s.in + s.out) * sizeof(real), forward_rows,
		     (void *)call);
}

static void forward(const struct nn_call *call)
{
	(to_blas(&call->site) ? blas_forward : NN_K(dense).forward)(call);
}

/* ---- backward ---- */

static void epilogue_back(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_epilogue *epilogue = &((const struct nn_dense *)call->site.attrs)->epilogue;
	int k = call->site.n_in - 1;
	real *dy = (real *)call->dy + begin,
	     *dx = epilogue->residual && call->dx[k] ? (real *)call->dx[k] + begin : NULL;
	(void)thread;
	if (epilogue->activation != NN_ACT_NONE)
		NN_K(activate_back)(epilogue, (const real *)call->y + begin, dy, dy, end - begin);
	for (size_t i = 0; dx && dx != dy && i < end - begin; i++)
		dx[i] = call->dx_add[k] ? dx[i] + dy[i] : dy[i];
}

static void input_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	struct shape s = shape_of(&call->site);
	(void)thread;
	GEMM(false, false, end - begin, s.in, s.out, (const real *)call->dy + begin * s.out, s.out,
	     call->w[0], s.in, call->dx_add[0], (real *)call->dx[0] + begin * s.in, s.in);
}

static void weight_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	struct shape s = shape_of(&call->site);
	(void)thread;
	GEMM(true, false, end - begin, s.in, rows_of(call), (const real *)call->dy + begin, s.out,
	     call->x[0], s.in, !call->first, (real *)call->dw[0] + begin * s.in, s.in);
}

static void bias_gradient(const struct nn_call *call)
{
	struct shape s = shape_of(&call->site);
	const real *dy = call->dy;
	real *db = call->dw[1];
	for (size_t o = 0; o < s.out && call->first; o++)
		db[o] = 0;
	for (size_t r = 0; r < rows_of(call); r++)
		for (size_t o = 0; o < s.out; o++)
			db[o] += dy[r * s.out + o];
}

static void blas_backward(const struct nn_call *call)
{
	const struct nn_dense *attrs = call->site.attrs;
	struct shape s = shape_of(&call->site);
	size_t rows = rows_of(call);
	if (attrs->epilogue.activation != NN_ACT_NONE || attrs->epilogue.residual)
		nn_cpu_split(call->pool, rows * s.out, 64, 3 * sizeof(real), epilogue_back,
			     (void *)call);
	if (call->dx[0])
		nn_cpu_split(call->pool, rows, 8, (s.in + s.out) * sizeof(real), input_rows,
			     (void *)call);
	if (!call->dw[0])
		return;
	nn_cpu_split(call->pool, s.out, 16, (s.in + rows) * sizeof(real), weight_rows,
		     (void *)call);
	if (attrs->bias)
		bias_gradient(call);
}

static void backward(const struct nn_call *call)
{
	(to_blas(&call->site) ? blas_backward : NN_K(dense).backward)(call);
}

/* ---- memory and packing ---- */

static size_t blas_packed(const struct nn_site *site, int param)
{
	struct shape s = shape_of(site);
	return param == 0 ? s.in * s.out : s.out;
}

static size_t packed(const struct nn_site *site, int param)
{
	return to_blas(site) ? blas_packed(site, param) : NN_K(dense).packed(site, param);
}

/*
 * Rows of inputs in the order of memory: an image's channels last where the canonical weight has
 * them first.
 */
static void reorder(const struct nn_site *site, const real *from, real *to, bool to_memory)
{
	const struct nn_dense *attrs = site->attrs;
	struct shape s = shape_of(site);
	for (size_t o = 0; o < s.out; o++)
		for (size_t i = 0; i < s.in; i++) {
			size_t canonical = attrs->channels
						   ? i % attrs->channels * attrs->positions +
							     i / attrs->channels
						   : i;
			if (to_memory)
				to[o * s.in + i] = from[o * s.in + canonical];
			else
				to[o * s.in + canonical] = from[o * s.in + i];
		}
}

static void copy_bias(const struct nn_site *site, const real *from, real *to)
{
	for (size_t o = 0; o < shape_of(site).out; o++)
		to[o] = from[o];
}

static void blas_pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	if (param == 0)
		reorder(site, canonical, packed, true);
	else
		copy_bias(site, canonical, packed);
}

static void blas_unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	if (param == 0)
		reorder(site, packed, canonical, false);
	else
		copy_bias(site, packed, canonical);
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	(to_blas(site) ? blas_pack : NN_K(dense).pack)(site, param, canonical, packed);
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	(to_blas(site) ? blas_unpack : NN_K(dense).unpack)(site, param, packed, canonical);
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	return NN_K(dense).work(site, max_rows, max_leaves, threads);
}

const struct nn_kernel NN_K(dense_blas) = {
	.forward = forward,
	.backward = backward,
	.work = work,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};

/* Whatever was measured: what ours are compared with. */
const struct nn_kernel NN_K(dense_by_blas) = {
	.forward = blas_forward,
	.backward = blas_backward,
	.packed = blas_packed,
	.pack = blas_pack,
	.unpack = blas_unpack,
};
