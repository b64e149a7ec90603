/*
 * Dense layers of few rows: a block of threads has 8 rows x 16 channels, a chain each. Both factors lie in shared memory
 * along the chain, so that one load feeds several steps, 64 of them at a time while the next ones are on their way.
 */
#include "device/cuda/panels.h"

#define NN_TINY_ROWS 8
#define NN_TINY_CHANNELS 16
#define NN_TINY_DEPTH 64
#define NN_TINY_THREADS (NN_TINY_ROWS * NN_TINY_CHANNELS)

struct tiny {
	real x[2][NN_TINY_ROWS][NN_TINY_DEPTH + 4], w[2][NN_TINY_CHANNELS][NN_TINY_DEPTH + 4];
};

struct tiny_sum {
	size_t m, n; /* where the block begins */
	real sum;
};

/* Steps of the chain from d on, below the last. */
NN_INLINE void load_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			 struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned to = turn % 2;
	for (unsigned i = p.thread; i < NN_TINY_ROWS * NN_TINY_DEPTH; i += NN_TINY_THREADS) {
		unsigned row = i / NN_TINY_DEPTH, k = i % NN_TINY_DEPTH;
		size_t m = r->m + row;
		if (m < a->m && d + k < a->depth)
			NN_COPY(&s->x[to][row][k], input ? a->p.dy + m * c->y_row + d + k
							 : a->p.x + m * c->x_row + d + k);
	}
	for (unsigned i = p.thread; i < NN_TINY_CHANNELS * NN_TINY_DEPTH; i += NN_TINY_THREADS) {
		unsigned at = input ? i / NN_TINY_DEPTH : i % NN_TINY_CHANNELS,
			 k = input ? i % NN_TINY_DEPTH : i / NN_TINY_CHANNELS;
		size_t n = r->n + at;
		if (n < a->n && d + k < a->depth) {
			struct column column =
				column_of(a->p.w, 0, input ? d + k : n, c->cout, c->cin);
			NN_COPY(&s->w[to][at][k], column.w + (input ? n : d + k) * column.step);
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
	NN_COPIED();
}

NN_INLINE void add_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const real *x = s->x[turn % 2][p.thread / NN_TINY_CHANNELS],
		   *w = s->w[turn % 2][p.thread % NN_TINY_CHANNELS];
	if (d + NN_TINY_DEPTH < a->depth)
		load_tiny(a, p, s, r, input, d + NN_TINY_DEPTH, turn + 1);
	if (d + NN_TINY_DEPTH <= a->depth) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_TINY_DEPTH; k++)
			r->sum = r_fma(x[k], w[k], r->sum);
	} else {
		for (unsigned k = 0; d + k < a->depth; k++)
			r->sum = r_fma(x[k], w[k], r->sum);
	}
	NN_COPIED();
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
