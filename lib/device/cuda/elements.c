/* Ops element by element: activation, add, mul, dropout. */
#include <math.h>

#include "device/cuda/launch.h"

static size_t elements(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

/* ---- activation ---- */

void NN_CUDA(activate)(struct nn_queue *queue, const struct nn_epilogue *epilogue, real *y,
		       size_t n)
{
	NN_ARGS(struct nn_activation_args, a);

	a.n = n;
	a.kind = (int)epilogue->activation;
	a.slope = (real)epilogue->slope;
	a.at = a.to = y;
	NN_ASK(queue, activation, a);
}

void NN_CUDA(activate_back)(const struct nn_call *call, const struct nn_epilogue *epilogue,
			    real *to, real *residual, size_t n)
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

const struct nn_kernel NN_CUDA(op_activation) = { .forward = activation_forward,
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
	join_forward(call, &NN_SIMT(add));
}

static void mul_forward(const struct nn_call *call)
{
	join_forward(call, &NN_SIMT(mul));
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

const struct nn_kernel NN_CUDA(op_add) = { .forward = add_forward, .backward = add_backward };
const struct nn_kernel NN_CUDA(op_mul) = { .forward = mul_forward, .backward = mul_backward };

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

const struct nn_kernel NN_CUDA(op_dropout) = { .forward = dropout_forward,
					       .backward = dropout_backward };
