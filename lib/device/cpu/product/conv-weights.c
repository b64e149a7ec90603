/* A convolution's gradient towards its weights and bias: one sample's part of a leaf. */
#include "device/cpu/product/axis.h"
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/outer.h"
#include "device/cpu/product/pack.h"

#define L1_BYTES 40960 /* of x and dy that a block of rows may take */

#define MAX_EDGE 8 /* pixels at either end of a row that may lack taps in a tile of all columns */

/* A channel block. */
struct part {
	const struct nn_conv *c;
	struct nn_outer model; /* all but rows and pixels */
	int vectors;
	const real *x, *dy; /* of the group's and block's first channel */
	real *d;            /* of the first k */
	size_t d_kh;        /* step of a kernel row there */
	size_t left, right; /* pixels at a row's ends that lack taps */
	bool side_by_side;  /* the kernel row's columns, in x, and few enough edges for one tile */
};

static const real *x_at(const struct part *p, long oh, long ow, long kh, long kw)
{
	return p->x + nn_axis_at(&p->c->h, oh, kh) * (long)p->c->x_row +
	       nn_axis_at(&p->c->w, ow, kw) * (long)p->c->x_pixel;
}

/* Inputs [0, n) of what x points to, in tiles of equal size. */
static void tiles(const struct part *p, const struct nn_outer *o, size_t n, const real *x,
		  const real *dy, real *d)
{
	const size_t widest = p->vectors == 2 ? NN_TILE_2 : NN_TILE_1,
		     count = (n + widest - 1) / widest;
	for (size_t i = 0; i < count; i++) {
		const size_t m0 = i * n / count, m1 = (i + 1) * n / count;
		NN_K(outer)[o->last == VL][p->vectors - 1][m1 - m0](o, x + m0, dy, d + m0 * o->ds);
	}
}

/* All columns of the kernel row side by side, none of them ever outside. */
static void row_at_once(const struct part *p, struct nn_outer o, long kh, long oh0)
{
	o.pixels = (size_t)p->c->w.out;
	tiles(p, &o, (size_t)p->c->w.n * p->c->cin, x_at(p, oh0, 0, kh, 0),
	      p->dy + (size_t)oh0 * p->c->y_row, p->d + (size_t)kh * p->d_kh);
}

/* Column by column over the positions where it is inside. */
static void row_by_columns(const struct part *p, struct nn_outer o, long kh, long oh0)
{
	const struct nn_axis *w = &p->c->w;
	for (long kw = 0; kw < w->n; kw++) {
		const long i0 = nn_axis_begin(w, kw), i1 = nn_axis_end(w, kw);
		o.pixels = (size_t)(i1 - i0);
		tiles(p, &o, p->c->cin, i0 < i1 ? x_at(p, oh0, i0, kh, kw) : p->x,
		      p->dy + (size_t)oh0 * p->c->y_row + (size_t)i0 * p->c->y_pixel,
		      p->d + (size_t)kh * p->d_kh + (size_t)kw * p->c->cin * o.ds);
	}
}

/*
 * Few in-channels: inputs [m0, m1) of all columns in one tile, which leaves out what a pixel at the
 * row's ends lacks.
 */
static void row_with_edges(const struct part *p, struct nn_outer o, nn_outer_function *f, long kh,
			   long oh0, long m0, long m1)
{
	const struct nn_axis *w = &p->c->w;
	const long cin = (long)p->c->cin;
	struct nn_outer_edge edge[2 * MAX_EDGE];
	o.pixels = (size_t)w->out;
	o.left = p->left;
	o.right = p->right;
	o.edge = edge;
	for (size_t i = 0; i < o.left + o.right; i++) {
		const long q = (long)(i < o.left ? i : o.pixels - o.right + (i - o.left));
		edge[i].a = nn_clamp(nn_axis_first_tap(w, q) * cin - m0, 0, m1 - m0);
		edge[i].b = nn_clamp(m1 - nn_axis_last_tap(w, q) * cin, 0, m1 - m0);
	}
	f(&o, x_at(p, oh0, 0, kh, 0) + m0, p->dy + (size_t)oh0 * p->c->y_row,
	  p->d + (size_t)kh * p->d_kh + (size_t)m0 * o.ds);
}

/* Kernel row kh over output rows [oh0, oh1). */
static void kernel_row(const struct part *p, long kh, long oh0, long oh1)
{
	const struct nn_conv *c = p->c;
	const long n = c->w.n * (long)c->cin, widest = p->vectors == 2 ? NN_TILE_2 : NN_TILE_1;
	const long count = (n + widest - 1) / widest;
	const long begin = nn_clamp(oh0, nn_axis_begin(&c->h, kh), nn_axis_end(&c->h, kh));
	const long end = nn_clamp(oh1, begin, nn_axis_end(&c->h, kh));
	struct nn_outer o = p->model;
	o.rows = (size_t)(end - begin);
	if (o.rows == 0 && !o.first)
		return;
	if (p->side_by_side && p->left + p->right == 0)
		row_at_once(p, o, kh, begin);
	else if (!p->side_by_side || c->cin >= NN_LANES / 2)
		row_by_columns(p, o, kh, begin);
	else
		for (long i = 0; i < count; i++)
			row_with_edges(p, o,
				       NN_K(outer_edged)[o.last == VL][p->vectors - 1]
							[(i + 1) * n / count - i * n / count],
				       kh, begin, i * n / count, (i + 1) * n / count);
}

/*
 * One in-channel: a square of taps as one tile, over the output rows where all its kernel rows are
 * inside.
 */
static void square(const struct part *p, nn_outer_function *f, long oh0, long oh1)
{
	const struct nn_axis *h = &p->c->h;
	const long begin = nn_clamp(nn_axis_begin(h, 0), oh0, oh1),
		   end = nn_clamp(nn_axis_end(h, h->n - 1), begin, oh1);
	struct part rest = *p;
	for (long kh = 0; kh < h->n; kh++)
		kernel_row(&rest, kh, oh0, begin);
	rest.model.first = false;
	struct nn_outer o = rest.model;
	o.rows = (size_t)(end - begin);
	if (o.rows)
		row_with_edges(p, o, f, 0, begin, 0, h->n);
	for (long kh = 0; kh < h->n; kh++)
		kernel_row(&rest, kh, end, oh1);
}

/* Rows of a block that stay in the first-level cache. */
static long block_rows(const struct nn_conv *c)
{
	const size_t groups = nn_conv_depthwise(c) ? c->groups : 1;
	const size_t row = (c->cin * (size_t)(c->w.in * c->h.stride) + c->cout * (size_t)c->w.out) *
			   groups * sizeof(real);
	return row < L1_BYTES ? (long)(L1_BYTES / row) : 1;
}

static void edges(struct part *p)
{
	const struct nn_axis *w = &p->c->w;
	while ((long)p->left < w->out && (nn_axis_first_tap(w, (long)p->left) > 0 ||
					  nn_axis_last_tap(w, (long)p->left) < w->n))
		p->left++;
	while ((long)(p->left + p->right) < w->out &&
	       (nn_axis_first_tap(w, w->out - 1 - (long)p->right) > 0 ||
		nn_axis_last_tap(w, w->out - 1 - (long)p->right) < w->n))
		p->right++;
	p->side_by_side = p->c->x_pixel * (size_t)w->dilation == p->c->cin && p->left <= MAX_EDGE &&
			  p->right <= MAX_EDGE;
}

/* Panel p (over all groups), kernel rows [kh0, kh1), output rows [oh0, oh1). */
static void panel(const struct nn_conv *c, const real *x, const real *dy, real *dw, bool first,
		  long oh0, long oh1, long kh0, long kh1, size_t p)
{
	const size_t panels = nn_panels(c->cout), g = p / panels, o0 = p % panels * NN_PANEL,
		     chain = nn_chain(c);
	const size_t width = nn_panel_width(c->cout, o0),
		     end = c->cout - o0 < width ? c->cout : o0 + width;
	struct part part = { .c = c, .x = x + g * c->cin, .d_kh = (size_t)c->w.n * c->cin * width };
	struct nn_outer *o = &part.model;
	*o = (struct nn_outer){ .first = first,
				.ds = width,
				.x_row = c->x_row * (size_t)c->h.stride,
				.x_pixel = c->x_pixel * (size_t)c->w.stride,
				.y_row = c->y_row,
				.y_pixel = c->y_pixel,
				.x_kh = c->x_row * (size_t)c->h.dilation,
				.d_kh = part.d_kh };
	edges(&part);
	real *const d = dw + (g * nn_packed_channels(c->cout) + o0) * chain;
	if (first)
		nn_clear_padding(d, width, end - o0, (size_t)(kh0 * c->w.n) * c->cin,
				 (size_t)(kh1 * c->w.n) * c->cin);
	for (size_t at = o0; at < end; at += 2 * VL) {
		const size_t left = end - at;
		part.vectors = left > VL ? 2 : 1;
		o->last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
		part.dy = dy + g * c->cout + at;
		part.d = d + (at - o0);
		nn_outer_function *const f =
			c->cin == 1 && c->h.n == c->w.n && kh1 - kh0 == c->h.n && part.side_by_side
				? NN_K(outer_square)(o->last == VL, part.vectors, c->h.n)
				: NULL;
		if (f)
			square(&part, f, oh0, oh1);
		for (long kh = kh0; kh < kh1 && !f; kh++)
			kernel_row(&part, kh, oh0, oh1);
	}
}

void NN_K(conv_weight_gradient)(const struct nn_conv *c, const real *x, const real *dy, real *dw,
				bool first, long oh0, long oh1, long kh0, long kh1, size_t p0,
				size_t p1)
{
	const long step = block_rows(c);
	for (long oh = oh0; oh < oh1; oh += step, first = false) {
		const long end = oh + step < oh1 ? oh + step : oh1;
		if (nn_conv_depthwise(c))
			NN_K(depthwise_weight_gradient)
		(c, x, dy, dw, first, oh, end, kh0, kh1, p0, p1);
		else for (size_t p = p0; p < p1; p++)
			panel(c, x, dy, dw, first, oh, end, kh0, kh1, p);
	}
}

/* V vectors of channels side by side: a chain of additions waits for itself. */
NN_INLINE void bias_channels(int V, const struct nn_conv *c, const real *dy, real *db, vm last,
			     bool first, long oh0, long oh1)
{
	vr sum[4];
	NN_UNROLL
	for (int v = 0; v < V; v++)
		sum[v] = first        ? v_zero()
			 : v == V - 1 ? v_load_m(db + v * VL, last)
				      : v_load(db + v * VL);
	for (long oh = oh0; oh < oh1; oh++) {
		const real *y = dy + (size_t)oh * c->y_row;
		for (long i = 0; i < c->w.out; i++, y += c->y_pixel) {
			NN_UNROLL
			for (int v = 0; v < V; v++)
				sum[v] = v_add(v == V - 1 ? v_load_m(y + v * VL, last)
							  : v_load(y + v * VL),
					       sum[v]);
		}
	}
	NN_UNROLL
	for (int v = 0; v < V - 1; v++)
		v_store(db + v * VL, sum[v]);
	v_store_m(db + (V - 1) * VL, last, sum[V - 1]);
}

void NN_K(conv_bias_gradient)(const struct nn_conv *c, const real *dy, real *db, bool first,
			      long oh0, long oh1)
{
	const size_t n = c->groups * c->cout;
	size_t o = 0;
	for (; o + 4 * VL <= n; o += 4 * VL)
		bias_channels(4, c, dy + o, db + o, vm_first(VL), first, oh0, oh1);
	for (; o + 2 * VL <= n; o += 2 * VL)
		bias_channels(2, c, dy + o, db + o, vm_first(VL), first, oh0, oh1);
	for (; o < n; o += VL)
		bias_channels(1, c, dy + o, db + o, vm_first(n - o < VL ? n - o : VL), first, oh0,
			      oh1);
}
