/* batchnorm: statistics of a channel over the rows and positions of a group, running values for prediction, epilogue behind both. */
#include "device/cpu/activation.h"
#include "device/cpu/kernels.h"

/*
 * A group's places (rows x positions) are cut into blocks that stay in L1 over two passes. In a block the sum of a channel, then the
 * sum of squares around the block's own mean, are 16 interleaved chains over places, added pairwise (nn_sum); blocks are put together
 * pairwise likewise. So memory is read twice, once for the statistics and once to normalize, and no variance is a difference of large
 * numbers. What a leaf adds to the gradients of gamma and beta is the chain over its groups of the same sums that dx needs.
 */
#define NN_BLOCK_REALS 8192
#define NN_CHAINS 16
#define NN_HALF (NN_CHAINS / 2)

struct norm {
	const struct nn_call *call;
	size_t channels, positions, block, max_blocks;
	real *mean, *inverse;           /* [n_groups][channels]: kept for backward */
	real *partial;                  /* [n_groups][max_blocks][2][channels] */
	real *sums;                     /* [n_groups][2][channels]: backward */
};

static size_t block_of(size_t channels)
{
	size_t places = NN_BLOCK_REALS / channels / NN_CHAINS * NN_CHAINS;
	return places ? places : NN_CHAINS;
}

static size_t positions_of(const struct nn_site *site)
{
	return site->out.rank == 3 ? site->out.dim[1] * site->out.dim[2] : 1;
}

/* Groups of a call, blocks of the largest group, which takes in a rest of up to half a group. */
static size_t max_groups(const struct nn_site *site, size_t max_rows)
{
	const struct nn_batchnorm *norm = site->attrs;
	return max_rows / norm->group + 1;
}

static size_t max_blocks(const struct nn_site *site, size_t max_rows)
{
	const struct nn_batchnorm *norm = site->attrs;
	size_t group = norm->group < max_rows ? norm->group + (norm->group + 1) / 2 : max_rows;
	size_t block = block_of(nn_cpu_channels(&site->out));
	return ((group < max_rows ? group : max_rows) * positions_of(site) + block - 1) / block;
}

static struct norm norm_of(const struct nn_call *call)
{
	struct norm n = { .call = call, .channels = nn_cpu_channels(&call->site.out), .positions = positions_of(&call->site) };
	n.block = block_of(n.channels);
	for (size_t g = 0; g < call->n_groups; g++) {
		size_t places = (call->group[g + 1] - call->group[g]) * n.positions, blocks = (places + n.block - 1) / n.block;
		if (blocks > n.max_blocks)
			n.max_blocks = blocks;
	}
	n.mean = call->saved;
	n.inverse = n.mean + call->n_groups * n.channels;
	n.partial = call->work;
	n.sums = n.partial + call->n_groups * n.max_blocks * 2 * n.channels;
	return n;
}

/* Where block b of group g lies; false: there is none. */
struct place { size_t group, begin, n; real *partial; };

static bool find(const struct norm *norm, size_t piece, struct place *place)
{
	const size_t *group = norm->call->group;
	size_t g = piece / norm->max_blocks, b = piece % norm->max_blocks;
	size_t begin = group[g] * norm->positions + b * norm->block, end = group[g + 1] * norm->positions;
	if (begin >= end)
		return false;
	*place = (struct place) { g, begin, end - begin < norm->block ? end - begin : norm->block,
				  norm->partial + piece * 2 * norm->channels };
	return true;
}

/* nn_sum's pairs over the chains. */
NN_INLINE vr pairs(vr chain[NN_CHAINS])
{
	NN_UNROLL
	for (int w = 1; w < NN_CHAINS; w *= 2)
		for (int i = 0; i < NN_CHAINS; i += 2 * w)
			chain[i] = v_add(chain[i], chain[i + w]);
	return chain[0];
}

/* Sum over n places of x, or of (x - mean)^2. */
NN_INLINE vr block_sum(const real *x, size_t n, size_t step, size_t k, bool square, vr mean)
{
	vr chain[NN_CHAINS];
	size_t q = 0;
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		chain[j] = v_zero();
	for (; q + NN_CHAINS <= n; q += NN_CHAINS, x += NN_CHAINS * step) {
		NN_UNROLL
		for (int j = 0; j < NN_CHAINS; j++) {
			vr v = v_get(x + (size_t) j * step, k), d = v_sub(v, mean);
			chain[j] = square ? v_fma(d, d, chain[j]) : v_add(chain[j], v);
		}
	}
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		if (q + (size_t) j < n) {
			vr v = v_get(x + (size_t) j * step, k), d = v_sub(v, mean);
			chain[j] = square ? v_fma(d, d, chain[j]) : v_add(chain[j], v);
		}
	return pairs(chain);
}

/* partial = sum, sum of squares around the block's mean */
static void statistics_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	struct place p;
	(void) thread;
	if (!find(norm, piece, &p))
		return;
	const real *x = (const real *) norm->call->x[0] + p.begin * norm->channels;
	const vr n = v_set((real) p.n);
	NN_EACH(i, k, norm->channels, {
		vr sum = block_sum(x + i, p.n, norm->channels, k, false, v_zero());
		v_put(p.partial + i, k, sum);
		v_put(p.partial + norm->channels + i, k, block_sum(x + i, p.n, norm->channels, k, true, v_div(sum, n)));
	});
}

/* Add up to `which` of a group's blocks pairwise, neighbours first; the second sum is moved from each block's mean to `mean`. */
NN_INLINE vr over_blocks(const struct norm *norm, size_t g, size_t i, size_t k, bool moved, size_t which, vr mean)
{
	const struct nn_call *call = norm->call;
	size_t places = (call->group[g + 1] - call->group[g]) * norm->positions;
	const real *partial = norm->partial + g * norm->max_blocks * 2 * norm->channels + i;
	vr stack[64], sum;
	int depth = 0;
	for (size_t b = 0; b * norm->block < places; b++, partial += 2 * norm->channels) {
		sum = v_get(partial + which * norm->channels, k);
		if (moved) {
			size_t left = places - b * norm->block;
			const vr n = v_set((real) (left < norm->block ? left : norm->block));
			vr d = v_sub(v_div(v_get(partial, k), n), mean);
			sum = v_fma(v_mul(n, d), d, sum);
		}
		for (size_t t = b; t & 1; t >>= 1)
			sum = v_add(stack[--depth], sum);
		stack[depth++] = sum;
	}
	for (sum = stack[--depth]; depth > 0;)
		sum = v_add(stack[--depth], sum);
	return sum;
}

/* Mean, 1 / deviation and the running values' unbiased variance (which takes the place of the first block's second sum). */
static void group_statistics(void *arg, size_t g, int thread)
{
	const struct norm *norm = arg;
	const struct nn_batchnorm *attrs = norm->call->site.attrs;
	size_t count = (norm->call->group[g + 1] - norm->call->group[g]) * norm->positions;
	real *unbiased = norm->partial + (g * norm->max_blocks * 2 + 1) * norm->channels;
	const vr n = v_set((real) count), n1 = v_set((real) (count > 1 ? count - 1 : 1));
	(void) thread;
	NN_EACH(i, k, norm->channels, {
		vr mean = v_div(over_blocks(norm, g, i, k, false, 0, v_zero()), n);
		vr squares = over_blocks(norm, g, i, k, true, 1, mean);
		vr deviation = v_sqrt(v_add(v_div(squares, n), v_set((real) attrs->eps)));
		v_put(norm->mean + g * norm->channels + i, k, mean);
		v_put(norm->inverse + g * norm->channels + i, k, v_div(v_set(1), deviation));
		v_put(unbiased + i, k, v_div(squares, n1));
	});
}

/* running = momentum * value + (1 - momentum) * running, group by group */
static void update_running(const struct norm *norm)
{
	const struct nn_batchnorm *attrs = norm->call->site.attrs;
	const vr momentum = v_set((real) attrs->momentum), rest = v_set((real) (1 - attrs->momentum));
	real *mean = norm->call->w[2], *variance = norm->call->w[3];
	for (size_t g = 0; g < norm->call->n_groups; g++) {
		const real *m = norm->mean + g * norm->channels;
		const real *v = norm->partial + (g * norm->max_blocks * 2 + 1) * norm->channels;
		NN_EACH(i, k, norm->channels, {
			v_put(mean + i, k, v_fma(momentum, v_get(m + i, k), v_mul(rest, v_get(mean + i, k))));
			v_put(variance + i, k, v_fma(momentum, v_get(v + i, k), v_mul(rest, v_get(variance + i, k))));
		});
	}
}

/* y = activation(x * scale + shift + residual) at n places from `begin`. */
static void normalize(const struct nn_call *call, size_t channels, size_t begin, size_t n, const real *mean, const real *inverse)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	const real *gamma = call->w[0], *beta = call->w[1], *x = (const real *) call->x[0] + begin * channels;
	const real *residual = attrs->epilogue.residual ? (const real *) call->x[call->site.n_in - 1] + begin * channels : NULL;
	real *y = (real *) call->y + begin * channels;
	NN_EACH(i, k, channels, {
		const vr scale = v_mul(v_get(gamma + i, k), v_get(inverse + i, k));
		const vr shift = v_fnma(v_get(mean + i, k), scale, v_get(beta + i, k));
		if (residual)
			for (size_t q = 0; q < n; q++) {
				vr v = v_fma(v_get(x + q * channels + i, k), scale, shift);
				v_put(y + q * channels + i, k, v_add(v, v_get(residual + q * channels + i, k)));
			}
		else
			for (size_t q = 0; q < n; q++)
				v_put(y + q * channels + i, k, v_fma(v_get(x + q * channels + i, k), scale, shift));
	});
	if (attrs->epilogue.activation != NN_ACT_NONE)
		NN_K(activate)(&attrs->epilogue, y, y, n * channels);
}

static void normalize_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	struct place p;
	(void) thread;
	if (find(norm, piece, &p))
		normalize(norm->call, norm->channels, p.begin, p.n, norm->mean + p.group * norm->channels,
			  norm->inverse + p.group * norm->channels);
}

static void predict_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct norm *norm = arg;
	(void) thread;
	for (size_t q = begin; q < end; q += norm->block)
		normalize(norm->call, norm->channels, q, end - q < norm->block ? end - q : norm->block, norm->call->w[2],
			  norm->inverse);
}

static void predict(const struct nn_call *call)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	struct norm norm = { .call = call, .channels = nn_cpu_channels(&call->site.out), .positions = positions_of(&call->site),
			     .inverse = call->work };
	const real *variance = call->w[3];
	norm.block = block_of(norm.channels);
	NN_EACH(i, k, norm.channels, {
		vr deviation = v_sqrt(v_add(v_get(variance + i, k), v_set((real) attrs->eps)));
		v_put(norm.inverse + i, k, v_div(v_set(1), deviation));
	});
	nn_cpu_split(call->pool, call->rows * norm.positions, 1, 3 * norm.channels * sizeof(real), predict_piece, &norm);
}

static void forward(const struct nn_call *call)
{
	if (!call->site.training) {
		predict(call);
		return;
	}
	struct norm norm = norm_of(call);
	size_t pieces = call->n_groups * norm.max_blocks, bytes = call->rows * norm.positions * norm.channels * sizeof(real);
	nn_cpu_pieces(call->pool, pieces, bytes, statistics_piece, &norm);
	nn_cpu_pieces(call->pool, call->n_groups, bytes / norm.block, group_statistics, &norm);
	update_running(&norm);
	nn_cpu_pieces(call->pool, pieces, bytes, normalize_piece, &norm);
}

/* ---- backward ---- */

/* Sums over n places of d, and of d * (x - mean); chains in two halves, for registers. */
NN_INLINE void block_back_sums(const real *x, const real *d, size_t n, size_t step, size_t k, vr mean, vr *sum, vr *product)
{
	vr a[NN_CHAINS], b[NN_CHAINS];
	NN_UNROLL
	for (int half = 0; half < NN_CHAINS; half += NN_HALF) {
		vr s[NN_HALF], t[NN_HALF];
		size_t q = (size_t) half;
		NN_UNROLL
		for (int j = 0; j < NN_HALF; j++)
			s[j] = t[j] = v_zero();
		for (; q + NN_HALF <= n; q += NN_CHAINS) {
			NN_UNROLL
			for (int j = 0; j < NN_HALF; j++) {
				vr v = v_get(d + (q + (size_t) j) * step, k);
				s[j] = v_add(s[j], v);
				t[j] = v_fma(v, v_sub(v_get(x + (q + (size_t) j) * step, k), mean), t[j]);
			}
		}
		NN_UNROLL
		for (int j = 0; j < NN_HALF; j++) {
			if (q + (size_t) j < n) {
				vr v = v_get(d + (q + (size_t) j) * step, k);
				s[j] = v_add(s[j], v);
				t[j] = v_fma(v, v_sub(v_get(x + (q + (size_t) j) * step, k), mean), t[j]);
			}
			a[half + j] = s[j];
			b[half + j] = t[j];
		}
	}
	*sum = pairs(a);
	*product = pairs(b);
}

/* dy becomes the gradient before the epilogue, the residual gets it; partial = the two sums */
static void back_sums_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	const struct nn_call *call = norm->call;
	const struct nn_batchnorm *attrs = call->site.attrs;
	struct place p;
	(void) thread;
	if (!find(norm, piece, &p))
		return;
	size_t at = p.begin * norm->channels, n = p.n * norm->channels;
	int residual = call->site.n_in - 1;
	real *dy = (real *) call->dy + at;
	if (attrs->epilogue.activation != NN_ACT_NONE)
		NN_K(activate_back)(&attrs->epilogue, (const real *) call->y + at, dy, dy, n);
	if (attrs->epilogue.residual && call->dx[residual] && call->dx[residual] != call->dy) {
		real *dx = (real *) call->dx[residual] + at;
		NN_EACH(i, k, n, { v_put_gradient(dx + i, k, v_get(dy + i, k), call->dx_add[residual]); });
	}
	const real *x = (const real *) call->x[0] + at, *mean = norm->mean + p.group * norm->channels;
	NN_EACH(i, k, norm->channels, {
		vr sum;
		vr product;
		block_back_sums(x + i, dy + i, p.n, norm->channels, k, v_get(mean + i, k), &sum, &product);
		v_put(p.partial + i, k, sum);
		v_put(p.partial + norm->channels + i, k, product);
	});
}

/* sums = sum of d, sum of d * normal */
static void group_back_sums(void *arg, size_t g, int thread)
{
	const struct norm *norm = arg;
	const real *inverse = norm->inverse + g * norm->channels;
	real *sums = norm->sums + g * 2 * norm->channels;
	(void) thread;
	NN_EACH(i, k, norm->channels, {
		v_put(sums + i, k, over_blocks(norm, g, i, k, false, 0, v_zero()));
		v_put(sums + norm->channels + i, k,
		      v_mul(over_blocks(norm, g, i, k, false, 1, v_zero()), v_get(inverse + i, k)));
	});
}

/* which 0: beta, 1: gamma. The chain over a leaf's groups, leaves along the tree. */
static void parameter_gradient(const struct norm *norm, int which, real *dw)
{
	const struct nn_call *call = norm->call;
	NN_EACH(i, k, norm->channels, {
		vr stack[64];
		vr sum;
		int depth = 0;
		size_t g = 0;
		for (size_t leaf = 0; leaf < call->n_leaves; leaf++) {
			sum = call->first ? v_zero() : v_get(dw + i, k);
			for (; g < call->n_groups && call->group[g] < call->leaf[leaf + 1]; g++)
				sum = v_add(sum, v_get(norm->sums + (g * 2 + (size_t) which) * norm->channels + i, k));
			for (size_t t = leaf; t & 1; t >>= 1)
				sum = v_add(stack[--depth], sum);
			stack[depth++] = sum;
		}
		v_put(dw + i, k, stack[0]);
	});
}

/* dx = gamma / deviation * (d - mean of d - normal * mean of d * normal) */
static void back_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	const struct nn_call *call = norm->call;
	struct place p;
	(void) thread;
	if (!find(norm, piece, &p))
		return;
	size_t c = norm->channels, at = p.begin * c;
	const real *x = (const real *) call->x[0] + at, *dy = (const real *) call->dy + at, *gamma = call->w[0];
	const real *mean = norm->mean + p.group * c, *inverse = norm->inverse + p.group * c, *sums = norm->sums + p.group * 2 * c;
	real *dx = (real *) call->dx[0] + at;
	const vr n = v_set((real) ((call->group[p.group + 1] - call->group[p.group]) * norm->positions));
	bool add = call->dx_add[0];
	NN_EACH(i, k, c, {
		const vr m = v_get(mean + i, k);
		const vr r = v_get(inverse + i, k);
		const vr scale = v_mul(v_get(gamma + i, k), r);
		const vr mean_d = v_div(v_get(sums + i, k), n);
		const vr slope = v_mul(v_div(v_get(sums + c + i, k), n), r);
		for (size_t q = 0; q < p.n; q++) {
			vr d = v_sub(v_get(dy + q * c + i, k), mean_d);
			d = v_fnma(v_sub(v_get(x + q * c + i, k), m), slope, d);
			v_put_gradient(dx + q * c + i, k, v_mul(d, scale), add);
		}
	});
}

static void backward(const struct nn_call *call)
{
	struct norm norm = norm_of(call);
	size_t pieces = call->n_groups * norm.max_blocks, bytes = 2 * call->rows * norm.positions * norm.channels * sizeof(real);
	nn_cpu_pieces(call->pool, pieces, bytes, back_sums_piece, &norm);
	nn_cpu_pieces(call->pool, call->n_groups, bytes / norm.block, group_back_sums, &norm);
	parameter_gradient(&norm, 1, call->dw[0]);
	parameter_gradient(&norm, 0, call->dw[1]);
	if (call->dx[0])
		nn_cpu_pieces(call->pool, pieces, bytes, back_piece, &norm);
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	return site->training ? 2 * max_groups(site, max_rows) * nn_cpu_channels(&site->out) * sizeof(real) : 0;
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	size_t channels = nn_cpu_channels(&site->out);
	(void) max_leaves;
	(void) threads;
	if (!site->training)
		return channels * sizeof(real);
	return 2 * max_groups(site, max_rows) * (max_blocks(site, max_rows) + 1) * channels * sizeof(real);
}

const struct nn_kernel NN_K(batchnorm) = { .forward = forward, .backward = backward, .saved = saved, .work = work };
