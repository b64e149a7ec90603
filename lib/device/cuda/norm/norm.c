/* batchnorm: passes over blocks, groups, channels and elements (cpu/norm/batchnorm.h). */
#include "device/cpu/cpu.h"
#include "device/cuda/launch.h"

#define NN_BLOCK_REALS 8192
#define NN_CHAINS 16

enum mask { NN_MASK_NONE, NN_MASK_RELU, NN_MASK_LEAKY };

static size_t channels_of(const struct nn_site *site)
{
	return nn_cpu_channels(&site->out);
}

static size_t block_of(size_t channels)
{
	size_t places = NN_BLOCK_REALS / channels / NN_CHAINS * NN_CHAINS;

	return places ? places : NN_CHAINS;
}

static size_t positions_of(const struct nn_site *site)
{
	return site->out.rank == 3 ? site->out.dim[1] * site->out.dim[2] : 1;
}

static struct nn_norm_args norm_of(const struct nn_call *call)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	NN_ARGS(struct nn_norm_args, a);

	a.channels = channels_of(&call->site);
	a.positions = positions_of(&call->site);
	a.block = block_of(a.channels);
	a.x = call->x[0];
	a.gamma = call->w[0];
	a.beta = call->w[1];
	a.running[0] = call->w[2];
	a.running[1] = call->w[3];
	a.eps = (real)attrs->eps;
	a.momentum = (real)attrs->momentum;
	a.rest = (real)(1 - attrs->momentum);
	a.slope = (real)attrs->epilogue.slope;
	a.training = call->site.training;
	return a;
}

/* The groups of a call in training, and where their sums are. */
static void put_groups(struct nn_norm_args *a, const struct nn_call *call)
{
	char *room = call->work;

	for (size_t g = 0; g < call->n_groups; g++) {
		size_t places = (call->group[g + 1] - call->group[g]) * a->positions,
		       blocks = (places + a->block - 1) / a->block;

		a->max_blocks = blocks > a->max_blocks ? blocks : a->max_blocks;
	}
	a->group = NN_CUDA(bounds)(call->site.queue, call->group, call->n_groups, 1, &room);
	if (call->leaf)
		a->leaf = NN_CUDA(bounds)(call->site.queue, call->leaf, call->n_leaves, 1, &room);
	a->mean = call->saved;
	a->inverse = a->mean + call->n_groups * a->channels;
	a->partial = (real *)(void *)room;
	a->sums = a->partial + call->n_groups * a->max_blocks * 2 * a->channels;
}

/* Blocks of threads for so many blocks of places, or groups. */
static size_t blocks_of(const struct nn_norm_args *a, size_t parts)
{
	return parts * ((a->channels + NN_NORM_CHANNELS - 1) / NN_NORM_CHANNELS);
}

#define NN_WIDE (16 / sizeof(real)) /* channels of a thread */

/* May threads have NN_WIDE channels each, of arrays at x, y and z, too? */
static bool wide(const struct nn_norm_args *a, const real *x, const real *y, const real *z)
{
	return a->channels % NN_WIDE == 0 &&
	       ((uintptr_t)a->x | (uintptr_t)a->gamma | (uintptr_t)a->beta | (uintptr_t)a->mean |
		(uintptr_t)a->inverse | (uintptr_t)x | (uintptr_t)y |
		(uintptr_t)z) % 16 ==
		       0;
}

static void normalize(const struct nn_call *call, struct nn_norm_args *a)
{
	const struct nn_batchnorm *attrs = call->site.attrs;

	a->n = call->rows * a->positions * a->channels;
	a->to = call->y;
	a->residual = attrs->epilogue.residual ? call->x[call->site.n_in - 1] : NULL;
	a->act = (int)attrs->epilogue.activation;
	if (wide(a, a->to, a->residual, NULL)) {
		a->n /= NN_WIDE;
		NN_ASK(call->site.queue, normalize_wide, *a);
	} else {
		NN_ASK(call->site.queue, normalize, *a);
	}
	if (a->act != NN_ACT_NONE && a->act != NN_ACT_RELU && a->act != NN_ACT_LEAKY_RELU)
		NN_CUDA(activate)
	(call->site.queue, &attrs->epilogue, call->y, call->rows * a->positions * a->channels);
}

static void predict(const struct nn_call *call)
{
	struct nn_norm_args a = norm_of(call);

	a.mean = a.running[0];
	a.inverse = call->work;
	a.n = a.channels;
	NN_ASK(call->site.queue, norm_predict, a);
	normalize(call, &a);
}

static void forward(const struct nn_call *call)
{
	struct nn_queue *queue = call->site.queue;
	struct nn_norm_args a = norm_of(call);

	if (!call->site.training) {
		predict(call);
		return;
	}
	put_groups(&a, call);
	nn_cuda_launch(queue, &NN_SIMT(norm_blocks), blocks_of(&a, call->n_groups * a.max_blocks),
		       &a);
	nn_cuda_launch(queue, &NN_SIMT(norm_groups), blocks_of(&a, call->n_groups), &a);
	a.statistics = call->statistics;
	a.step = call->statistics_step;
	normalize(call, &a);
}

static size_t statistics(const struct nn_site *site)
{
	return site->training ? 2 * channels_of(site) : 0;
}

static void advance(const struct nn_site *site, void *const *w, const void *from, size_t step,
		    size_t n_groups)
{
	const struct nn_batchnorm *attrs = site->attrs;
	NN_ARGS(struct nn_norm_args, a);

	a.n = a.channels = channels_of(site);
	a.running[0] = w[2];
	a.running[1] = w[3];
	a.momentum = (real)attrs->momentum;
	a.rest = (real)(1 - attrs->momentum);
	a.statistics = (real *)(uintptr_t)from;
	a.step = step;
	a.group.n = n_groups;
	NN_ASK(site->queue, norm_advance, a);
}

/* ---- backward ---- */

static int mask_of(const struct nn_epilogue *epilogue)
{
	if (epilogue->residual)
		return NN_MASK_NONE;
	return epilogue->activation == NN_ACT_RELU         ? NN_MASK_RELU
	       : epilogue->activation == NN_ACT_LEAKY_RELU ? NN_MASK_LEAKY
							   : NN_MASK_NONE;
}

/* From running values, which stay: a factor for each channel. */
static void frozen(const struct nn_call *call)
{
	const struct nn_epilogue *e = &((const struct nn_batchnorm *)call->site.attrs)->epilogue;
	struct nn_norm_args a = norm_of(call);
	real *residual = e->residual ? call->dx[call->site.n_in - 1] : NULL;

	residual = residual != call->dy ? residual : NULL;
	a.n = call->rows * a.positions * a.channels;
	if (e->activation != NN_ACT_NONE || residual)
		NN_CUDA(activate_back)
	(call, e, e->activation != NN_ACT_NONE ? call->dy : NULL, residual, a.n);
	a.dy = call->dy;
	a.to = call->dx[0];
	if (!a.to)
		return;
	a.add = call->dx_add[0];
	NN_ASK(call->site.queue, norm_frozen, a);
}

/* The gradient before the epilogue to a->d, unless a mask will do it; the residual gets it. */
static void before_epilogue(const struct nn_call *call, struct nn_norm_args *a)
{
	const struct nn_epilogue *e = &((const struct nn_batchnorm *)call->site.attrs)->epilogue;
	int last = call->site.n_in - 1;
	real *residual = e->residual ? call->dx[last] : NULL, *to = NULL;

	a->mask = mask_of(e);
	a->d = residual && !call->dx_add[last] ? residual : call->dy;
	if (a->mask == NN_MASK_NONE && (e->activation != NN_ACT_NONE || a->d != call->dy))
		to = a->d;
	residual = residual != a->d ? residual : NULL;
	if (to || residual)
		NN_CUDA(activate_back)
	(call, e, to, residual, call->rows * a->positions * a->channels);
}

static void backward(const struct nn_call *call)
{
	struct nn_queue *queue = call->site.queue;
	struct nn_norm_args a = norm_of(call);

	if (!call->site.training) {
		frozen(call);
		return;
	}
	put_groups(&a, call);
	before_epilogue(call, &a);
	a.first = call->first;
	nn_cuda_launch(queue, &NN_SIMT(norm_back_blocks),
		       blocks_of(&a, call->n_groups * a.max_blocks), &a);
	nn_cuda_launch(queue, &NN_SIMT(norm_back_groups), blocks_of(&a, call->n_groups), &a);
	a.to = call->dx[0];
	a.dw[0] = call->dw[0];
	a.dw[1] = call->dw[1];
	if (!a.to) {
		a.n = 2 * a.channels;
		NN_ASK(queue, norm_back_weights, a);
		return;
	}
	a.n = call->rows * a.positions * a.channels;
	a.add = call->dx_add[0];
	if (wide(&a, a.to, a.d, a.sums)) {
		a.n /= NN_WIDE;
		NN_ASK(queue, norm_back_wide, a);
	} else {
		NN_ASK(queue, norm_back, a);
	}
}

/* ---- memory ---- */

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
	size_t block = block_of(channels_of(site));

	return ((group < max_rows ? group : max_rows) * positions_of(site) + block - 1) / block;
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	return site->training ? 2 * max_groups(site, max_rows) * channels_of(site) * sizeof(real)
			      : 0;
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	size_t groups = max_groups(site, max_rows);

	(void)threads;
	if (!site->training)
		return channels_of(site) * sizeof(real);
	return nn_bounds_bytes(groups) + nn_bounds_bytes(max_leaves) +
	       2 * groups * (max_blocks(site, max_rows) + 1) * channels_of(site) * sizeof(real);
}

const struct nn_kernel NN_CUDA(op_batchnorm) = {
	.forward = forward,
	.backward = backward,
	.saved = saved,
	.work = work,
	.statistics = statistics,
	.advance = advance,
};
