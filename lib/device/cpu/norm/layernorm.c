/*
 * layernorm over the last dimension: y = (x - mean) / sqrt(variance + eps) * gamma + beta, all sums
 * by nn_sum.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/leaf.h"
#include "device/cpu/sum.h"

#define NN_COLUMNS 256 /* of a piece of the parameters' gradients */

/* The last dimension, and how many of them a row has. */
static size_t last(const struct nn_site *site)
{
	return site->out.dim[site->out.rank - 1];
}

static size_t positions(const struct nn_site *site)
{
	size_t n = last(site);
	return n ? nn_shape_count(&site->out) / n : 0;
}

struct centered {
	const real *x;
	real mean;
};

NN_INLINE vr term_square(const void *arg, size_t i, size_t k)
{
	const struct centered *centered = arg;
	vr d = v_sub(v_get(centered->x + i, k), v_set(centered->mean));
	return v_mul(d, d);
}

static real root(real x)
{
	real t[VL];
	v_store(t, v_sqrt(v_set(x)));
	return t[0];
}

/* saved: mean and 1 / deviation of each position, or NULL */
static void forward_position(const struct nn_call *call, const real *x, real *y, real *saved)
{
	const struct nn_layernorm *norm = call->site.attrs;
	const real *gamma = call->w[0], *beta = call->w[1];
	size_t n = last(&call->site);
	struct nn_sum_pair pair = { x, x };
	struct centered centered = { x, v_sum(v_term_value, &pair, n) / (real)n };
	real inverse = 1 / root(v_sum(term_square, &centered, n) / (real)n + (real)norm->eps);
	const vr mean = v_set(centered.mean), scale = v_set(inverse);
	NN_EACH(i, k, n, {
		vr normal = v_mul(v_sub(v_get(x + i, k), mean), scale);
		v_put(y + i, k, v_fma(normal, v_get(gamma + i, k), v_get(beta + i, k)));
	});
	if (saved) {
		saved[0] = centered.mean;
		saved[1] = inverse;
	}
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t n = last(&call->site);
	real *saved = call->saved;
	(void)thread;
	for (size_t p = begin; p < end; p++)
		forward_position(call, (const real *)call->x[0] + p * n, (real *)call->y + p * n,
				 saved ? saved + 2 * p : NULL);
}

static void forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows * positions(&call->site), 1,
		     4 * sizeof(real) * last(&call->site), forward_piece, (void *)call);
}

/* Terms of the two means that dx needs: g = dy * gamma, and g * normal. */
struct back {
	const real *x, *dy, *gamma;
	real mean, inverse;
};

NN_INLINE vr term_g(const void *arg, size_t i, size_t k)
{
	const struct back *b = arg;
	return v_mul(v_get(b->dy + i, k), v_get(b->gamma + i, k));
}

NN_INLINE vr normal_at(const struct back *b, size_t i, size_t k)
{
	return v_mul(v_sub(v_get(b->x + i, k), v_set(b->mean)), v_set(b->inverse));
}

NN_INLINE vr term_g_normal(const void *arg, size_t i, size_t k)
{
	return v_mul(term_g(arg, i, k), normal_at(arg, i, k));
}

static void backward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t n = last(&call->site);
	const real *saved = call->saved;
	(void)thread;
	for (size_t p = begin; p < end; p++) {
		struct back b = { (const real *)call->x[0] + p * n, (const real *)call->dy + p * n,
				  call->w[0], saved[2 * p], saved[2 * p + 1] };
		real *dx = (real *)call->dx[0] + p * n;
		const vr mean_g = v_set(v_sum(term_g, &b, n) / (real)n);
		const vr mean_gn = v_set(v_sum(term_g_normal, &b, n) / (real)n),
			 inverse = v_set(b.inverse);
		NN_EACH(i, k, n, {
			vr d = v_fnma(normal_at(&b, i, k), mean_gn,
				      v_sub(term_g(&b, i, k), mean_g));
			v_put_gradient(dx + i, k, v_mul(d, inverse), call->dx_add[0]);
		});
	}
}

/* Columns of one leaf: gamma's and beta's chains over its positions. */
static void parameters_piece(void *arg, size_t piece, int thread)
{
	const struct nn_call *call = arg;
	size_t n = last(&call->site), p = positions(&call->site),
	       blocks = (n + NN_COLUMNS - 1) / NN_COLUMNS;
	size_t leaf = piece / blocks, begin = piece % blocks * NN_COLUMNS,
	       count = n - begin < NN_COLUMNS ? n - begin : NN_COLUMNS;
	real *gamma = nn_leaf_buffer(call, 0, leaf, n, call->work);
	real *beta = nn_leaf_buffer(call, 1, leaf, n,
				    (real *)call->work + nn_leaf_reals(call->n_leaves, n));
	const real *saved = call->saved;
	(void)thread;
	for (size_t q = call->leaf[leaf] * p; q < call->leaf[leaf + 1] * p; q++) {
		struct back b = { (const real *)call->x[0] + q * n + begin,
				  (const real *)call->dy + q * n + begin, NULL, saved[2 * q],
				  saved[2 * q + 1] };
		bool from_zero = call->first && q == call->leaf[leaf] * p;
		NN_EACH(i, k, count, {
			vr dy = v_get(b.dy + i, k);
			real *g = gamma + begin + i;
			real *t = beta + begin + i;
			v_put(g, k,
			      v_fma(dy, normal_at(&b, i, k), from_zero ? v_zero() : v_get(g, k)));
			v_put(t, k, v_add(from_zero ? v_zero() : v_get(t, k), dy));
		});
	}
}

static void backward(const struct nn_call *call)
{
	size_t n = last(&call->site), p = positions(&call->site),
	       blocks = (n + NN_COLUMNS - 1) / NN_COLUMNS;
	size_t bytes = 3 * sizeof(real) * n;
	if (call->dw[0]) { /* else it is frozen */
		nn_cpu_pieces(call->pool, call->n_leaves * blocks, call->rows * p * bytes,
			      parameters_piece, (void *)call);
		NN_K(leaf_tree)(call, 0, n, call->work);
		NN_K(leaf_tree)
		(call, 1, n, (real *)call->work + nn_leaf_reals(call->n_leaves, n));
	}
	if (call->dx[0])
		nn_cpu_split(call->pool, call->rows * p, 1, 2 * bytes, backward_piece,
			     (void *)call);
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	return site->training ? max_rows * positions(site) * 2 * sizeof(real) : 0;
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	(void)max_rows;
	(void)threads;
	return site->training ? 2 * nn_leaf_reals(max_leaves, last(site)) * sizeof(real) : 0;
}

const struct nn_kernel NN_K(layernorm) = {
	.forward = forward, .backward = backward, .saved = saved, .work = work
};
