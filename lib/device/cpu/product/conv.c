/*
 * Convolution forward and its input gradient, which is a convolution of the output's gradient with
 * rotated weights.
 */
#include "device/cpu/product/axis.h"
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/tile.h"

#define MAX_KW 32      /* runs of an edge tile; wider kernels go tap by tap there */
#define FETCH_CHAIN 64 /* k's of a tile whose next row is worth asking for */

/* One convolution of one group: what the tiles below share. */
struct job {
	struct nn_axis h, w;
	size_t cin, cout;
	size_t x_row, x_pixel, y_row, y_pixel, r_row, r_pixel;
	size_t chain; /* k's of a packed panel */
	size_t skip;  /* k's of it before this convolution's */
	const real *weights, *bias;
	enum nn_tail_act act;
	real slope;
};

/* A channel block of a job: two vectors, the last one may be one. */
struct block {
	struct nn_tile tile;
	const real *w;
	int vectors;
};

static struct block block_at(const struct job *j, size_t o)
{
	const size_t panel = o / NN_PANEL * NN_PANEL, left = j->cout - o;
	struct block b = { .vectors = left > VL ? 2 : 1 };
	struct nn_tile *t = &b.tile;
	t->ws = j->cout - panel > NN_LANES ? NN_PANEL : NN_LANES;
	t->kw = (size_t)j->w.n;
	t->kl = j->cin;
	t->x_kh = j->x_row * (size_t)j->h.dilation;
	t->x_kw = j->x_pixel * (size_t)j->w.dilation;
	t->w_kh = t->kw * t->kl * t->ws;
	t->xs = j->x_pixel * (size_t)j->w.stride;
	t->ys = j->y_pixel;
	t->rs = j->r_pixel;
	t->last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
	t->bias = j->bias ? j->bias + o : NULL;
	t->act = j->act;
	t->slope = j->slope;
	b.w = j->weights + panel * j->chain + j->skip * t->ws + (o - panel);
	return b;
}

/*
 * What asks for memory is inlined before gcc looks at it: a function that does nothing else counts
 * as one without an effect, whose calls are left out.
 */
NN_INLINE void fetch(const real *p, long pixels, size_t pixel, size_t channels)
{
	for (long i = 0; i < pixels; i++)
		for (size_t c = 0; c < channels; c += VL)
			__builtin_prefetch(p + (size_t)i * pixel + c, 0, 2);
}

/*
 * Ask for what pixels [i0, i1) of output row oh will need: their place in y, and, where the first
 * block of channels comes by, the last row of x that they read. Rows of a column are too far apart,
 * and too short, for the processor to see it coming. After an image's last row the next image's
 * first one is meant; where there is none, asking costs nothing.
 */
NN_INLINE void fetch_row(const struct job *j, const struct block *b, long i0, long i1,
			 const real *x, const real *y, long oh)
{
	fetch(y + (size_t)oh * j->y_row + (size_t)i0 * j->y_pixel, i1 - i0, j->y_pixel,
	      (size_t)b->vectors * VL);
	if (b->w == j->weights + j->skip * b->tile.ws)
		fetch(x + nn_axis_at(&j->h, oh, j->h.n - 1) * (long)j->x_row +
			      i0 * j->w.stride * (long)j->x_pixel,
		      (i1 - i0) * j->w.stride, j->x_pixel, j->cin);
}

/* Pixels [i0, i1) of output rows [oh0, oh1). */
static void column(const struct job *j, const struct block *b, const struct nn_tile *model, long i0,
		   long i1, const real *x, real *y, const real *residual, long oh0, long oh1)
{
	nn_tile_function *const f = NN_K(tile)[b->vectors - 1][i1 - i0];
	struct nn_tile t = *model;
	for (long oh = oh0; oh < oh1; oh++) {
		const long kh0 = nn_axis_first_tap(&j->h, oh);
		t.kh = (size_t)(nn_axis_last_tap(&j->h, oh) - kh0);
		if (j->chain >= FETCH_CHAIN)
			fetch_row(j, b, i0, i1, x, y, oh + 1);
		const long at = nn_axis_at(&j->h, oh, kh0) * (long)j->x_row +
				nn_axis_at(&j->w, i0, 0) * (long)j->x_pixel;
		f(&t, x + at, b->w + (size_t)kh0 * t.w_kh,
		  y + (size_t)oh * j->y_row + (size_t)i0 * j->y_pixel,
		  residual ? residual + (size_t)oh * j->r_row + (size_t)i0 * j->r_pixel : NULL);
	}
}

/*
 * Where a tile cannot leave out taps in its registers: tap by tap over the pixels that have it,
 * with the sums in memory between.
 */
static void column_by_taps(const struct job *j, const struct block *b, long i0, long i1,
			   const real *x, real *y, const real *residual, long oh0, long oh1)
{
	real sums[NN_TILE_MAX * 2 * VL];
	struct nn_tile tap = b->tile, end = b->tile;
	tap.ys = tap.fs = end.fs = 2 * VL;
	tap.kh = tap.kw = 1;
	tap.last = VL;
	tap.bias = NULL;
	tap.act = NN_TAIL_NONE;
	end.kh = 0;
	end.from = sums;
	for (long oh = oh0; oh < oh1; oh++) {
		const long kh0 = nn_axis_first_tap(&j->h, oh), kh1 = nn_axis_last_tap(&j->h, oh);
		for (long i = 0; i < (i1 - i0) * 2 * VL; i++)
			sums[i] = 0;
		for (long kh = kh0; kh < kh1; kh++)
			for (long kw = 0; kw < j->w.n; kw++) {
				const long a = nn_clamp(nn_axis_begin(&j->w, kw), i0, i1),
					   z = nn_clamp(nn_axis_end(&j->w, kw), a, i1);
				if (a == z)
					continue;
				real *const to = sums + (a - i0) * 2 * VL;
				tap.from = to;
				NN_K(tile)
				[b->vectors - 1][z - a](
					&tap,
					x + nn_axis_at(&j->h, oh, kh) * (long)j->x_row +
						nn_axis_at(&j->w, a, kw) * (long)j->x_pixel,
					b->w + (size_t)(kh * j->w.n + kw) * j->cin * tap.ws, to,
					NULL);
			}
		NN_K(tile)
		[b->vectors - 1][i1 - i0](
			&end, x, b->w, y + (size_t)oh * j->y_row + (size_t)i0 * j->y_pixel,
			residual ? residual + (size_t)oh * j->r_row + (size_t)i0 * j->r_pixel
				 : NULL);
	}
}

/*
 * What a tile of pixels [i0, i1) does for a kernel row where some pixels lack some columns. Returns
 * the runs, 0: it cannot.
 */
static size_t edge_runs(const struct job *j, const struct nn_tile *t, long i0, long i1,
			struct nn_tile_run run[MAX_KW])
{
	size_t n = 0;
	if (j->w.n > MAX_KW)
		return 0;
	for (long kw = 0; kw < j->w.n; kw++) {
		const long a = nn_clamp(nn_axis_begin(&j->w, kw) - i0, 0, i1 - i0);
		const long z = nn_clamp(i1 - nn_axis_end(&j->w, kw), 0, i1 - i0);
		if (!nn_tile_cut(a, z, i1 - i0))
			return 0;
		if (n && run[n - 1].a == a && run[n - 1].b == z && t->x_kw == j->cin)
			run[n - 1].kl += j->cin; /* side by side with the column before */
		else
			run[n++] = (struct nn_tile_run){ (int)a, (int)z, (size_t)kw * t->x_kw,
							 (size_t)kw * j->cin * t->ws, j->cin };
	}
	return n;
}

static void columns(const struct job *j, const struct block *b, long i0, long i1, const real *x,
		    real *y, const real *residual, long oh0, long oh1)
{
	struct nn_tile_run run[MAX_KW];
	struct nn_tile t = b->tile;
	if (nn_axis_first_tap(&j->w, i0) > 0 || nn_axis_last_tap(&j->w, i1 - 1) < j->w.n) {
		t.n_runs = edge_runs(j, &t, i0, i1, run);
		t.run = run;
		if (t.n_runs == 0) {
			column_by_taps(j, b, i0, i1, x, y, residual, oh0, oh1);
			return;
		}
	} else if (t.x_kw == t.kl) { /* the columns of a kernel row lie side by side: one run */
		t.kl *= t.kw;
		t.kw = 1;
	}
	column(j, b, &t, i0, i1, x, y, residual, oh0, oh1);
}

/* 1x1 without stride or padding over whole rows: one row of all pixels, so that tiles are full. */
static bool is_flat(const struct job *j)
{
	const struct nn_axis *h = &j->h, *w = &j->w;
	const size_t pixels = (size_t)w->out;
	return h->n == 1 && w->n == 1 && h->stride == 1 && w->stride == 1 && h->pad == 0 &&
	       w->pad == 0 && h->out == h->in && w->out == w->in &&
	       j->x_row == pixels * j->x_pixel && j->y_row == pixels * j->y_pixel &&
	       j->r_row == pixels * j->r_pixel;
}

static void run_job(struct job j, const real *x, real *y, const real *residual, long oh0, long oh1)
{
	if (is_flat(&j)) {
		x += (size_t)oh0 * j.x_row;
		y += (size_t)oh0 * j.y_row;
		residual = residual ? residual + (size_t)oh0 * j.r_row : NULL;
		j.w.in = j.w.out = (oh1 - oh0) * j.w.out;
		oh0 = 0;
		j.h.in = j.h.out = oh1 = 1;
	}
	for (size_t o = 0; o < j.cout; o += 2 * VL) {
		const struct block b = block_at(&j, o);
		const long widest = b.vectors == 2 ? NN_TILE_2 : NN_TILE_1,
			   tiles = (j.w.out + widest - 1) / widest;
		for (long i = 0; i < tiles; i++)
			columns(&j, &b, i * j.w.out / tiles, (i + 1) * j.w.out / tiles, x, y + o,
				residual ? residual + o : NULL, oh0, oh1);
	}
}

void NN_K(conv_forward)(const struct nn_conv *c, const real *x, const real *w,
			const struct nn_tail *tail, real *y, long oh0, long oh1)
{
	if (nn_conv_depthwise(c)) {
		NN_K(depthwise_forward)(c, x, w, tail, y, oh0, oh1);
		return;
	}
	static const struct nn_tail none;
	if (!tail)
		tail = &none;
	struct job j = { .h = c->h,
			 .w = c->w,
			 .cin = c->cin,
			 .cout = c->cout,
			 .x_row = c->x_row,
			 .x_pixel = c->x_pixel,
			 .y_row = c->y_row,
			 .y_pixel = c->y_pixel,
			 .r_row = c->y_row,
			 .r_pixel = c->y_pixel,
			 .chain = (size_t)(c->h.n * c->w.n) * c->cin,
			 .act = tail->act,
			 .slope = (real)tail->slope };
	if (tail->residual) {
		j.r_row = tail->residual_row;
		j.r_pixel = tail->residual_pixel;
	}
	const size_t packed = NN_K(conv_packed)(c) / c->groups;
	for (size_t g = 0; g < c->groups; g++) {
		const real *bias = tail->bias, *residual = tail->residual;
		j.weights = w + g * packed;
		j.bias = bias ? bias + g * c->cout : NULL;
		run_job(j, x + g * c->cin, y + g * c->cout,
			residual ? residual + g * c->cout : NULL, oh0, oh1);
	}
}

/* Positions of a phase that no tap reaches: sums of nothing. */
static void untouched(const struct job *j, const real *residual, real *y, long h0, long h1)
{
	for (long h = h0; h < h1; h++)
		for (long w = 0; w < j->w.out; w++)
			for (size_t c = 0; c < j->cout; c++) {
				const size_t at = (size_t)h * j->y_row + (size_t)w * j->y_pixel + c;
				const size_t r = (size_t)h * j->r_row + (size_t)w * j->r_pixel + c;
				real v = j->bias ? j->bias[c] : 0;
				v = residual ? v + residual[r] : v;
				if (j->act == NN_TAIL_RELU)
					v = v <= 0 ? 0 : v;
				else if (j->act == NN_TAIL_LEAKY)
					v = v > 0 ? v : j->slope * v;
				y[at] = v;
			}
}

/* Rows [h0, h1) of y, all groups, for one phase; skip: k's of the phases before. */
static void phase(const struct nn_conv *c, const struct job *j, long fh, long fw, const real *x,
		  const real *rotated, const struct nn_tail *tail, real *y, long h0, long h1)
{
	/* of the rows fh + stride * q */
	const long s = c->h.stride, q0 = nn_floor_div(h0 - fh + s - 1, s),
		   q1 = nn_floor_div(h1 - fh + s - 1, s);
	const size_t packed = NN_K(conv_rotated)(c) / c->groups;
	for (size_t g = 0; g < c->groups; g++) {
		struct job jg = *j;
		const real *bias = tail->bias, *residual = tail->residual;
		real *to = y + (size_t)fh * c->x_row + (size_t)fw * c->x_pixel + g * c->cin;
		jg.weights = rotated + g * packed;
		jg.bias = bias ? bias + g * c->cin : NULL;
		if (residual)
			residual += (size_t)fh * tail->residual_row +
				    (size_t)fw * tail->residual_pixel + g * c->cin;
		if (j->h.n && j->w.n)
			run_job(jg, x + g * c->cout, to, residual, nn_clamp(q0, 0, j->h.out),
				nn_clamp(q1, 0, j->h.out));
		else
			untouched(&jg, residual, to, nn_clamp(q0, 0, j->h.out),
				  nn_clamp(q1, 0, j->h.out));
	}
}

void NN_K(conv_transposed)(const struct nn_conv *c, const real *x, const real *rotated,
			   const struct nn_tail *tail, real *y, long h0, long h1)
{
	const size_t sh = (size_t)c->h.stride, sw = (size_t)c->w.stride;
	struct job j = { .cin = c->cout,
			 .cout = c->cin,
			 .x_row = c->y_row,
			 .x_pixel = c->y_pixel,
			 .y_row = c->x_row * sh,
			 .y_pixel = c->x_pixel * sw,
			 .r_row = c->x_row * sh,
			 .r_pixel = c->x_pixel * sw,
			 .chain = (size_t)(c->h.n * c->w.n) * c->cout,
			 .act = tail->act,
			 .slope = (real)tail->slope };
	if (tail->residual) {
		j.r_row = tail->residual_row * sh;
		j.r_pixel = tail->residual_pixel * sw;
	}
	for (long fh = 0; fh < c->h.stride; fh++) {
		for (long fw = 0; fw < c->w.stride; fw++) {
			long tap, step;
			j.h = nn_axis_phase(&c->h, fh, &tap, &step);
			j.w = nn_axis_phase(&c->w, fw, &tap, &step);
			phase(c, &j, fh, fw, x, rotated, tail, y, h0, h1);
			j.skip += (size_t)(j.h.n * j.w.n) * c->cout;
		}
	}
}

void NN_K(conv_input_gradient)(const struct nn_conv *c, const real *dy, const real *rotated,
			       real *dx, bool add, long h0, long h1)
{
	const struct nn_tail old = { .residual = add ? dx : NULL,
				     .residual_row = c->x_row,
				     .residual_pixel = c->x_pixel };
	if (nn_conv_depthwise(c))
		NN_K(depthwise_input_gradient)(c, dy, rotated, dx, add, h0, h1);
	else
		NN_K(conv_transposed)(c, dy, rotated, &old, dx, h0, h1);
}
