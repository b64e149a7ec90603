/* Windows over one sample's image: vectors run along the channels, which lie side by side. */
#include <string.h>
#include "device/cpu/pooling.h"

#define NN_CHUNK 256                    /* channels whose places are kept as integers of full size */

struct window {
	long h0, h1, w0, w1;            /* taps inside the image */
	const real *corner;             /* where tap 0,0 is, or would be */
};

static struct window window_at(const struct nn_pooling *p, const real *x, long oh, long ow)
{
	long top = oh * p->stride[0] - p->pad[0], left = ow * p->stride[1] - p->pad[1];
	struct window w = {
		.h0 = top < 0 ? -top : 0, .h1 = top + p->kernel[0] > p->in[0] ? p->in[0] - top : p->kernel[0],
		.w0 = left < 0 ? -left : 0, .w1 = left + p->kernel[1] > p->in[1] ? p->in[1] - left : p->kernel[1],
		.corner = x + (top * p->in[1] + left) * (long) p->channels,
	};
	return w;
}

static const real *tap(const struct nn_pooling *p, const struct window *w, long h, long column)
{
	return w->corner + (h * p->in[1] + column) * (long) p->channels;
}

/* k channels of one window; place gets VL integers. */
NN_INLINE vr largest(const struct nn_pooling *p, const struct window *w, size_t c, size_t k, r_int *place)
{
	vr best = v_get(tap(p, w, w->h0, w->w0) + c, k);
	vi where = vi_set((r_int) (w->h0 * p->kernel[1] + w->w0));
	for (long h = w->h0; h < w->h1; h++)
		for (long i = w->w0; i < w->w1; i++) {
			vr v = v_get(tap(p, w, h, i) + c, k);
			vm take = vm_or(v_gt(v, best), v_ne(v, v));
			best = v_select(take, v, best);
			where = vi_select(take, vi_set((r_int) (h * p->kernel[1] + i)), where);
		}
	vi_store(place, where);
	return best;
}

static void largest_chunk(const struct nn_pooling *p, const struct window *w, size_t begin, size_t n, real *y, r_int *place)
{
	NN_EACH(i, k, n, { v_put(y + begin + i, k, largest(p, w, begin + i, k, place + i)); });
}

/* The commonest window. */
static void largest_chunk_2x2(const struct nn_pooling *p, const real *corner, size_t n, real *y, r_int *place)
{
	const real *lower = corner + p->in[1] * (long) p->channels;
	const real *x[4] = { corner, corner + p->channels, lower, lower + p->channels };
	NN_EACH(i, k, n, {
		vr best = v_get(x[0] + i, k);
		vi where = vi_set(0);
		NN_UNROLL
		for (int t = 1; t < 4; t++) {
			vr v = v_get(x[t] + i, k);
			vm take = vm_or(v_gt(v, best), v_ne(v, v));
			best = v_select(take, v, best);
			where = vi_select(take, vi_set(t), where);
		}
		v_put(y + i, k, best);
		vi_store(place + i, where);
	});
}

static bool wide(const struct nn_pooling *p)
{
	return p->kernel[0] * p->kernel[1] > 256;
}

static void keep_places(bool is_wide, const r_int *place, void *places, size_t at, size_t n)
{
	if (is_wide)
		for (size_t i = 0; i < n; i++)
			((uint32_t *) places)[at + i] = (uint32_t) place[i];
	else
		for (size_t i = 0; i < n; i++)
			((uint8_t *) places)[at + i] = (uint8_t) place[i];
}

static void recall_places(bool is_wide, const void *places, size_t at, size_t n, r_int *place)
{
	if (is_wide)
		for (size_t i = 0; i < n; i++)
			place[i] = (r_int) ((const uint32_t *) places)[at + i];
	else
		for (size_t i = 0; i < n; i++)
			place[i] = ((const uint8_t *) places)[at + i];
}

void NN_K(max_pool)(const struct nn_pooling *p, const real *x, real *y, void *places)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	bool plain = p->kernel[0] == 2 && p->kernel[1] == 2 && p->pad[0] == 0 && p->pad[1] == 0;
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, pixel += p->channels) {
			struct window w = window_at(p, x, oh, ow);
			for (size_t c = 0; c < p->channels; c += NN_CHUNK) {
				size_t n = p->channels - c < NN_CHUNK ? p->channels - c : NN_CHUNK;
				if (plain)
					largest_chunk_2x2(p, w.corner + c, n, y + pixel + c, place);
				else
					largest_chunk(p, &w, c, n, y + pixel, place);
				if (places)
					keep_places(wide(p), place, places, pixel + c, n);
			}
		}
}

/* dx of one window (+)= dy where the place says so. */
static void spread_chunk(const struct nn_pooling *p, const struct window *w, size_t begin, size_t n, const real *dy,
			 const r_int *place, bool add)
{
	for (long h = w->h0; h < w->h1; h++)
		for (long t = w->w0; t < w->w1; t++) {
			real *dx = (real *) tap(p, w, h, t) + begin;
			const vi here = vi_set((r_int) (h * p->kernel[1] + t));
			NN_EACH(i, k, n, {
				vr d = v_select(vi_eq(vi_load(place + i), here), v_get(dy + begin + i, k), v_zero());
				v_put_gradient(dx + i, k, d, add);
			});
		}
}

static void clear(const struct nn_pooling *p, real *dx)
{
	memset(dx, 0, (size_t) (p->in[0] * p->in[1]) * p->channels * sizeof(real));
}

/* Do the windows lie side by side, without overlap or gaps? Then each element of dx is written once. */
static bool tiles(const struct nn_pooling *p)
{
	for (int i = 0; i < 2; i++)
		if (p->stride[i] != p->kernel[i] || p->pad[i] || p->out[i] * p->stride[i] != p->in[i])
			return false;
	return true;
}

void NN_K(max_pool_back)(const struct nn_pooling *p, const real *dy, const void *places, real *dx, bool add)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	if (!add && !tiles(p)) {
		clear(p, dx);
		add = true;
	}
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, pixel += p->channels) {
			struct window w = window_at(p, dx, oh, ow);
			for (size_t c = 0; c < p->channels; c += NN_CHUNK) {
				size_t n = p->channels - c < NN_CHUNK ? p->channels - c : NN_CHUNK;
				recall_places(wide(p), places, pixel + c, n, place);
				spread_chunk(p, &w, c, n, dy + pixel, place, add);
			}
		}
}

void NN_K(mean_pool)(const struct nn_pooling *p, const real *x, real *y)
{
	const vr size = v_set((real) (p->kernel[0] * p->kernel[1]));
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, y += p->channels) {
			struct window w = window_at(p, x, oh, ow);
			NN_EACH(i, k, p->channels, {
				vr sum = v_zero();
				for (long h = w.h0; h < w.h1; h++)
					for (long t = w.w0; t < w.w1; t++)
						sum = v_add(sum, v_get(tap(p, &w, h, t) + i, k));
				v_put(y + i, k, v_div(sum, size));
			});
		}
}

void NN_K(mean_pool_back)(const struct nn_pooling *p, const real *dy, real *dx, bool add)
{
	const vr size = v_set((real) (p->kernel[0] * p->kernel[1]));
	if (!add)
		clear(p, dx);
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, dy += p->channels) {
			struct window w = window_at(p, dx, oh, ow);
			NN_EACH(i, k, p->channels, {
				vr d = v_div(v_get(dy + i, k), size);
				for (long h = w.h0; h < w.h1; h++)
					for (long t = w.w0; t < w.w1; t++) {
						real *to = (real *) tap(p, &w, h, t) + i;
						v_put(to, k, v_add(v_get(to, k), d));
					}
			});
		}
}
