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
static struct nn_attention_args args_of(const struct nn_call *call, size_t first, real *score)
{
	const struct nn_attention *attention = call->site.attrs;
	NN_ARGS(struct nn_attention_args, a);

	a.first = first;
	a.heads = attention->heads;
	a.t = call->site.out.dim[0];
	a.size = call->site.out.dim[1] / a.heads;
	a.causal = attention->causal;
	a.lengths = call->lengths;
	a.scale = a.out = 1;
	a.score = score;
	return a;
}

static real scale_of(const struct nn_attention_args *a)
{
	return 1 / (real)sqrt((double)a->size);
}

/* Scores of `a`, rows of queries or of dy, with keys or values. */
static void pairs(const struct nn_call *call, struct nn_attention_args a, size_t n, const real *at,
		  size_t row, const real *b, real scale)
{
	a.n = n * a.t * a.t;
	a.a = at;
	a.a_row = row;
	a.b = b;
	a.b_row = 3 * a.heads * a.size;
	a.scale = scale;
	NN_ASK(call->site.queue, attention_pairs, a);
}

/* Means by the scores: of b to `to`. */
static void mix(const struct nn_call *call, struct nn_attention_args a, size_t n, const real *b,
		size_t b_row, real *to, size_t to_row)
{
	a.n = n * a.t * a.size;
	a.b = b;
	a.b_row = b_row;
	a.to = to;
	a.to_row = to_row;
	NN_ASK(call->site.queue, attention_mix, a);
}

/* The softmax of heads first .. first + n - 1. */
static struct nn_attention_args weigh(const struct nn_call *call, size_t first, size_t n)
{
	struct nn_attention_args a = args_of(call, first, call->work);
	const real *x = call->x[0];
	size_t all = a.heads * a.size;

	pairs(call, a, n, x, 3 * all, x + all, scale_of(&a));
	a.n = n * a.t;
	NN_ASK(call->site.queue, attention_weigh, a);
	return a;
}

/* A step of each row, whose state are the keys and values of those before. */
static void forward_step(const struct nn_call *call)
{
	const struct nn_attention *attention = call->site.attrs;
	struct nn_attention_args a = args_of(call, 0, call->work);
	size_t heads = heads_of(&call->site, call->rows);

	a.t = attention->steps;
	a.now = call->step;
	a.state = call->state;
	a.a = call->x[0];
	a.to = call->y;
	a.scale = scale_of(&a);
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
	const real *x = call->x[0];
	size_t all = call->site.out.dim[1], heads = heads_of(&call->site, call->rows),
	       step = at_once(&call->site, call->rows);

	for (size_t first = 0; first < heads; first += step) {
		size_t n = heads - first < step ? heads - first : step;
		const struct nn_attention_args a = weigh(call, first, n);

		mix(call, a, n, x + 2 * all, 3 * all, call->y, all);
	}
}

static void forward(const struct nn_call *call)
{
	const struct nn_attention *attention = call->site.attrs;

	(attention->steps ? forward_step : forward_all)(call);
}

static void back(const struct nn_call *call, size_t first, size_t n, real *slope)
{
	struct nn_attention_args a = weigh(call, first, n), s = a;
	size_t all = a.heads * a.size;
	const real *x = call->x[0], *dy = call->dy;
	real *dx = call->dx[0];

	a.add = s.add = call->dx_add[0];
	s.score = slope;
	pairs(call, s, n, dy, all, x + 2 * all, 1);
	s.n = n * a.t;
	s.a = a.score;
	NN_ASK(call->site.queue, attention_back, s);
	s.scale = scale_of(&a);
	mix(call, s, n, x + all, 3 * all, dx, 3 * all);
	a.turned = s.turned = true;
	s.scale = 1;
	s.out = scale_of(&a);
	mix(call, s, n, x, 3 * all, dx + all, 3 * all);
	mix(call, a, n, dy, all, dx + 2 * all, 3 * all);
}

static void backward(const struct nn_call *call)
{
	size_t heads = heads_of(&call->site, call->rows), step = at_once(&call->site, call->rows);
	char *room = call->work;

	if (!call->dx[0])
		return;
	for (size_t first = 0; first < heads; first += step)
		back(call, first, heads - first < step ? heads - first : step,
		     (real *)(void *)(room + scores(&call->site, step)));
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
