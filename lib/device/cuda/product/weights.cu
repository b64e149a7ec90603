/*
 * Gradients of few weights and of biases, whose chains are long: over all pixels of a leaf. A block
 * of threads has a chain each, of 8 taps and in-channels x 16 out-channels, or of 32 biases; both
 * factors of the next steps are on their way to shared memory while it adds.
 */
#include "device/cuda/product/taps.h"
#include "device/cuda/step.h"

#define NN_FEW_ROWS 8
#define NN_FEW_CHANNELS 16
#define NN_FEW_DEPTH (512 / sizeof(real))
#define NN_FEW_THREADS (NN_FEW_ROWS * NN_FEW_CHANNELS)

struct few {
	real x[2][NN_FEW_ROWS][NN_FEW_DEPTH + NN_WIDE], dy[2][NN_FEW_DEPTH][NN_FEW_CHANNELS];
	unsigned char there[2][NN_FEW_ROWS][NN_FEW_DEPTH]; /* is the tap inside the image? */
};

struct few_sum {
	size_t m, n, group, leaf; /* where the block begins */
	real sum;
};

/* Steps d to end, as many as a turn has, of up to `across` of n channels: to[step][across]. */
NN_INLINE void load_channels(const real *dy, size_t pixel, size_t n, unsigned across, size_t d,
			     size_t end, unsigned thread, real *to)
{
	if (d + NN_FEW_DEPTH <= end && n >= across && is_wide(dy, pixel)) {
		const unsigned wide = across / NN_WIDE, at = thread % wide * NN_WIDE;
		const real *from = dy + d * pixel + at;
		NN_AHEAD
		for (unsigned k = thread / wide; k < NN_FEW_DEPTH; k += NN_FEW_THREADS / wide)
			NN_COPY_WIDE(to + k * across + at, from + k * pixel);
		return;
	}
	for (unsigned k = thread / across; k < NN_FEW_DEPTH && d + k < end && thread % across < n;
	     k += NN_FEW_THREADS / across)
		NN_COPY(to + k * across + thread % across, dy + (d + k) * pixel + thread % across);
}

/* Steps d to end of the chains, as many as a turn has. */
NN_INLINE void load_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			struct few_sum *r, bool image, size_t d, size_t end, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned to = turn % 2, row = p.thread % NN_FEW_ROWS;
	const size_t m = r->m + row, tap = image ? m / c->cin : 0;
	const int kh = (int)(tap / (size_t)c->w.n), kw = (int)(tap % (size_t)c->w.n);
	struct pixel pixel = { 0, 0, 0 };
	if (image)
		pixel = pixel_of(d + p.thread / NN_FEW_ROWS, c->h.out, c->w.out);
	NN_AHEAD
	for (unsigned k = p.thread / NN_FEW_ROWS; k < NN_FEW_DEPTH;
	     k += NN_FEW_THREADS / NN_FEW_ROWS) {
		const real *x = a->p.x + (d + k) * c->x_row + m;
		if (d + k >= end || m >= a->m)
			continue;
		if (image) {
			x = x_at(c, a->p.x, pixel, kh, kw, r->group * c->cin + m - tap * c->cin);
			s->there[to][row][k] = x != NULL;
			pixel = pixel_after(pixel, NN_FEW_THREADS / NN_FEW_ROWS, (int)c->h.out,
					    (int)c->w.out);
		}
		if (x)
			NN_COPY(&s->x[to][row][k], x);
	}
	load_channels(&a->p.dy[r->group * c->cout + r->n], image ? c->y_pixel : c->y_row,
		      c->cout - r->n, NN_FEW_CHANNELS, d, end, p.thread, s->dy[to][0]);
}

/* The packed weight of a thread; NULL: it has none. */
NN_INLINE real *weight_of(const struct nn_tile_args *a, struct nn_spot p, const struct few_sum *r,
			  real *w)
{
	const struct nn_conv *c = &a->p.c;
	size_t m = r->m + p.thread / NN_FEW_CHANNELS, n = r->n + p.thread % NN_FEW_CHANNELS;
	struct column column;
	if (m >= a->m || n >= a->n)
		return NULL;
	column = column_of(w, r->group, n, c->cout, a->m);
	return (real *)column.w + m * column.step;
}

NN_INLINE void begin_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			 struct few_sum *r, bool image, size_t begin, size_t end)
{
	size_t across = (a->n + NN_FEW_CHANNELS - 1) / NN_FEW_CHANNELS,
	       down = (a->m + NN_FEW_ROWS - 1) / NN_FEW_ROWS;
	const real *from;
	r->n = p.block % across * NN_FEW_CHANNELS;
	r->m = p.block / across % down * NN_FEW_ROWS;
	r->group = p.block / across / down % a->p.c.groups;
	r->leaf = p.block / across / down / a->p.c.groups;
	from = a->first ? NULL : weight_of(a, p, r, a->dw);
	r->sum = from ? *from : 0;
	load_few(a, p, s, r, image, begin, end, 0);
	NN_COPIED(0);
}

NN_INLINE void add_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
		       struct few_sum *r, bool image, size_t d, size_t end, unsigned turn)
{
	const unsigned from = turn % 2, row = p.thread / NN_FEW_CHANNELS,
		       channel = p.thread % NN_FEW_CHANNELS;
	if (d + NN_FEW_DEPTH < end)
		load_few(a, p, s, r, image, d + NN_FEW_DEPTH, end, turn + 1);
	if (weight_of(a, p, r, a->dw) && r->n + channel < a->p.c.cout) {
		if (d + NN_FEW_DEPTH <= end) {
			NN_UNROLL
			for (unsigned k = 0; k < NN_FEW_DEPTH;
			     k++) { /* no step waits for another's `there` */
				real sum =
					r_fma(s->x[from][row][k], s->dy[from][k][channel], r->sum);
				r->sum = !image || s->there[from][row][k] ? sum : r->sum;
			}
		} else {
			for (unsigned k = 0; d + k < end; k++)
				if (!image || s->there[from][row][k])
					r->sum = r_fma(s->x[from][row][k], s->dy[from][k][channel],
						       r->sum);
		}
	}
	NN_COPIED(0);
}

NN_INLINE void put_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
		       struct few_sum *r)
{
	real *to = weight_of(a, p, r, r->leaf ? a->rest + (r->leaf - 1) * a->size : a->dw);
	(void)s;
	if (to)
		*to = r->sum;
}

#define NN_FEW(name, image) \
	NN_SCRIPT(name, struct nn_tile_args, struct few, struct few_sum, NN_FEW_THREADS) \
	{ \
		size_t pixels = (size_t)(a->p.c.h.out * a->p.c.w.out), \
		       leaf = p.block / \
			      (((a->n + NN_FEW_CHANNELS - 1) / NN_FEW_CHANNELS) * \
			       ((a->m + NN_FEW_ROWS - 1) / NN_FEW_ROWS) * a->p.c.groups), \
		       begin = nn_bound_at(&a->leaf, leaf) * pixels, \
		       end = nn_bound_at(&a->leaf, leaf + 1) * pixels; \
		unsigned turn = 0; \
		NN_PHASE(begin_few, image, begin, end); \
		for (size_t d = begin; d < end; d += NN_FEW_DEPTH, turn++) \
			NN_PHASE(add_few, image, d, end, turn); \
		NN_PHASE(put_few); \
	}

NN_FEW(few_weights, false)
NN_FEW(few_image_weights, true)

/* ---- all leaves of few rows, with the bias ---- */

/* Where a block begins; the place of the thread's sum, NULL: it has none. */
struct few_rows {
	size_t m, n, leaf;
	real *to, sum, stack[NN_TILE_LEVELS]; /* finished subtrees of leaves, by level */
};

/* Behind the last in-channel comes the bias, whose input is 1. */
NN_INLINE void load_few_rows(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			     struct few_rows *r, size_t d, size_t end, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned to = turn % 2, row = p.thread % NN_FEW_ROWS;
	const size_t m = r->m + row;
	const real *x = a->p.x + d * c->x_row + m;
	NN_AHEAD
	for (unsigned k = p.thread / NN_FEW_ROWS; k < NN_FEW_DEPTH;
	     k += NN_FEW_THREADS / NN_FEW_ROWS) {
		if (d + k >= end || m > a->m)
			continue;
		if (m < a->m)
			NN_COPY(&s->x[to][row][k], x + k * c->x_row);
		else
			s->x[to][row][k] = 1;
	}
	if (r->n < c->cout)
		load_channels(a->p.dy + r->n, c->y_row, c->cout - r->n, NN_FEW_CHANNELS, d, end,
			      p.thread, s->dy[to][0]);
}

NN_INLINE void begin_few_rows(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			      struct few_rows *r, size_t end)
{
	const struct nn_conv *c = &a->p.c;
	const size_t across = (a->n + NN_FEW_CHANNELS - 1) / NN_FEW_CHANNELS;
	size_t m, n;
	r->m = p.block / across * NN_FEW_ROWS;
	r->n = p.block % across * NN_FEW_CHANNELS;
	m = r->m + p.thread / NN_FEW_CHANNELS;
	n = r->n + p.thread % NN_FEW_CHANNELS;
	r->leaf = 0;
	r->sum = 0;
	r->to = NULL;
	if (m < a->m && n < a->n) {
		const struct column column = column_of(a->dw, 0, n, c->cout, a->m);
		r->to = (real *)column.w + m * column.step;
	} else if (m == a->m && n < c->cout && a->bias) {
		r->to = a->bias + n;
	}
	load_few_rows(a, p, s, r, 0, end, 0);
	NN_COPIED(0);
}

/* A leaf is finished: it is added to the subtrees that it completes. */
NN_INLINE void close_few_rows(const struct nn_tile_args *a, struct few_rows *r)
{
	bool adds = true;
	NN_UNROLL
	for (int level = 0; level < NN_TILE_LEVELS; level++) {
		if (adds && r->leaf >> level & 1) {
			r->sum = v_add(r->stack[level], r->sum);
		} else if (adds) {
			r->stack[level] = r->sum;
			adds = false;
		}
	}
	if (++r->leaf < a->leaf.n)
		r->sum = 0;
}

NN_INLINE void add_few_rows(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			    struct few_rows *r, size_t d, size_t end, unsigned turn)
{
	const unsigned channel = p.thread % NN_FEW_CHANNELS;
	const real *x = s->x[turn % 2][p.thread / NN_FEW_CHANNELS];
	const size_t n = end - d < NN_FEW_DEPTH ? end - d : NN_FEW_DEPTH;
	unsigned k = 0;
	if (d + NN_FEW_DEPTH < end)
		load_few_rows(a, p, s, r, d + NN_FEW_DEPTH, end, turn + 1);
	while (r->to && r->leaf < a->leaf.n) {
		const size_t left = nn_bound_at(&a->leaf, r->leaf + 1) - d;
		const unsigned stop = (unsigned)(left < n ? left : n);
		NN_AHEAD
		for (; k < stop; k++) /* padding beyond the last channel stays 0 */
			if (r->n + channel < a->p.c.cout)
				r->sum = r_fma(x[k], s->dy[turn % 2][k][channel], r->sum);
		if (left > n)
			break;
		close_few_rows(a, r);
		if (left == n && d + n < end)
			break;
	}
	NN_COPIED(0);
}

NN_INLINE void put_few_rows(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			    struct few_rows *r)
{
	(void)a;
	(void)p;
	(void)s;
	if (r->to)
		*r->to = r->sum;
}

NN_SCRIPT(few_rows, struct nn_tile_args, struct few, struct few_rows, NN_FEW_THREADS)
{
	const size_t end = nn_bound_at(&a->leaf, a->leaf.n);
	unsigned turn = 0;
	NN_PHASE(begin_few_rows, end);
	for (size_t d = 0; d < end; d += NN_FEW_DEPTH, turn++)
		NN_PHASE(add_few_rows, d, end, turn);
	NN_PHASE(put_few_rows);
}

/* ---- the same, with the update ---- */

struct few_step {
	struct few few;
	struct step step[2]; /* of weights, of the bias */
};

NN_INLINE void begin_few_step(const struct nn_tile_step_args *a, struct nn_spot p,
			      struct few_step *s, struct few_rows *r, size_t end)
{
	if (p.thread < 1u + (a->t.bias != NULL))
		step_ready(&s->step[p.thread], &a->u[p.thread], NULL);
	begin_few_rows(&a->t, p, &s->few, r, end);
}

NN_INLINE void add_few_step(const struct nn_tile_step_args *a, struct nn_spot p, struct few_step *s,
			    struct few_rows *r, size_t d, size_t end, unsigned turn)
{
	add_few_rows(&a->t, p, &s->few, r, d, end, turn);
}

/* Nobody else reads the gradient: it stays in the register. */
NN_INLINE void step_few_rows(const struct nn_tile_step_args *a, struct nn_spot p,
			     struct few_step *s, struct few_rows *r)
{
	const bool bias = r->m + p.thread / NN_FEW_CHANNELS == a->t.m;
	if (r->to)
		step_at(&s->step[bias], &a->u[bias], (size_t)(r->to - (bias ? a->t.bias : a->t.dw)),
			&r->sum);
}

NN_SCRIPT(few_rows_step, struct nn_tile_step_args, struct few_step, struct few_rows, NN_FEW_THREADS)
{
	const size_t end = nn_bound_at(&a->t.leaf, a->t.leaf.n);
	unsigned turn = 0;
	NN_PHASE(begin_few_step, end);
	for (size_t d = 0; d < end; d += NN_FEW_DEPTH, turn++)
		NN_PHASE(add_few_step, d, end, turn);
	NN_PHASE(step_few_rows);
}

/* ---- biases ---- */

#define NN_BIASES 32

struct biases {
	real dy[2][NN_FEW_DEPTH][NN_BIASES];
};

struct bias_sum {
	size_t n, leaf;
	real sum;
};

NN_INLINE void load_biases(const struct nn_weights_args *a, struct nn_spot p, struct biases *s,
			   struct bias_sum *r, size_t d, size_t end, unsigned turn)
{
	load_channels(a->dy + r->n, a->c.y_pixel, a->size - r->n, NN_BIASES, d, end, p.thread,
		      s->dy[turn % 2][0]);
}

NN_INLINE void begin_biases(const struct nn_weights_args *a, struct nn_spot p, struct biases *s,
			    struct bias_sum *r, size_t begin, size_t end)
{
	size_t across = (a->size + NN_BIASES - 1) / NN_BIASES;
	r->n = p.block % across * NN_BIASES;
	r->leaf = p.block / across;
	r->sum = 0;
	if (!a->first && p.thread < NN_BIASES && r->n + p.thread < a->size)
		r->sum = a->dw[r->n + p.thread];
	load_biases(a, p, s, r, begin, end, 0);
	NN_COPIED(0);
}

NN_INLINE void add_biases(const struct nn_weights_args *a, struct nn_spot p, struct biases *s,
			  struct bias_sum *r, size_t d, size_t end, unsigned turn)
{
	if (d + NN_FEW_DEPTH < end)
		load_biases(a, p, s, r, d + NN_FEW_DEPTH, end, turn + 1);
	if (p.thread < NN_BIASES && r->n + p.thread < a->size) {
		if (d + NN_FEW_DEPTH <= end) {
			NN_UNROLL
			for (unsigned k = 0; k < NN_FEW_DEPTH; k++)
				r->sum = v_add(r->sum, s->dy[turn % 2][k][p.thread]);
		} else {
			for (unsigned k = 0; d + k < end; k++)
				r->sum = v_add(r->sum, s->dy[turn % 2][k][p.thread]);
		}
	}
	NN_COPIED(0);
}

NN_INLINE void put_biases(const struct nn_weights_args *a, struct nn_spot p, struct biases *s,
			  struct bias_sum *r)
{
	(void)s;
	if (p.thread < NN_BIASES && r->n + p.thread < a->size)
		(r->leaf ? a->rest + (r->leaf - 1) * a->size : a->dw)[r->n + p.thread] = r->sum;
}

NN_SCRIPT(few_biases, struct nn_weights_args, struct biases, struct bias_sum, NN_FEW_THREADS)
{
	size_t pixels = (size_t)(a->c.h.out * a->c.w.out),
	       leaf = p.block / ((a->size + NN_BIASES - 1) / NN_BIASES),
	       begin = nn_bound_at(&a->leaf, leaf) * pixels,
	       end = nn_bound_at(&a->leaf, leaf + 1) * pixels;
	unsigned turn = 0;
	NN_PHASE(begin_biases, begin, end);
	for (size_t d = begin; d < end; d += NN_FEW_DEPTH, turn++)
		NN_PHASE(add_biases, d, end, turn);
	NN_PHASE(put_biases);
}
