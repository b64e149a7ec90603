/* add and mul: inputs of one shape joined element by element, first input first. */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

static size_t elements(const struct nn_call *call)
{
	return call->rows * nn_shape_count(&call->site.out);
}

static void split(const struct nn_call *call,
		  void (*piece)(void *arg, size_t begin, size_t end, int thread))
{
	nn_cpu_split(call->pool, elements(call), 64, (size_t)(call->site.n_in + 1) * sizeof(real),
		     piece, (void *)call);
}

static void add_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const real *const *x = (const real *const *)call->x;
	real *y = call->y;
	int n_in = call->site.n_in;
	(void)thread;
	NN_EACH(i, k, end - begin, {
		vr sum = v_get(x[0] + begin + i, k);
		for (int j = 1; j < n_in; j++)
			sum = v_add(sum, v_get(x[j] + begin + i, k));
		v_put(y + begin + i, k, sum);
	});
}

static void add_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const real *dy = call->dy;
	(void)thread;
	for (int j = 0; j < call->site.n_in; j++) {
		real *dx = call->dx[j];
		if (!dx || (dx == dy && !call->dx_add[j]))
			continue;
		NN_EACH(i, k, end - begin, {
			v_put_gradient(dx + begin + i, k, v_get(dy + begin + i, k),
				       call->dx_add[j]);
		});
	}
}

static void mul_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const real *const *x = (const real *const *)call->x;
	real *y = call->y;
	int n_in = call->site.n_in;
	(void)thread;
	NN_EACH(i, k, end - begin, {
		vr product = v_get(x[0] + begin + i, k);
		for (int j = 1; j < n_in; j++)
			product = v_mul(product, v_get(x[j] + begin + i, k));
		v_put(y + begin + i, k, product);
	});
}

/*
 * d * all inputs but j; the gradient of the same array as two inputs may be asked for, so dy is
 * read before dx is written.
 */
static void mul_back_input(const struct nn_call *call, int j, size_t begin, size_t n)
{
	const real *const *x = (const real *const *)call->x;
	const real *dy = call->dy;
	real *dx = call->dx[j];
	NN_EACH(i, k, n, {
		vr d = v_get(dy + begin + i, k);
		for (int other = 0; other < call->site.n_in; other++)
			if (other != j)
				d = v_mul(d, v_get(x[other] + begin + i, k));
		v_put_gradient(dx + begin + i, k, d, call->dx_add[j]);
	});
}

/* An input whose gradient takes dy's place comes last. */
static void mul_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	int last = -1;
	(void)thread;
	for (int j = 0; j < call->site.n_in; j++)
		if (call->dx[j] == call->dy)
			last = j;
		else if (call->dx[j])
			mul_back_input(call, j, begin, end - begin);
	if (last >= 0)
		mul_back_input(call, last, begin, end - begin);
}

static void add_forward(const struct nn_call *call)
{
	split(call, add_piece);
}
static void add_backward(const struct nn_call *call)
{
	split(call, add_back_piece);
}
static void mul_forward(const struct nn_call *call)
{
	split(call, mul_piece);
}
static void mul_backward(const struct nn_call *call)
{
	split(call, mul_back_piece);
}

const struct nn_kernel NN_K(add) = { .forward = add_forward, .backward = add_backward };
const struct nn_kernel NN_K(mul) = { .forward = mul_forward, .backward = mul_backward };
