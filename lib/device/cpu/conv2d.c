/* conv2d: forward by samples; backward sample by sample while its gradients are in cache, leaves or kernel rows to threads. */
#include <string.h>
#include "device/cpu/kernels.h"
#include "device/cpu/pooling.h"
#include "device/cpu/tail.h"

/*
 * Backward has two ways to share a call among threads, with the same bytes. Where there are leaves enough, a piece is a run of leaves (a
 * subtree): sample by sample unpool, activation, dx, dw, bias into the buffer of the leaf, finished leaves added while they are in
 * cache. Else samples go in small batches: dx by samples, then dw by kernel rows and panels, which go on with the chain.
 */

#define NN_BATCH(threads) (2 * (threads))       /* samples */

struct job {
	const struct nn_call *call;
	const struct nn_conv2d *attrs;
	struct nn_conv c;
	struct nn_pooling pool;
	size_t x, y, z;                 /* reals of a sample: input, output, output before pooling */
	size_t places;                  /* bytes of a sample's places of maxima */
	size_t threads;
	real *z_scratch;                /* samples before pooling: one per thread, or per sample of a batch */
	real *buffers;                  /* gradients of leaves */
	size_t slot;                    /* reals of one */
	size_t pieces, levels;          /* subtrees; buffers a thread needs to sum one */
	size_t panels;
	size_t leaf, sample, batch;     /* few leaves: the samples under way */
};

static struct nn_conv conv_of(const struct nn_site *site)
{
	const struct nn_conv2d *a = site->attrs;
	const struct nn_shape *in = &site->in[0];
	struct nn_conv c;
	nn_conv_init(&c, a->kernel, a->stride, a->pad, a->dilation, a->groups, in->dim[0], a->out, in->dim[1], in->dim[2]);
	return c;
}

static size_t rounded(size_t reals)
{
	return (reals + NN_PANEL - 1) / NN_PANEL * NN_PANEL;
}

/* Subtrees that leaves are cut into: two per thread where there are more threads than one. */
static size_t subtrees(size_t n_leaves, size_t threads)
{
	size_t n = 1;
	while (threads > 1 && n < 2 * threads && n < n_leaves)
		n *= 2;
	return n;
}

static size_t log2_of(size_t n)
{
	size_t levels = 0;
	while (n > 1) {
		n /= 2;
		levels++;
	}
	return levels;
}

static size_t slot_of(const struct nn_site *site, const struct nn_conv *c)
{
	const struct nn_conv2d *a = site->attrs;
	return rounded(NN_K(conv_packed)(c)) + rounded(a->out);
}

static struct job job_of(const struct nn_call *call)
{
	struct job job = { .call = call, .attrs = call->site.attrs, .c = conv_of(&call->site) };
	job.threads = (size_t) nn_pool_threads(call->pool);
	job.x = nn_shape_count(&call->site.in[0]);
	job.y = nn_shape_count(&call->site.out);
	job.z = (size_t) (job.c.h.out * job.c.w.out) * job.attrs->out;
	if (job.attrs->pooled) {
		job.pool = nn_pooling_of(&job.attrs->pool, job.attrs->out, (size_t) job.c.h.out, (size_t) job.c.w.out);
		job.places = nn_pooling_places(&job.pool);
	}
	job.z_scratch = call->work;
	return job;
}

/* ---- forward ---- */

/* Output rows [oh0, oh1) of a sample before pooling. */
static void product(const struct job *job, size_t sample, real *z, long oh0, long oh1)
{
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	const real *residual = epilogue->residual ? (const real *) call->x[call->site.n_in - 1] + sample * job->z : NULL;
	struct nn_tail tail = nn_tail_of(epilogue, job->attrs->bias ? call->w[1] : NULL, residual);
	size_t row = job->c.y_row;
	tail.residual_row = row;
	tail.residual_pixel = job->c.y_pixel;
	NN_K(conv_forward)(&job->c, (const real *) call->x[0] + sample * job->x, call->w[0], &tail, z, oh0, oh1);
	if (nn_tail_rest(epilogue))
		NN_K(activate)(epilogue, z + (size_t) oh0 * row, z + (size_t) oh0 * row, (size_t) (oh1 - oh0) * row);
}

static void pool_sample(const struct job *job, size_t sample, const real *z)
{
	const struct nn_call *call = job->call;
	NN_K(max_pool)(&job->pool, z, (real *) call->y + sample * job->y,
		       call->saved ? (char *) call->saved + sample * job->places : NULL);
}

static void forward_samples(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	real *z = job->z_scratch + (size_t) thread * rounded(job->z);
	for (size_t s = begin; s < end; s++) {
		product(job, s, job->attrs->pooled ? z : (real *) job->call->y + s * job->y, 0, job->c.h.out);
		if (job->attrs->pooled)
			pool_sample(job, s, z);
	}
}

/* Rows of the sample job->sample. */
static void forward_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	real *z = job->attrs->pooled ? job->z_scratch : (real *) job->call->y + job->sample * job->y;
	(void) thread;
	product(job, job->sample, z, (long) begin, (long) end);
}

/* What a row or sample costs, as bytes for nn_cpu_split: a multiplication and addition is about a byte's time. */
static size_t cost(const struct job *job, size_t pixels)
{
	return pixels * job->attrs->out * (size_t) (job->c.h.n * job->c.w.n) * job->c.cin;
}

static void forward(const struct nn_call *call)
{
	struct job job = job_of(call);
	size_t width = (size_t) job.c.w.out, height = (size_t) job.c.h.out;
	if (call->rows >= job.threads || job.threads == 1) {
		nn_cpu_split(call->pool, call->rows, 1, cost(&job, width * height), forward_samples, &job);
		return;
	}
	for (job.sample = 0; job.sample < call->rows; job.sample++) {
		nn_cpu_split(call->pool, height, 1, cost(&job, width), forward_rows, &job);
		if (job.attrs->pooled)
			pool_sample(&job, job.sample, job.z_scratch);
	}
}

/* ---- backward ---- */

/* The gradient before the epilogue of one sample: dy itself, or spread over z. */
static const real *before_epilogue(const struct job *job, size_t sample, real *z)
{
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	int residual = call->site.n_in - 1;
	real *d = (real *) call->dy + sample * job->y;
	if (epilogue->activation != NN_ACT_NONE)
		NN_K(activate_back)(epilogue, (const real *) call->y + sample * job->y, d, d, job->y);
	if (job->attrs->pooled) {
		NN_K(max_pool_back)(&job->pool, d, (const char *) call->saved + sample * job->places, z, false);
		d = z;
	}
	if (epilogue->residual && call->dx[residual] && (job->attrs->pooled || call->dx[residual] != call->dy)) {
		real *dx = (real *) call->dx[residual] + sample * job->z;
		NN_EACH(i, k, job->z, { v_put_gradient(dx + i, k, v_get(d + i, k), call->dx_add[residual]); });
	}
	return d;
}

static void input_gradient(const struct job *job, size_t sample, const real *d)
{
	const struct nn_call *call = job->call;
	if (call->dx[0])
		NN_K(conv_input_gradient)(&job->c, d, call->derived, (real *) call->dx[0] + sample * job->x, call->dx_add[0], 0,
					  job->c.h.in);
}

/* Where the gradients of a leaf are summed. */
struct slot { real *w, *b; };

/* Buffer `level` of a subtree: the lowest is the subtree's own, dw itself for the first one; the others are the thread's. */
static struct slot slot_at(const struct job *job, size_t piece, size_t level, int thread)
{
	const struct nn_call *call = job->call;
	size_t n = level == 0 ? piece - 1 : job->pieces - 1 + (size_t) thread * job->levels + level - 1;
	if (level == 0 && piece == 0)
		return (struct slot) { call->dw[0], job->attrs->bias ? call->dw[1] : NULL };
	real *w = job->buffers + n * job->slot;
	return (struct slot) { w, w + rounded(NN_K(conv_packed)(&job->c)) };
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
		const real *d = before_epilogue(job, s, z), *x = (const real *) call->x[0] + s * job->x;
		input_gradient(job, s, d);
		NN_K(conv_weight_gradient)(&job->c, x, d, slot.w, first, 0, job->c.h.out, 0, job->c.h.n, 0, job->panels);
		if (job->attrs->bias)
			NN_K(conv_bias_gradient)(&job->c, d, slot.b, first, 0, job->c.h.out);
	}
}

/* A subtree of leaves, in order: an odd leaf closes the one before it. */
static void subtree_piece(void *arg, size_t piece, int thread)
{
	const struct job *job = arg;
	const size_t *leaf = job->call->leaf, n = job->call->n_leaves / job->pieces;
	real *z = job->z_scratch + (size_t) thread * rounded(job->z);
	size_t level = 0;
	for (size_t i = 0; i < n; i++) {
		size_t l = piece * n + i;
		leaf_samples(job, leaf[l], leaf[l + 1], slot_at(job, piece, level, thread), z);
		for (size_t t = i; t & 1; t >>= 1, level--)
			add_slot(job, slot_at(job, piece, level - 1, thread), slot_at(job, piece, level, thread));
		level++;
	}
}

/* Elements of the subtrees' sums. */
static void join_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	for (size_t step = 1; step < job->pieces; step *= 2)
		for (size_t p = 0; p < job->pieces; p += 2 * step)
			NN_K(leaf_add)(slot_at(job, p, 0, thread).w + begin, slot_at(job, p + step, 0, thread).w + begin, end - begin);
}

static void join_bias(const struct job *job)
{
	for (size_t step = 1; step < job->pieces; step *= 2)
		for (size_t p = 0; p < job->pieces; p += 2 * step)
			NN_K(leaf_add)(slot_at(job, p, 0, 0).b, slot_at(job, p + step, 0, 0).b, job->attrs->out);
}

static void by_leaves(struct job *job)
{
	const struct nn_call *call = job->call;
	job->pieces = subtrees(call->n_leaves, job->threads);
	job->levels = log2_of(call->n_leaves / job->pieces);
	job->buffers = job->z_scratch + (job->attrs->pooled ? job->threads * rounded(job->z) : 0);
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
	(void) thread;
	input_gradient(job, job->sample + i, before_epilogue(job, job->sample + i, batch_z(job, i)));
}

/* A kernel row of a panel, or the bias, over the samples of the batch in order. */
static void batch_weights(void *arg, size_t i, int thread)
{
	const struct job *job = arg;
	const struct nn_call *call = job->call;
	struct slot slot = slot_at(job, job->leaf, 0, 0);
	long kh = (long) i % job->c.h.n;
	size_t panel = i / (size_t) job->c.h.n;
	(void) thread;
	for (size_t b = 0; b < job->batch; b++) {
		size_t s = job->sample + b;
		const real *d = job->attrs->pooled ? batch_z(job, b) : (const real *) call->dy + s * job->y;
		bool first = call->first && s == call->leaf[job->leaf];
		if (panel < job->panels)
			NN_K(conv_weight_gradient)(&job->c, (const real *) call->x[0] + s * job->x, d, slot.w, first, 0,
						   job->c.h.out, kh, kh + 1, panel, panel + 1);
		else
			NN_K(conv_bias_gradient)(&job->c, d, slot.b, first, 0, job->c.h.out);
	}
}

static void by_batches(struct job *job)
{
	const struct nn_call *call = job->call;
	size_t pieces = (size_t) job->c.h.n * job->panels + job->attrs->bias;
	job->pieces = call->n_leaves;
	job->buffers = job->z_scratch + (job->attrs->pooled ? NN_BATCH(job->threads) * rounded(job->z) : 0);
	for (job->leaf = 0; job->leaf < call->n_leaves; job->leaf++) {
		size_t end = call->leaf[job->leaf + 1];
		for (job->sample = call->leaf[job->leaf]; job->sample < end; job->sample += job->batch) {
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
	(void) thread;
	for (size_t s = begin; s < end; s++)
		input_gradient(job, s, (const real *) job->call->dy + s * job->y);
}

/* Enough leaves to keep all threads busy; else threads share them. */
static bool many_leaves(size_t n_leaves, size_t threads)
{
	return n_leaves % threads == 0 || n_leaves >= 4 * threads;
}

static void backward(const struct nn_call *call)
{
	struct job job = job_of(call);
	if (!call->dw[0]) {
		nn_cpu_split(call->pool, call->rows, 1, cost(&job, (size_t) (job.c.h.out * job.c.w.out)), input_samples, &job);
		return;
	}
	job.panels = NN_K(conv_panels)(&job.c);
	job.slot = slot_of(&call->site, &job.c);
	if (many_leaves(call->n_leaves, job.threads))
		by_leaves(&job);
	else
		by_batches(&job);
	if (job.pieces > 1) {
		nn_cpu_split(call->pool, NN_K(conv_packed)(&job.c), 64, job.pieces * sizeof(real), join_piece, &job);
		if (job.attrs->bias)
			join_bias(&job);
	}
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int n_threads)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	size_t threads = (size_t) n_threads, z = attrs->pooled ? rounded((size_t) (c.h.out * c.w.out) * attrs->out) : 0;
	size_t forward = threads * z, pieces = subtrees(max_leaves, threads), few, many;
	(void) max_rows;
	if (!site->training)
		return forward * sizeof(real);
	many = (pieces - 1 + threads * log2_of(max_leaves / pieces)) * slot_of(site, &c) + threads * z;
	few = (max_leaves < 4 * threads ? max_leaves - 1 : 4 * threads) * slot_of(site, &c) + NN_BATCH(threads) * z;
	if (threads == 1)
		few = 0;
	return (many > few ? many : few) * sizeof(real);
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	if (!attrs->pooled || !site->training)
		return 0;
	struct nn_pooling pool = nn_pooling_of(&attrs->pool, attrs->out, (size_t) c.h.out, (size_t) c.w.out);
	return max_rows * nn_pooling_places(&pool);
}

static size_t derived(const struct nn_site *site)
{
	struct nn_conv c = conv_of(site);
	return site->training && site->want_dx ? NN_K(conv_rotated)(&c) * sizeof(real) : 0;
}

struct derivation {
	struct nn_conv c;
	const real *w;
	real *derived;
};

static void derive_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct derivation *d = arg;
	(void) thread;
	NN_K(conv_rotate)(&d->c, d->w, d->derived, begin, end);
}

static void derive(const struct nn_site *site, const void *const *w, void *derived, struct nn_pool *pool)
{
	struct derivation d = { conv_of(site), w[0], derived };
	size_t panels = NN_K(conv_rotated_panels)(&d.c);
	if (site->training && site->want_dx)
		nn_cpu_split(pool, panels, 1, 2 * sizeof(real) * (NN_K(conv_rotated)(&d.c) / panels), derive_piece, &d);
}

static size_t packed(const struct nn_site *site, int param)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	return param == 0 ? NN_K(conv_packed)(&c) : attrs->out;
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	if (param == 0)
		NN_K(conv_pack)(&c, canonical, packed);
	else
		memcpy(packed, canonical, attrs->out * sizeof(real));
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	if (param == 0)
		NN_K(conv_unpack)(&c, packed, canonical);
	else
		memcpy(canonical, packed, attrs->out * sizeof(real));
}

const struct nn_kernel NN_K(conv2d) = {
	.forward = forward, .backward = backward, .saved = saved, .work = work, .derived = derived, .derive = derive,
	.packed = packed, .pack = pack, .unpack = unpack,
};
