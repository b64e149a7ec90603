/* activation: forward, and backward from whichever of x and y tells the derivative. */
#include "device/cpu/activation.h"
#include "device/cpu/kernels.h"

typedef vr back_function(enum nn_activation kind, vr slope, vr at, vr d);

NN_INLINE void activate(enum nn_activation kind, real slope, const real *x, real *y, size_t n)
{
	const vr s = v_set(slope);
	NN_EACH(i, k, n, { v_put(y + i, k, v_activate(kind, s, v_get(x + i, k))); });
}

NN_INLINE void back(back_function *function, enum nn_activation kind, real slope, const real *at,
		    const real *dy, real *dx, bool add, size_t n)
{
	const vr s = v_set(slope);
	if (add)
		NN_EACH(i, k, n, {
			v_put(dx + i, k,
			      v_add(v_get(dx + i, k),
				    function(kind, s, v_get(at + i, k), v_get(dy + i, k))));
		});
	else
		NN_EACH(i, k, n, {
			v_put(dx + i, k, function(kind, s, v_get(at + i, k), v_get(dy + i, k)));
		});
}

static void activate_any(enum nn_activation kind, double slope, const real *x, real *y, size_t n)
{
	switch (kind) {
#define NN_ACTIVATION(ID, ...) \
	case NN_ACT_##ID: \
		activate(NN_ACT_##ID, (real)slope, x, y, n); \
		break;
#include "op/activations.def"
	default:
		activate(NN_ACT_NONE, (real)slope, x, y, n);
	}
}

/* at: y where that suffices, else x. */
static void back_any(enum nn_activation kind, double slope, const real *at, const real *dy,
		     real *dx, bool add, size_t n)
{
	const bool from_y = nn_activation_from_y(kind, slope);

	switch (kind) {
#define NN_ACTIVATION(ID, ...) \
	case NN_ACT_##ID: \
		if (from_y) \
			back(v_activate_back_y, NN_ACT_##ID, (real)slope, at, dy, dx, add, n); \
		else \
			back(v_activate_back_x, NN_ACT_##ID, (real)slope, at, dy, dx, add, n); \
		break;
#include "op/activations.def"
	default:
		back(v_activate_back_y, NN_ACT_NONE, (real)slope, at, dy, dx, add, n);
	}
}

void NN_K(activate)(const struct nn_epilogue *epilogue, const real *x, real *y, size_t n)
{
	activate_any(epilogue->activation, epilogue->slope, x, y, n);
}

void NN_K(activate_back)(const struct nn_epilogue *epilogue, const real *y, const real *dy,
			 real *dz, size_t n)
{
	back_any(epilogue->activation, epilogue->slope, y, dy, dz, false, n);
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_activation_attrs *a = call->site.attrs;
	const real *x = call->x[0];
	real *y = call->y;
	(void)thread;
	activate_any(a->kind, a->slope, x + begin, y + begin, end - begin);
}

static void backward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_activation_attrs *a = call->site.attrs;
	bool from_y = nn_activation_from_y(a->kind, a->slope);
	const real *at = from_y ? call->y : call->x[0], *dy = call->dy;
	real *dx = call->dx[0];
	(void)thread;
	back_any(a->kind, a->slope, at + begin, dy + begin, dx + begin, call->dx_add[0],
		 end - begin);
}

/* Functions take longer than memory. */
static size_t cost(const struct nn_call *call)
{
	const struct nn_activation_attrs *a = call->site.attrs;
	return (a->kind <= NN_ACT_LEAKY_RELU ? 3 : 20) * sizeof(real);
}

static void forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows * nn_shape_count(&call->site.out), 64, cost(call),
		     forward_piece, (void *)call);
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		nn_cpu_split(call->pool, call->rows * nn_shape_count(&call->site.out), 64,
			     cost(call), backward_piece, (void *)call);
}

const struct nn_kernel NN_K(activation) = { .forward = forward, .backward = backward };
