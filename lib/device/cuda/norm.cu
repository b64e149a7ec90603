/*
 * Batch normalization: sums over blocks of a group's places, blocks added pairwise, by a thread for
 * each channel (cpu/norm/batchnorm.h says what a block is).
 */
#include "device/cpu/activation.h"
#include "device/cuda/phase.h"

#define NN_CHAINS 16

enum mask { NN_MASK_NONE, NN_MASK_RELU, NN_MASK_LEAKY };

/* Block b of group g, and a channel of it. */
struct part {
	size_t g, b, channel;
	size_t begin, n; /* places */
};

NN_INLINE bool part_at(const struct nn_norm_args *a, size_t i, struct part *p)
{
	size_t end;
	p->channel = i % a->channels;
	p->b = i / a->channels % a->max_blocks;
	p->g = i / a->channels / a->max_blocks;
	p->begin = nn_bound_at(&a->group, p->g) * a->positions + p->b * a->block;
	end = nn_bound_at(&a->group, p->g + 1) * a->positions;
	p->n = end > p->begin ? end - p->begin : 0;
	p->n = p->n < a->block ? p->n : a->block;
	return p->n > 0;
}

NN_INLINE real *partial_at(const struct nn_norm_args *a, size_t g, size_t b, size_t which)
{
	return a->partial + ((g * a->max_blocks + b) * 2 + which) * a->channels;
}

NN_INLINE size_t places_of(const struct nn_norm_args *a, size_t g)
{
	return (nn_bound_at(&a->group, g + 1) - nn_bound_at(&a->group, g)) * a->positions;
}

NN_INLINE real pairs(real chain[NN_CHAINS])
{
	NN_UNROLL
	for (int w = 1; w < NN_CHAINS; w *= 2)
		for (int i = 0; i < NN_CHAINS; i += 2 * w)
			chain[i] = v_add(chain[i], chain[i + w]);
	return chain[0];
}

/* Sum over n places of x, or of (x - mean)^2. */
NN_INLINE real block_sum(const real *x, size_t n, size_t step, bool square, real mean)
{
	real chain[NN_CHAINS];
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		chain[j] = 0;
	for (size_t q = 0; q < n; q += NN_CHAINS) {
		NN_UNROLL
		for (int j = 0; j < NN_CHAINS; j++)
			if (q + (size_t)j < n) {
				real v = x[(q + (size_t)j) * step], d = v_sub(v, mean);
				chain[j] = square ? v_fma(d, d, chain[j]) : v_add(chain[j], v);
			}
	}
	return pairs(chain);
}

NN_MAP(norm_blocks, struct nn_norm_args)
{
	struct part p;
	if (!part_at(a, i, &p))
		return;
	const real *x = a->x + p.begin * a->channels + p.channel;
	real sum = block_sum(x, p.n, a->channels, false, 0);
	partial_at(a, p.g, p.b, 0)[p.channel] = sum;
	partial_at(a, p.g, p.b, 1)[p.channel] =
		block_sum(x, p.n, a->channels, true, v_div(sum, (real)p.n));
}

/* A group's blocks added pairwise, neighbours first; moved: squares around `mean`. */
NN_INLINE real over_blocks(const struct nn_norm_args *a, size_t g, size_t channel, bool moved,
			   size_t which, real mean)
{
	size_t places = places_of(a, g);
	real stack[48], sum;
	int depth = 0;
	for (size_t b = 0; b * a->block < places; b++) {
		sum = partial_at(a, g, b, which)[channel];
		if (moved) {
			size_t left = places - b * a->block;
			real n = (real)(left < a->block ? left : a->block);
			real d = v_sub(v_div(partial_at(a, g, b, 0)[channel], n), mean);
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

/* Mean, 1 / deviation; the unbiased variance takes the place of the first block's second sum. */
NN_MAP(norm_groups, struct nn_norm_args)
{
	size_t g = i / a->channels, c = i % a->channels, count = places_of(a, g);
	real n = (real)count, mean = v_div(over_blocks(a, g, c, false, 0, 0), n);
	real squares = over_blocks(a, g, c, true, 1, mean);
	a->mean[i] = mean;
	a->inverse[i] = v_div(1, v_sqrt(v_add(v_div(squares, n), a->eps)));
	partial_at(a, g, 0, 1)[c] = v_div(squares, (real)(count > 1 ? count - 1 : 1));
}

NN_INLINE real advanced(const struct nn_norm_args *a, real running, real value)
{
	return v_cut(v_fma(a->momentum, value, v_mul(a->rest, running)));
}

/* The running values of a channel, group by group, or what they will be advanced by. */
NN_MAP(norm_running, struct nn_norm_args)
{
	for (size_t g = 0; g < a->group.n; g++) {
		real m = a->mean[g * a->channels + i], v = partial_at(a, g, 0, 1)[i];
		if (a->statistics) {
			a->statistics[g * a->step + i] = m;
			a->statistics[g * a->step + a->channels + i] = v;
			continue;
		}
		a->running[0][i] = advanced(a, a->running[0][i], m);
		a->running[1][i] = advanced(a, a->running[1][i], v);
	}
}

/* The same from statistics of group.n groups. */
NN_MAP(norm_advance, struct nn_norm_args)
{
	for (size_t g = 0; g < a->group.n; g++) {
		const real *m = a->statistics + g * a->step;
		a->running[0][i] = advanced(a, a->running[0][i], m[i]);
		a->running[1][i] = advanced(a, a->running[1][i], m[a->channels + i]);
	}
}

/* 1 / deviation of running values. */
NN_MAP(norm_predict, struct nn_norm_args)
{
	a->inverse[i] = v_div(1, v_sqrt(v_add(a->running[1][i], a->eps)));
}

/* The group of element i, 0 at prediction. */
NN_INLINE size_t group_of(const struct nn_norm_args *a, size_t i)
{
	return a->training ? nn_bound_find(&a->group, i / a->channels / a->positions) : 0;
}

/* to = x * scale + shift + residual */
NN_MAP(normalize, struct nn_norm_args)
{
	size_t c = i % a->channels, at = group_of(a, i) * a->channels + c;
	real scale = v_mul(a->gamma[c], a->inverse[at]);
	real shift = v_fnma(a->mean[at], scale, a->beta[c]), v = v_fma(a->x[i], scale, shift);
	a->to[i] = a->residual ? v_add(v, a->residual[i]) : v;
}

/* ---- backward ---- */

/* A channel of a group: what the mask needs. */
struct lane {
	real mean, scale, shift;
};

NN_INLINE struct lane lane_at(const struct nn_norm_args *a, size_t g, size_t c)
{
	struct lane lane;
	lane.mean = a->mean[g * a->channels + c];
	lane.scale = v_mul(a->gamma[c], a->inverse[g * a->channels + c]);
	lane.shift = v_fnma(lane.mean, lane.scale, a->beta[c]);
	return lane;
}

/* dy before the epilogue, where x is v. */
NN_INLINE real gradient_at(const struct nn_norm_args *a, const struct lane *lane, real v, real d)
{
	real z;
	if (a->mask == NN_MASK_NONE)
		return d;
	z = v_fma(v, lane->scale, lane->shift);
	return a->mask == NN_MASK_RELU ? v_select(v_le(z, 0), 0, d)
				       : v_select(v_gt(z, 0), d, v_mul(a->slope, d));
}

/* partial = sum of d, sum of d * (x - mean) */
NN_MAP(norm_back_blocks, struct nn_norm_args)
{
	struct part p;
	real s[NN_CHAINS], t[NN_CHAINS];
	if (!part_at(a, i, &p))
		return;
	const struct lane lane = lane_at(a, p.g, p.channel);
	const real *x = a->x + p.begin * a->channels + p.channel,
		   *dy = a->d + p.begin * a->channels + p.channel;
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		s[j] = t[j] = 0;
	for (size_t q = 0; q < p.n; q += NN_CHAINS) {
		NN_UNROLL
		for (int j = 0; j < NN_CHAINS; j++)
			if (q + (size_t)j < p.n) {
				size_t at = (q + (size_t)j) * a->channels;
				real d = gradient_at(a, &lane, x[at], dy[at]);
				s[j] = v_add(s[j], d);
				t[j] = v_fma(d, v_sub(x[at], lane.mean), t[j]);
			}
	}
	partial_at(a, p.g, p.b, 0)[p.channel] = pairs(s);
	partial_at(a, p.g, p.b, 1)[p.channel] = pairs(t);
}

/* sums = sum of d, sum of d * normal */
NN_MAP(norm_back_groups, struct nn_norm_args)
{
	size_t g = i / a->channels, c = i % a->channels;
	real *sums = a->sums + g * 2 * a->channels;
	sums[c] = over_blocks(a, g, c, false, 0, 0);
	sums[a->channels + c] = v_mul(over_blocks(a, g, c, false, 1, 0), a->inverse[i]);
}

/* Gamma (dw[0]) and beta: the chain over a leaf's groups, leaves along the tree. */
NN_MAP(norm_back_weights, struct nn_norm_args)
{
	size_t which = i / a->channels ? 0 : 1, c = i % a->channels, g = 0;
	real *dw = a->dw[i / a->channels], stack[48], sum;
	int depth = 0;
	for (size_t leaf = 0; leaf < a->leaf.n; leaf++) {
		sum = a->first ? 0 : dw[c];
		for (; g < a->group.n &&
		       nn_bound_at(&a->group, g) < nn_bound_at(&a->leaf, leaf + 1);
		     g++)
			sum = v_add(sum, a->sums[(g * 2 + which) * a->channels + c]);
		for (size_t t = leaf; t & 1; t >>= 1)
			sum = v_add(stack[--depth], sum);
		stack[depth++] = sum;
	}
	dw[c] = stack[0];
}

/* dx = gamma / deviation * (d - mean of d - normal * mean of d * normal) */
NN_MAP(norm_back, struct nn_norm_args)
{
	size_t c = i % a->channels, g = group_of(a, i);
	const struct lane lane = lane_at(a, g, c);
	const real *sums = a->sums + g * 2 * a->channels;
	real n = (real)places_of(a, g), mean_d = v_div(sums[c], n);
	real slope = v_mul(v_div(sums[a->channels + c], n), a->inverse[g * a->channels + c]);
	real d = v_sub(gradient_at(a, &lane, a->x[i], a->d[i]), mean_d);
	d = v_fnma(v_sub(a->x[i], lane.mean), slope, d);
	nn_put(a->to + i, v_mul(d, lane.scale), a->add);
}

/* From running values, which stay. */
NN_MAP(norm_frozen, struct nn_norm_args)
{
	size_t c = i % a->channels;
	real deviation = v_sqrt(v_add(a->running[1][c], a->eps));
	real scale = v_mul(a->gamma[c], v_div(1, deviation));
	nn_put(a->to + i, v_mul(a->dy[i], scale), a->add);
}
