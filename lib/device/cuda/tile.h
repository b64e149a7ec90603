/*
 * Products in tiles of NN_TILE x NN_TILE elements: 256 threads keep NN_EACH_WAY x NN_EACH_WAY sums
 * each in registers and read both factors from shared memory, NN_DEPTH steps of the chains at a
 * time, while the next ones are on their way (phase.h). The chains are those of product.cu.
 * Convolutions are the same products: rows are pixels, steps are taps and channels, and a step
 * whose tap is outside the image is left out by its rows (`there`). Included once for each size.
 */
#ifndef NN_DEVICE_CUDA_TILE_H
#define NN_DEVICE_CUDA_TILE_H

#include "device/cuda/panels.h"

#define NN_TILE_THREADS 256
#define NN_ACROSS 16                               /* threads of a tile's row */
#define NN_TILE_LEVELS (sizeof(real) == 4 ? 5 : 4) /* of the tree of NN_TILE_LEAVES leaves */

enum tiled { TILED_FORWARD, TILED_INPUT, TILED_WEIGHTS };

/* An output or input pixel: its row of samples, and where its tap 0 is. */
struct pixel {
	uint32_t row;
	int h, w;
};

/* Where a block's tile begins; its group and leaf. */
struct corner {
	size_t m, n, group, leaf;
};

/* Pixel q of images of height x width pixels. */
NN_INLINE struct pixel pixel_of(size_t q, long height, long width)
{
	uint32_t place = (uint32_t)q, line = place / (uint32_t)width, row = line / (uint32_t)height;
	struct pixel p;
	p.row = row;
	p.h = (int)(line - row * (uint32_t)height);
	p.w = (int)(place - line * (uint32_t)width);
	return p;
}

/* Where x has tap (kh, kw) of output pixel p, channels from `in` on; NULL: outside. */
NN_INLINE const real *x_at(const struct nn_conv *c, const real *x, struct pixel p, int kh, int kw,
			   size_t in)
{
	int h = p.h * (int)c->h.stride + kh * (int)c->h.dilation - (int)c->h.pad,
	    w = p.w * (int)c->w.stride + kw * (int)c->w.dilation - (int)c->w.pad;
	if (h < 0 || h >= c->h.in || w < 0 || w >= c->w.in)
		return NULL;
	return x + ((size_t)p.row * (size_t)c->h.in + (size_t)h) * c->x_row +
	       (size_t)w * c->x_pixel + in;
}

/* Where dy has the output pixel that reads input pixel p by tap (kh, kw); NULL: there is none. */
NN_INLINE const real *dy_at(const struct nn_conv *c, const real *dy, struct pixel p, int kh, int kw,
			    size_t out)
{
	int h = p.h + (int)c->h.pad - kh * (int)c->h.dilation,
	    w = p.w + (int)c->w.pad - kw * (int)c->w.dilation;
	if (h < 0 || w < 0)
		return NULL;
	if (c->h.stride > 1 || c->w.stride > 1) {
		if (h % (int)c->h.stride || w % (int)c->w.stride)
			return NULL;
		h /= (int)c->h.stride;
		w /= (int)c->w.stride;
	}
	if (h >= c->h.out || w >= c->w.out)
		return NULL;
	return dy + ((size_t)p.row * (size_t)c->h.out + (size_t)h) * c->y_row +
	       (size_t)w * c->y_pixel + out;
}

#endif

#define NN_SIZED(name) NN_CAT(NN_CAT(name, _), NN_TILE)
#define NN_LOADS (NN_TILE * NN_DEPTH / NN_TILE_THREADS)
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

/* Zeros, or what a leaf's first piece left; and the pixels that this thread reads again and again.
 */
NN_INLINE void NN_SIZED(begin)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum tiled what, bool image)
{
	const struct nn_conv *c = &a->p.c;
	(void)s;
	r->corner = NN_SIZED(corner)(a, p);
	NN_UNROLL
	for (unsigned j = 0; image && j < NN_LOADS; j++) {
		unsigned i = p.thread + j * NN_TILE_THREADS;
		if (what == TILED_FORWARD)
			r->pixel[j] = pixel_of(r->corner.m + i / NN_DEPTH, c->h.out, c->w.out);
		else if (what == TILED_INPUT)
			r->pixel[j] = pixel_of(r->corner.m + i / NN_DEPTH, c->h.in, c->w.in);
	}
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

/* Step d of element m's chain (load j of the thread) of an image; NULL: it has no such step. */
NN_INLINE const real *NN_SIZED(image)(enum tiled what, const struct nn_tile_args *a,
				      const struct NN_SIZED(sums) * r, unsigned j, size_t m,
				      size_t d)
{
	const struct nn_conv *c = &a->p.c;
	size_t group = r->corner.group;
	uint32_t step = (uint32_t)(what == TILED_WEIGHTS ? m : d),
		 size = (uint32_t)(what == TILED_INPUT ? c->cout : c->cin), tap = step / size,
		 width = (uint32_t)c->w.n;
	int kh, kw;
	step -= tap * size;
	if (what == TILED_INPUT) /* taps descend */
		tap = (uint32_t)c->h.n * width - 1 - tap;
	kh = (int)(tap / width);
	kw = (int)(tap - (uint32_t)kh * width);
	if (what == TILED_INPUT)
		return dy_at(c, a->p.dy, r->pixel[j], kh, kw, group * c->cout + step);
	return x_at(c, a->p.x,
		    what == TILED_FORWARD ? r->pixel[j] : pixel_of(d, c->h.out, c->w.out), kh, kw,
		    group * c->cin + step);
}

/* Step d of element m's, n's chain: of x and w; dy and w; x and dy. */
NN_INLINE const real *NN_SIZED(factor_a)(enum tiled what, bool image, const struct nn_tile_args *a,
					 const struct NN_SIZED(sums) * r, unsigned j, size_t m,
					 size_t d)
{
	if (image)
		return NN_SIZED(image)(what, a, r, j, m, d);
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
	NN_UNROLL
	for (unsigned j = 0; j < NN_LOADS; j++) {
		unsigned i = p.thread + j * NN_TILE_THREADS, along = i % NN_DEPTH,
			 over = i / NN_DEPTH, at = i % NN_TILE, step = i / NN_TILE;
		unsigned k = what == TILED_WEIGHTS ? step : along,
			 m = what == TILED_WEIGHTS ? at : over;
		if (d + k < end && c.m + m < a->m) {
			const real *x = NN_SIZED(factor_a)(what, image, a, r, j, c.m + m, d + k);
			if (image) {
				s->there[to][k][m] = x != NULL;
				if (!x)
					s->hole[turn % 3] = 1;
			}
			if (x)
				NN_COPY(&s->a[to][k][m], x);
		}
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

NN_INLINE void NN_SIZED(step)(struct nn_spot p, const struct NN_SIZED(tile) * s,
			      struct NN_SIZED(sums) * r, unsigned from, unsigned d, bool holes)
{
	const unsigned down = p.thread / NN_ACROSS, across = p.thread % NN_ACROSS;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_WAY; i++) {
		if (holes && !s->there[from][d][NN_PLACE(down, i)])
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
	if (image && s->hole[turn % 3]) {
		for (unsigned k = 0; k < NN_DEPTH && d + k < end; k++)
			NN_SIZED(step)(p, s, r, from, k, true);
	} else if (d + NN_DEPTH <= end) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_DEPTH; k++)
			NN_SIZED(step)(p, s, r, from, k, false);
	} else {
		for (unsigned k = 0; d + k < end; k++)
			NN_SIZED(step)(p, s, r, from, k, false);
	}
	if (image && p.thread == 0) /* whoever reads it has done so, whoever sets it comes later */
		s->hole[(turn + 2) % 3] = 0;
	NN_COPIED();
}

NN_INLINE void NN_SIZED(first)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum tiled what, bool image, size_t d, size_t end)
{
	if (d < end)
		NN_SIZED(load)(a, p, s, r, what, image, d, end, 0);
	NN_COPIED();
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

NN_INLINE void NN_SIZED(put)(const struct nn_tile_args *a, struct nn_spot p,
			     struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r, enum tiled what)
{
	size_t groups = a->p.c.groups;
	(void)s;
	NN_EACH_SUM({
		size_t o = r->corner.group * a->n + n, at = m * groups * a->n + o;
		if (what == TILED_FORWARD)
			a->p.y[at] = tail(&a->p, r->sum[i][j], o, at);
		else
			nn_put(a->p.dx + at, tail(&a->p, r->sum[i][j], o, at), a->p.add);
	});
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

#define NN_TILED(name, what, image) \
	NN_SIZED_SCRIPT(NN_SIZED(name), struct nn_tile_args, struct NN_SIZED(tile), \
			struct NN_SIZED(sums), NN_TILE_THREADS) \
	{ \
		NN_PHASE(NN_SIZED(begin), what, image); \
		NN_PHASE(NN_SIZED(clear)); \
		NN_STEPS(what, image, 0, a->depth); \
		NN_PHASE(NN_SIZED(put), what); \
	}

NN_TILED(tile, TILED_FORWARD, false)
NN_TILED(tile_input, TILED_INPUT, false)
NN_TILED(tile_image, TILED_FORWARD, true)
NN_TILED(tile_image_input, TILED_INPUT, true)

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
#undef NN_SIZED_SCRIPT
#undef NN_PLACE
#undef NN_EACH_SUM
#undef NN_STEPS
#undef NN_TILED
#undef NN_TILED_WEIGHTS
#undef NN_LEAF
