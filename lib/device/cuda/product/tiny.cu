/*
 * Dense layers of few rows: a block of threads has 8 rows x 16 channels, a chain each. Both factors lie in shared memory
 * along the chain, so that one load feeds several steps, 64 of them at a time while the next ones are on their way.
 */
#include "device/cuda/product/panels.h"

#define NN_TINY_ROWS 8
#define NN_TINY_CHANNELS 16
#define NN_TINY_DEPTH (512 / sizeof(real))
#define NN_TINY_THREADS (NN_TINY_ROWS * NN_TINY_CHANNELS)

/* w: forward [step][channel], as in a panel; towards the input [channel][step]. */
struct tiny {
	real x[2][NN_TINY_ROWS][NN_TINY_DEPTH + NN_WIDE],
		w[2][NN_TINY_CHANNELS * (NN_TINY_DEPTH + NN_WIDE)];
};

struct tiny_sum {
	size_t m, n; /* where the block begins */
	real sum;
};

/* The place of channel n's step k in s->w. */
NN_INLINE unsigned tiny_at(bool input, unsigned n, unsigned k)
{
	return input ? n * (unsigned)(NN_TINY_DEPTH + NN_WIDE) + k : k * NN_TINY_CHANNELS + n;
}

/* As many steps of rows, from d on, as a turn has: NN_WIDE at a time. */
NN_INLINE void load_rows(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s, size_t m,
			 const real *from, size_t row, size_t d, unsigned to)
{
	const unsigned across = NN_TINY_DEPTH / NN_WIDE;
	NN_UNROLL
	for (unsigned i = p.thread; i < NN_TINY_ROWS * across; i += NN_TINY_THREADS)
		if (m + i / across < a->m)
			NN_COPY_WIDE(&s->x[to][i / across][i % across * NN_WIDE],
				     from + (m + i / across) * row + d + i % across * NN_WIDE);
}

/* As many steps of a panel's channels. */
NN_INLINE void load_panel(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s, size_t n,
			  size_t d, unsigned to)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned across = NN_TINY_CHANNELS / NN_WIDE;
	const size_t at = p.thread % across * NN_WIDE;
	const struct column w = column_of(a->p.w, 0, n + at, c->cout, c->cin);
	if (n + at >= lanes_of(c->cout))
		return;
	NN_UNROLL
	for (unsigned k = p.thread / across; k < NN_TINY_DEPTH; k += NN_TINY_THREADS / across)
		NN_COPY_WIDE(&s->w[to][tiny_at(false, (unsigned)at, k)], w.w + (d + k) * w.step);
}

/* Steps of the chain from d on, below the last. */
NN_INLINE void load_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			 struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned to = turn % 2;
	const real *rows = input ? a->p.dy : a->p.x;
	const size_t row = input ? c->y_row : c->x_row;
	const bool whole = d + NN_TINY_DEPTH <= a->depth;
	if (whole && is_wide(rows, row))
		load_rows(a, p, s, r->m, rows, row, d, to);
	else
		for (unsigned i = p.thread; i < NN_TINY_ROWS * NN_TINY_DEPTH;
		     i += NN_TINY_THREADS) {
			unsigned k = i % NN_TINY_DEPTH;
			size_t m = r->m + i / NN_TINY_DEPTH;
			if (m < a->m && d + k < a->depth)
				NN_COPY(&s->x[to][i / NN_TINY_DEPTH][k], rows + m * row + d + k);
		}
	if (!input && whole && is_wide(a->p.w, 0)) {
		load_panel(a, p, s, r->n, d, to);
		return;
	}
	for (unsigned i = p.thread; i < NN_TINY_CHANNELS * NN_TINY_DEPTH; i += NN_TINY_THREADS) {
		unsigned at = input ? i / NN_TINY_DEPTH : i % NN_TINY_CHANNELS,
			 k = input ? i % NN_TINY_DEPTH : i / NN_TINY_CHANNELS;
		size_t n = r->n + at;
		if (n < a->n && d + k < a->depth) {
			struct column column =
				column_of(a->p.w, 0, input ? d + k : n, c->cout, c->cin);
			NN_COPY(&s->w[to][tiny_at(input, at, k)],
				column.w + (input ? n : d + k) * column.step);
		}
	}
}

NN_INLINE void begin_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			  struct tiny_sum *r, bool input)
{
	size_t across = (a->n + NN_TINY_CHANNELS - 1) / NN_TINY_CHANNELS;
	r->m = p.block / across * NN_TINY_ROWS;
	r->n = p.block % across * NN_TINY_CHANNELS;
	r->sum = 0;
	load_tiny(a, p, s, r, input, 0, 0);
	NN_COPIED(0);
}

NN_INLINE void add_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const unsigned n = p.thread % NN_TINY_CHANNELS;
	const real *x = s->x[turn % 2][p.thread / NN_TINY_CHANNELS], *w = s->w[turn % 2];
	if (d + NN_TINY_DEPTH < a->depth)
		load_tiny(a, p, s, r, input, d + NN_TINY_DEPTH, turn + 1);
	if (d + NN_TINY_DEPTH <= a->depth) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_TINY_DEPTH; k++)
			r->sum = r_fma(x[k], w[tiny_at(input, n, k)], r->sum);
	} else {
		for (unsigned k = 0; d + k < a->depth; k++)
			r->sum = r_fma(x[k], w[tiny_at(input, n, k)], r->sum);
	}
	NN_COPIED(0);
}

NN_INLINE void put_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			struct tiny_sum *r, bool input)
{
	size_t m = r->m + p.thread / NN_TINY_CHANNELS, n = r->n + p.thread % NN_TINY_CHANNELS,
	       at = m * a->n + n;
	(void)s;
	if (m >= a->m || n >= a->n)
		return;
	if (input)
		nn_put(a->p.dx + at, r->sum, a->p.add);
	else
		a->p.y[at] = tail(&a->p, r->sum, n, at);
}

#define NN_TINY(name, input) \
	NN_SCRIPT(name, struct nn_tile_args, struct tiny, struct tiny_sum, NN_TINY_THREADS) \
	{ \
		unsigned turn = 0; \
		NN_PHASE(begin_tiny, input); \
		for (size_t d = 0; d < a->depth; d += NN_TINY_DEPTH, turn++) \
			NN_PHASE(add_tiny, input, d, turn); \
		NN_PHASE(put_tiny, input); \
	}

NN_TINY(tiny, false)
NN_TINY(tiny_input, true)
