/* softmax and log-softmax over the last dimension in memory. */
#include "device/cpu/kernels.h"
#include "device/cpu/softmax.h"

/*
 * x - largest - log(sum), the last two subtracted one after the other; y may be x, so the sum keeps
 * nothing
 */
struct shifted {
	const real *x;
	real largest;
};

NN_INLINE vr term_exp(const void *arg, size_t i, size_t k)
{
	const struct shifted *shifted = arg;
	return v_exp(v_sub(v_get(shifted->x + i, k), v_set(shifted->largest)));
}

static void log_softmax_row(const real *x, real *y, size_t n)
{
	struct shifted shifted = { x, v_largest(x, n) };
	const vr most = v_set(shifted.largest),
		 log_sum = v_set(v_log_one(v_sum(term_exp, &shifted, n)));
	NN_EACH(i, k, n, { v_put(y + i, k, v_sub(v_sub(v_get(x + i, k), most), log_sum)); });
}

static void log_softmax_back_row(const real *y, const real *dy, real *dx, size_t n, bool add)
{
	struct nn_sum_pair pair = { dy, dy };
	const vr sum = v_set(v_sum(v_term_value, &pair, n));
	NN_EACH(i, k, n, {
		v_put_gradient(dx + i, k, v_fnma(v_exp(v_get(y + i, k)), sum, v_get(dy + i, k)),
			       add);
	});
}

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
