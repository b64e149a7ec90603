/*
 * Batch normalization: sums over blocks of a group's places, blocks added pairwise
 * (cpu/norm/batchnorm.h says what a block is and how its chains are put together).
 */
#include "device/cpu/activation.h"
#include "device/cuda/wide.h"

#define NN_CHAINS 16

enum mask { NN_MASK_NONE, NN_MASK_RELU, NN_MASK_LEAKY };

/*
 * A block of threads has 16 channels of a block or of a group, and 16 threads for each channel: one
 * for each chain of the sums, or for each run of blocks that is a tree of its own.
 */
#define NN_NORM_THREADS (NN_CHAINS * NN_NORM_CHANNELS)

struct norm_sums {
	real value[2][NN_CHAINS][NN_NORM_CHANNELS];
};

/* A thread's channel, of block b of group g; its lane in the block and its chain. */
struct part {
	size_t g, b, channel;
	size_t begin, n; /* places; 0: it has nothing to do */
	unsigned lane, chain;
	size_t values; /* to be added, of threads of a channel */
	size_t run;    /* blocks of a run */
	real sum, mean;
};

NN_INLINE real *partial_at(const struct nn_norm_args *a, size_t g, size_t b, size_t which)
{
	return a->partial + ((g * a->max_blocks + b) * 2 + which) * a->channels;
}

NN_INLINE size_t places_of(const struct nn_norm_args *a, size_t g)
{
	return (nn_bound_at(&a->group, g + 1) - nn_bound_at(&a->group, g)) * a->positions;
}

NN_INLINE void part_at(const struct nn_norm_args *a, struct nn_spot p, struct part *r,
		       size_t blocks)
{
	size_t across = (a->channels + NN_NORM_CHANNELS - 1) / NN_NORM_CHANNELS;
	r->lane = p.thread % NN_NORM_CHANNELS;
	r->chain = p.thread / NN_NORM_CHANNELS;
	r->channel = p.block % across * NN_NORM_CHANNELS + r->lane;
	r->b = p.block / across % blocks;
	r->g = p.block / across / blocks;
	r->begin = nn_bound_at(&a->group, r->g) * a->positions;
	r->n = r->channel < a->channels ? places_of(a, r->g) : 0;
}

NN_INLINE void begin_block(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			   struct part *r)
{
	size_t before;
	(void)s;
	part_at(a, p, r, a->max_blocks);
	before = r->b * a->block;
	r->begin += before;
	r->n = r->n > before ? r->n - before : 0;
	r->n = r->n < a->block ? r->n : a->block;
	r->values = r->n > 0 ? NN_CHAINS : 0;
	r->mean = 0;
}

/* Of what threads of a channel have, neighbours are added, then those `apart` from each other. */
NN_INLINE void add_pairs(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			 struct part *r, unsigned apart, unsigned sums)
{
	(void)a;
	(void)p;
	if (r->chain % (2 * apart) == 0 && r->chain + apart < r->values)
		for (unsigned i = 0; i < sums; i++)
			s->value[i][r->chain][r->lane] =
				v_add(s->value[i][r->chain][r->lane],
				      s->value[i][r->chain + apart][r->lane]);
}

#define NN_PAIRS(sums) \
	for (unsigned apart = 1; apart < NN_CHAINS; apart *= 2) \
	NN_PHASE(add_pairs, apart, sums)

/* Steps of a thread's chain over a block's places, some of which it asks for at once. */
#define NN_PLACES_AHEAD 16
NN_INLINE unsigned steps_of(const struct part *r)
{
	return ((unsigned)r->n + NN_CHAINS - 1 - r->chain) / NN_CHAINS;
}

/* A chain over a block's places of x, or of (x - mean)^2. */
NN_INLINE void block_chain(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			   struct part *r, bool square)
{
	const size_t step = NN_CHAINS * a->channels;
	const unsigned n = steps_of(r);
	const real *x = a->x + (r->begin + r->chain) * a->channels + r->channel;
	real chain = 0;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_PLACES_AHEAD) {
		real v[NN_PLACES_AHEAD];
		ask(x + i * step, step, n - i, v, NN_PLACES_AHEAD);
		NN_UNROLL
		for (unsigned j = 0; j < NN_PLACES_AHEAD; j++) {
			real d = v_sub(v[j], r->mean);
			if (i + j < n)
				chain = square ? v_fma(d, d, chain) : v_add(chain, v[j]);
		}
	}
	s->value[0][r->chain][r->lane] = chain;
}

NN_INLINE void block_mean(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			  struct part *r)
{
	(void)a;
	(void)p;
	r->sum = s->value[0][0][r->lane];
	r->mean = v_div(r->sum, (real)r->n);
}

NN_INLINE void put_block(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			 struct part *r)
{
	(void)p;
	if (r->chain > 0 || r->n == 0)
		return;
	partial_at(a, r->g, r->b, 0)[r->channel] = r->sum;
	partial_at(a, r->g, r->b, 1)[r->channel] = s->value[0][0][r->lane];
}

NN_SCRIPT(norm_blocks, struct nn_norm_args, struct norm_sums, struct part, NN_NORM_THREADS)
{
	NN_PHASE(begin_block);
	NN_PHASE(block_chain, false);
	NN_PAIRS(1);
	NN_PHASE(block_mean);
	NN_PHASE(block_chain, true);
	NN_PAIRS(1);
	NN_PHASE(put_block);
}

/* ---- groups ---- */

/* Runs of so many blocks, a power of two, that a channel's threads have one each. */
NN_INLINE void begin_group(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			   struct part *r)
{
	size_t blocks;
	(void)s;
	part_at(a, p, r, 1);
	blocks = (r->n + a->block - 1) / a->block;
	for (r->run = 1; r->run * NN_CHAINS < blocks;)
		r->run *= 2;
	r->values = (blocks + r->run - 1) / r->run;
}

/*
 * The blocks of a thread's run added pairwise, neighbours first; moved: squares around the group's
 * mean.
 */
#define NN_BLOCKS_AHEAD 4 /* that a thread asks for at once */
NN_INLINE void over_run(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			struct part *r, unsigned which, bool moved, unsigned to)
{
	const size_t first = r->chain * r->run, step = 2 * a->channels;
	const real *partial = partial_at(a, r->g, first, 0) + r->channel;
	real stack[48], sum, all[NN_BLOCKS_AHEAD], sums[NN_BLOCKS_AHEAD];
	unsigned many;
	int depth = 0;
	(void)p;
	if (r->chain >= r->values)
		return;
	many = (unsigned)((r->n + a->block - 1) / a->block - first);
	many = many < r->run ? many : (unsigned)r->run;
	for (unsigned i = 0; i < many; i++) {
		const unsigned j = i % NN_BLOCKS_AHEAD;
		if (j == 0) {
			ask(partial + i * step + which * a->channels, step, many - i, all,
			    NN_BLOCKS_AHEAD);
			ask(partial + i * step, step, moved ? many - i : 0, sums, NN_BLOCKS_AHEAD);
		}
		sum = all[j];
		if (moved) {
			size_t left = r->n - (first + i) * a->block;
			real n = (real)(left < a->block ? left : a->block);
			real d = v_sub(v_div(sums[j], n), r->mean);
			sum = v_fma(v_mul(n, d), d, sum);
		}
		for (unsigned t = i; t & 1; t >>= 1)
			sum = v_add(stack[--depth], sum);
		stack[depth++] = sum;
	}
	for (sum = stack[--depth]; depth > 0;)
		sum = v_add(stack[--depth], sum);
	s->value[to][r->chain][r->lane] = sum;
}

/* Mean, 1 / deviation; the unbiased variance takes the place of the first block's second sum. */
NN_INLINE void put_group(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			 struct part *r)
{
	real squares = s->value[0][0][r->lane], n = (real)r->n;
	size_t at = r->g * a->channels + r->channel;
	(void)p;
	if (r->chain > 0 || r->n == 0)
		return;
	a->mean[at] = r->mean;
	a->inverse[at] = v_div(1, v_sqrt(v_add(v_div(squares, n), a->eps)));
	partial_at(a, r->g, 0, 1)[r->channel] = v_div(squares, (real)(r->n > 1 ? r->n - 1 : 1));
}

NN_SCRIPT(norm_groups, struct nn_norm_args, struct norm_sums, struct part, NN_NORM_THREADS)
{
	NN_PHASE(begin_group);
	NN_PHASE(over_run, 0, false, 0);
	NN_PAIRS(1);
	NN_PHASE(block_mean);
	NN_PHASE(over_run, 1, true, 0);
	NN_PAIRS(1);
	NN_PHASE(put_group);
}

NN_INLINE real advanced(const struct nn_norm_args *a, real running, real value)
{
	return v_cut(v_fma(a->momentum, value, v_mul(a->rest, running)));
}

/* The running values of channel i, group by group, or what they will be advanced by. */
NN_INLINE void advance_running(const struct nn_norm_args *a, size_t i)
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

NN_INLINE real behind(const struct nn_norm_args *a, real v)
{
	return a->act == NN_ACT_RELU         ? v_activate(NN_ACT_RELU, a->slope, v)
	       : a->act == NN_ACT_LEAKY_RELU ? v_activate(NN_ACT_LEAKY_RELU, a->slope, v)
					     : v;
}

/* to = act(x * scale + shift + residual); in training the first threads advance running values. */
NN_MAP(normalize, struct nn_norm_args)
{
	size_t c = i % a->channels, at = group_of(a, i) * a->channels + c;
	real scale = v_mul(a->gamma[c], a->inverse[at]);
	real shift = v_fnma(a->mean[at], scale, a->beta[c]), v = v_fma(a->x[i], scale, shift);
	a->to[i] = behind(a, a->residual ? v_add(v, a->residual[i]) : v);
	for (size_t k = i; a->training && k < a->channels; k += a->n)
		advance_running(a, k);
}

/* The same of NN_WIDE channels. */
NN_MAP(normalize_wide, struct nn_norm_args)
{
	const size_t first = i * NN_WIDE, c = first % a->channels,
		     at = group_of(a, first) * a->channels + c;
	const struct wide_reals x = get_wide(a->x + first), gamma = get_wide(a->gamma + c),
				beta = get_wide(a->beta + c), mean = get_wide(a->mean + at),
				inverse = get_wide(a->inverse + at);
	struct wide_reals y, residual = { { 0 } };
	if (a->residual)
		residual = get_wide(a->residual + first);
	NN_UNROLL
	for (unsigned u = 0; u < NN_WIDE; u++) {
		real scale = v_mul(gamma.v[u], inverse.v[u]);
		real v = v_fma(x.v[u], scale, v_fnma(mean.v[u], scale, beta.v[u]));
		y.v[u] = behind(a, a->residual ? v_add(v, residual.v[u]) : v);
	}
	put_wide(a->to + first, &y);
	for (size_t k = i; a->training && k < a->channels; k += a->n)
		advance_running(a, k);
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

/* A chain of d, and one of d * (x - mean). */
NN_INLINE void back_chains(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			   struct part *r)
{
	const size_t from = (r->begin + r->chain) * a->channels + r->channel,
		     step = NN_CHAINS * a->channels;
	const unsigned n = steps_of(r);
	real sum = 0, product = 0;
	(void)p;
	if (r->n == 0)
		return;
	const struct lane lane = lane_at(a, r->g, r->channel);
	for (unsigned i = 0; i < n; i += NN_PLACES_AHEAD) {
		real x[NN_PLACES_AHEAD], dy[NN_PLACES_AHEAD];
		ask(a->x + from + i * step, step, n - i, x, NN_PLACES_AHEAD);
		ask(a->d + from + i * step, step, n - i, dy, NN_PLACES_AHEAD);
		NN_UNROLL
		for (unsigned j = 0; j < NN_PLACES_AHEAD; j++) {
			real d = gradient_at(a, &lane, x[j], dy[j]);
			if (i + j >= n)
				continue;
			sum = v_add(sum, d);
			product = v_fma(d, v_sub(x[j], lane.mean), product);
		}
	}
	s->value[0][r->chain][r->lane] = sum;
	s->value[1][r->chain][r->lane] = product;
}

/* partial = sum of d, sum of d * (x - mean) */
NN_INLINE void put_back_block(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			      struct part *r)
{
	(void)p;
	if (r->chain > 0 || r->n == 0)
		return;
	partial_at(a, r->g, r->b, 0)[r->channel] = s->value[0][0][r->lane];
	partial_at(a, r->g, r->b, 1)[r->channel] = s->value[1][0][r->lane];
}

NN_SCRIPT(norm_back_blocks, struct nn_norm_args, struct norm_sums, struct part, NN_NORM_THREADS)
{
	NN_PHASE(begin_block);
	NN_PHASE(back_chains);
	NN_PAIRS(2);
	NN_PHASE(put_back_block);
}

/* sums = sum of d, sum of d * normal */
NN_INLINE void put_back_group(const struct nn_norm_args *a, struct nn_spot p, struct norm_sums *s,
			      struct part *r)
{
	real *sums = a->sums + r->g * 2 * a->channels;
	(void)p;
	if (r->chain > 0 || r->n == 0)
		return;
	sums[r->channel] = s->value[0][0][r->lane];
	sums[a->channels + r->channel] =
		v_mul(s->value[1][0][r->lane], a->inverse[r->g * a->channels + r->channel]);
}

NN_SCRIPT(norm_back_groups, struct nn_norm_args, struct norm_sums, struct part, NN_NORM_THREADS)
{
	NN_PHASE(begin_group);
	NN_PHASE(over_run, 0, false, 0);
	NN_PHASE(over_run, 1, false, 1);
	NN_PAIRS(2);
	NN_PHASE(put_back_group);
}

/* Gamma (dw[0]) and beta: the chain over a leaf's groups, leaves along the tree. */
NN_INLINE void sum_weights(const struct nn_norm_args *a, size_t i)
{
	size_t which = i / a->channels ? 0 : 1, c = i % a->channels, g = 0;
	real *dw = a->dw[i / a->channels], stack[48], sum;
	int depth = 0;
	for (size_t leaf = 0; leaf < a->leaf.n; leaf++) {
		sum = a->first ? 0 : dw[c];
		for (;
		     g < a->group.n && nn_bound_at(&a->group, g) < nn_bound_at(&a->leaf, leaf + 1);
		     g++)
			sum = v_add(sum, a->sums[(g * 2 + which) * a->channels + c]);
		for (size_t t = leaf; t & 1; t >>= 1)
			sum = v_add(stack[--depth], sum);
		stack[depth++] = sum;
	}
	dw[c] = stack[0];
}

/* Where nothing is wanted of x. */
NN_MAP(norm_back_weights, struct nn_norm_args)
{
	sum_weights(a, i);
}

/* gamma / deviation * (d - mean of d - normal * mean of d * normal) */
NN_INLINE real slope_at(const struct nn_norm_args *a, const struct lane *lane, real n, real inverse,
			real sum, real product, real x, real dy)
{
	real slope = v_mul(v_div(product, n), inverse);
	real d = v_sub(gradient_at(a, lane, x, dy), v_div(sum, n));
	return v_mul(v_fnma(v_sub(x, lane->mean), slope, d), lane->scale);
}

/* dx; the first threads have the gradients of gamma and beta. */
NN_MAP(norm_back, struct nn_norm_args)
{
	size_t c = i % a->channels, g = group_of(a, i);
	const struct lane lane = lane_at(a, g, c);
	const real *sums = a->sums + g * 2 * a->channels;
	nn_put(a->to + i,
	       slope_at(a, &lane, (real)places_of(a, g), a->inverse[g * a->channels + c], sums[c],
			sums[a->channels + c], a->x[i], a->d[i]),
	       a->add);
	for (size_t k = i; k < 2 * a->channels; k += a->n)
		sum_weights(a, k);
}

/* The same of NN_WIDE channels. */
NN_MAP(norm_back_wide, struct nn_norm_args)
{
	const size_t first = i * NN_WIDE, c = first % a->channels, g = group_of(a, first),
		     at = g * a->channels + c;
	const struct wide_reals x = get_wide(a->x + first), d = get_wide(a->d + first),
				gamma = get_wide(a->gamma + c), beta = get_wide(a->beta + c),
				mean = get_wide(a->mean + at), inverse = get_wide(a->inverse + at),
				sum = get_wide(a->sums + 2 * g * a->channels + c),
				product = get_wide(a->sums + (2 * g + 1) * a->channels + c);
	const real n = (real)places_of(a, g);
	struct wide_reals dx = { { 0 } };
	if (a->add)
		dx = get_wide(a->to + first);
	NN_UNROLL
	for (unsigned u = 0; u < NN_WIDE; u++) {
		struct lane lane;
		real v;
		lane.mean = mean.v[u];
		lane.scale = v_mul(gamma.v[u], inverse.v[u]);
		lane.shift = v_fnma(lane.mean, lane.scale, beta.v[u]);
		v = slope_at(a, &lane, n, inverse.v[u], sum.v[u], product.v[u], x.v[u], d.v[u]);
		dx.v[u] = a->add ? v_add(dx.v[u], v) : v;
	}
	put_wide(a->to + first, &dx);
	for (size_t k = i; k < 2 * a->channels; k += a->n)
		sum_weights(a, k);
}

/* From running values, which stay. */
NN_MAP(norm_frozen, struct nn_norm_args)
{
	size_t c = i % a->channels;
	real deviation = v_sqrt(v_add(a->running[1][c], a->eps));
	real scale = v_mul(a->gamma[c], v_div(1, deviation));
	nn_put(a->to + i, v_mul(a->dy[i], scale), a->add);
}
