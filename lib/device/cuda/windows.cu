/* Pooling and upsample: an element of the output, or of the input's gradient, by a thread. Images
 * are H,W,C. */
#include "device/cpu/upsample.h"
#include "device/cuda/wide.h"

struct window {
	long h0, h1, w0, w1; /* taps inside the image */
	long top, left;
};

NN_INLINE struct window window_at(const struct nn_pool_args *a, long oh, long ow)
{
	struct window w;
	w.top = oh * a->stride[0] - a->pad[0];
	w.left = ow * a->stride[1] - a->pad[1];
	w.h0 = w.top < 0 ? -w.top : 0;
	w.h1 = w.top + a->kernel[0] > a->in[0] ? a->in[0] - w.top : a->kernel[0];
	w.w0 = w.left < 0 ? -w.left : 0;
	w.w1 = w.left + a->kernel[1] > a->in[1] ? a->in[1] - w.left : a->kernel[1];
	return w;
}

/* Element i of images of `size` positions; the first of the i-th `each` channels. */
struct element {
	size_t row, channel;
	long h, w;
};

NN_INLINE struct element element_at(const struct nn_pool_args *a, const long size[2], size_t i,
				    unsigned each)
{
	struct element e;
	e.channel = i % (a->channels / each) * each;
	i /= a->channels / each;
	e.w = (long)(i % (size_t)size[1]);
	e.h = (long)(i / (size_t)size[1] % (size_t)size[0]);
	e.row = i / (size_t)(size[0] * size[1]);
	return e;
}

NN_INLINE size_t index_of(const struct nn_pool_args *a, const long size[2], const struct element *e,
			  long h, long w)
{
	return ((e->row * (size_t)size[0] + (size_t)h) * (size_t)size[1] + (size_t)w) *
		       a->channels +
	       e->channel;
}

NN_INLINE void keep_place(const struct nn_pool_args *a, size_t i, long place)
{
	if (a->wide)
		((uint32_t *)a->places)[i] = (uint32_t)place;
	else
		((uint8_t *)a->places)[i] = (uint8_t)place;
}

/* The first largest value, the last NaN where there is one. */
NN_MAP(max_pool, struct nn_pool_args)
{
	struct element e = element_at(a, a->out, i, 1);
	struct window w = window_at(a, e.h, e.w);
	long place = w.h0 * a->kernel[1] + w.w0;
	real best = a->x[index_of(a, a->in, &e, w.top + w.h0, w.left + w.w0)];
	for (long h = w.h0; h < w.h1; h++)
		for (long t = w.w0; t < w.w1; t++) {
			real v = a->x[index_of(a, a->in, &e, w.top + h, w.left + t)];
			if (v > best || v != v) {
				best = v;
				place = h * a->kernel[1] + t;
			}
		}
	a->y[i] = best;
	if (a->places)
		keep_place(a, i, place);
}

/* The places of NN_WIDE channels, a byte each. */
struct wide_places {
	uint8_t at[NN_WIDE];
} __attribute__((aligned(NN_WIDE)));

/* The same of NN_WIDE channels, whose places are bytes. */
NN_MAP(max_pool_wide, struct nn_pool_args)
{
	struct element e = element_at(a, a->out, i, NN_WIDE);
	struct window w = window_at(a, e.h, e.w);
	struct wide_reals best =
		get_wide(a->x + index_of(a, a->in, &e, w.top + w.h0, w.left + w.w0));
	struct wide_places place = { { 0 } };
	NN_UNROLL
	for (unsigned u = 0; u < NN_WIDE; u++)
		place.at[u] = (uint8_t)(w.h0 * a->kernel[1] + w.w0);
	for (long h = w.h0; h < w.h1; h++) {
		NN_AHEAD
		for (long t = w.w0; t < w.w1; t++) {
			struct wide_reals v =
				get_wide(a->x + index_of(a, a->in, &e, w.top + h, w.left + t));
			NN_UNROLL
			for (unsigned u = 0; u < NN_WIDE; u++)
				if (v.v[u] > best.v[u] || v.v[u] != v.v[u]) {
					best.v[u] = v.v[u];
					place.at[u] = (uint8_t)(h * a->kernel[1] + t);
				}
		}
	}
	put_wide(a->y + i * NN_WIDE, &best);
	if (a->places)
		((struct wide_places *)a->places)[i] = place;
}

/* The output positions whose windows meet position `at` of an axis. */
NN_INLINE void readers(const struct nn_pool_args *a, int axis, long at, long *begin, long *end)
{
	long over = at + a->pad[axis] - a->kernel[axis] + 1;
	*begin = over <= 0 ? 0 : (over + a->stride[axis] - 1) / a->stride[axis];
	*end = (at + a->pad[axis]) / a->stride[axis] + 1;
	*end = *end < a->out[axis] ? *end : a->out[axis];
}

/*
 * What element i of dx gets, window by window in the order of output pixels. The first is stored
 * where windows lie apart, else it is added to 0, as are all others.
 */
NN_INLINE void gather(const struct nn_pool_args *a, size_t i, bool largest)
{
	struct element e = element_at(a, a->in, i, 1);
	bool apart = a->whole ||
		     (a->stride[0] >= a->kernel[0] && a->stride[1] >= a->kernel[1] && largest);
	real size = (real)(a->kernel[0] * a->kernel[1]), sum = a->add ? a->dx[i] : 0;
	long h0, h1, w0, w1;
	readers(a, 0, e.h, &h0, &h1);
	readers(a, 1, e.w, &w0, &w1);
	for (long h = h0; h < h1; h++)
		for (long w = w0; w < w1; w++) {
			size_t at = index_of(a, a->out, &e, h, w);
			long tap = (e.h + a->pad[0] - h * a->stride[0]) * a->kernel[1] + e.w +
				   a->pad[1] - w * a->stride[1];
			real d = a->dy[at];
			if (!largest)
				d = v_div(d, size);
			else if (tap != (a->wide ? (long)((const uint32_t *)a->places)[at]
						 : (long)((const uint8_t *)a->places)[at]))
				d = 0;
			sum = apart && !a->add ? d : v_add(sum, d);
		}
	a->dx[i] = sum;
}

NN_MAP(max_pool_back, struct nn_pool_args)
{
	gather(a, i, true);
}

/*
 * Windows without padding that lie apart: cell i of NN_WIDE channels, which begins where a window
 * does or would, and ends where the next one begins.
 */
NN_MAP(max_pool_back_wide, struct nn_pool_args)
{
	const long cells[2] = {
		(long)((unsigned)(a->in[0] + a->stride[0] - 1) / (unsigned)a->stride[0]),
		(long)((unsigned)(a->in[1] + a->stride[1] - 1) / (unsigned)a->stride[1]),
	};
	const struct element e = element_at(a, cells, i, NN_WIDE);
	const bool there = e.h < a->out[0] && e.w < a->out[1];
	const long top = e.h * a->stride[0], left = e.w * a->stride[1];
	struct wide_reals d = { { 0 } };
	struct wide_places place = { { 0 } };
	if (there) {
		const size_t at = index_of(a, a->out, &e, e.h, e.w);
		d = get_wide(a->dy + at);
		place = ((const struct wide_places *)a->places)[at / NN_WIDE];
	}
	for (long h = 0; h < a->stride[0] && top + h < a->in[0]; h++)
		for (long w = 0; w < a->stride[1] && left + w < a->in[1]; w++) {
			const bool inside = there && h < a->kernel[0] && w < a->kernel[1];
			const long tap = h * a->kernel[1] + w;
			real *dx = a->dx + index_of(a, a->in, &e, top + h, left + w);
			struct wide_reals v = { { 0 } };
			if (a->add && !inside)
				continue;
			if (a->add)
				v = get_wide(dx);
			NN_UNROLL
			for (unsigned u = 0; u < NN_WIDE; u++) {
				const real g = inside && place.at[u] == tap ? d.v[u] : 0;
				v.v[u] = a->add ? v_add(v.v[u], g) : g;
			}
			put_wide(dx, &v);
		}
}

/* Padding counts. */
#define NN_TAPS_AHEAD 16 /* that a thread asks for at once */
NN_MAP(mean_pool, struct nn_pool_args)
{
	struct element e = element_at(a, a->out, i, 1);
	struct window w = window_at(a, e.h, e.w);
	const long across = w.w1 > w.w0 ? w.w1 - w.w0 : 0;
	const bool rows = across == a->in[1] && w.h1 > w.h0; /* whole, so they follow one another */
	const unsigned n = (unsigned)(across * (rows ? w.h1 - w.h0 : 1));
	real sum = 0;
	for (long h = w.h0; h < (rows ? w.h0 + 1 : w.h1); h++) {
		const real *x = a->x + index_of(a, a->in, &e, w.top + h, w.left + w.w0);
		for (unsigned k = 0; k < n; k += NN_TAPS_AHEAD) {
			real v[NN_TAPS_AHEAD];
			ask(x + k * a->channels, a->channels, n - k, v, NN_TAPS_AHEAD);
			NN_UNROLL
			for (unsigned j = 0; j < NN_TAPS_AHEAD; j++)
				sum = k + j < n ? v_add(sum, v[j]) : sum;
		}
	}
	a->y[i] = v_div(sum, (real)(a->kernel[0] * a->kernel[1]));
}

NN_MAP(mean_pool_back, struct nn_pool_args)
{
	gather(a, i, false);
}

/* ---- upsample ---- */

/* A pixel of an image: element `channel` of row and column h, w. */
NN_INLINE real pixel_at(const struct nn_upsample_args *a, const real *image, size_t width, size_t h,
			size_t w, size_t channel)
{
	return image[(h * width + w) * a->channels + channel];
}

NN_MAP(upsample, struct nn_upsample_args)
{
	size_t c = i % a->channels, q = i / a->channels, width = a->in[1] * a->scale[1],
	       height = a->in[0] * a->scale[0], w = q % width, h = q / width % height;
	const real *x = a->from + q / width / height * a->in[0] * a->in[1] * a->channels;
	if (!a->bilinear) {
		a->to[i] = pixel_at(a, x, a->in[1], h / a->scale[0], w / a->scale[1], c);
		return;
	}
	struct nn_between y = nn_between(h, a->in[0], a->scale[0], a->corners),
			  z = nn_between(w, a->in[1], a->scale[1], a->corners);
	real top = v_fma(z.of_high, pixel_at(a, x, a->in[1], y.low, z.high, c),
			 v_mul(z.of_low, pixel_at(a, x, a->in[1], y.low, z.low, c))),
	     bottom = v_fma(z.of_high, pixel_at(a, x, a->in[1], y.high, z.high, c),
			    v_mul(z.of_low, pixel_at(a, x, a->in[1], y.high, z.low, c)));
	a->to[i] = v_fma(y.of_high, bottom, v_mul(y.of_low, top));
}

/* The first place of an axis of the output whose lower neighbour is not before `low`. */
NN_INLINE size_t first_from(size_t low, size_t n, size_t scale, bool corners)
{
	size_t begin = 0, end = n * scale;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (nn_between(middle, n, scale, corners).low < low)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

/* The chain over the output's pixels that a pixel is in, in their order. */
NN_MAP(upsample_back, struct nn_upsample_args)
{
	size_t c = i % a->channels, q = i / a->channels, w = q % a->in[1],
	       h = q / a->in[1] % a->in[0], width = a->in[1] * a->scale[1],
	       height = a->in[0] * a->scale[0];
	const real *dy = a->from + q / a->in[1] / a->in[0] * height * width * a->channels;
	real sum = a->add && a->bilinear ? a->to[i] : 0;
	if (!a->bilinear) {
		for (size_t y = h * a->scale[0]; y < (h + 1) * a->scale[0]; y++)
			for (size_t z = w * a->scale[1]; z < (w + 1) * a->scale[1]; z++)
				sum = v_add(sum, pixel_at(a, dy, width, y, z, c));
		nn_put(a->to + i, sum, a->add);
		return;
	}
	size_t left = first_from(w ? w - 1 : 0, a->in[1], a->scale[1], a->corners),
	       right = first_from(w + 1, a->in[1], a->scale[1], a->corners),
	       end = first_from(h + 1, a->in[0], a->scale[0], a->corners);
	for (size_t y = first_from(h ? h - 1 : 0, a->in[0], a->scale[0], a->corners); y < end;
	     y++) {
		struct nn_between of_h = nn_between(y, a->in[0], a->scale[0], a->corners);
		for (size_t z = left; z < right; z++) {
			struct nn_between of_w = nn_between(z, a->in[1], a->scale[1], a->corners);
			real d = pixel_at(a, dy, width, y, z, c);
			if (of_h.low == h && of_w.low == w)
				sum = v_fma(v_mul(of_h.of_low, of_w.of_low), d, sum);
			if (of_h.low == h && of_w.high == w)
				sum = v_fma(v_mul(of_h.of_low, of_w.of_high), d, sum);
			if (of_h.high == h && of_w.low == w)
				sum = v_fma(v_mul(of_h.of_high, of_w.of_low), d, sum);
			if (of_h.high == h && of_w.high == w)
				sum = v_fma(v_mul(of_h.of_high, of_w.of_high), d, sum);
		}
	}
	a->to[i] = sum;
}
