/* position: a learned vector added to each place of a sequence. */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/leaf.h"

static size_t size(const struct nn_call *call)
{
	return nn_shape_count(&call->site.out);
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t n = size(call);
	const real *w = (const real *)call->w[0] + call->step * n;
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		const real *x = (const real *)call->x[0] + r * n;
		real *y = (real *)call->y + r * n;
		NN_EACH(i, k, n, { v_put(y + i, k, v_add(v_get(x + i, k), v_get(w + i, k))); });
	}
}

static void forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 3 * sizeof(real) * size(call), forward_piece,
		     (void *)call);
}

/* Values of one leaf: their chains over its rows. */
static void weight_piece(void *arg, size_t piece, int thread)
{
	const struct nn_call *call = arg;
	size_t n = size(call), blocks = (n + NN_PANEL - 1) / NN_PANEL, leaf = piece / blocks,
	       begin = piece % blocks * NN_PANEL,
	       count = n - begin < NN_PANEL ? n - begin : NN_PANEL;
	real *w = nn_leaf_buffer(call, 0, leaf, n, call->work) + begin;
	const real *dy = (const real *)call->dy + begin;
	(void)thread;
	for (size_t r = call->leaf[leaf]; r < call->leaf[leaf + 1]; r++) {
		bool from_zero = call->first && r == call->leaf[leaf];
		NN_EACH(i, k, count, {
			v_put(w + i, k,
			      v_add(from_zero ? v_zero() : v_get(w + i, k),
				    v_get(dy + r * n + i, k)));
		});
	}
}

static void input_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const real *dy = (const real *)call->dy + begin;
	real *dx = (real *)call->dx[0] + begin;
	(void)thread;
	NN_EACH(i, k, end - begin,
		{ v_put_gradient(dx + i, k, v_get(dy + i, k), call->dx_add[0]); });
}

static void backward(const struct nn_call *call)
{
	size_t n = size(call), blocks = (n + NN_PANEL - 1) / NN_PANEL;
	if (call->dw[0]) { /* else it is frozen */
		nn_cpu_pieces(call->pool, call->n_leaves * blocks,
			      2 * call->rows * n * sizeof(real), weight_piece, (void *)call);
		NN_K(leaf_tree)(call, 0, n, call->work);
	}
	if (call->dx[0] && (call->dx[0] != call->dy || call->dx_add[0]))
		nn_cpu_split(call->pool, call->rows * n, NN_PANEL, 2 * sizeof(real), input_piece,
			     (void *)call);
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	(void)max_rows;
	(void)threads;
	return site->training ? nn_leaf_reals(max_leaves, nn_shape_count(&site->out)) * sizeof(real)
			      : 0;
}

/* The number of the step says all. */
static size_t state(const struct nn_site *site)
{
	(void)site;
	return 0;
}

const struct nn_kernel NN_K(position) = {
	.forward = forward, .backward = backward, .state = state, .work = work
};
