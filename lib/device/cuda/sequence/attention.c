/* attention, some heads at a time: their scores lie in memory. */
#include <math.h>

#include "device/cuda/launch.h"
#include "device/cuda/product/product.h"

#define NN_SCORES ((size_t)1 << 24) /* reals of scores at a time, more where one head has them */

static size_t heads_of(const struct nn_site *site, size_t rows)
{
	const struct nn_attention *attention = site->attrs;

	return rows * attention->heads;
}

/* Heads at a time. */
static size_t at_once(const struct nn_site *site, size_t rows)
{
	size_t t = site->out.dim[0], most = NN_SCORES / (t * t), heads = heads_of(site, rows);

	most = most ? most : 1;
	return heads < most ? heads : most;
}

static size_t scores(const struct nn_site *site, size_t heads)
{
	return nn_cuda_rounded(heads * site->out.dim[0] * site->out.dim[0] * sizeof(real));
}

/* What calls for heads first .. first + n - 1 begin with; x has queries, keys and values. */
static struct nn_attention_args args_of(const struct nn_call *call, size_t first, size_t n)
{
	const struct nn_attention *attention = call->site.attrs;
	NN_ARGS(struct nn_attention_args, a);

	a.n = n;
	a.first = first;
	a.heads = attention->heads;
	a.t = call->site.out.dim[0];
	a.size = call->site.out.dim[1] / a.heads;
	a.causal = attention->causal;
	a.lengths = call->lengths;
	a.x = call->x[0];
	a.scale = 1 / (real)sqrt((double)a.size);
	a.score = call->work;
	a.to = call->y;
	return a;
}

/* Blocks of threads for NN_SUM_ROWS positions each. */
static size_t blocks_of(const struct nn_attention_args *a)
{
	return a->n * ((a->t + NN_SUM_ROWS - 1) / NN_SUM_ROWS);
}

/* A step of each row, whose state are the keys and values of those before. */
static void forward_step(const struct nn_call *call)
{
	const struct nn_attention *attention = call->site.attrs;
	size_t heads = heads_of(&call->site, call->rows);
	struct nn_attention_args a = args_of(call, 0, heads);

	a.t = attention->steps;
	a.now = call->step;
	a.state = call->state;
	a.n = heads * a.size;
	NN_ASK(call->site.queue, attention_keep, a);
	a.n = heads * (a.now + 1);
	NN_ASK(call->site.queue, attention_step, a);
	a.n = heads;
	NN_ASK(call->site.queue, attention_step_weigh, a);
	a.n = heads * a.size;
	NN_ASK(call->site.queue, attention_step_mix, a);
}

static void forward_all(const struct nn_call *call)
{
	size_t heads = heads_of(&call->site, call->rows), step = at_once(&call->site, call->rows);

	for (size_t first = 0; first < heads; first += step) {
		size_t n = heads - first < step ? heads - first : step;
		const struct nn_attention_args a = args_of(call, first, n);

		nn_cuda_launch(call->site.queue, &NN_SIMT(attention), blocks_of(&a), &a);
	}
}

static void forward(const struct nn_call *call)
{
	const struct nn_attention *attention = call->site.attrs;

	(attention->steps ? forward_step : forward_all)(call);
}

static void backward(const struct nn_call *call)
{
	size_t heads = heads_of(&call->site, call->rows), step = at_once(&call->site, call->rows);

	if (!call->dx[0])
		return;
	for (size_t first = 0; first < heads; first += step) {
		size_t n = heads - first < step ? heads - first : step;
		struct nn_attention_args a = args_of(call, first, n);

		a.dy = call->dy;
		a.to = call->dx[0];
		a.add = call->dx_add[0];
		a.slope = a.score + scores(&call->site, step) / sizeof(real);
		nn_cuda_launch(call->site.queue, &NN_SIMT(attention_back), blocks_of(&a), &a);
		nn_cuda_launch(call->site.queue, &NN_SIMT(attention_spread), 2 * blocks_of(&a), &a);
	}
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	const struct nn_attention *attention = site->attrs;

	(void)max_leaves;
	(void)threads;
	if (attention->steps)
		return heads_of(site, max_rows) * attention->steps * sizeof(real);
	return (site->training ? 2 : 1) * scores(site, at_once(site, max_rows));
}

static size_t state(const struct nn_site *site)
{
	const struct nn_attention *attention = site->attrs;

	return 2 * attention->steps * site->out.dim[1] * sizeof(real);
}

const struct nn_kernel NN_CUDA(op_attention) = {
	.forward = forward, .backward = backward, .state = state, .work = work
};
