/* softmax and log-softmax over the last dimension in memory. */
#include "device/cpu/kernels.h"
#include "device/cpu/softmax.h"

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_softmax *softmax = call->site.attrs;
	size_t n = nn_cpu_channels(&call->site.out);
	const real *x = call->x[0];
	real *y = call->y;
	(void)thread;
	for (size_t r = begin; r < end; r++)
		(softmax->log ? log_softmax_row : v_softmax)(x + r * n, y + r * n, n);
}

static void backward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_softmax *softmax = call->site.attrs;
	size_t n = nn_cpu_channels(&call->site.out);
	const real *y = call->y, *dy = call->dy;
	real *dx = call->dx[0];
	(void)thread;
	for (size_t r = begin; r < end; r++)
		(softmax->log ? log_softmax_back_row : v_softmax_back)(
			y + r * n, dy + r * n, dx + r * n, n, call->dx_add[0]);
}

static void split(const struct nn_call *call,
		  void (*piece)(void *arg, size_t begin, size_t end, int thread))
{
	size_t n = nn_cpu_channels(&call->site.out);
	nn_cpu_split(call->pool, call->rows * (nn_shape_count(&call->site.out) / n), 1,
		     64 * sizeof(real) * n, piece, (void *)call);
}

static void forward(const struct nn_call *call)
{
	split(call, forward_piece);
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		split(call, backward_piece);
}

const struct nn_kernel NN_K(softmax) = { .forward = forward, .backward = backward };

void NN_K(softmax_rows)(const void *logits, void *y, size_t rows, size_t columns)
{
	for (size_t r = 0; r < rows; r++)
		v_softmax((const real *)logits + r * columns, (real *)y + r * columns, columns);
}

void NN_K(sigmoid)(const void *logits, void *y, size_t n)
{
	NN_K(math)(NN_CPU_SIGMOID, logits, y, n);
}
