/* Windows over one sample's image: vectors run along the channels, which lie side by side. */
#include <string.h>
#include "device/cpu/pooling.h"

/* channels, or channels of neighbouring pixels, whose places are kept as integers of full size */
#define NN_CHUNK 1024

struct window {
	long h0, h1, w0, w1; /* taps inside the image */
	const real *corner;  /* where tap 0,0 is, or would be */
};

static struct window window_at(const struct nn_pooling *p, const real *x, long oh, long ow)
{
	long top = oh * p->stride[0] - p->pad[0], left = ow * p->stride[1] - p->pad[1];
	struct window w = {
		.h0 = top < 0 ? -top : 0,
		.h1 = top + p->kernel[0] > p->in[0] ? p->in[0] - top : p->kernel[0],
		.w0 = left < 0 ? -left : 0,
		.w1 = left + p->kernel[1] > p->in[1] ? p->in[1] - left : p->kernel[1],
		.corner = x + (top * p->in[1] + left) * (long)p->channels,
	};
	return w;
}

static const real *tap(const struct nn_pooling *p, const struct window *w, long h, long column)
{
	return w->corner + (h * p->in[1] + column) * (long)p->channels;
}

/* k channels of one window; place gets VL integers. */
NN_INLINE vr largest(const struct nn_pooling *p, const struct window *w, size_t c, size_t k,
		     r_int *place)
{
	vr best = v_get(tap(p, w, w->h0, w->w0) + c, k);
	vi where = vi_set((r_int)(w->h0 * p->kernel[1] + w->w0));
	for (long h = w->h0; h < w->h1; h++)
		for (long i = w->w0; i < w->w1; i++) {
			vr v = v_get(tap(p, w, h, i) + c, k);
			vm take = vm_or(v_gt(v, best), v_ne(v, v));
			best = v_select(take, v, best);
			where = vi_select(take, vi_set((r_int)(h * p->kernel[1] + i)), where);
		}
	vi_store(place, where);
	return best;
}

static void largest_chunk(const struct nn_pooling *p, const struct window *w, size_t begin,
			  size_t n, real *y, r_int *place)
{
	NN_EACH(i, k, n, { v_put(y + begin + i, k, largest(p, w, begin + i, k, place + i)); });
}

static bool wide(const struct nn_pooling *p)
{
	return p->kernel[0] * p->kernel[1] > 256;
}

static void keep_places(bool is_wide, const r_int *place, void *places, size_t at, size_t n)
{
	if (is_wide)
		for (size_t i = 0; i < n; i++)
			((uint32_t *)places)[at + i] = (uint32_t)place[i];
	else
		for (size_t i = 0; i < n; i++)
			((uint8_t *)places)[at + i] = (uint8_t)place[i];
}

static void recall_places(bool is_wide, const void *places, size_t at, size_t n, r_int *place)
{
	if (is_wide)
		for (size_t i = 0; i < n; i++)
			place[i] = (r_int)((const uint32_t *)places)[at + i];
	else
		for (size_t i = 0; i < n; i++)
			place[i] = ((const uint8_t *)places)[at + i];
}

/* The commonest windows: 2x2 side by side; a run of them is done at once. */
static bool two_by_two(const struct nn_pooling *p)
{
	return p->kernel[0] == 2 && p->kernel[1] == 2 && p->stride[0] == 2 && p->stride[1] == 2 &&
	       p->pad[0] == 0 && p->pad[1] == 0 && p->channels <= NN_CHUNK;
}

/* Pixels of a run that begins at ow. */
static size_t run_length(const struct nn_pooling *p, size_t ow)
{
	size_t most = NN_CHUNK / p->channels, left = (size_t)p->out[1] - ow;
	return left < most ? left : most;
}

static void max_run(const struct nn_pooling *p, const real *x, size_t pixels, real *y, r_int *place)
{
	const size_t c = p->channels, row = (size_t)p->in[1] * c;
	for (size_t i = 0; i < pixels; i++, x += 2 * c, y += c, place += c)
		NN_EACH(j, k, c, {
			const real *tap[4] = { x + j, x + c + j, x + row + j, x + row + c + j };
			vr best = v_get(tap[0], k);
			vi where = vi_set(0);
			NN_UNROLL
			for (int t = 1; t < 4; t++) {
				vr v = v_get(tap[t], k);
				vm take = vm_or(v_gt(v, best), v_ne(v, v));
				best = v_select(take, v, best);
				where = vi_select(take, vi_set(t), where);
			}
			v_put(y + j, k, best);
			vi_store(place + j, where);
		});
}

static void spread_run(const struct nn_pooling *p, const real *dy, const r_int *place,
		       size_t pixels, real *dx, bool add)
{
	const size_t c = p->channels, row = (size_t)p->in[1] * c;
	for (size_t i = 0; i < pixels; i++, dx += 2 * c, dy += c, place += c)
		NN_EACH(j, k, c, {
			real *tap[4] = { dx + j, dx + c + j, dx + row + j, dx + row + c + j };
			vr d = v_get(dy + j, k);
			vi where = vi_load(place + j);
			NN_UNROLL
			for (int t = 0; t < 4; t++)
				v_put_gradient(tap[t], k,
					       v_select(vi_eq(where, vi_set(t)), d, v_zero()), add);
		});
}

static void max_runs(const struct nn_pooling *p, const real *x, real *y, void *places)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	for (long oh = 0; oh < p->out[0]; oh++)
		for (size_t ow = 0, n; ow < (size_t)p->out[1]; ow += n, pixel += n * p->channels) {
			n = run_length(p, ow);
			max_run(p, x + ((size_t)(2 * oh * p->in[1]) + 2 * ow) * p->channels, n,
				y + pixel, place);
			if (places)
				keep_places(false, place, places, pixel, n * p->channels);
		}
}

void NN_K(max_pool)(const struct nn_pooling *p, const real *x, real *y, void *places)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	if (two_by_two(p)) {
		max_runs(p, x, y, places);
		return;
	}
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, pixel += p->channels) {
			struct window w = window_at(p, x, oh, ow);
			for (size_t c = 0; c < p->channels; c += NN_CHUNK) {
				size_t n = p->channels - c < NN_CHUNK ? p->channels - c : NN_CHUNK;
				largest_chunk(p, &w, c, n, y + pixel, place);
				if (places)
					keep_places(wide(p), place, places, pixel + c, n);
			}
		}
}

/* dx of one window (+)= dy where the place says so. */
static void spread_chunk(const struct nn_pooling *p, const struct window *w, size_t begin, size_t n,
			 const real *dy, const r_int *place, bool add)
{
	for (long h = w->h0; h < w->h1; h++)
		for (long t = w->w0; t < w->w1; t++) {
			real *dx = (real *)tap(p, w, h, t) + begin;
			const vi here = vi_set((r_int)(h * p->kernel[1] + t));
			NN_EACH(i, k, n, {
				vr d = v_select(vi_eq(vi_load(place + i), here),
						v_get(dy + begin + i, k), v_zero());
				v_put_gradient(dx + i, k, d, add);
			});
		}
}

static void clear(const struct nn_pooling *p, real *dx)
{
	memset(dx, 0, (size_t)(p->in[0] * p->in[1]) * p->channels * sizeof(real));
}

/* Is an element of dx in one window at most; in exactly one? */
static bool apart(const struct nn_pooling *p)
{
	return p->stride[0] >= p->kernel[0] && p->stride[1] >= p->kernel[1];
}

static bool tiles(const struct nn_pooling *p)
{
	for (int i = 0; i < 2; i++)
		if (p->stride[i] != p->kernel[i] || p->pad[i] ||
		    p->out[i] * p->stride[i] != p->in[i])
			return false;
	return true;
}

static void spread_runs(const struct nn_pooling *p, const real *dy, const void *places, real *dx,
			bool add)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	for (long oh = 0; oh < p->out[0]; oh++)
		for (size_t ow = 0, n; ow < (size_t)p->out[1]; ow += n, pixel += n * p->channels) {
			n = run_length(p, ow);
			recall_places(false, places, pixel, n * p->channels, place);
			spread_run(p, dy + pixel, place, n,
				   dx + ((size_t)(2 * oh * p->in[1]) + 2 * ow) * p->channels, add);
		}
}

void NN_K(max_pool_back)(const struct nn_pooling *p, const real *dy, const void *places, real *dx,
			 bool add)
{
	r_int place[NN_CHUNK + VL];
	size_t pixel = 0;
	if (!add && !tiles(p)) {
		clear(p, dx);
		add = !apart(p);
	}
	if (two_by_two(p)) {
		spread_runs(p, dy, places, dx, add);
		return;
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
	const vr size = v_set((real)(p->kernel[0] * p->kernel[1]));
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
	const vr size = v_set((real)(p->kernel[0] * p->kernel[1]));
	if (!add)
		clear(p, dx);
	for (long oh = 0; oh < p->out[0]; oh++)
		for (long ow = 0; ow < p->out[1]; ow++, dy += p->channels) {
			struct window w = window_at(p, dx, oh, ow);
			NN_EACH(i, k, p->channels, {
				vr d = v_div(v_get(dy + i, k), size);
				for (long h = w.h0; h < w.h1; h++)
					for (long t = w.w0; t < w.w1; t++) {
						real *to = (real *)tap(p, &w, h, t) + i;
						v_put(to, k, v_add(v_get(to, k), d));
					}
			});
		}
}
