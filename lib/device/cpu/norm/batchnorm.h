/*
 * What batchnorm's forward and backward share: blocks of a group, sums over them, passes over
 * groups.
 */
#ifndef NN_DEVICE_CPU_NORM_BATCHNORM_H
#define NN_DEVICE_CPU_NORM_BATCHNORM_H

#include "device/cpu/activation.h"
#include "device/cpu/kernels.h"

/*
 * A group's places (rows x positions) are cut into blocks that stay in L1 over two passes. In a
 * block the sum of a channel, then the sum of squares around the block's own mean, are 16
 * interleaved chains over places, added pairwise (nn_sum); blocks are put together pairwise
 * likewise. So memory is read twice, once for the statistics and once to normalize, and no variance
 * is a difference of large numbers. What a leaf adds to the gradients of gamma and beta is the
 * chain over its groups of the same sums that dx needs. Groups go one by one through all passes
 * while they are in cache, or several at once if they are small.
 */
#define NN_BLOCK_REALS 8192
#define NN_CHAINS 16
#define NN_RUN_BYTES 524288 /* of groups that go through the passes together, at least */

/*
 * How backward gets the derivative of the epilogue: it is in dy already, or seen from x, whose
 * normalized value is made again.
 */
enum mask { NN_MASK_NONE, NN_MASK_RELU, NN_MASK_LEAKY };

struct norm {
	const struct nn_call *call;
	size_t channels, positions, block, max_blocks;
	real *mean, *inverse; /* [n_groups][channels]: kept for backward */
	real *partial;        /* [n_groups][max_blocks][2][channels] */
	real *sums;           /* [n_groups][2][channels]: backward */
	size_t from, to;      /* groups under way */
	enum mask mask;       /* backward */
	/*
	 * backward: dy before the epilogue (or dy, with a mask); what the residual gets, where it
	 * may
	 */
	real *d;
};

NN_INLINE size_t block_of(size_t channels)
{
	size_t places = NN_BLOCK_REALS / channels / NN_CHAINS * NN_CHAINS;
	return places ? places : NN_CHAINS;
}

NN_INLINE size_t positions_of(const struct nn_site *site)
{
	return site->out.rank == 3 ? site->out.dim[1] * site->out.dim[2] : 1;
}

NN_INLINE struct norm norm_of(const struct nn_call *call)
{
	struct norm n = { .call = call,
			  .channels = nn_cpu_channels(&call->site.out),
			  .positions = positions_of(&call->site) };
	n.block = block_of(n.channels);
	for (size_t g = 0; g < call->n_groups; g++) {
		size_t places = (call->group[g + 1] - call->group[g]) * n.positions,
		       blocks = (places + n.block - 1) / n.block;
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
struct place {
	size_t group, begin, n;
	real *partial;
};

NN_INLINE bool find(const struct norm *norm, size_t piece, struct place *place)
{
	const size_t *group = norm->call->group;
	size_t g = norm->from + piece / norm->max_blocks, b = piece % norm->max_blocks;
	size_t begin = group[g] * norm->positions + b * norm->block,
	       end = group[g + 1] * norm->positions;
	if (begin >= end)
		return false;
	*place = (struct place){ g, begin, end - begin < norm->block ? end - begin : norm->block,
				 norm->partial + (g * norm->max_blocks + b) * 2 * norm->channels };
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

/*
 * A group's blocks added pairwise, neighbours first: their sum `which`; moved: the squares around
 * each block's mean become those around `mean`.
 */
NN_INLINE vr over_blocks(const struct norm *norm, size_t g, size_t i, size_t k, bool moved,
			 size_t which, vr mean)
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
			const vr n = v_set((real)(left < norm->block ? left : norm->block));
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

/* The next groups to go through the passes; false: there are none. */
NN_INLINE bool next_run(struct norm *norm)
{
	const size_t *group = norm->call->group,
		     row = norm->positions * norm->channels * sizeof(real);
	norm->from = norm->to;
	while (norm->to < norm->call->n_groups &&
	       (group[norm->to] - group[norm->from]) * row < NN_RUN_BYTES)
		norm->to++;
	return norm->from < norm->to;
}

/* A pass over the blocks of the groups under way, or over the groups. */
NN_INLINE void pass(struct norm *norm, bool groups, void (*piece)(void *arg, size_t i, int thread))
{
	size_t n = norm->to - norm->from,
	       rows = norm->call->group[norm->to] - norm->call->group[norm->from];
	size_t bytes = rows * norm->positions * norm->channels * sizeof(real);
	nn_cpu_pieces(norm->call->pool, groups ? n : n * norm->max_blocks,
		      groups ? bytes / norm->block : bytes, piece, norm);
}

/* Gradients; batchnorm-back.c. */
void NN_K(batchnorm_back)(const struct nn_call *call);

#endif
