/*
 * upsample of one sample's image, vectors along the channels: nearest copies pixels and sums their
 * gradients in order, bilinear weighs two pixels of two rows.
 */
#include <string.h>
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/upsample.h"

struct image {
	size_t c, h, w, scale[2];
	bool bilinear, corners;
};

static struct image image_of(const struct nn_site *site)
{
	const struct nn_upsample *up = site->attrs;
	const size_t *d = site->in[0].dim;
	return (struct image){ d[0],         d[1],       d[2], { up->scale[0], up->scale[1] },
			       up->bilinear, up->corners };
}

static void copy(const real *from, real *to, size_t n)
{
	NN_EACH(i, k, n, { v_put(to + i, k, v_get(from + i, k)); });
}

static void nearest(const struct image *m, const real *x, real *y)
{
	size_t row = m->w * m->scale[1] * m->c;
	for (size_t h = 0; h < m->h; h++, y += m->scale[0] * row) {
		for (size_t w = 0; w < m->w; w++)
			for (size_t j = 0; j < m->scale[1]; j++)
				copy(x + (h * m->w + w) * m->c, y + (w * m->scale[1] + j) * m->c,
				     m->c);
		for (size_t i = 1; i < m->scale[0]; i++)
			copy(y, y + i * row, row);
	}
}

/* Of each pixel the chain over its copies, row by row. */
static void nearest_back(const struct image *m, const real *dy, real *dx, bool add)
{
	size_t row = m->w * m->scale[1] * m->c;
	for (size_t h = 0; h < m->h; h++)
		for (size_t w = 0; w < m->w; w++) {
			const real *from = dy + h * m->scale[0] * row + w * m->scale[1] * m->c;
			real *to = dx + (h * m->w + w) * m->c;
			NN_EACH(q, k, m->c, {
				vr sum = v_zero();
				for (size_t i = 0; i < m->scale[0]; i++)
					for (size_t j = 0; j < m->scale[1]; j++)
						sum = v_add(
							sum,
							v_get(from + i * row + j * m->c + q, k));
				v_put_gradient(to + q, k, sum, add);
			});
		}
}

static void bilinear(const struct image *m, const real *x, real *y)
{
	for (size_t oh = 0; oh < m->h * m->scale[0]; oh++) {
		struct nn_between h = nn_between(oh, m->h, m->scale[0], m->corners);
		const real *top = x + h.low * m->w * m->c, *bottom = x + h.high * m->w * m->c;
		for (size_t ow = 0; ow < m->w * m->scale[1]; ow++, y += m->c) {
			struct nn_between w = nn_between(ow, m->w, m->scale[1], m->corners);
			size_t left = w.low * m->c, right = w.high * m->c;
			NN_EACH(q, k, m->c, {
				vr a = v_fma(w.of_high, v_get(top + right + q, k),
					     v_mul(w.of_low, v_get(top + left + q, k)));
				vr b = v_fma(w.of_high, v_get(bottom + right + q, k),
					     v_mul(w.of_low, v_get(bottom + left + q, k)));
				v_put(y + q, k, v_fma(h.of_high, b, v_mul(h.of_low, a)));
			});
		}
	}
}

static void spread(real *dx, const real *dy, size_t n, vr weight)
{
	NN_EACH(q, k, n, { v_put(dx + q, k, v_fma(weight, v_get(dy + q, k), v_get(dx + q, k))); });
}

/* Output by output, in order. */
static void bilinear_back(const struct image *m, const real *dy, real *dx, bool add)
{
	if (!add)
		memset(dx, 0, m->h * m->w * m->c * sizeof(real));
	for (size_t oh = 0; oh < m->h * m->scale[0]; oh++) {
		struct nn_between h = nn_between(oh, m->h, m->scale[0], m->corners);
		real *top = dx + h.low * m->w * m->c, *bottom = dx + h.high * m->w * m->c;
		for (size_t ow = 0; ow < m->w * m->scale[1]; ow++, dy += m->c) {
			struct nn_between w = nn_between(ow, m->w, m->scale[1], m->corners);
			size_t left = w.low * m->c, right = w.high * m->c;
			spread(top + left, dy, m->c, v_mul(h.of_low, w.of_low));
			spread(top + right, dy, m->c, v_mul(h.of_low, w.of_high));
			spread(bottom + left, dy, m->c, v_mul(h.of_high, w.of_low));
			spread(bottom + right, dy, m->c, v_mul(h.of_high, w.of_high));
		}
	}
}

static void piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct image m = image_of(&call->site);
	size_t in = nn_shape_count(&call->site.in[0]), out = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		(m.bilinear ? bilinear : nearest)(&m, (const real *)call->x[0] + r * in,
						  (real *)call->y + r * out);
}

static void back_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct image m = image_of(&call->site);
	size_t in = nn_shape_count(&call->site.in[0]), out = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		(m.bilinear ? bilinear_back : nearest_back)(&m, (const real *)call->dy + r * out,
							    (real *)call->dx[0] + r * in,
							    call->dx_add[0]);
}

static void split(const struct nn_call *call,
		  void (*run)(void *arg, size_t begin, size_t end, int thread))
{
	size_t n = nn_shape_count(&call->site.in[0]) + nn_shape_count(&call->site.out);
	nn_cpu_split(call->pool, call->rows, 1, 2 * n * sizeof(real), run, (void *)call);
}

static void forward(const struct nn_call *call)
{
	split(call, piece);
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		split(call, back_piece);
}

const struct nn_kernel NN_K(upsample) = { .forward = forward, .backward = backward };
