/*
 * batchnorm backward: two sums per channel and group, then dx; what gamma and beta get.
 *
 * What a leaf adds to the gradients of gamma and beta is the chain over its groups of each group's
 * sums, which the input gradient needs anyway and which are pairwise; a chain over rows and
 * positions would be a second pass that two threads cannot share, for sums that are less exact.
 */
#include "device/cpu/norm/batchnorm.h"

#define NN_HALF (NN_CHAINS / 2)

/* One vector of channels: where x and dy lie, and what the mask needs. */
struct lane {
	const real *x, *d;
	size_t step;
	vr mean, scale, shift, slope;
};

/* dy before the epilogue, at place q. */
NN_INLINE vr gradient_at(enum mask mask, const struct lane *lane, size_t q, size_t k)
{
	vr d = v_get(lane->d + q * lane->step, k), z;
	if (mask == NN_MASK_NONE)
		return d;
	z = v_fma(v_get(lane->x + q * lane->step, k), lane->scale, lane->shift);
	return mask == NN_MASK_RELU ? v_select(v_le(z, v_zero()), v_zero(), d)
				    : v_select(v_gt(z, v_zero()), d, v_mul(lane->slope, d));
}

/* Sums over n places of d, and of d * (x - mean); chains in two halves, for registers. */
NN_INLINE void block_back_sums(enum mask mask, const struct lane *lane, size_t n, size_t k, vr *sum,
			       vr *product)
{
	vr a[NN_CHAINS], b[NN_CHAINS];
	NN_UNROLL
	for (int half = 0; half < NN_CHAINS; half += NN_HALF) {
		vr s[NN_HALF], t[NN_HALF];
		size_t q = (size_t)half;
		NN_UNROLL
		for (int j = 0; j < NN_HALF; j++)
			s[j] = t[j] = v_zero();
		for (; q + NN_HALF <= n; q += NN_CHAINS) {
			NN_UNROLL
			for (int j = 0; j < NN_HALF; j++) {
				vr d = gradient_at(mask, lane, q + (size_t)j, k);
				s[j] = v_add(s[j], d);
				t[j] = v_fma(d,
					     v_sub(v_get(lane->x + (q + (size_t)j) * lane->step, k),
						   lane->mean),
					     t[j]);
			}
		}
		NN_UNROLL
		for (int j = 0; j < NN_HALF; j++) {
			if (q + (size_t)j < n) {
				vr d = gradient_at(mask, lane, q + (size_t)j, k);
				s[j] = v_add(s[j], d);
				t[j] = v_fma(d,
					     v_sub(v_get(lane->x + (q + (size_t)j) * lane->step, k),
						   lane->mean),
					     t[j]);
			}
			a[half + j] = s[j];
			b[half + j] = t[j];
		}
	}
	*sum = pairs(a);
	*product = pairs(b);
}

NN_INLINE struct lane lane_at(const struct norm *norm, const struct place *p, size_t i, size_t k)
{
	const struct nn_call *call = norm->call;
	const struct nn_batchnorm *attrs = call->site.attrs;
	size_t at = p->begin * norm->channels + i, stat = p->group * norm->channels + i;
	struct lane lane = { .x = (const real *)call->x[0] + at,
			     .d = norm->d + at,
			     .step = norm->channels };
	lane.mean = v_get(norm->mean + stat, k);
	lane.scale = v_mul(v_get((const real *)call->w[0] + i, k), v_get(norm->inverse + stat, k));
	lane.shift = v_fnma(lane.mean, lane.scale, v_get((const real *)call->w[1] + i, k));
	lane.slope = v_set((real)attrs->epilogue.slope);
	return lane;
}

/*
 * norm->d becomes the gradient before the epilogue, unless a mask will do it; the residual gets it.
 */
static void before_epilogue(const struct norm *norm, size_t at, size_t n)
{
	const struct nn_call *call = norm->call;
	const struct nn_batchnorm *attrs = call->site.attrs;
	int residual = call->site.n_in - 1;
	const real *dy = (const real *)call->dy + at;
	real *d = norm->d + at;
	if (norm->mask == NN_MASK_NONE && (attrs->epilogue.activation != NN_ACT_NONE || d != dy))
		NN_K(activate_back)(&attrs->epilogue, (const real *)call->y + at, dy, d, n);
	if (attrs->epilogue.residual && call->dx[residual] && call->dx[residual] != norm->d) {
		real *dx = (real *)call->dx[residual] + at;
		NN_EACH(i, k, n,
			{ v_put_gradient(dx + i, k, v_get(d + i, k), call->dx_add[residual]); });
	}
}

NN_INLINE void back_sums(enum mask mask, const struct norm *norm, const struct place *p)
{
	NN_EACH(i, k, norm->channels, {
		const struct lane lane = lane_at(norm, p, i, k);
		vr sum;
		vr product;
		block_back_sums(mask, &lane, p->n, k, &sum, &product);
		v_put(p->partial + i, k, sum);
		v_put(p->partial + norm->channels + i, k, product);
	});
}

/* partial = the two sums */
static void back_sums_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	struct place p;
	(void)thread;
	if (!find(norm, piece, &p))
		return;
	before_epilogue(norm, p.begin * norm->channels, p.n * norm->channels);
	if (norm->mask == NN_MASK_NONE)
		back_sums(NN_MASK_NONE, norm, &p);
	else if (norm->mask == NN_MASK_RELU)
		back_sums(NN_MASK_RELU, norm, &p);
	else
		back_sums(NN_MASK_LEAKY, norm, &p);
}

/* sums = sum of d, sum of d * normal */
static void group_back_sums(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	size_t g = norm->from + piece;
	const real *inverse = norm->inverse + g * norm->channels;
	real *sums = norm->sums + g * 2 * norm->channels;
	(void)thread;
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
				sum = v_add(sum,
					    v_get(norm->sums +
							  (g * 2 + (size_t)which) * norm->channels +
							  i,
						  k));
			for (size_t t = leaf; t & 1; t >>= 1)
				sum = v_add(stack[--depth], sum);
			stack[depth++] = sum;
		}
		v_put(dw + i, k, stack[0]);
	});
}

/* dx = gamma / deviation * (d - mean of d - normal * mean of d * normal) */
NN_INLINE void back(enum mask mask, const struct norm *norm, const struct place *p, bool add)
{
	const struct nn_call *call = norm->call;
	size_t c = norm->channels, at = p->begin * c;
	const real *inverse = norm->inverse + p->group * c, *sums = norm->sums + p->group * 2 * c;
	real *dx = (real *)call->dx[0] + at;
	const vr n = v_set(
		(real)((call->group[p->group + 1] - call->group[p->group]) * norm->positions));
	NN_EACH(i, k, c, {
		const struct lane lane = lane_at(norm, p, i, k);
		const vr mean_d = v_div(v_get(sums + i, k), n);
		const vr slope = v_mul(v_div(v_get(sums + c + i, k), n), v_get(inverse + i, k));
		for (size_t q = 0; q < p->n; q++) {
			vr d = v_sub(gradient_at(mask, &lane, q, k), mean_d);
			d = v_fnma(v_sub(v_get(lane.x + q * c, k), lane.mean), slope, d);
			v_put_gradient(dx + q * c + i, k, v_mul(d, lane.scale), add);
		}
	});
}

static void back_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	bool add = norm->call->dx_add[0];
	struct place p;
	(void)thread;
	if (!find(norm, piece, &p))
		return;
	if (norm->mask == NN_MASK_NONE)
		back(NN_MASK_NONE, norm, &p, add);
	else if (norm->mask == NN_MASK_RELU)
		back(NN_MASK_RELU, norm, &p, add);
	else
		back(NN_MASK_LEAKY, norm, &p, add);
}

static enum mask mask_of(const struct nn_epilogue *epilogue)
{
	if (epilogue->residual)
		return NN_MASK_NONE;
	return epilogue->activation == NN_ACT_RELU         ? NN_MASK_RELU
	       : epilogue->activation == NN_ACT_LEAKY_RELU ? NN_MASK_LEAKY
							   : NN_MASK_NONE;
}

/* What is behind the sum: the activation's derivative into dy, the residual's share. */
static void frozen_epilogue(const struct nn_call *call, size_t begin, size_t n)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	int residual = call->site.n_in - 1;
	real *dy = (real *)call->dy + begin;
	if (attrs->epilogue.activation != NN_ACT_NONE)
		NN_K(activate_back)(&attrs->epilogue, (const real *)call->y + begin, dy, dy, n);
	if (attrs->epilogue.residual && call->dx[residual] && call->dx[residual] != call->dy) {
		real *dx = (real *)call->dx[residual] + begin;
		NN_EACH(i, k, n,
			{ v_put_gradient(dx + i, k, v_get(dy + i, k), call->dx_add[residual]); });
	}
}

/* From running values, which stay: a factor for each channel. */
static void frozen_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_batchnorm *attrs = call->site.attrs;
	size_t channels = nn_cpu_channels(&call->site.out);
	const real *gamma = call->w[0], *variance = call->w[3];
	(void)thread;
	frozen_epilogue(call, begin * channels, (end - begin) * channels);
	for (size_t q = begin; q < end && call->dx[0]; q++) {
		const real *dy = (const real *)call->dy + q * channels;
		real *dx = (real *)call->dx[0] + q * channels;
		NN_EACH(i, k, channels, {
			vr deviation =
				v_sqrt(v_add(v_get(variance + i, k), v_set((real)attrs->eps)));
			vr scale = v_mul(v_get(gamma + i, k), v_div(v_set(1), deviation));
			v_put_gradient(dx + i, k, v_mul(v_get(dy + i, k), scale), call->dx_add[0]);
		});
	}
}

void NN_K(batchnorm_back)(const struct nn_call *call)
{
	struct norm norm = norm_of(call);
	const struct nn_batchnorm *attrs = call->site.attrs;
	int residual = call->site.n_in - 1;
	if (!call->site.training) { /* frozen */
		nn_cpu_split(call->pool, call->rows * norm.positions, 1,
			     8 * norm.channels * sizeof(real), frozen_piece, (void *)call);
		return;
	}
	norm.mask = mask_of(&attrs->epilogue);
	norm.d = attrs->epilogue.residual && call->dx[residual] && !call->dx_add[residual]
			 ? call->dx[residual]
			 : call->dy;
	while (next_run(&norm)) {
		pass(&norm, false, back_sums_piece);
		pass(&norm, true, group_back_sums);
		if (call->dx[0])
			pass(&norm, false, back_piece);
	}
	parameter_gradient(&norm, 1, call->dw[0]);
	parameter_gradient(&norm, 0, call->dw[1]);
}
