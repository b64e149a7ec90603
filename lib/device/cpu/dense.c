/*
 * dense: the product kernels over rows and leading dimensions, cut for the pool by whatever is long
 * enough.
 *
 * Of an input of bytes that a dense layer reads first, two threads have a copy each where both
 * read all rows: filled twice, but by the processor that reads it.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/optimizer.h"
#include "device/cpu/product/dense.h"
#include "device/cpu/tail.h"

#define NN_SMALL 200000    /* multiplications and additions that are done before a pool has woken */
#define NN_FORWARD_ROWS 14 /* rows of a forward tile */
#define NN_WEIGHT_INPUTS 56 /* inputs of a weight gradient's piece: multiples of this */
#define NN_LARGE \
	((size_t)1 << 20)   /* bytes that do not stay in a second-level cache beside others */
#define NN_INPUT_COLUMNS 64 /* columns of an input gradient's piece at least, else rows are cut */

struct job {
	const struct nn_call *call;
	const struct nn_dense *attrs;
	struct nn_matrix d;
	size_t rows; /* with leading dimensions */
	size_t pieces,
		dx_pieces; /* of this run; backward: those of dx and dw in turn, then the bias */
	bool by_rows, dx_by_rows, dw_by_panels;
	size_t *leaf;               /* bounds in rows as above */
	const struct nn_sink *sink; /* of the weight's gradient, or NULL */
	char *scratch;
	size_t scratch_size;
};

static struct nn_matrix matrix_of(const struct nn_site *site)
{
	const struct nn_dense *attrs = site->attrs;
	size_t in = site->in[0].dim[site->in[0].rank - 1];
	return (struct nn_matrix){ .in = in,
				   .out = attrs->out,
				   .x_row = in,
				   .y_row = attrs->out,
				   .channels = attrs->channels,
				   .positions = attrs->channels ? attrs->positions : 0 };
}

static size_t positions_of(const struct nn_site *site)
{
	size_t n = site->in[0].dim[site->in[0].rank - 1];
	return nn_shape_count(&site->in[0]) / n;
}

static size_t bytes_rounded(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static size_t leaf_bytes(size_t n_leaves)
{
	return bytes_rounded((n_leaves + 1) * sizeof(size_t));
}

/* Of a thread; without gradients it is what forward needs. */
static size_t scratch_bytes(const struct nn_site *site, const struct nn_matrix *d, size_t rows)
{
	return bytes_rounded(site->training ? NN_K(dense_scratch)(d, rows)
					    : nn_dense_forward_scratch(d, rows));
}

static struct job job_of(const struct nn_call *call)
{
	struct job job = { .call = call, .attrs = call->site.attrs, .d = matrix_of(&call->site) };
	job.rows = call->rows * positions_of(&call->site);
	job.scratch_size = scratch_bytes(&call->site, &job.d, job.rows);
	job.leaf = call->work;
	job.scratch = (char *)call->work + (call->site.training ? leaf_bytes(call->n_leaves) : 0);
	return job;
}

/* Threads worth waking for so many products of the layer's size. */
static size_t threads_for(const struct job *job, size_t products)
{
	size_t work = products * 2 * job->rows * job->d.in * job->d.out;
	return work < NN_SMALL ? 1 : (size_t)nn_pool_threads(job->call->pool);
}

static void cut(size_t n, size_t unit, size_t pieces, size_t i, size_t *begin, size_t *end)
{
	size_t units = (n + unit - 1) / unit;
	*begin = units * i / pieces * unit;
	*end = units * (i + 1) / pieces * unit;
	if (*begin > n)
		*begin = n;
	if (*end > n)
		*end = n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The thread's copy of x. */
static const real *x_of(const struct job *job, int thread)
{
	return (const real *)((const char *)job->call->x[0] + (size_t)thread * job->call->x_step);
}

/* ---- forward ---- */

/* Activations that the product does not know, on columns [begin, end) of the rows. */
static void activate(const struct job *job, size_t r0, size_t r1, size_t begin, size_t end)
{
	real *y = job->call->y;
	if (begin == 0 && end == job->d.out)
		NN_K(activate)(&job->attrs->epilogue, y + r0 * end, y + r0 * end, (r1 - r0) * end);
	else
		for (size_t r = r0; r < r1; r++)
			NN_K(activate)
	(&job->attrs->epilogue, y + r * job->d.out + begin, y + r * job->d.out + begin,
	 end - begin);
}

static void forward_piece(void *arg, size_t i, int thread)
{
	const struct job *job = arg;
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	size_t r0 = 0, r1 = job->rows, p0 = 0, p1 = NN_K(dense_panels)(&job->d);
	if (job->by_rows)
		cut(job->rows, 1, job->pieces, i, &r0, &r1);
	else
		cut(p1, 1, job->pieces, i, &p0, &p1);
	const real *residual =
		epilogue->residual ? (const real *)call->x[call->site.n_in - 1] + r0 * job->d.out
				   : NULL;
	struct nn_tail tail = nn_tail_of(epilogue, job->attrs->bias ? call->w[1] : NULL, residual);
	tail.residual_row = job->d.out;
	NN_K(dense_forward)
	(&job->d, r1 - r0, x_of(job, thread) + r0 * job->d.x_row, call->w[0], &tail,
	 (real *)call->y + r0 * job->d.y_row, p0, p1,
	 job->scratch + (size_t)thread * job->scratch_size);
	if (nn_tail_rest(epilogue))
		activate(job, r0, r1, p0 * NN_PANEL, least(p1 * NN_PANEL, job->d.out));
}

/*
 * Rows are cut where there are enough for each thread, panels of weights where these are the larger
 * part of memory; or half of it in training, whose threads update the panels that they read here.
 */
static bool cut_by_rows(const struct job *job, bool training, size_t threads)
{
	size_t panels = NN_K(dense_panels)(&job->d),
	       many = training && panels >= 2 * threads ? 2 * job->d.out : job->d.out;
	return job->rows / NN_FORWARD_ROWS >= threads && (job->rows >= many || panels < threads);
}

static void forward(const struct nn_call *call)
{
	struct job job = job_of(call);
	size_t threads = threads_for(&job, 1), panels = NN_K(dense_panels)(&job.d),
	       tiles = job.rows / NN_FORWARD_ROWS;
	job.by_rows = cut_by_rows(&job, call->site.training, threads);
	job.pieces = least(threads > 1 ? 2 * threads : 1, job.by_rows ? tiles : panels);
	if (job.pieces < threads * 2)
		job.pieces = least(threads, job.pieces);
	nn_pool_run(job.pieces > 1 ? call->pool : NULL, job.pieces ? job.pieces : 1, forward_piece,
		    &job);
}

static bool plain(const struct nn_call *call)
{
	const struct job job = job_of(call);
	const struct nn_epilogue *epilogue = &job.attrs->epilogue;
	const struct nn_tail tail = nn_tail_of(epilogue, job.attrs->bias ? call->w[1] : NULL, NULL);
	if (job.rows != 1 || job.d.channels || epilogue->residual)
		return false;
	NN_K(dense_plain)(&job.d, call->x[0], call->w[0], &tail, call->y);
	if (nn_tail_rest(epilogue))
		activate(&job, 0, 1, 0, job.d.out);
	return true;
}

/* ---- backward ---- */

/* dy becomes the gradient before the epilogue; the residual gets it. */
static void epilogue_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct job *job = arg;
	const struct nn_call *call = job->call;
	const struct nn_epilogue *epilogue = &job->attrs->epilogue;
	int residual = call->site.n_in - 1;
	real *dy = (real *)call->dy + begin;
	(void)thread;
	if (epilogue->activation != NN_ACT_NONE)
		NN_K(activate_back)(epilogue, (const real *)call->y + begin, dy, dy, end - begin);
	if (epilogue->residual && call->dx[residual] && call->dx[residual] != call->dy) {
		real *dx = (real *)call->dx[residual] + begin;
		NN_EACH(i, k, end - begin,
			{ v_put_gradient(dx + i, k, v_get(dy + i, k), call->dx_add[residual]); });
	}
}

static void input_gradient(const struct job *job, size_t i, void *scratch)
{
	const struct nn_call *call = job->call;
	size_t r0 = 0, r1 = job->rows, k0 = 0, k1 = job->d.in;
	if (job->dx_by_rows)
		cut(job->rows, NN_PANEL, job->dx_pieces, i, &r0, &r1);
	else
		cut(job->d.in, NN_LANES, job->dx_pieces, i, &k0, &k1);
	if (r0 < r1 && k0 < k1)
		NN_K(dense_input_gradient)
	(&job->d, r1 - r0, (const real *)call->dy + r0 * job->d.y_row, call->w[0],
	 (real *)call->dx[0] + r0 * job->d.x_row, call->dx_add[0], k0, k1, scratch);
}

static void weight_gradient(const struct job *job, size_t i, const real *x, void *scratch)
{
	const struct nn_call *call = job->call;
	size_t pieces = job->pieces - 1 - job->dx_pieces, k0 = 0, k1 = job->d.in, p0 = 0,
	       p1 = NN_K(dense_panels)(&job->d);
	if (job->dw_by_panels)
		cut(p1, 1, pieces, i, &p0, &p1);
	else
		cut(job->d.in, NN_WEIGHT_INPUTS, pieces, i, &k0, &k1);
	if (k0 < k1 && p0 < p1)
		NN_K(dense_weight_gradient)
	(&job->d, x, call->dy, job->leaf, call->n_leaves, call->first, call->dw[0], job->sink, k0,
	 k1, p0, p1, scratch);
}

static void bias_gradient(const struct job *job)
{
	const struct nn_call *call = job->call;
	if (!job->attrs->bias || !call->dw[1])
		return;
	NN_K(dense_bias_gradient)
	(&job->d, call->dy, job->leaf, call->n_leaves, call->first, call->dw[1]);
	if (call->update) {
		struct nn_update update = call->update[1];
		update.g = call->dw[1];
		update.pool = NULL; /* this is a piece of its work already */
		NN_K(update)(&update);
	}
}

/* dx and dw in turn: so each thread begins with the part of dw that it will update. */
static void backward_piece(void *arg, size_t i, int thread)
{
	const struct job *job = arg;
	void *scratch = job->scratch + (size_t)thread * job->scratch_size;
	size_t n = job->pieces - 1, dx = i < n ? i * job->dx_pieces / n : 0,
	       dx_after = i < n ? (i + 1) * job->dx_pieces / n : 0;
	if (dx < dx_after)
		input_gradient(job, dx, scratch);
	else if (i < n)
		weight_gradient(job, i - dx, x_of(job, thread), scratch);
	else
		bias_gradient(job);
}

/*
 * Panels lie together, and the update's threads take what lies together; but each piece of panels
 * reads all of x, which costs more where x is larger than both dw and the second-level cache.
 */
static bool reads_inputs_once(const struct job *job)
{
	return job->rows >= 2 * job->d.out && job->rows * job->d.in * sizeof(real) >= NN_LARGE;
}

/*
 * The gradients towards inputs, bias and weights need only dy: one run for all; but weights are
 * not updated before all of dx is made of them.
 */
static void backward(const struct nn_call *call)
{
	struct job job = job_of(call);
	size_t threads = threads_for(&job, call->dx[0] ? 2 : 1),
	       panels = NN_K(dense_panels)(&job.d);
	size_t units = (job.d.in + NN_WEIGHT_INPUTS - 1) / NN_WEIGHT_INPUTS,
	       parts = threads > 1 ? 2 * threads : 1;
	struct nn_pool *pool = threads > 1 ? call->pool : NULL;
	struct nn_ready_update ready;
	for (size_t i = 0; i <= call->n_leaves; i++)
		job.leaf[i] = call->leaf[i] * positions_of(&call->site);
	if (job.attrs->epilogue.activation != NN_ACT_NONE || job.attrs->epilogue.residual)
		nn_cpu_split(call->pool, job.rows * job.d.out, 64, 3 * sizeof(real), epilogue_piece,
			     &job);
	if (call->dx[0]) {
		job.dx_by_rows =
			job.d.in < NN_INPUT_COLUMNS * threads && job.rows >= NN_PANEL * threads;
		job.dx_pieces = least(parts, job.dx_by_rows ? job.rows / NN_PANEL
							    : (job.d.in + NN_LANES - 1) / NN_LANES);
		if (job.dx_pieces == 0)
			job.dx_pieces = 1;
	}
	job.dw_by_panels = (panels >= 2 * threads && !reads_inputs_once(&job)) ||
			   (units < threads && panels > units);
	if (call->update) {
		NN_K(ready)(&ready, &call->update[0], NULL);
		job.sink = &ready.sink;
		job.pieces = job.dx_pieces + 1;
		nn_pool_run(pool, job.dx_pieces, backward_piece, &job);
		job.dx_pieces = 0;
	}
	job.pieces = job.dx_pieces + 1;
	if (call->dw[0]) /* else it is frozen */
		job.pieces += least(parts, job.dw_by_panels ? panels : units);
	nn_pool_run(pool, job.pieces, backward_piece, &job);
}

/* ---- memory and packing ---- */

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	struct nn_matrix d = matrix_of(site);
	size_t scratch = scratch_bytes(site, &d, max_rows * positions_of(site));
	return (size_t)threads * scratch + (site->training ? leaf_bytes(max_leaves) : 0);
}

/*
 * Two threads that both read all rows, forward and for the gradients, would have to take each line
 * back from the other to fill it for the next batch: up to 28 ns a line where they share no cache.
 * More threads are not worth as many times the work.
 */
static size_t copies(const struct nn_site *site, size_t max_rows, int threads)
{
	struct nn_call call = { .site = *site };
	struct job job = { .call = &call,
			   .d = matrix_of(site),
			   .rows = max_rows * positions_of(site) };
	bool small = 2 * job.rows * job.d.in * job.d.out < NN_SMALL;
	return site->training && threads == 2 && !small && !cut_by_rows(&job, true, 2) ? 2 : 1;
}

/* Where weights stay in the cache, all of them at once take as long. */
static bool updates(const struct nn_site *site)
{
	struct nn_matrix d = matrix_of(site);
	return NN_K(dense_packed)(&d) * sizeof(real) >= NN_LARGE;
}

static size_t packed(const struct nn_site *site, int param)
{
	struct nn_matrix d = matrix_of(site);
	return param == 0 ? NN_K(dense_packed)(&d) : d.out;
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	struct nn_matrix d = matrix_of(site);
	if (param == 0)
		NN_K(dense_pack)(&d, canonical, packed);
	else
		__builtin_memcpy(packed, canonical, d.out * sizeof(real));
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	struct nn_matrix d = matrix_of(site);
	if (param == 0)
		NN_K(dense_unpack)(&d, packed, canonical);
	else
		__builtin_memcpy(canonical, packed, d.out * sizeof(real));
}

const struct nn_kernel NN_K(dense) = {
	.forward = forward,
	.plain = plain,
	.backward = backward,
	.updates = updates,
	.work = work,
	.copies = copies,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};
