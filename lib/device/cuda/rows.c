/* softmax and layernorm. */
#include "device/cuda/launch.h"

static size_t elements(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

/* ---- softmax ---- */

static struct nn_softmax_args softmax_of(const struct nn_call *call)
{
	const struct nn_softmax *softmax = call->site.attrs;
	NN_ARGS(struct nn_softmax_args, a);

	a.columns = nn_shape_columns(&call->site.out);
	a.n = a.columns ? elements(call) / a.columns : 0;
	a.log = softmax->log;
	a.x = call->x[0];
	a.y = call->y;
	return a;
}

static void softmax_forward(const struct nn_call *call)
{
	struct nn_softmax_args a = softmax_of(call);

	a.to = call->y;
	NN_ASK(call->site.queue, softmax, a);
}

static void softmax_backward(const struct nn_call *call)
{
	struct nn_softmax_args a = softmax_of(call);

	a.dy = call->dy;
	a.to = call->dx[0];
	if (!a.to)
		return;
	a.add = call->dx_add[0];
	NN_ASK(call->site.queue, softmax_back, a);
}

const struct nn_kernel NN_CUDA(op_softmax) = { .forward = softmax_forward,
					       .backward = softmax_backward };

/* ---- layernorm ---- */

static size_t last(const struct nn_site *site)
{
	return site->out.dim[site->out.rank - 1];
}

static size_t positions(const struct nn_site *site)
{
	size_t n = last(site);

	return n ? nn_shape_count(&site->out) / n : 0;
}

static struct nn_layernorm_args layernorm_of(const struct nn_call *call)
{
	const struct nn_layernorm *norm = call->site.attrs;
	NN_ARGS(struct nn_layernorm_args, a);

	a.n = call->rows * positions(&call->site);
	a.columns = last(&call->site);
	a.x = call->x[0];
	a.gamma = call->w[0];
	a.beta = call->w[1];
	a.y = call->y;
	a.dy = call->dy;
	a.saved = call->saved;
	a.eps = (real)norm->eps;
	return a;
}

/* NN_SUM_ROWS of them a block. */
static void ask_rows(const struct nn_layernorm_args *a, const struct nn_call *call,
		     const struct nn_cuda_kernel *kernel)
{
	if (a->n > 0)
		nn_cuda_launch(call->site.queue, kernel, (a->n + NN_SUM_ROWS - 1) / NN_SUM_ROWS, a);
}

static void layernorm_forward(const struct nn_call *call)
{
	struct nn_layernorm_args a = layernorm_of(call);

	ask_rows(&a, call, &NN_SIMT(layernorm));
}

static void layernorm_weights(const struct nn_call *call)
{
	struct nn_queue *queue = call->site.queue;
	struct nn_layernorm_args a = layernorm_of(call);
	char *room = call->work;
	NN_ARGS(struct nn_tree_args, t);

	a.leaf = NN_CUDA(bounds)(queue, call->leaf, call->n_leaves, positions(&call->site), &room);
	a.first = call->first;
	for (int k = 0; k < 2; k++) {
		a.dw[k] = call->dw[k];
		a.rest[k] = (real *)(void *)room + (size_t)k * (call->n_leaves - 1) * a.columns;
	}
	nn_cuda_launch(queue, &NN_SIMT(layernorm_weights),
		       call->n_leaves * ((a.columns + NN_NORM_COLUMNS - 1) / NN_NORM_COLUMNS), &a);
	t.n = a.columns;
	t.step = a.columns;
	t.n_leaves = call->n_leaves;
	for (int k = 0; k < 2 && call->n_leaves > 1; k++) {
		t.first = a.dw[k];
		t.rest = a.rest[k];
		NN_ASK(queue, tree, t);
	}
}

static void layernorm_backward(const struct nn_call *call)
{
	struct nn_layernorm_args a = layernorm_of(call);

	if (call->dw[0]) /* else it is frozen */
		layernorm_weights(call);
	a.dx = call->dx[0];
	if (!a.dx)
		return;
	a.add = call->dx_add[0];
	ask_rows(&a, call, &NN_SIMT(layernorm_back));
}

static size_t layernorm_saved(const struct nn_site *site, size_t max_rows)
{
	return site->training ? max_rows * positions(site) * 2 * sizeof(real) : 0;
}

static size_t layernorm_work(const struct nn_site *site, size_t max_rows, size_t max_leaves,
			     int threads)
{
	(void)max_rows;
	(void)threads;
	return site->training ? nn_bounds_bytes(max_leaves) +
					2 * (max_leaves - 1) * last(site) * sizeof(real)
			      : 0;
}

const struct nn_kernel NN_CUDA(op_layernorm) = { .forward = layernorm_forward,
						 .backward = layernorm_backward,
						 .saved = layernorm_saved,
						 .work = layernorm_work };
