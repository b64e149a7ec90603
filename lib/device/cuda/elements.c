/* Ops element by element: activation, add, mul, dropout, reshape, permute, concat, last. */
#include <math.h>

#include "device/cuda/launch.h"

static size_t elements(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

/* ---- activation ---- */

void nn_cuda_activate(struct nn_queue *queue, const struct nn_epilogue *epilogue, real *y, size_t n)
{
	NN_ARGS(struct nn_activation_args, a);

	a.n = n;
	a.kind = (int)epilogue->activation;
	a.slope = (real)epilogue->slope;
	a.at = a.to = y;
	NN_ASK(queue, activation, a);
}

void nn_cuda_activate_back(const struct nn_call *call, const struct nn_epilogue *epilogue, real *to,
			   real *residual, size_t n)
{
	NN_ARGS(struct nn_activation_args, a);

	a.n = n;
	a.kind = (int)epilogue->activation;
	a.slope = (real)epilogue->slope;
	a.from_y = nn_activation_from_y(epilogue->activation, epilogue->slope);
	a.at = epilogue->activation != NN_ACT_NONE ? call->y : NULL;
	a.dy = call->dy;
	a.to = to;
	a.residual = residual;
	a.residual_add = residual && call->dx_add[call->site.n_in - 1];
	NN_ASK(call->site.queue, activation, a);
}

static void activation_forward(const struct nn_call *call)
{
	const struct nn_activation_attrs *attrs = call->site.attrs;
	NN_ARGS(struct nn_activation_args, a);

	a.n = elements(call);
	a.kind = (int)attrs->kind;
	a.slope = (real)attrs->slope;
	a.at = call->x[0];
	a.to = call->y;
	NN_ASK(call->site.queue, activation, a);
}

static void activation_backward(const struct nn_call *call)
{
	const struct nn_activation_attrs *attrs = call->site.attrs;
	NN_ARGS(struct nn_activation_args, a);

	a.n = call->dx[0] ? elements(call) : 0;
	a.kind = (int)attrs->kind;
	a.slope = (real)attrs->slope;
	a.from_y = nn_activation_from_y(attrs->kind, attrs->slope);
	a.at = a.from_y ? call->y : call->x[0];
	a.dy = call->dy;
	a.to = call->dx[0];
	a.add = call->dx_add[0];
	NN_ASK(call->site.queue, activation, a);
}

const struct nn_kernel nn_cuda_op_activation = { .forward = activation_forward,
						 .backward = activation_backward };

/* ---- add and mul: NN_JOINED inputs at a time, the first of which is what there is ---- */

static struct nn_join_args join_of(const struct nn_call *call)
{
	NN_ARGS(struct nn_join_args, a);

	a.n = elements(call);
	a.y = call->y;
	a.dy = call->dy;
	return a;
}

static void join_forward(const struct nn_call *call, const struct nn_cuda_kernel *kernel)
{
	struct nn_join_args a = join_of(call);

	a.x[a.n_in++] = call->x[0];
	for (int j = 1; j <= call->site.n_in; j++) {
		if (j == call->site.n_in || a.n_in == NN_JOINED) {
			if (a.n > 0)
				nn_cuda_launch(call->site.queue, kernel,
					       (a.n + NN_MAP_BLOCK - 1) / NN_MAP_BLOCK, &a);
			a.x[0] = call->y;
			a.n_in = 1;
		}
		if (j < call->site.n_in)
			a.x[a.n_in++] = call->x[j];
	}
}

static void add_forward(const struct nn_call *call)
{
	join_forward(call, &nn_simt_add);
}

static void mul_forward(const struct nn_call *call)
{
	join_forward(call, &nn_simt_mul);
}

static void add_backward(const struct nn_call *call)
{
	for (int j = 0; j < call->site.n_in; j += NN_JOINED) {
		struct nn_join_args a = join_of(call);

		for (int k = j; k < call->site.n_in && k < j + NN_JOINED; k++, a.n_in++) {
			/* dy's place is written by its last reader alone: it is not where `add` */
			a.dx[a.n_in] = call->dx[k];
			a.add[a.n_in] = call->dx_add[k];
		}
		NN_ASK(call->site.queue, add_back, a);
	}
}

static void mul_backward(const struct nn_call *call)
{
	struct nn_join_args a = join_of(call);

	if (call->site.n_in > NN_JOINED)
		NN_BUG("mul of %d inputs", call->site.n_in);
	for (; a.n_in < call->site.n_in; a.n_in++) {
		a.x[a.n_in] = call->x[a.n_in];
		a.dx[a.n_in] = call->dx[a.n_in];
		a.add[a.n_in] = call->dx_add[a.n_in];
	}
	NN_ASK(call->site.queue, mul_back, a);
}

const struct nn_kernel nn_cuda_op_add = { .forward = add_forward, .backward = add_backward };
const struct nn_kernel nn_cuda_op_mul = { .forward = mul_forward, .backward = mul_backward };

/* ---- dropout ---- */

static void drop(const struct nn_call *call, const real *from, real *to, bool add)
{
	const struct nn_dropout *dropout = call->site.attrs;
	NN_ARGS(struct nn_dropout_args, a);

	a.n = elements(call);
	a.row = nn_shape_count(&call->site.out);
	a.from = from;
	a.to = to;
	a.add = add;
	a.key[0] = (uint32_t)call->seed;
	a.key[1] = (uint32_t)(call->seed >> 32);
	a.stream = dropout->stream;
	a.below = (uint32_t)ceil(dropout->p * 0x1p24);
	a.scale = dropout->p < 1 ? (real)(1 / (1 - dropout->p)) : 0;
	a.sample = call->sample;
	a.now = call->now;
	NN_ASK(call->site.queue, dropout, a);
}

static void dropout_forward(const struct nn_call *call)
{
	drop(call, call->x[0], call->y, false);
}

static void dropout_backward(const struct nn_call *call)
{
	if (call->dx[0])
		drop(call, call->dy, call->dx[0], call->dx_add[0]);
}

const struct nn_kernel nn_cuda_op_dropout = { .forward = dropout_forward,
					      .backward = dropout_backward };

/* ---- values moved ---- */

static void move_runs(struct nn_queue *queue, const real *from, size_t from_run, real *to,
		      size_t to_run, size_t run, size_t runs, bool add)
{
	NN_ARGS(struct nn_move_args, a);

	a.n = run * runs;
	a.run = run;
	a.from_run = from_run;
	a.to_run = to_run;
	a.from = from;
	a.to = to;
	a.add = add;
	NN_ASK(queue, move, a);
}

static void reshape_forward(const struct nn_call *call)
{
	size_t n = elements(call);

	if (call->x[0] != call->y)
		move_runs(call->site.queue, call->x[0], n, call->y, n, n, 1, false);
}

static void reshape_backward(const struct nn_call *call)
{
	size_t n = elements(call);

	if (call->dx[0] && call->dx[0] != call->dy)
		move_runs(call->site.queue, call->dy, n, call->dx[0], n, n, 1, call->dx_add[0]);
}

const struct nn_kernel nn_cuda_op_reshape = { .forward = reshape_forward,
					      .backward = reshape_backward };

static void permute(const struct nn_call *call, const real *from, real *to, bool backward)
{
	const struct nn_permute *permute = call->site.attrs;
	bool by_channels = permute->to_channels_last != backward;
	NN_ARGS(struct nn_move_args, a);

	a.n = elements(call);
	a.rows = by_channels ? permute->channels : permute->positions;
	a.columns = by_channels ? permute->positions : permute->channels;
	a.from = from;
	a.to = to;
	a.add = backward && call->dx_add[0];
	NN_ASK(call->site.queue, move, a);
}

static void permute_forward(const struct nn_call *call)
{
	permute(call, call->x[0], call->y, false);
}

static void permute_backward(const struct nn_call *call)
{
	if (call->dx[0])
		permute(call, call->dy, call->dx[0], true);
}

const struct nn_kernel nn_cuda_op_permute = { .forward = permute_forward,
					      .backward = permute_backward };

/* How often inputs take turns in a row; C,H,W is held H,W,C. */
static size_t turns_of(const struct nn_site *site)
{
	const struct nn_concat *concat = site->attrs;
	const size_t *dim = site->out.dim;
	size_t n = 1;

	if (site->out.rank == 3)
		return concat->dim == 0 ? dim[1] * dim[2] : concat->dim == 1 ? 1 : dim[1];
	for (int i = 0; i < concat->dim; i++)
		n *= dim[i];
	return n;
}

static void concat(const struct nn_call *call, bool backward)
{
	size_t turns = turns_of(&call->site),
	       run = nn_shape_count(&call->site.out) / (turns ? turns : 1), place = 0;

	for (int j = 0; j < call->site.n_in; j++) {
		size_t n = nn_shape_count(&call->site.in[j]) / (turns ? turns : 1);

		if (!backward)
			move_runs(call->site.queue, call->x[j], n, (real *)call->y + place, run, n,
				  call->rows * turns, false);
		else if (call->dx[j])
			move_runs(call->site.queue, (const real *)call->dy + place, run,
				  call->dx[j], n, n, call->rows * turns, call->dx_add[j]);
		place += n;
	}
}

static void concat_forward(const struct nn_call *call)
{
	concat(call, false);
}

static void concat_backward(const struct nn_call *call)
{
	concat(call, true);
}

const struct nn_kernel nn_cuda_op_concat = { .forward = concat_forward,
					     .backward = concat_backward };

/* ---- last ---- */

static struct nn_last_args last_of(const struct nn_call *call)
{
	NN_ARGS(struct nn_last_args, a);

	a.steps = call->site.in[0].dim[0];
	a.columns = call->site.in[0].dim[1];
	a.lengths = call->lengths;
	return a;
}

static void last_forward(const struct nn_call *call)
{
	struct nn_last_args a = last_of(call);

	a.n = call->rows * a.columns;
	a.from = call->x[0];
	a.to = call->y;
	NN_ASK(call->site.queue, last, a);
}

static void last_backward(const struct nn_call *call)
{
	struct nn_last_args a = last_of(call);

	if (!call->dx[0])
		return;
	a.n = call->rows * a.steps * a.columns;
	a.from = call->dy;
	a.to = call->dx[0];
	a.add = call->dx_add[0];
	NN_ASK(call->site.queue, last_back, a);
}

const struct nn_kernel nn_cuda_op_last = { .forward = last_forward, .backward = last_backward };
