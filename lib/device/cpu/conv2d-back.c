/*
 * conv2d backward: sample by sample while its gradients are in cache, leaves or kernel rows to
 * threads.
 */
#include <string.h>
#include "device/cpu/activation.h"
#include "device/cpu/conv2d.h"

/*
 * Backward has two ways to share a call among threads, with the same bytes. Where there are leaves
 * enough, a piece is a run of leaves (a subtree): sample by sample unpool, activation, dx, dw, bias
 * into the buffer of the leaf, finished leaves added while they are in cache. Else samples go in
 * small batches: dx by samples, then dw by kernel rows and panels, which go on with the chain.
 */

/* The gradient before the epilogue of one sample: dy itself, or spread over z. */
static const real *before_epilogue(const struct job *job, size_t sample, real *z)
{
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	int residual = call->site.n_in - 1;
	real *d = (real *)call->dy + sample * job->y;
	if (epilogue->activation != NN_ACT_NONE)
		NN_K(activate_back)
	(epilogue, (const real *)call->y + sample * job->y, d, d, job->y);
	if (job->attrs->pooling.on) {
		NN_K(max_pool_back)
		(&job->pool, d, (const char *)call->saved + sample * job->places, z, false);
		d = z;
	}
	if (epilogue->residual && call->dx[residual] &&
	    (job->attrs->pooling.on || call->dx[residual] != call->dy)) {
		real *dx = (real *)call->dx[residual] + sample * job->z;
		NN_EACH(i, k, job->z,
			{ v_put_gradient(dx + i, k, v_get(d + i, k), call->dx_add[residual]); });
	}
	return d;
}

static void input_gradient(const struct job *job, size_t sample, const real *d)
{
	const struct nn_call *call = job->call;
	if (call->dx[0])
		NN_K(conv_input_gradient)
	(&job->c, d, call->derived, (real *)call->dx[0] + sample * job->x, call->dx_add[0], 0,
	 job->c.h.in);
}

/* Where the gradients of a leaf are summed. */
struct slot {
	real *w, *b;
};

/*
 * Buffer `level` of a subtree: the lowest is the subtree's own, dw itself for the first one; the
 * others are the thread's.
 */
static struct slot slot_at(const struct job *job, size_t piece, size_t level, int thread)
{
	const struct nn_call *call = job->call;
	size_t n =
		level == 0 ? piece - 1 : job->pieces - 1 + (size_t)thread * job->levels + level - 1;
	if (level == 0 && piece == 0)
		return (struct slot){ call->dw[0], job->attrs->bias ? call->dw[1] : NULL };
	real *w = job->buffers + n * job->slot;
	return (struct slot){ w, w + rounded(NN_K(conv_packed)(&job->c)) };
}

static void add_slot(const struct job *job, struct slot left, struct slot right)
{
	NN_K(leaf_add)(left.w, right.w, NN_K(conv_packed)(&job->c));
	if (job->attrs->bias)
		NN_K(leaf_add)(left.b, right.b, job->attrs->out);
}

static void leaf_samples(const struct job *job, size_t begin, size_t end, struct slot slot, real *z)
{
	const struct nn_call *call = job->call;
	bool first = call->first;
	if (begin == end && first) {
		memset(slot.w, 0, NN_K(conv_packed)(&job->c) * sizeof(real));
		if (job->attrs->bias)
			memset(slot.b, 0, job->attrs->out * sizeof(real));
	}
	for (size_t s = begin; s < end; s++, first = false) {
		const real *d = before_epilogue(job, s, z),
			   *x = (const real *)call->x[0] + s * job->x;
		input_gradient(job, s, d);
		NN_K(conv_weight_gradient)
		(&job->c, x, d, slot.w, first, 0, job->c.h.out, 0, job->c.h.n, 0, job->panels);
		if (job->attrs->bias)
			NN_K(conv_bias_gradient)(&job->c, d, slot.b, first, 0, job->c.h.out);
	}
}

/* A subtree of leaves, in order: an odd leaf closes the one before it. */
static void subtree_piece(void *arg, size_t piece, int thread)
{
	const struct job *job = arg;
	const size_t *leaf = job->call->leaf, n = job->call->n_leaves / job->pieces;
	real *z = job->z_scratch + (size_t)thread * rounded(job->z);
	size_t level = 0;
	for (size_t i = 0; i < n; i++) {
		size_t l = piece * n + i;
		leaf_samples(job, leaf[l], leaf[l + 1], slot_at(job, piece, level, thread), z);
		for (size_t t = i; t & 1; t >>= 1, level--)
			add_slot(job, slot_at(job, piece, level - 1, thread),
				 slot_at(job, piece, level, thread));
		level++;
	}
}

/* Elements of the subtrees' sums. */
static void join_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	for (size_t step = 1; step < job->pieces; step *= 2)
		for (size_t p = 0; p < job->pieces; p += 2 * step)
			NN_K(leaf_add)
	(slot_at(job, p, 0, thread).w + begin, slot_at(job, p + step, 0, thread).w + begin,
	 end - begin);
}

static void join_bias(const struct job *job)
{
	for (size_t step = 1; step < job->pieces; step *= 2)
		for (size_t p = 0; p < job->pieces; p += 2 * step)
			NN_K(leaf_add)
	(slot_at(job, p, 0, 0).b, slot_at(job, p + step, 0, 0).b, job->attrs->out);
}

static void by_leaves(struct job *job)
{
	const struct nn_call *call = job->call;
	job->pieces = subtrees(call->n_leaves, job->threads);
	job->levels = log2_of(call->n_leaves / job->pieces);
	job->buffers =
		job->z_scratch + (job->attrs->pooling.on ? job->threads * rounded(job->z) : 0);
	nn_pool_run(call->pool, job->pieces, subtree_piece, job);
}

/* ---- few leaves: threads share a leaf ---- */

static real *batch_z(const struct job *job, size_t i)
{
	return job->z_scratch + i * rounded(job->z);
}

static void batch_input(void *arg, size_t i, int thread)
{
	const struct job *job = arg;
	(void)thread;
	input_gradient(job, job->sample + i,
		       before_epilogue(job, job->sample + i, batch_z(job, i)));
}

/* A kernel row of a panel, or the bias, over the samples of the batch in order. */
static void batch_weights(void *arg, size_t i, int thread)
{
	const struct job *job = arg;
	const struct nn_call *call = job->call;
	struct slot slot = slot_at(job, job->leaf, 0, 0);
	long kh = (long)i % job->c.h.n;
	size_t panel = i / (size_t)job->c.h.n;
	(void)thread;
	for (size_t b = 0; b < job->batch; b++) {
		size_t s = job->sample + b;
		const real *d = job->attrs->pooling.on ? batch_z(job, b)
						       : (const real *)call->dy + s * job->y;
		bool first = call->first && s == call->leaf[job->leaf];
		if (panel < job->panels)
			NN_K(conv_weight_gradient)
		(&job->c, (const real *)call->x[0] + s * job->x, d, slot.w, first, 0, job->c.h.out,
		 kh, kh + 1, panel, panel + 1);
		else NN_K(conv_bias_gradient)(&job->c, d, slot.b, first, 0, job->c.h.out);
	}
}

static void by_batches(struct job *job)
{
	const struct nn_call *call = job->call;
	size_t pieces = (size_t)job->c.h.n * job->panels + job->attrs->bias;
	job->pieces = call->n_leaves;
	job->buffers = job->z_scratch +
		       (job->attrs->pooling.on ? NN_BATCH(job->threads) * rounded(job->z) : 0);
	for (job->leaf = 0; job->leaf < call->n_leaves; job->leaf++) {
		size_t end = call->leaf[job->leaf + 1];
		for (job->sample = call->leaf[job->leaf]; job->sample < end;
		     job->sample += job->batch) {
			size_t left = end - job->sample;
			job->batch = left < NN_BATCH(job->threads) ? left : NN_BATCH(job->threads);
			nn_pool_run(call->pool, job->batch, batch_input, job);
			nn_pool_run(call->pool, pieces, batch_weights, job);
		}
	}
}

static void input_samples(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	real *z = job->z_scratch + (size_t)thread * rounded(job->z);
	for (size_t s = begin; s < end; s++)
		input_gradient(job, s, before_epilogue(job, s, z));
}

/* Enough leaves to keep all threads busy; else threads share them. */
static bool many_leaves(size_t n_leaves, size_t threads)
{
	return n_leaves % threads == 0 || n_leaves >= 4 * threads;
}

void NN_K(conv2d_back)(const struct nn_call *call)
{
	struct job job = job_of(call);
	if (!call->dw[0]) {
		nn_cpu_split(call->pool, call->rows, 1,
			     cost(&job, (size_t)(job.c.h.out * job.c.w.out)), input_samples, &job);
		return;
	}
	job.panels = NN_K(conv_panels)(&job.c);
	job.slot = slot_of(&call->site, &job.c);
	if (many_leaves(call->n_leaves, job.threads))
		by_leaves(&job);
	else
		by_batches(&job);
	if (job.pieces > 1) {
		nn_cpu_split(call->pool, NN_K(conv_packed)(&job.c), 64, job.pieces * sizeof(real),
			     join_piece, &job);
		if (job.attrs->bias)
			join_bias(&job);
	}
}
