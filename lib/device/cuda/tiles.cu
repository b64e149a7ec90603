/*
 * Dense layers in tiles of 64 x 64: 256 threads keep 4 x 4 sums each in registers, and read both
 * factors from shared memory, 16 steps of the chains at a time. The chains are those of product.cu.
 */
#include "device/cuda/panels.h"

#define NN_DEPTH 16
#define NN_EACH_WAY 4
#define NN_TILE_THREADS 256
#define NN_TILE_LEVELS 5 /* of the tree of NN_TILE_LEAVES leaves */

enum tiled { TILED_FORWARD, TILED_INPUT, TILED_WEIGHTS };

struct tile {
	real a[NN_DEPTH][NN_TILE + NN_EACH_WAY], b[NN_DEPTH][NN_TILE];
};

struct tile_sums {
	real sum[NN_EACH_WAY][NN_EACH_WAY];
	real stack[NN_TILE_LEVELS][NN_EACH_WAY][NN_EACH_WAY]; /* finished subtrees of leaves */
};

/* Where a block's tile begins, and its leaf. */
struct corner {
	size_t m, n, leaf;
};

NN_INLINE struct corner corner_of(const struct nn_tile_args *a, struct nn_spot p)
{
	size_t across = (a->m + NN_TILE - 1) / NN_TILE, down = (a->n + NN_TILE - 1) / NN_TILE;
	struct corner c = { p.block % across * NN_TILE, p.block / across % down * NN_TILE,
			    p.block / across / down };
	return c;
}

/* Step d of element m's, n's chain: of x and w; dy and w; x and dy. */
NN_INLINE real factor_a(enum tiled what, const struct nn_tile_args *a, size_t m, size_t d)
{
	if (m >= a->m)
		return 0;
	return what == TILED_FORWARD ? a->p.x[m * a->p.c.x_row + d]
	       : what == TILED_INPUT ? a->p.dy[m * a->p.c.y_row + d]
				     : a->p.x[d * a->p.c.x_row + m];
}

NN_INLINE real weight_at(const struct nn_conv *c, const real *w, size_t o, size_t k)
{
	struct column column = column_of(w, 0, o, c->cout, c->cin);
	return column.w[k * column.step];
}

NN_INLINE real factor_b(enum tiled what, const struct nn_tile_args *a, size_t n, size_t d)
{
	const struct nn_conv *c = &a->p.c;
	if (what == TILED_INPUT)
		return n < c->cin ? weight_at(c, a->p.w, d, n) : 0;
	if (n >= c->cout)
		return 0;
	return what == TILED_FORWARD ? weight_at(c, a->p.w, n, d) : a->p.dy[d * c->y_row + n];
}

/* The next steps from d on, below end; neighbours in memory are read by neighbours. */
NN_INLINE void load_tile(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			 struct tile_sums *r, enum tiled what, size_t d, size_t end)
{
	const struct corner c = corner_of(a, p);
	(void)r;
	for (unsigned i = p.thread; i < NN_DEPTH * NN_TILE; i += NN_TILE_THREADS) {
		unsigned along = i % NN_DEPTH, over = i / NN_DEPTH, at = i % NN_TILE,
			 step = i / NN_TILE;
		if (what == TILED_WEIGHTS ? d + step < end : d + along < end) {
			if (what == TILED_WEIGHTS)
				s->a[step][at] = factor_a(what, a, c.m + at, d + step);
			else
				s->a[along][over] = factor_a(what, a, c.m + over, d + along);
		}
		if (what == TILED_INPUT ? d + along < end : d + step < end) {
			if (what == TILED_INPUT)
				s->b[along][over] = factor_b(what, a, c.n + over, d + along);
			else
				s->b[step][at] = factor_b(what, a, c.n + at, d + step);
		}
	}
}

NN_INLINE void add_tile(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			struct tile_sums *r, size_t steps)
{
	const unsigned m = p.thread / (NN_TILE / NN_EACH_WAY) * NN_EACH_WAY,
		       n = p.thread % (NN_TILE / NN_EACH_WAY) * NN_EACH_WAY;
	(void)a;
	NN_UNROLL
	for (unsigned d = 0; d < NN_DEPTH; d++) {
		if (d >= steps)
			break;
		NN_UNROLL
		for (int i = 0; i < NN_EACH_WAY; i++) {
			NN_UNROLL
			for (int j = 0; j < NN_EACH_WAY; j++)
				r->sum[i][j] = r_fma(s->a[d][m + i], s->b[d][n + j], r->sum[i][j]);
		}
	}
}

/* The place of input m and lane n in packed weights. */
NN_INLINE real *place_of(const struct nn_conv *c, real *w, size_t m, size_t n)
{
	struct column column = column_of(w, 0, n, c->cout, c->cin);
	return (real *)column.w + m * column.step;
}

/* A thread's elements that are there, at m and n of the whole. */
#define NN_EACH_SUM(...) \
	do { \
		const struct corner corner_ = corner_of(a, p); \
		NN_UNROLL \
		for (int i = 0; i < NN_EACH_WAY; i++) { \
			NN_UNROLL \
			for (int j = 0; j < NN_EACH_WAY; j++) { \
				size_t m = corner_.m + \
					   p.thread / (NN_TILE / NN_EACH_WAY) * NN_EACH_WAY + \
					   (size_t)i; \
				size_t n = corner_.n + \
					   p.thread % (NN_TILE / NN_EACH_WAY) * NN_EACH_WAY + \
					   (size_t)j; \
				if (m < a->m && n < a->n) { \
					__VA_ARGS__ \
				} \
			} \
		} \
	} while (0)

/* Zeros, or what a leaf's first piece left. */
NN_INLINE void begin_tile(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			  struct tile_sums *r, bool goes_on)
{
	(void)s;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_WAY; i++) {
		NN_UNROLL
		for (int j = 0; j < NN_EACH_WAY; j++)
			r->sum[i][j] = 0;
	}
	if (goes_on)
		NN_EACH_SUM(r->sum[i][j] = *place_of(&a->p.c, a->dw, m, n););
}

NN_INLINE void put_tile(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			struct tile_sums *r)
{
	(void)s;
	NN_EACH_SUM({
		size_t at = m * a->n + n;
		a->p.y[at] = tail(&a->p, r->sum[i][j], n, at);
	});
}

NN_INLINE void put_input(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			 struct tile_sums *r)
{
	(void)s;
	NN_EACH_SUM(nn_put(a->p.dx + m * a->n + n, r->sum[i][j], a->p.add););
}

/* A leaf is finished: it goes onto the stack, an odd one closes those before it. */
NN_INLINE void close_leaf(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			  struct tile_sums *r, size_t leaf)
{
	(void)a;
	(void)p;
	(void)s;
	for (int i = 0; i < NN_EACH_WAY; i++)
		for (int j = 0; j < NN_EACH_WAY; j++) {
			real sum = r->sum[i][j];
			int depth = 0;
			for (size_t bits = leaf; bits; bits &= bits - 1)
				depth++;
			for (size_t t = leaf; t & 1; t >>= 1)
				sum = v_add(r->stack[--depth][i][j], sum);
			r->stack[depth][i][j] = sum;
		}
}

NN_INLINE void put_weights(const struct nn_tile_args *a, struct nn_spot p, struct tile *s,
			   struct tile_sums *r)
{
	size_t leaf = corner_of(a, p).leaf;
	real *to = leaf ? a->rest + (leaf - 1) * a->size : a->dw;
	(void)s;
	NN_EACH_SUM(*place_of(&a->p.c, to, m, n) = a->apart ? r->sum[i][j] : r->stack[0][i][j];);
}

#define NN_STEPS(what, begin, end) \
	for (size_t d_ = (begin); d_ < (end); d_ += NN_DEPTH) { \
		NN_PHASE(load_tile, what, d_, end); \
		NN_PHASE(add_tile, (end) - d_); \
	}

NN_SCRIPT(tile, struct nn_tile_args, struct tile, struct tile_sums, NN_TILE_THREADS)
{
	NN_PHASE(begin_tile, false);
	NN_STEPS(TILED_FORWARD, 0, a->depth)
	NN_PHASE(put_tile);
}

NN_SCRIPT(tile_input, struct nn_tile_args, struct tile, struct tile_sums, NN_TILE_THREADS)
{
	NN_PHASE(begin_tile, false);
	NN_STEPS(TILED_INPUT, 0, a->depth)
	NN_PHASE(put_input);
}

NN_SCRIPT(tile_weights, struct nn_tile_args, struct tile, struct tile_sums, NN_TILE_THREADS)
{
	size_t leaf = a->apart ? corner_of(a, p).leaf : 0, last = a->apart ? leaf + 1 : a->leaf.n;
	for (; leaf < last; leaf++) {
		size_t begin = nn_bound_at(&a->leaf, leaf), end = nn_bound_at(&a->leaf, leaf + 1);
		NN_PHASE(begin_tile, !a->first);
		NN_STEPS(TILED_WEIGHTS, begin, end)
		if (!a->apart)
			NN_PHASE(close_leaf, leaf);
	}
	NN_PHASE(put_weights);
}
