/*
 * What conv2d's forward and backward share: a call seen as samples, and the sizes of its scratch.
 */
#ifndef NN_DEVICE_CPU_CONV2D_H
#define NN_DEVICE_CPU_CONV2D_H

#include "device/cpu/kernels.h"
#include "device/cpu/pooling.h"
#include "device/cpu/product/product.h"

#define NN_BATCH(threads) (2 * (threads)) /* samples */

struct job {
	const struct nn_call *call;
	const struct nn_conv2d *attrs;
	struct nn_conv c;
	struct nn_pooling pool;
	size_t x, y, z; /* reals of a sample: input, output, output before pooling */
	size_t places;  /* bytes of a sample's places of maxima */
	size_t threads;
	real *z_scratch; /* samples before pooling: one per thread, or per sample of a batch */
	real *buffers;   /* gradients of leaves */
	size_t slot;     /* reals of one */
	size_t pieces, levels; /* subtrees; buffers a thread needs to sum one */
	size_t panels;
	size_t leaf, sample, batch; /* few leaves: the samples under way */
	/* forward: output rows [oh0, oh1) of a sample before pooling */
	void (*product)(const struct job *job, size_t sample, real *z, long oh0, long oh1,
			int thread);
};

NN_INLINE struct nn_conv conv_of(const struct nn_site *site)
{
	const struct nn_conv2d *a = site->attrs;
	const struct nn_shape *in = &site->in[0];
	struct nn_conv c;
	nn_conv_init(&c, a->kernel, a->stride, a->pad, a->dilation, a->groups, in->dim[0], a->out,
		     in->dim[1], in->dim[2]);
	return c;
}

NN_INLINE size_t rounded(size_t reals)
{
	return (reals + NN_PANEL - 1) / NN_PANEL * NN_PANEL;
}

/* Subtrees that leaves are cut into: two per thread where there are more threads than one. */
NN_INLINE size_t subtrees(size_t n_leaves, size_t threads)
{
	size_t n = 1;
	while (threads > 1 && n < 2 * threads && n < n_leaves)
		n *= 2;
	return n;
}

NN_INLINE size_t log2_of(size_t n)
{
	size_t levels = 0;
	while (n > 1) {
		n /= 2;
		levels++;
	}
	return levels;
}

NN_INLINE size_t slot_of(const struct nn_site *site, const struct nn_conv *c)
{
	const struct nn_conv2d *a = site->attrs;
	return rounded(NN_K(conv_packed)(c)) + rounded(a->out);
}

NN_INLINE struct job job_of(const struct nn_call *call)
{
	struct job job = { .call = call, .attrs = call->site.attrs, .c = conv_of(&call->site) };
	job.threads = (size_t)nn_pool_threads(call->pool);
	job.x = nn_shape_count(&call->site.in[0]);
	job.y = nn_shape_count(&call->site.out);
	job.z = (size_t)(job.c.h.out * job.c.w.out) * job.attrs->out;
	if (job.attrs->pooling.on) {
		job.pool = nn_pooling_of(&job.attrs->pooling.window, job.attrs->out,
					 (size_t)job.c.h.out, (size_t)job.c.w.out);
		job.places = nn_pooling_places(&job.pool);
	}
	job.z_scratch = call->work;
	return job;
}

/*
 * What a row or sample costs, as bytes for nn_cpu_split: a multiplication and addition is about a
 * byte's time.
 */
NN_INLINE size_t cost(const struct job *job, size_t pixels)
{
	return pixels * job->attrs->out * (size_t)(job->c.h.n * job->c.w.n) * job->c.cin;
}

/* Forward with the product that the job has, by samples or by rows of each, then pooled. */
void NN_K(conv2d_forward)(struct job *job);
void NN_K(conv2d_back)(const struct nn_call *call);

#endif
