/* conv2d: forward by samples; memory and packing. */
#include <string.h>
#include "device/cpu/conv2d.h"
#include "device/cpu/tail.h"

/* ---- forward ---- */

static void product(const struct job *job, size_t sample, real *z, long oh0, long oh1, int thread)
{
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	const real *residual =
		epilogue->residual ? (const real *)call->x[call->site.n_in - 1] + sample * job->z
				   : NULL;
	struct nn_tail tail = nn_tail_of(epilogue, job->attrs->bias ? call->w[1] : NULL, residual);
	size_t row = job->c.y_row;
	(void)thread;
	tail.residual_row = row;
	tail.residual_pixel = job->c.y_pixel;
	NN_K(conv_forward)
	(&job->c, (const real *)call->x[0] + sample * job->x, call->w[0], &tail, z, oh0, oh1);
	if (nn_tail_rest(epilogue))
		NN_K(activate)
	(epilogue, z + (size_t)oh0 * row, z + (size_t)oh0 * row, (size_t)(oh1 - oh0) * row);
}

static void pool_sample(const struct job *job, size_t sample, const real *z)
{
	const struct nn_call *call = job->call;
	NN_K(max_pool)
	(&job->pool, z, (real *)call->y + sample * job->y,
	 call->saved ? (char *)call->saved + sample * job->places : NULL);
}

static void forward_samples(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	real *z = job->z_scratch + (size_t)thread * rounded(job->z);
	for (size_t s = begin; s < end; s++) {
		job->product(job, s, job->attrs->pooling.on ? z : (real *)job->call->y + s * job->y,
			     0, job->c.h.out, thread);
		if (job->attrs->pooling.on)
			pool_sample(job, s, z);
	}
}

/* Rows of the sample job->sample. */
static void forward_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	real *z = job->attrs->pooling.on ? job->z_scratch
					 : (real *)job->call->y + job->sample * job->y;
	job->product(job, job->sample, z, (long)begin, (long)end, thread);
}

void NN_K(conv2d_forward)(struct job *job)
{
	const struct nn_call *call = job->call;
	size_t width = (size_t)job->c.w.out, height = (size_t)job->c.h.out;
	if (call->rows >= job->threads || job->threads == 1) {
		nn_cpu_split(call->pool, call->rows, 1, cost(job, width * height), forward_samples,
			     job);
		return;
	}
	for (job->sample = 0; job->sample < call->rows; job->sample++) {
		nn_cpu_split(call->pool, height, 1, cost(job, width), forward_rows, job);
		if (job->attrs->pooling.on)
			pool_sample(job, job->sample, job->z_scratch);
	}
}

static void forward(const struct nn_call *call)
{
	struct job job = job_of(call);
	job.product = product;
	NN_K(conv2d_forward)(&job);
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int n_threads)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	size_t threads = (size_t)n_threads,
	       z = attrs->pooling.on ? rounded((size_t)(c.h.out * c.w.out) * attrs->out) : 0;
	size_t forward = threads * z, pieces = subtrees(max_leaves, threads), few, many;
	(void)max_rows;
	if (!site->training)
		return forward * sizeof(real);
	many = (pieces - 1 + threads * log2_of(max_leaves / pieces)) * slot_of(site, &c) +
	       threads * z;
	few = (max_leaves < 4 * threads ? max_leaves - 1 : 4 * threads) * slot_of(site, &c) +
	      NN_BATCH(threads) * z;
	if (threads == 1)
		few = 0;
	return (many > few ? many : few) * sizeof(real);
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	const struct nn_conv2d *attrs = site->attrs;
	struct nn_conv c = conv_of(site);
	if (!attrs->pooling.on || !site->training)
		return 0;
	struct nn_pooling pool =
		nn_pooling_of(&attrs->pooling.window, attrs->out, (size_t)c.h.out, (size_t)c.w.out);
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
	(void)thread;
	NN_K(conv_rotate)(&d->c, d->w, d->derived, begin, end);
}

static void derive(const struct nn_site *site, const void *const *w, void *derived,
		   struct nn_pool *pool)
{
	struct derivation d = { conv_of(site), w[0], derived };
	size_t panels = NN_K(conv_rotated_panels)(&d.c);
	if (site->training && site->want_dx)
		nn_cpu_split(pool, panels, 1,
			     2 * sizeof(real) * (NN_K(conv_rotated)(&d.c) / panels), derive_piece,
			     &d);
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
	.forward = forward,
	.backward = NN_K(conv2d_back),
	.saved = saved,
	.work = work,
	.derived = derived,
	.derive = derive,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};
