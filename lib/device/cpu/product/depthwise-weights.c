/* Depthwise convolution: the gradient towards the weights, and their packing. */
#include "device/cpu/product/axis.h"
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/vec/vec.h"

#define VECTORS 4 /* of channels whose sums stay in registers */

size_t NN_K(depthwise_packed)(const struct nn_conv *c)
{
	return (size_t)(c->h.n * c->w.n) * nn_packed_channels(c->groups * c->cout);
}

size_t NN_K(depthwise_rotated)(const struct nn_conv *c)
{
	return (size_t)(c->h.n * c->w.n) * c->cout * nn_packed_channels(c->groups);
}

void NN_K(depthwise_pack)(const struct nn_conv *c, const real *canonical, real *packed)
{
	const size_t taps = (size_t)(c->h.n * c->w.n), n = c->groups * c->cout,
		     lanes = nn_packed_channels(n);
	for (size_t t = 0; t < taps; t++)
		for (size_t o = 0; o < lanes; o++)
			packed[t * lanes + o] = o < n ? canonical[o * taps + t] : 0;
}

void NN_K(depthwise_unpack)(const struct nn_conv *c, const real *packed, real *canonical)
{
	const size_t taps = (size_t)(c->h.n * c->w.n), n = c->groups * c->cout,
		     lanes = nn_packed_channels(n);
	for (size_t t = 0; t < taps; t++)
		for (size_t o = 0; o < n; o++)
			canonical[o * taps + t] = packed[t * lanes + o];
}

struct depthwise_rotation {
	const struct nn_conv *c;
	const real *packed;
	real *to; /* place of the next tap */
};

static void rotate_tap(void *arg, size_t tap)
{
	struct depthwise_rotation *r = arg;
	const size_t groups = r->c->groups, m = r->c->cout, lanes = nn_packed_channels(groups);
	const real *from = r->packed + tap * nn_packed_channels(groups * m);
	for (size_t o = 0; o < m; o++, r->to += lanes)
		for (size_t i = 0; i < lanes; i++)
			r->to[i] = i < groups ? from[i * m + o] : 0;
}

/* [phase][tap, descending][out-channel of an in-channel][in-channel, rounded up]. */
void NN_K(depthwise_rotate)(const struct nn_conv *c, const real *packed, real *rotated)
{
	struct depthwise_rotation r = { c, packed, rotated };
	nn_axis_visit_rotated(&c->h, &c->w, rotate_tap, &r);
}

/* The lanes' in-channels: out-channel o reads o / m. */
NN_INLINE vr load_lanes(const real *x, size_t o, size_t m, vm lanes, size_t n)
{
	real r[VL];
	if (m == 1)
		return v_load_m(x + o, lanes);
	for (size_t l = 0; l < VL; l++)
		r[l] = l < n ? x[(o + l) / m] : 0;
	return v_load(r);
}

/* What one tap's sums run over: `rows` of `pixels` positions. */
struct chain {
	const real *x, *dy;
	size_t rows, pixels, x_row, x_pixel, y_row, y_pixel, m;
	bool first;
};

/* V vectors of channels from o; n channels of the last one. */
NN_INLINE void sum(int V, const struct chain *c, size_t o, size_t n, real *d)
{
	const vm all = vm_first(VL), last = vm_first(n);
	vr acc[VECTORS];
	NN_UNROLL
	for (int v = 0; v < V; v++)
		acc[v] = c->first ? v_zero() : v_load(d + o + v * VL);
	for (size_t r = 0; r < c->rows; r++) {
		const real *x = c->x + r * c->x_row, *dy = c->dy + r * c->y_row;
		for (size_t p = 0; p < c->pixels; p++, x += c->x_pixel, dy += c->y_pixel) {
			NN_UNROLL
			for (int v = 0; v < V; v++) {
				const size_t at = o + v * VL;
				const vm lanes = v < V - 1 ? all : last;
				acc[v] = v_fma(load_lanes(x, at, c->m, lanes, v < V - 1 ? VL : n),
					       v_load_m(dy + at, lanes), acc[v]);
			}
		}
	}
	NN_UNROLL
	for (int v = 0; v < V; v++)
		v_store(d + o + v * VL, acc[v]);
}

/* Channels [o, end) of a tap, and the padding behind the last one. */
static void tap(const struct chain *c, size_t o, size_t end, size_t lanes, real *d)
{
	for (; o + VECTORS * VL <= end; o += VECTORS * VL)
		sum(VECTORS, c, o, VL, d);
	for (; o < end; o += VL)
		sum(1, c, o, end - o < VL ? end - o : VL, d);
	if (c->first)
		for (; o < lanes; o += VL)
			v_store(d + o, v_zero());
}

void NN_K(depthwise_weight_gradient)(const struct nn_conv *c, const real *x, const real *dy,
				     real *dw, bool first, long oh0, long oh1, long kh0, long kh1,
				     size_t p0, size_t p1)
{
	const size_t n = c->groups * c->cout, lanes = nn_packed_channels(n), o = p0 * NN_PANEL;
	const size_t end = p1 * NN_PANEL < n ? p1 * NN_PANEL : n, padded = end == n ? lanes : end;
	struct chain s = { .x_row = c->x_row * (size_t)c->h.stride,
			   .x_pixel = c->x_pixel * (size_t)c->w.stride,
			   .y_row = c->y_row,
			   .y_pixel = c->y_pixel,
			   .m = c->cout,
			   .first = first };
	for (long kh = kh0; kh < kh1; kh++) {
		const long h0 = nn_clamp(oh0, nn_axis_begin(&c->h, kh), nn_axis_end(&c->h, kh));
		const long h1 = nn_clamp(oh1, h0, nn_axis_end(&c->h, kh));
		for (long kw = 0; kw < c->w.n; kw++) {
			const long w0 = nn_axis_begin(&c->w, kw), w1 = nn_axis_end(&c->w, kw);
			s.rows = (size_t)(h1 - h0);
			s.pixels = (size_t)(w1 - w0);
			if (s.rows && s.pixels)
				s.x = x + nn_axis_at(&c->h, h0, kh) * (long)c->x_row +
				      nn_axis_at(&c->w, w0, kw) * (long)c->x_pixel;
			s.dy = dy + (size_t)h0 * c->y_row + (size_t)w0 * c->y_pixel;
			tap(&s, o, end, padded, dw + (size_t)(kh * c->w.n + kw) * lanes);
		}
	}
}
