/* maxpool2d, avgpool2d, global-avgpool, upsample. */
#include "device/cuda/windows.h"

static struct nn_pool_args args_of(const struct nn_pooling *p)
{
	NN_ARGS(struct nn_pool_args, a);

	for (int i = 0; i < 2; i++) {
		a.kernel[i] = p->kernel[i];
		a.stride[i] = p->stride[i];
		a.pad[i] = p->pad[i];
		a.in[i] = p->in[i];
		a.out[i] = p->out[i];
	}
	a.channels = p->channels;
	a.wide = p->kernel[0] * p->kernel[1] > 256;
	return a;
}

static size_t elements(const long size[2], size_t channels, size_t rows)
{
	return rows * (size_t)(size[0] * size[1]) * channels;
}

#define NN_WIDE (16 / sizeof(real)) /* channels of a thread */

/* May threads have NN_WIDE channels each, whose places are bytes? */
static bool wide(const struct nn_pool_args *a, const real *x, const real *y)
{
	return a->channels % NN_WIDE == 0 && !a->wide &&
	       ((uintptr_t)x | (uintptr_t)y | (uintptr_t)a->places * (16 / NN_WIDE)) % 16 == 0;
}

/* Do windows lie apart, without padding, with little between them? */
static bool apart(const struct nn_pool_args *a)
{
	return !a->pad[0] && !a->pad[1] && a->stride[0] >= a->kernel[0] &&
	       a->stride[1] >= a->kernel[1] && a->stride[0] * a->stride[1] <= 16;
}

void NN_CUDA(max_pool)(struct nn_queue *queue, const struct nn_pooling *pool, size_t rows,
		       const real *x, real *y, void *places)
{
	struct nn_pool_args a = args_of(pool);

	a.n = elements(pool->out, pool->channels, rows);
	a.x = x;
	a.y = y;
	a.places = places;
	if (!wide(&a, x, y)) {
		NN_ASK(queue, max_pool, a);
		return;
	}
	a.n /= NN_WIDE;
	NN_ASK(queue, max_pool_wide, a);
}

void NN_CUDA(max_pool_back)(struct nn_queue *queue, const struct nn_pooling *pool, size_t rows,
			    const real *dy, const void *places, real *dx, bool add)
{
	struct nn_pool_args a = args_of(pool);

	a.n = elements(pool->in, pool->channels, rows);
	a.dy = dy;
	a.dx = dx;
	a.places = (void *)(uintptr_t)places;
	a.add = add;
	if (!wide(&a, dy, dx) || !apart(&a)) {
		NN_ASK(queue, max_pool_back, a);
		return;
	}
	a.n = rows * a.channels / NN_WIDE;
	for (int i = 0; i < 2; i++)
		a.n *= (size_t)((a.in[i] + a.stride[i] - 1) / a.stride[i]);
	NN_ASK(queue, max_pool_back_wide, a);
}

static struct nn_pooling pooling(const struct nn_site *site)
{
	const struct nn_pool2d *pool = site->attrs;

	return nn_pooling_of(&pool->window, site->in[0].dim[0], site->in[0].dim[1],
			     site->in[0].dim[2]);
}

static void max_forward(const struct nn_call *call)
{
	struct nn_pooling p = pooling(&call->site);

	NN_CUDA(max_pool)(call->site.queue, &p, call->rows, call->x[0], call->y, call->saved);
}

static void max_backward(const struct nn_call *call)
{
	struct nn_pooling p = pooling(&call->site);

	if (call->dx[0])
		NN_CUDA(max_pool_back)
	(call->site.queue, &p, call->rows, call->dy, call->saved, call->dx[0], call->dx_add[0]);
}

static size_t max_saved(const struct nn_site *site, size_t max_rows)
{
	struct nn_pooling p = pooling(site);

	return site->training ? max_rows * nn_pooling_places(&p) : 0;
}

static void mean(const struct nn_call *call, const struct nn_pooling *p, bool back, bool whole)
{
	struct nn_pool_args a = args_of(p);

	a.n = elements(back ? p->in : p->out, p->channels, call->rows);
	a.x = call->x[0];
	a.y = call->y;
	a.whole = whole;
	if (!back) {
		NN_ASK(call->site.queue, mean_pool, a);
		return;
	}
	a.dy = call->dy;
	a.dx = call->dx[0];
	if (a.dx) {
		a.add = call->dx_add[0];
		NN_ASK(call->site.queue, mean_pool_back, a);
	}
}

static void mean_forward(const struct nn_call *call)
{
	struct nn_pooling p = pooling(&call->site);

	mean(call, &p, false, false);
}

static void mean_backward(const struct nn_call *call)
{
	struct nn_pooling p = pooling(&call->site);

	mean(call, &p, true, false);
}

/* One window: the image. */
static struct nn_pooling image(const struct nn_site *site)
{
	const size_t *dim = site->in[0].dim;
	const struct nn_window window = { { dim[1], dim[2] }, { dim[1], dim[2] }, { 0, 0 } };

	return nn_pooling_of(&window, dim[0], dim[1], dim[2]);
}

static void global_forward(const struct nn_call *call)
{
	struct nn_pooling p = image(&call->site);

	mean(call, &p, false, true);
}

static void global_backward(const struct nn_call *call)
{
	struct nn_pooling p = image(&call->site);

	mean(call, &p, true, true);
}

const struct nn_kernel NN_CUDA(op_maxpool2d) = { .forward = max_forward,
						 .backward = max_backward,
						 .saved = max_saved };
const struct nn_kernel NN_CUDA(op_avgpool2d) = { .forward = mean_forward,
						 .backward = mean_backward };
const struct nn_kernel NN_CUDA(op_global_avgpool) = { .forward = global_forward,
						      .backward = global_backward };

/* ---- upsample ---- */

static void upsample(const struct nn_call *call, bool back, const real *from, real *to, bool add)
{
	const struct nn_upsample *up = call->site.attrs;
	const size_t *in = call->site.in[0].dim;
	NN_ARGS(struct nn_upsample_args, a);

	a.n = call->rows * nn_shape_count(back ? &call->site.in[0] : &call->site.out);
	a.channels = in[0];
	for (int i = 0; i < 2; i++) {
		a.in[i] = in[1 + i];
		a.scale[i] = up->scale[i];
	}
	a.bilinear = up->bilinear;
	a.corners = up->corners;
	a.add = add;
	a.from = from;
	a.to = to;
	if (back)
		NN_ASK(call->site.queue, upsample_back, a);
	else
		NN_ASK(call->site.queue, upsample, a);
}

static void upsample_forward(const struct nn_call *call)
{
	upsample(call, false, call->x[0], call->y, false);
}

static void upsample_backward(const struct nn_call *call)
{
	if (call->dx[0])
		upsample(call, true, call->dy, call->dx[0], call->dx_add[0]);
}

const struct nn_kernel NN_CUDA(op_upsample) = { .forward = upsample_forward,
						.backward = upsample_backward };
