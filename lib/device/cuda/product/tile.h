/*
 * Products in tiles of NN_TILE x NN_TILE elements: 256 threads keep NN_EACH_WAY x NN_EACH_WAY sums
 * each in registers and read both factors from shared memory, NN_DEPTH steps of the chains at a
 * time, while the next ones are on their way (phase.h). The chains are those of product.cu.
 * Convolutions are the same products: rows are pixels, steps are taps and channels, and a step
 * whose tap is outside the image is left out by its rows (`there`). Included once for each size.
 */
#ifndef NN_DEVICE_CUDA_TILE_H
#define NN_DEVICE_CUDA_TILE_H

#include "device/cuda/product/taps.h"

#define NN_TILE_THREADS 256
#define NN_ACROSS 16                               /* threads of a tile's row */

enum tiled { TILED_FORWARD, TILED_INPUT, TILED_WEIGHTS };

/* A step of a convolution's chain. */
struct tap {
	int kh, kw;
	uint32_t channel;
};

/* Of a chain's step d; towards the input taps descend, of weights it is the element. */
NN_INLINE struct tap tap_of(enum tiled what, const struct nn_conv *c, size_t d)
{
	uint32_t size = (uint32_t)(what == TILED_INPUT ? c->cout : c->cin), n = (uint32_t)d / size,
		 width = (uint32_t)c->w.n;
	struct tap t;
	t.channel = (uint32_t)d - n * size;
	if (what == TILED_INPUT)
		n = (uint32_t)c->h.n * width - 1 - n;
	t.kh = (int)(n / width);
	t.kw = (int)(n - (uint32_t)t.kh * width);
	return t;
}

/* Are n steps that begin at a multiple of n of one tap? */
NN_INLINE bool is_together(enum tiled what, const struct nn_conv *c, unsigned n)
{
	return (uint32_t)(what == TILED_INPUT ? c->cout : c->cin) % n == 0;
}

/* Where a block's tile begins; its group and leaf. */
struct corner {
	size_t m, n, group, leaf;
};

#endif

#define NN_SIZED(name) NN_CAT(NN_CAT(name, _), NN_TILE)
#define NN_LOADS (NN_TILE * NN_DEPTH / NN_TILE_THREADS)
#define NN_WIDE_LOADS (NN_LOADS / NN_WIDE > 0 ? NN_LOADS / NN_WIDE : 1)
#define NN_SIZED_SCRIPT(...) NN_SCRIPT(__VA_ARGS__)
/* Element j of thread t's of a row: four neighbours, and four more half a tile on. */
#define NN_PLACE(t, j) ((size_t)(j) / 4 * (NN_ACROSS * 4) + (size_t)(t)*4 + (size_t)(j) % 4)

struct NN_SIZED(tile) {
	real a[2][NN_DEPTH][NN_TILE + 4], b[2][NN_DEPTH][NN_TILE + 4];
	unsigned char there[2][NN_DEPTH][NN_TILE]; /* convolutions: a tap inside the image? */
	int hole[3];                               /* is one of them not? of steps by turns */
};

struct NN_SIZED(sums) {
	real sum[NN_EACH_WAY][NN_EACH_WAY];
	struct corner corner;
	struct pixel pixel[NN_LOADS];
	struct tap tap;    /* weights: of the thread's elements */
	const real *a, *b; /* whole tiles: the thread's first elements of step 0 */
	bool whole;
#if NN_TILE == 64
	real stack[NN_TILE_LEVELS][NN_EACH_WAY]
		  [NN_EACH_WAY]; /* finished subtrees of leaves, by level */
#endif
};

NN_INLINE struct corner NN_SIZED(corner)(const struct nn_tile_args *a, struct nn_spot p)
{
	uint32_t across = (uint32_t)((a->m + NN_TILE - 1) / NN_TILE),
		 down = (uint32_t)((a->n + NN_TILE - 1) / NN_TILE), block = (uint32_t)p.block,
		 groups = (uint32_t)a->p.c.groups;
	struct corner c = { block % across * NN_TILE, block / across % down * NN_TILE,
			    block / across / down % groups, block / across / down / groups };
	return c;
}

/*
 * A tile that is there as a whole has its elements a fixed way apart: where the thread's first ones
 * are. What lies along the tile comes NN_WIDE at a time, what lies along the chain one by one.
 */
NN_INLINE void NN_SIZED(begin_whole)(const struct nn_tile_args *a, struct nn_spot p,
				     struct NN_SIZED(sums) * r, enum tiled what)
{
	const struct nn_conv *c = &a->p.c;
	const struct corner at = r->corner;
	const unsigned along = p.thread % NN_DEPTH, over = p.thread / NN_DEPTH,
		       wide = p.thread % (NN_TILE / NN_WIDE) * NN_WIDE,
		       step = p.thread / (NN_TILE / NN_WIDE);
	struct column w;
	r->whole = (what == TILED_WEIGHTS ? is_wide(a->p.x, c->x_row) && is_wide(a->p.dy, c->y_row)
		    : what == TILED_FORWARD ? is_wide(a->p.w, 0)
					    : true) &&
		   at.m + NN_TILE <= a->m &&
		   at.n + NN_TILE <= (what == TILED_WEIGHTS ? c->cout : a->n);
	if (what == TILED_WEIGHTS) {
		r->a = a->p.x + step * c->x_row + at.m + wide;
		r->b = a->p.dy + step * c->y_row + at.n + wide;
	} else if (what == TILED_INPUT) {
		r->a = a->p.dy + (at.m + over) * c->y_row + along;
	} else {
		w = column_of(a->p.w, 0, at.n + wide, c->cout, c->cin);
		r->a = a->p.x + (at.m + over) * c->x_row + along;
		r->b = w.w + step * w.step;
	}
}

/* Steps d to d + NN_DEPTH of a whole tile are asked for. */
NN_INLINE void NN_SIZED(load_whole)(const struct nn_tile_args *a, struct nn_spot p,
				    struct NN_SIZED(tile) * s, const struct NN_SIZED(sums) * r,
				    enum tiled what, size_t d, unsigned to)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned along = p.thread % NN_DEPTH, over = p.thread / NN_DEPTH,
		       wide = p.thread % (NN_TILE / NN_WIDE) * NN_WIDE,
		       step = p.thread / (NN_TILE / NN_WIDE), lines = NN_TILE_THREADS / NN_DEPTH,
		       steps = NN_TILE_THREADS / (NN_TILE / NN_WIDE);
	if (what == TILED_WEIGHTS) {
		const real *x = r->a + d * c->x_row, *dy = r->b + d * c->y_row;
		NN_UNROLL
		for (unsigned j = 0; j < NN_WIDE_LOADS; j++) {
			if (step + j * steps >= NN_DEPTH)
				break;
			NN_COPY_WIDE(&s->a[to][step + j * steps][wide], x + j * steps * c->x_row);
			NN_COPY_WIDE(&s->b[to][step + j * steps][wide], dy + j * steps * c->y_row);
		}
		return;
	}
	const size_t row = what == TILED_INPUT ? c->y_row : c->x_row;
	NN_UNROLL
	for (unsigned j = 0; j < NN_LOADS; j++)
		NN_COPY(&s->a[to][along][over + j * lines], r->a + d + j * lines * row);
	if (what == TILED_INPUT) {
		const size_t width = width_at(c->cout, d), panel = d / NN_PANEL * NN_PANEL;
		const real *w = a->p.w + panel * c->cin + (d - panel) +
				(r->corner.n + over) * width + along;
		NN_UNROLL
		for (unsigned j = 0; j < NN_LOADS; j++)
			NN_COPY(&s->b[to][along][over + j * lines], w + j * lines * width);
	} else {
		const size_t width = width_at(c->cout, r->corner.n + wide);
		NN_UNROLL
		for (unsigned j = 0; j < NN_WIDE_LOADS; j++)
			if (step + j * steps < NN_DEPTH)
				NN_COPY_WIDE(&s->b[to][step + j * steps][wide],
					     r->b + (d + j * steps) * width);
	}
}

/* Zeros, or what a leaf's first piece left; and the pixels that this thread reads again and again.
 */
NN_INLINE void NN_SIZED(begin)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum tiled what, bool image)
{
	const struct nn_conv *c = &a->p.c;
	(void)s;
	r->corner = NN_SIZED(corner)(a, p);
	if (image && what == TILED_WEIGHTS)
		r->tap = tap_of(what, c, r->corner.m + p.thread % NN_TILE);
	NN_UNROLL
	for (unsigned j = 0; image && j < NN_LOADS; j++) {
		unsigned i = p.thread + j * NN_TILE_THREADS;
		if (what == TILED_FORWARD)
			r->pixel[j] = pixel_of(r->corner.m + i / NN_DEPTH, c->h.out, c->w.out);
		else if (what == TILED_INPUT)
			r->pixel[j] = pixel_of(r->corner.m + i / NN_DEPTH, c->h.in, c->w.in);
	}
	if (!image)
		NN_SIZED(begin_whole)(a, p, r, what);
}

NN_INLINE void NN_SIZED(clear)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r)
{
	(void)a;
	if (p.thread < 3)
		s->hole[p.thread] = 0;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_WAY; i++) {
		NN_UNROLL
		for (int j = 0; j < NN_EACH_WAY; j++)
			r->sum[i][j] = 0;
	}
}

/* What this tap reads at a pixel of an image; NULL: it is outside. */
NN_INLINE const real *NN_SIZED(image)(enum tiled what, const struct nn_tile_args *a,
				      const struct NN_SIZED(sums) * r, struct pixel pixel,
				      struct tap t)
{
	const struct nn_conv *c = &a->p.c;
	size_t group = r->corner.group;
	if (what == TILED_INPUT)
		return dy_at(c, a->p.dy, pixel, t.kh, t.kw, group * c->cout + t.channel);
	return x_at(c, a->p.x, pixel, t.kh, t.kw, group * c->cin + t.channel);
}

/* Step d of element m's, n's chain: of x and w; dy and w; x and dy. */
NN_INLINE const real *NN_SIZED(factor_a)(enum tiled what, const struct nn_tile_args *a, size_t m,
					 size_t d)
{
	return what == TILED_FORWARD ? a->p.x + m * a->p.c.x_row + d
	       : what == TILED_INPUT ? a->p.dy + m * a->p.c.y_row + d
				     : a->p.x + d * a->p.c.x_row + m;
}

NN_INLINE const real *NN_SIZED(factor_b)(enum tiled what, bool image, const struct nn_tile_args *a,
					 const struct NN_SIZED(sums) * r, size_t n, size_t d)
{
	const struct nn_conv *c = &a->p.c;
	size_t group = r->corner.group, taps = (size_t)(c->h.n * c->w.n);
	struct column column;
	if (what == TILED_WEIGHTS) {
		size_t pixel = image ? c->y_pixel : c->y_row;
		return n < c->cout ? a->p.dy + d * pixel + group * c->cout + n : NULL;
	}
	if (what == TILED_INPUT && !image) {
		column = column_of(a->p.w, 0, d, c->cout, c->cin);
		return column.w + n * column.step;
	}
	if (what == TILED_INPUT) { /* of what nn_cuda_turn made: taps ascend */
		uint32_t tap = (uint32_t)d / (uint32_t)c->cout;
		column = column_of(a->p.w, group, n, c->cin, taps * c->cout);
		return column.w + ((taps - 1 - tap) * c->cout + (d - tap * c->cout)) * column.step;
	}
	column = column_of(a->p.w, group, n, c->cout, taps * c->cin);
	return column.w + d * column.step;
}

/* The steps from d on, below end, are asked for; neighbours in memory are read by neighbours. */
NN_INLINE void NN_SIZED(load)(const struct nn_tile_args *a, struct nn_spot p,
			      struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r, enum tiled what,
			      bool image, size_t d, size_t end, unsigned turn)
{
	const struct corner c = r->corner;
	const unsigned to = turn % 2;
	const bool together = what != TILED_WEIGHTS && is_together(what, &a->p.c, NN_DEPTH);
	struct tap first = r->tap;
	struct pixel pixel = { 0, 0, 0 }; /* weights: of the thread's step */
	if (image && what == TILED_WEIGHTS)
		pixel = pixel_of(d + p.thread / NN_TILE, a->p.c.h.out, a->p.c.w.out);
	if (image && together)
		first = tap_of(what, &a->p.c, d);
	if (!image && r->whole && d + NN_DEPTH <= end) {
		NN_SIZED(load_whole)(a, p, s, r, what, d, to);
		return;
	}
	NN_UNROLL
	for (unsigned j = 0; j < NN_LOADS; j++) {
		unsigned i = p.thread + j * NN_TILE_THREADS, along = i % NN_DEPTH,
			 over = i / NN_DEPTH, at = i % NN_TILE, step = i / NN_TILE;
		unsigned k = what == TILED_WEIGHTS ? step : along,
			 m = what == TILED_WEIGHTS ? at : over;
		if (d + k < end && c.m + m < a->m) {
			const real *x;
			if (image) {
				struct tap t = first;
				if (together)
					t.channel += k;
				else if (what != TILED_WEIGHTS)
					t = tap_of(what, &a->p.c, d + k);
				x = NN_SIZED(image)(what, a, r,
						    what == TILED_WEIGHTS ? pixel : r->pixel[j], t);
			} else {
				x = NN_SIZED(factor_a)(what, a, c.m + m, d + k);
			}
			if (image) {
				s->there[to][k][m] = x != NULL;
				if (!x)
					s->hole[turn % 3] = 1;
			}
			if (x)
				NN_COPY(&s->a[to][k][m], x);
		}
		if (image && what == TILED_WEIGHTS)
			pixel = pixel_after(pixel, NN_TILE_THREADS / NN_TILE, (int)a->p.c.h.out,
					    (int)a->p.c.w.out);
		bool down = what == TILED_INPUT && !image;
		k = down ? along : step;
		m = down ? over : at;
		if (d + k < end && c.n + m < a->n) {
			const real *w = NN_SIZED(factor_b)(what, image, a, r, c.n + m, d + k);
			if (w)
				NN_COPY(&s->b[to][k][m], w);
			else
				s->b[to][k][m] = 0;
		}
	}
}

/* Which of a thread's elements have step d: a bit for each. */
NN_INLINE unsigned NN_SIZED(there)(struct nn_spot p, const struct NN_SIZED(tile) * s, unsigned from,
				   unsigned d)
{
	unsigned there = 0;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_WAY; i++)
		there |= (unsigned)s->there[from][d][NN_PLACE(p.thread / NN_ACROSS, i)] << i;
	return there;
}

NN_INLINE void NN_SIZED(step)(struct nn_spot p, const struct NN_SIZED(tile) * s,
			      struct NN_SIZED(sums) * r, unsigned from, unsigned d, unsigned there)
{
	const unsigned down = p.thread / NN_ACROSS, across = p.thread % NN_ACROSS;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_WAY; i++) {
		if (!(there >> i & 1))
			continue;
		NN_UNROLL
		for (int j = 0; j < NN_EACH_WAY; j++)
			r->sum[i][j] = r_fma(s->a[from][d][NN_PLACE(down, i)],
					     s->b[from][d][NN_PLACE(across, j)], r->sum[i][j]);
	}
}

/* What was asked for `turn` is added, while that of the next turn is on its way. */
NN_INLINE void NN_SIZED(add)(const struct nn_tile_args *a, struct nn_spot p,
			     struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r, enum tiled what,
			     bool image, size_t d, size_t end, unsigned turn)
{
	const unsigned from = turn % 2;
	if (d + NN_DEPTH < end)
		NN_SIZED(load)(a, p, s, r, what, image, d + NN_DEPTH, end, turn + 1);
	if (image && s->hole[turn % 3] && what != TILED_WEIGHTS &&
	    is_together(what, &a->p.c, NN_DEPTH)) {
		const unsigned there = NN_SIZED(there)(p, s, from, 0);
		NN_UNROLL
		for (unsigned k = 0; k < NN_DEPTH; k++)
			NN_SIZED(step)(p, s, r, from, k, there);
	} else if (image && s->hole[turn % 3]) {
		for (unsigned k = 0; k < NN_DEPTH && d + k < end; k++)
			NN_SIZED(step)(p, s, r, from, k, NN_SIZED(there)(p, s, from, k));
	} else if (d + NN_DEPTH <= end) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_DEPTH; k++)
			NN_SIZED(step)(p, s, r, from, k, ~0u);
	} else {
		for (unsigned k = 0; d + k < end; k++)
			NN_SIZED(step)(p, s, r, from, k, ~0u);
	}
	if (image && p.thread == 0) /* whoever reads it has done so, whoever sets it comes later */
		s->hole[(turn + 2) % 3] = 0;
	NN_COPIED(0);
}

NN_INLINE void NN_SIZED(first)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum tiled what, bool image, size_t d, size_t end)
{
	if (d < end)
		NN_SIZED(load)(a, p, s, r, what, image, d, end, 0);
	NN_COPIED(0);
}

/* A thread's elements that are there, at m and n of their group. */
#define NN_EACH_SUM(...) \
	do { \
		NN_UNROLL \
		for (int i = 0; i < NN_EACH_WAY; i++) { \
			NN_UNROLL \
			for (int j = 0; j < NN_EACH_WAY; j++) { \
				size_t m = r->corner.m + NN_PLACE(p.thread / NN_ACROSS, i); \
				size_t n = r->corner.n + NN_PLACE(p.thread % NN_ACROSS, j); \
				if (m < a->m && n < a->n) { \
					__VA_ARGS__ \
				} \
			} \
		} \
	} while (0)

/* The place of weight m (tap and channel) and lane n in packed weights. */
NN_INLINE real *NN_SIZED(weight)(const struct nn_conv *c, real *w, size_t group, size_t m, size_t n)
{
	struct column column = column_of(w, group, n, c->cout, (size_t)(c->h.n * c->w.n) * c->cin);
	return (real *)column.w + m * column.step;
}

NN_INLINE void NN_SIZED(go_on)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r)
{
	(void)s;
	NN_EACH_SUM(r->sum[i][j] = *NN_SIZED(weight)(&a->p.c, a->dw, r->corner.group, m, n););
}

NN_INLINE void NN_SIZED(put_weights)(const struct nn_tile_args *a, struct nn_spot p,
				     struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r)
{
	size_t leaf = r->corner.leaf;
	real *to = leaf ? a->rest + (leaf - 1) * a->size : a->dw;
	(void)s;
	NN_EACH_SUM(*NN_SIZED(weight)(&a->p.c, to, r->corner.group, m, n) = r->sum[i][j];);
}

#define NN_STEPS(what, image, begin, end) \
	do { \
		unsigned turn_ = 0; \
		NN_PHASE(NN_SIZED(first), what, image, begin, end); \
		for (size_t d_ = (begin); d_ < (end); d_ += NN_DEPTH, turn_++) \
			NN_PHASE(NN_SIZED(add), what, image, d_, end, turn_); \
	} while (0)

/* Weights of one leaf a block. */
#define NN_TILED_WEIGHTS(name, image) \
	NN_SIZED_SCRIPT(NN_SIZED(name), struct nn_tile_args, struct NN_SIZED(tile), \
			struct NN_SIZED(sums), NN_TILE_THREADS) \
	{ \
		NN_LEAF(NN_SIZED(corner)(a, p).leaf, image); \
		NN_PHASE(NN_SIZED(put_weights)); \
	}

/* The chains of a leaf. */
#define NN_LEAF(number, image) \
	do { \
		size_t pixels_ = (size_t)(a->p.c.h.out * a->p.c.w.out), leaf_ = (number), \
		       begin_ = nn_bound_at(&a->leaf, leaf_) * pixels_, \
		       end_ = nn_bound_at(&a->leaf, leaf_ + 1) * pixels_; \
		NN_PHASE(NN_SIZED(begin), TILED_WEIGHTS, image); \
		NN_PHASE(NN_SIZED(clear)); \
		if (!a->first) \
			NN_PHASE(NN_SIZED(go_on)); \
		NN_STEPS(TILED_WEIGHTS, image, begin_, end_); \
	} while (0)

NN_TILED_WEIGHTS(tile_weights, false)
NN_TILED_WEIGHTS(tile_image_weights, true)

#if NN_TILE == 64

/* A leaf is finished: it is added to the subtrees that it completes. */
NN_INLINE void NN_SIZED(close)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r, size_t leaf)
{
	(void)a;
	(void)p;
	(void)s;
	NN_UNROLL
	for (int level = 0; level < NN_TILE_LEVELS; level++) {
		const bool adds = (leaf >> level & 1) != 0;
		NN_UNROLL
		for (int i = 0; i < NN_EACH_WAY; i++) {
			NN_UNROLL
			for (int j = 0; j < NN_EACH_WAY; j++) {
				if (adds)
					r->sum[i][j] = v_add(r->stack[level][i][j], r->sum[i][j]);
				else
					r->stack[level][i][j] = r->sum[i][j];
			}
		}
		if (!adds)
			break;
	}
}

/* Of all leaves, one after the other. */
#define NN_TILED_LEAVES(name, image) \
	NN_SIZED_SCRIPT(NN_SIZED(name), struct nn_tile_args, struct NN_SIZED(tile), \
			struct NN_SIZED(sums), NN_TILE_THREADS) \
	{ \
		for (size_t leaf = 0; leaf < a->leaf.n; leaf++) { \
			NN_LEAF(leaf, image); \
			NN_PHASE(NN_SIZED(close), leaf); \
		} \
		NN_PHASE(NN_SIZED(put_weights)); \
	}

NN_TILED_LEAVES(tile_leaves, false)
NN_TILED_LEAVES(tile_image_leaves, true)
#undef NN_TILED_LEAVES

#endif

#undef NN_SIZED
#undef NN_LOADS
#undef NN_WIDE_LOADS
#undef NN_SIZED_SCRIPT
#undef NN_PLACE
#undef NN_EACH_SUM
#undef NN_STEPS
#undef NN_TILED_WEIGHTS
#undef NN_LEAF
