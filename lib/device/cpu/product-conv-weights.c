/* A convolution's gradient towards its weights and bias: one sample's part of a leaf. */
#include "device/cpu/product-axis.h"
#include "device/cpu/product-depthwise.h"
#include "device/cpu/product-outer.h"
#include "device/cpu/product-pack.h"

#define L1_BYTES 40960                   /* of x and dy that a block of rows may take */

/* A kernel row of a channel block, over output rows [oh0, oh1). */
struct part {
	const struct nn_conv *c;
	struct nn_outer o;
	int vectors;
	const real *x, *dy;              /* of the group's and block's first channel */
	real *d;                         /* of the kernel row's first k */
	long kh, oh0, oh1;
	bool first;
};

/* Inputs [m0, m0 + n) of what x points to, in tiles of equal size. */
static void tiles(const struct part *p, const struct nn_outer *o, size_t n, const real *x, const real *dy, real *d)
{
	const size_t widest = p->vectors == 2 ? NN_TILE_2 : NN_TILE_1, count = (n + widest - 1) / widest;
	for (size_t i = 0; i < count; i++) {
		const size_t m0 = i * n / count, m1 = (i + 1) * n / count;
		NN_K(outer)[p->vectors - 1][m1 - m0](o, x + m0, dy, d + m0 * o->ds);
	}
}

static const real *x_at(const struct part *p, long oh, long ow, long kw)
{
	return p->x + nn_axis_at(&p->c->h, oh, p->kh) * (long) p->c->x_row + nn_axis_at(&p->c->w, ow, kw) * (long) p->c->x_pixel;
}

/* All columns of the kernel row side by side, none of them ever outside. */
static void row_at_once(struct part *p)
{
	p->o.pixels = (size_t) p->c->w.out;
	tiles(p, &p->o, (size_t) p->c->w.n * p->c->cin, x_at(p, p->oh0, 0, 0), p->dy + (size_t) p->oh0 * p->c->y_row, p->d);
}

/* Few in-channels: all columns in one tile; at the row's ends the ones that are inside. */
static void row_by_runs(struct part *p)
{
	const struct nn_axis *w = &p->c->w;
	const size_t step = p->c->cin * p->o.ds;
	if (p->first) {                          /* begin the chains */
		p->o.rows = 0;
		tiles(p, &p->o, (size_t) w->n * p->c->cin, p->x, p->dy, p->d);
		p->o.first = false;
	}
	p->o.rows = 1;
	for (long oh = p->oh0; oh < p->oh1; oh++) {
		for (long i = 0, e; i < w->out; i = e) {
			const long kw0 = nn_axis_first_tap(w, i), kw1 = nn_axis_last_tap(w, i);
			for (e = i + 1; e < w->out && nn_axis_first_tap(w, e) == kw0 && nn_axis_last_tap(w, e) == kw1; e++)
				;
			p->o.pixels = (size_t) (e - i);
			tiles(p, &p->o, (size_t) (kw1 - kw0) * p->c->cin, x_at(p, oh, i, kw0),
			      p->dy + (size_t) oh * p->c->y_row + (size_t) i * p->c->y_pixel, p->d + (size_t) kw0 * step);
		}
	}
}

/* Column by column over the positions where it is inside. */
static void row_by_columns(struct part *p)
{
	const struct nn_axis *w = &p->c->w;
	for (long kw = 0; kw < w->n; kw++) {
		const long i0 = nn_axis_begin(w, kw), i1 = nn_axis_end(w, kw);
		p->o.pixels = (size_t) (i1 - i0);
		tiles(p, &p->o, p->c->cin, i0 < i1 ? x_at(p, p->oh0, i0, kw) : p->x,
		      p->dy + (size_t) p->oh0 * p->c->y_row + (size_t) i0 * p->c->y_pixel,
		      p->d + (size_t) kw * p->c->cin * p->o.ds);
	}
}

static void kernel_row(struct part *p, long kh, long oh0, long oh1)
{
	const struct nn_conv *c = p->c;
	const bool padded = nn_axis_begin(&c->w, 0) > 0 || nn_axis_end(&c->w, c->w.n - 1) < c->w.out;
	const bool side_by_side = c->x_pixel * (size_t) c->w.dilation == c->cin;
	const size_t widest = p->vectors == 2 ? NN_TILE_2 : NN_TILE_1;
	const long begin = nn_axis_begin(&c->h, kh), end = nn_axis_end(&c->h, kh);
	p->kh = kh;
	p->oh0 = nn_clamp(oh0, begin, end);
	p->oh1 = nn_clamp(oh1, p->oh0, end);
	p->o.rows = (size_t) (p->oh1 - p->oh0);
	p->o.first = p->first;
	if (side_by_side && !padded)
		row_at_once(p);
	else if (side_by_side && (size_t) c->w.n * c->cin <= widest)
		row_by_runs(p);
	else
		row_by_columns(p);
}

/* Rows of a block that stay in the first-level cache. */
static long block_rows(const struct nn_conv *c)
{
	const size_t row = (c->cin * (size_t) (c->w.in * c->h.stride) + c->cout * (size_t) c->w.out) * sizeof(real);
	return row < L1_BYTES ? (long) (L1_BYTES / row) : 1;
}

/* Panel p (over all groups), kernel rows [kh0, kh1), output rows [oh0, oh1). */
static void panel(const struct nn_conv *c, const real *x, const real *dy, real *dw, bool first, long oh0, long oh1,
		  long kh0, long kh1, size_t p)
{
	const size_t panels = nn_panels(c->cout), g = p / panels, o0 = p % panels * NN_PANEL, chain = nn_chain(c);
	const size_t width = nn_panel_width(c->cout, o0), end = c->cout - o0 < width ? c->cout : o0 + width;
	struct part part = { .c = c, .x = x + g * c->cin, .first = first };
	struct nn_outer *o = &part.o;
	o->x_row = c->x_row * (size_t) c->h.stride;
	o->x_pixel = c->x_pixel * (size_t) c->w.stride;
	o->y_row = c->y_row;
	o->y_pixel = c->y_pixel;
	o->ds = width;
	real *const d = dw + (g * nn_packed_channels(c->cout) + o0) * chain;
	if (first)
		nn_clear_padding(d, width, end - o0, (size_t) (kh0 * c->w.n) * c->cin, (size_t) (kh1 * c->w.n) * c->cin);
	for (size_t at = o0; at < end; at += 2 * VL) {
		const size_t left = end - at;
		part.vectors = left > VL ? 2 : 1;
		o->last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
		part.dy = dy + g * c->cout + at;
		for (long kh = kh0; kh < kh1; kh++) {
			part.d = d + (at - o0) + (size_t) (kh * c->w.n) * c->cin * width;
			kernel_row(&part, kh, oh0, oh1);
		}
	}
}

void NN_K(conv_weight_gradient)(const struct nn_conv *c, const real *x, const real *dy, real *dw, bool first,
				long oh0, long oh1, long kh0, long kh1, size_t p0, size_t p1)
{
	if (nn_conv_depthwise(c)) {
		NN_K(depthwise_weight_gradient)(c, x, dy, dw, first, oh0, oh1, kh0, kh1, p0, p1);
		return;
	}
	const long step = block_rows(c);
	for (long oh = oh0; oh < oh1; oh += step, first = false)
		for (size_t p = p0; p < p1; p++)
			panel(c, x, dy, dw, first, oh, oh + step < oh1 ? oh + step : oh1, kh0, kh1, p);
}

void NN_K(conv_bias_gradient)(const struct nn_conv *c, const real *dy, real *db, bool first, long oh0, long oh1)
{
	const size_t n = c->groups * c->cout;
	for (size_t o = 0; o < n; o += VL) {
		const vm lanes = vm_first(n - o < VL ? n - o : VL);
		vr sum = first ? v_zero() : v_load_m(db + o, lanes);
		for (long oh = oh0; oh < oh1; oh++) {
			const real *y = dy + (size_t) oh * c->y_row + o;
			for (long i = 0; i < c->w.out; i++, y += c->y_pixel)
				sum = v_add(v_load_m(y, lanes), sum);
		}
		v_store_m(db + o, lanes, sum);
	}
}
