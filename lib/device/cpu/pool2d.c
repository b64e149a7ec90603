/* maxpool2d, avgpool2d and global-avgpool, sample by sample. */
#include "device/cpu/kernels.h"
#include "device/cpu/pooling.h"

static struct nn_pooling pooling(const struct nn_site *site)
{
	const struct nn_pool2d *pool = site->attrs;
	return nn_pooling_of(&pool->window, site->in[0].dim[0], site->in[0].dim[1],
			     site->in[0].dim[2]);
}

static void split(const struct nn_call *call,
		  void (*piece)(void *arg, size_t begin, size_t end, int thread))
{
	size_t n = nn_shape_count(&call->site.in[0]) + nn_shape_count(&call->site.out);
	nn_cpu_split(call->pool, call->rows, 1, 2 * n * sizeof(real), piece, (void *)call);
}

static const real *row_x(const struct nn_call *call, size_t r)
{
	return (const real *)call->x[0] + r * nn_shape_count(&call->site.in[0]);
}

static real *row_dx(const struct nn_call *call, size_t r)
{
	return (real *)call->dx[0] + r * nn_shape_count(&call->site.in[0]);
}

static real *row_of(void *y, const struct nn_call *call, size_t r)
{
	return (real *)y + r * nn_shape_count(&call->site.out);
}

static void max_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_pooling p = pooling(&call->site);
	size_t places = nn_pooling_places(&p);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		NN_K(max_pool)
	(&p, row_x(call, r), row_of(call->y, call, r),
	 call->saved ? (char *)call->saved + r * places : NULL);
}

static void max_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_pooling p = pooling(&call->site);
	size_t places = nn_pooling_places(&p);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		NN_K(max_pool_back)
	(&p, row_of(call->dy, call, r), (const char *)call->saved + r * places, row_dx(call, r),
	 call->dx_add[0]);
}

static void mean_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_pooling p = pooling(&call->site);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		NN_K(mean_pool)(&p, row_x(call, r), row_of(call->y, call, r));
}

static void mean_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct nn_pooling p = pooling(&call->site);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		NN_K(mean_pool_back)
	(&p, row_of(call->dy, call, r), row_dx(call, r), call->dx_add[0]);
}

static size_t max_saved(const struct nn_site *site, size_t max_rows)
{
	const struct nn_pooling p = pooling(site);
	return site->training ? max_rows * nn_pooling_places(&p) : 0;
}

/* The chain over pixels, row by row, of VL channels at a time. */
static void global_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t channels = call->site.in[0].dim[0],
	       pixels = call->site.in[0].dim[1] * call->site.in[0].dim[2];
	const vr size = v_set((real)pixels);
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		const real *x = row_x(call, r);
		real *y = row_of(call->y, call, r);
		NN_EACH(i, k, channels, {
			vr sum = v_zero();
			for (size_t q = 0; q < pixels; q++)
				sum = v_add(sum, v_get(x + q * channels + i, k));
			v_put(y + i, k, v_div(sum, size));
		});
	}
}

static void global_back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t channels = call->site.in[0].dim[0],
	       pixels = call->site.in[0].dim[1] * call->site.in[0].dim[2];
	const vr size = v_set((real)pixels);
	(void)thread;
	for (size_t r = begin; r < end; r++) {
		const real *dy = row_of(call->dy, call, r);
		real *dx = row_dx(call, r);
		NN_EACH(i, k, channels, {
			vr d = v_div(v_get(dy + i, k), size);
			for (size_t q = 0; q < pixels; q++)
				v_put_gradient(dx + q * channels + i, k, d, call->dx_add[0]);
		});
	}
}

#define NN_POOLING(name, piece, back_piece) \
	static void name##_forward(const struct nn_call *call) \
	{ \
		split(call, piece); \
	} \
	static void name##_backward(const struct nn_call *call) \
	{ \
		if (call->dx[0]) \
			split(call, back_piece); \
	}

NN_POOLING(max, max_piece, max_back_piece)
NN_POOLING(mean, mean_piece, mean_back_piece)
NN_POOLING(global, global_piece, global_back_piece)

const struct nn_kernel
	NN_K(maxpool2d) = { .forward = max_forward, .backward = max_backward, .saved = max_saved };
const struct nn_kernel NN_K(avgpool2d) = { .forward = mean_forward, .backward = mean_backward };
const struct nn_kernel NN_K(global_avgpool) = { .forward = global_forward,
						.backward = global_backward };
