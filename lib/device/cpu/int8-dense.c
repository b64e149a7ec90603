/* dense with int8 weights: rows become bytes first, then rows or panels go to the threads. */
#include "device/cpu/int8.h"
#include "device/cpu/kernels.h"
#include "device/cpu/tail.h"

#define NN_INT8_FASTER 4 /* multiplications of bytes in the time of one of f32 */

struct job {
	const struct nn_call *call;
	const struct nn_dense *attrs;
	struct nn_int8 d;
	size_t rows;
	uint8_t *bytes;
	struct nn_int8_row *row;
};

static size_t in_of(const struct nn_site *site)
{
	return site->in[0].dim[site->in[0].rank - 1];
}

/* Training, and sums that 32 bits might not hold, are f32's. */
static bool quantizes(const struct nn_site *site)
{
	return !site->training && in_of(site) > 0 && in_of(site) <= NN_INT8_CHAIN;
}

static struct nn_int8 shape_of(const struct nn_site *site)
{
	const struct nn_dense *attrs = site->attrs;
	return nn_int8_shape(in_of(site), attrs->out);
}

static size_t rows_of(const struct nn_site *site, size_t rows)
{
	return rows * (nn_shape_count(&site->in[0]) / in_of(site));
}

/* ---- forward ---- */

static void rows_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		uint8_t *bytes = job->bytes + r * job->d.padded;
		NN_K(int8_row)
		((const float *)job->call->x[0] + r * job->d.in, job->d.in, bytes, job->row + r);
		for (size_t i = job->d.in; i < job->d.padded; i++)
			bytes[i] = 0; /* times weights of 0 */
	}
}

static void product(const struct job *job, size_t r0, size_t r1, size_t p0, size_t p1)
{
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	const size_t out = job->d.out, begin = p0 * NN_INT8_WIDTH,
		     end = p1 * NN_INT8_WIDTH < out ? p1 * NN_INT8_WIDTH : out;
	float *y = (float *)call->y + r0 * out;
	struct nn_tail tail = nn_tail_of(epilogue, job->attrs->bias ? call->w[1] : NULL, NULL);
	const struct nn_int8_to to = {
		.y = y,
		.bias = tail.bias,
		.residual = epilogue->residual
				    ? (const float *)call->x[call->site.n_in - 1] + r0 * out
				    : NULL,
		.step = out,
		.act = tail.act,
		.slope = (float)tail.slope,
	};
	NN_K(int8_product)
	(&job->d, r1 - r0, job->bytes + r0 * job->d.padded, job->row + r0, 1, call->derived, &to,
	 p0, p1);
	if (nn_tail_rest(epilogue))
		for (size_t r = 0; r < r1 - r0; r++)
			NN_K(activate)
	(epilogue, y + r * out + begin, y + r * out + begin, end - begin);
}

static void product_rows(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	product(job, begin, end, 0, job->d.panels);
}

static void product_panels(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	(void)thread;
	product(job, 0, job->rows, begin, end);
}

static void forward(const struct nn_call *call)
{
	const struct nn_site *site = &call->site;
	struct job job = { .call = call, .attrs = site->attrs };
	size_t threads = (size_t)nn_pool_threads(call->pool), work;
	if (!quantizes(site)) {
		NN_K(dense).forward(call);
		return;
	}
	job.d = shape_of(site);
	job.rows = rows_of(site, call->rows);
	job.bytes = call->work;
	job.row = (struct nn_int8_row *)((char *)call->work +
					 nn_int8_rounded(job.rows * job.d.padded));
	nn_cpu_split(call->pool, job.rows, 1, 2 * sizeof(float) * job.d.in, rows_piece, &job);
	work = job.d.padded * NN_INT8_WIDTH / NN_INT8_FASTER;
	if (job.rows >= 12 * threads || job.d.panels < 4 * threads)
		nn_cpu_split(call->pool, job.rows, 6, work * job.d.panels, product_rows, &job);
	else
		nn_cpu_split(call->pool, job.d.panels, 4, work * job.rows, product_panels, &job);
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	struct nn_int8 d = shape_of(site);
	size_t rows = rows_of(site, max_rows);
	if (!quantizes(site))
		return NN_K(dense).work(site, max_rows, max_leaves, threads);
	return nn_int8_rounded(rows * d.padded) + rows * sizeof(struct nn_int8_row);
}

static size_t copies(const struct nn_site *site, size_t max_rows, int threads)
{
	return quantizes(site) ? 1 : NN_K(dense).copies(site, max_rows, threads);
}

static size_t derived(const struct nn_site *site)
{
	struct nn_int8 d = shape_of(site);
	return quantizes(site) ? nn_int8_bytes(&d) : 0;
}

struct derivation {
	struct nn_int8 d;
	const struct nn_dense *attrs;
	const float *w;
	void *derived;
};

static void derive_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct derivation *j = arg;
	(void)thread;
	for (size_t o = begin; o < end; o++)
		NN_K(int8_weights)
	(&j->d, j->w + (o < j->d.out ? o : 0) * j->d.in, j->attrs->channels, j->attrs->positions, o,
	 j->derived);
}

static void derive(const struct nn_site *site, const void *const *w, void *derived,
		   struct nn_pool *pool)
{
	struct derivation job = { shape_of(site), site->attrs, w[0], derived };
	if (quantizes(site))
		nn_cpu_split(pool, job.d.panels * NN_INT8_WIDTH, NN_INT8_WIDTH,
			     8 * sizeof(float) * job.d.in, derive_piece, &job);
}

/* As in files, for derive alone reads it. */
static size_t packed(const struct nn_site *site, int param)
{
	return quantizes(site) ? 0 : NN_K(dense).packed(site, param);
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	NN_K(dense).pack(site, param, canonical, packed);
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	NN_K(dense).unpack(site, param, packed, canonical);
}

static void backward(const struct nn_call *call)
{
	NN_K(dense).backward(call);
}

static bool updates(const struct nn_site *site)
{
	return NN_K(dense).updates(site);
}

const struct nn_kernel NN_K(int8_dense) = {
	.forward = forward,
	.backward = backward,
	.updates = updates,
	.work = work,
	.copies = copies,
	.derived = derived,
	.derive = derive,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};
