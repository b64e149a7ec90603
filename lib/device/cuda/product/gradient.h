/*
 * Gradients of weights and of a bias in tiles of NN_DOWN in-channels x NN_OVER out-channels of one
 * tap: adders have NN_EACH_DOWN x NN_EACH_OVER chains each, loaders bring what the turns after the
 * next read. The steps of all chains of a tile are the same: the output pixels at which its tap is
 * inside the image, row by row; others are no steps. Behind the last tap comes the bias, a single
 * in-channel that is always 1. Included once for each size.
 */
#ifndef NN_DEVICE_CUDA_GRADIENT_H
#define NN_DEVICE_CUDA_GRADIENT_H

#include "device/cuda/product/panels.h"

/* Output positions of an axis at which a tap is inside the image. */
struct span {
	int begin, at; /* at: the tap's input position at the first of them */
	uint32_t n;
};

NN_INLINE struct span span_of(const struct nn_axis *axis, int tap)
{
	const int stride = (int)axis->stride, out = (int)axis->out,
		  at = tap * (int)axis->dilation - (int)axis->pad, /* of output position 0 */
		left = (int)axis->in - at + stride - 1, end = left < 0 ? 0 : left / stride;
	struct span s = { at < 0 ? (stride - 1 - at) / stride : 0, 0, 0 };
	s.at = s.begin * stride + at;
	if (s.begin < end && s.begin < out)
		s.n = (uint32_t)((end < out ? end : out) - s.begin);
	return s;
}

/* What a block computes: channels of a group from m and n on, of a tap; of a leaf, or of all. */
struct share {
	uint32_t m, n, group, leaf, tap;
	bool bias;
	struct span h, w;
	uint32_t steps; /* of a row */
};

NN_INLINE struct share share_of(const struct nn_tile_args *a, size_t block, unsigned down,
				unsigned over)
{
	const struct nn_conv *c = &a->p.c;
	const struct span lines = { 0, 0, (uint32_t)c->h.out },
			  columns = { 0, 0, (uint32_t)c->w.out };
	const uint32_t parts = (uint32_t)((c->cin + down - 1) / down),
		       taps = a->dw ? (uint32_t)(c->h.n * c->w.n) : 0,
		       across = (uint32_t)((a->n + over - 1) / over),
		       high = taps * parts + (a->bias != NULL), b = (uint32_t)block, q = b / across,
		       row = q % high, tap = row / parts, outer = q / high;
	struct share s;
	s.n = (b - q * across) * over;
	s.m = (row - tap * parts) * down;
	s.group = outer % (uint32_t)c->groups;
	s.leaf = outer / (uint32_t)c->groups;
	s.tap = tap;
	s.bias = tap == taps;
	s.h = s.bias ? lines : span_of(&c->h, (int)(tap / (uint32_t)c->w.n));
	s.w = s.bias ? columns : span_of(&c->w, (int)(tap % (uint32_t)c->w.n));
	s.steps = s.h.n * s.w.n;
	return s;
}

/* Steps at equal distances: where the next one is, and what has to be added to come to others. */
struct walk {
	const real *x, *dy;
	uint32_t line, column, by_lines, by_columns;
	int x_move, x_line, x_row, dy_move, dy_line, dy_row; /* a move; what a carry adds to it */
};

NN_INLINE void begin_walk(struct walk *w, const struct nn_tile_args *a, const struct share *at,
			  uint32_t d, int by)
{
	const struct nn_conv *c = &a->p.c;
	const uint32_t row = d / at->steps;
	const uint32_t place = d - row * at->steps;
	const int lines = (int)at->h.n, columns = (int)at->w.n, by_rows = by / (lines * columns),
		  x_row = (int)(c->h.in * (long)c->x_row),
		  x_line = (int)(c->h.stride * (long)c->x_row),
		  x = (int)(c->w.stride * (long)c->x_pixel),
		  dy_row = (int)(c->h.out * (long)c->y_row), dy_line = (int)c->y_row,
		  dy = (int)c->y_pixel;
	by -= by_rows * lines * columns;
	w->line = place / at->w.n;
	w->column = place - w->line * at->w.n;
	w->by_lines = (uint32_t)(by / columns);
	w->by_columns = (uint32_t)(by % columns);
	w->x_move = by_rows * x_row + by / columns * x_line + by % columns * x;
	w->x_line = x_line - columns * x;
	w->x_row = x_row - lines * x_line;
	w->dy_move = by_rows * dy_row + by / columns * dy_line + by % columns * dy;
	w->dy_line = dy_line - columns * dy;
	w->dy_row = dy_row - lines * dy_line;
	w->x = a->p.x + (long)row * x_row + (long)at->h.at * (long)c->x_row +
	       (long)at->w.at * (long)c->x_pixel + (long)w->line * x_line + (long)w->column * x +
	       (long)(at->group * c->cin + at->m);
	w->dy = a->p.dy + (long)row * dy_row + ((long)w->line + at->h.begin) * dy_line +
		((long)w->column + at->w.begin) * dy + (long)(at->group * c->cout + at->n);
}

NN_INLINE void move_on(struct walk *w, const struct share *at)
{
	const uint32_t column = w->column + w->by_columns;
	const bool ends_line = column >= at->w.n;
	const uint32_t line = w->line + w->by_lines + ends_line;
	const bool ends_row = line >= at->h.n;
	w->column = ends_line ? column - at->w.n : column;
	w->line = ends_row ? line - at->h.n : line;
	w->x += w->x_move + (ends_line ? w->x_line : 0) + (ends_row ? w->x_row : 0);
	w->dy += w->dy_move + (ends_line ? w->dy_line : 0) + (ends_row ? w->dy_row : 0);
}

/*
 * A loader's `most` / `columns` neighbours of a step's channels, of which `there` are there: at
 * once where they are wide, else every `columns`-th.
 */
NN_INLINE void bring(real *to, const real *from, bool wide, unsigned column, const unsigned columns,
		     const unsigned most, unsigned there)
{
	if (wide) {
		if (column * NN_WIDE < there)
			NN_COPY_WIDE(to + column * NN_WIDE, from + column * NN_WIDE);
		return;
	}
	NN_UNROLL
	for (unsigned i = 0; i < most; i += columns)
		if (column + i < there)
			NN_COPY(to + column + i, from + column + i);
}

NN_INLINE unsigned channels_from(size_t n, size_t from, unsigned most)
{
	return n <= from ? 0 : n - from < most ? (unsigned)(n - from) : most;
}

/* May channels of pixels be copied NN_WIDE at a time? */
NN_INLINE bool are_wide(const real *p, size_t row, size_t pixel, size_t channels)
{
	return is_wide(p, row) && is_wide(p, pixel) && channels % NN_WIDE == 0;
}

#endif

#define NN_SIZED(name) NN_CAT(NN_CAT(name, _), NN_DOWN)
#define NN_SIZED_SCRIPT(...) NN_SCRIPT(__VA_ARGS__)
#define NN_ADDERS (NN_DOWN / NN_EACH_DOWN * (NN_OVER / NN_EACH_OVER))
#define NN_TURN (NN_STEPS * 4 / sizeof(real))
#define NN_COLUMNS ((NN_DOWN > NN_OVER ? NN_DOWN : NN_OVER) / NN_WIDE) /* loaders of a step */
#define NN_AT_ONCE (NN_LOADERS / NN_COLUMNS)
/* Element i of an adder's, which is one of `n` beside one another: four neighbours, four more. */
#define NN_PLACE(adder, i, each, n) \
	((i) / 4 * ((n)*4) + (adder) * ((each) < 4 ? (each) : 4) + (i) % 4)

struct NN_SIZED(turns) {
	real x[NN_STAGES][NN_TURN][NN_DOWN], dy[NN_STAGES][NN_TURN][NN_OVER];
};

struct NN_SIZED(chains) {
	real sum[NN_EACH_DOWN][NN_EACH_OVER];
	unsigned down, over; /* the adder's place among others */
	unsigned in, out;    /* channels that are there */
	bool x_wide, dy_wide;
	struct walk walk;
#ifdef NN_LEAVES
	uint32_t leaf;
	real stack[NN_LEAVES][NN_EACH_DOWN][NN_EACH_OVER]; /* finished subtrees, by level */
#endif
};

/* A loader's steps of a turn from d on are asked for: they are fewer behind `end`. */
NN_INLINE void NN_SIZED(load)(const struct share *at, struct NN_SIZED(turns) * s,
			      struct NN_SIZED(chains) * r, unsigned loader, unsigned d,
			      unsigned end, unsigned stage)
{
	const unsigned column = loader % NN_COLUMNS, k = loader / NN_COLUMNS,
		       left = end <= d            ? 0
			      : end - d < NN_TURN ? end - d
						  : NN_TURN;
	real *x = s->x[stage][k], *dy = s->dy[stage][k];
	NN_UNROLL
	for (unsigned j = 0; j < NN_TURN; j += NN_AT_ONCE) {
		if (k + j < left) {
			bring(x + j * NN_DOWN, r->walk.x, r->x_wide, column, NN_COLUMNS, NN_DOWN,
			      r->in);
			bring(dy + j * NN_OVER, r->walk.dy, r->dy_wide, column, NN_COLUMNS, NN_OVER,
			      r->out);
		}
		move_on(&r->walk, at);
	}
	NN_ASKED();
}

NN_INLINE void NN_SIZED(begin_loader)(const struct nn_tile_args *a, const struct share *at,
				      struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
				      unsigned loader, unsigned begin, unsigned end)
{
	const struct nn_conv *c = &a->p.c;
	r->x_wide = are_wide(a->p.x, c->x_row, c->x_pixel, c->cin);
	r->dy_wide = are_wide(a->p.dy, c->y_row, c->y_pixel, c->cout);
	r->in = at->bias ? 0 : channels_from(c->cin, at->m, NN_DOWN);
	r->out = channels_from(c->cout, at->n, NN_OVER);
	if (begin == end)
		return;
	begin_walk(&r->walk, a, at, begin + loader / NN_COLUMNS, NN_AT_ONCE);
	NN_ROLLED
	for (unsigned turn = 0; turn < NN_STAGES - 1; turn++)
		NN_SIZED(load)(at, s, r, loader, begin + turn * NN_TURN, end, turn);
	NN_COPIED(NN_STAGES - 2);
}

/* Where an adder's element (i, j) goes; NULL: nowhere. */
NN_INLINE real *NN_SIZED(to)(const struct nn_tile_args *a, const struct share *at, uint32_t leaf,
			     const struct NN_SIZED(chains) * r, unsigned i, unsigned j)
{
	const struct nn_conv *c = &a->p.c;
	const size_t n = at->n + NN_PLACE(r->over, j, NN_EACH_OVER, NN_OVER / NN_EACH_OVER),
		     m = at->m + NN_PLACE(r->down, i, NN_EACH_DOWN, NN_DOWN / NN_EACH_DOWN);
	struct column column;
	if (at->bias) {
		real *to = leaf ? a->bias_rest + (leaf - 1) * c->groups * c->cout : a->bias;
		return m == 0 && n < c->cout ? to + at->group * c->cout + n : NULL;
	}
	if (m >= c->cin || n >= a->n)
		return NULL;
	column = column_of(leaf ? a->rest + (leaf - 1) * a->size : a->dw, at->group, n, c->cout,
			   (size_t)(c->h.n * c->w.n) * c->cin);
	return (real *)column.w + (at->tap * c->cin + m) * column.step;
}

/* Zeros, or what a leaf's first piece left. */
NN_INLINE void NN_SIZED(begin_adder)(const struct nn_tile_args *a, const struct share *at,
				     struct NN_SIZED(chains) * r, unsigned adder)
{
	const unsigned warp = adder / 32, warps = NN_OVER / NN_EACH_OVER / 8, lane = adder % 32;
	/* 4 x 8 of a warp, of which no two beside each other read the same twice */
	r->down = warp / warps * 4 + lane / 16 * 2 + lane / 2 % 2;
	r->over = warp % warps * 8 + lane / 4 % 4 * 2 + lane % 2;
#ifdef NN_LEAVES
	r->leaf = 0;
#endif
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_DOWN; i++) {
		NN_UNROLL
		for (unsigned j = 0; j < NN_EACH_OVER; j++) {
			const real *from = a->first ? NULL : NN_SIZED(to)(a, at, 0, r, i, j);
			r->sum[i][j] = from ? *from : 0;
		}
	}
}

NN_INLINE void NN_SIZED(begin)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
			       const struct share *at, unsigned begin, unsigned end)
{
	real *ones = &s->x[0][0][0];
	for (unsigned i = p.thread; at->bias && i < NN_STAGES * NN_TURN * NN_DOWN;
	     i += NN_ADDERS + NN_LOADERS)
		ones[i] = 1;
	if (p.thread < NN_ADDERS)
		NN_SIZED(begin_adder)(a, at, r, p.thread);
	else
		NN_SIZED(begin_loader)(a, at, s, r, p.thread - NN_ADDERS, begin, end);
}

NN_INLINE void NN_SIZED(step)(const struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
			      unsigned stage, unsigned k)
{
	const real *x = &s->x[stage][k][NN_PLACE(r->down, 0, NN_EACH_DOWN, 0)],
		   *dy = &s->dy[stage][k][NN_PLACE(r->over, 0, NN_EACH_OVER, 0)];
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_DOWN; i++) {
		NN_UNROLL
		for (unsigned j = 0; j < NN_EACH_OVER; j++)
			r->sum[i][j] =
				r_fma(x[NN_PLACE(0, i, 4, NN_DOWN / NN_EACH_DOWN)],
				      dy[NN_PLACE(0, j, 4, NN_OVER / NN_EACH_OVER)], r->sum[i][j]);
	}
}

/* Steps k to stop of a turn. */
NN_INLINE void NN_SIZED(add)(const struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
			     unsigned stage, unsigned k, unsigned stop)
{
	NN_ROLLED
	for (; k + 8 <= stop; k += 8) {
		NN_UNROLL
		for (unsigned i = 0; i < 8; i++)
			NN_SIZED(step)(s, r, stage, k + i);
	}
	NN_ROLLED
	for (; k < stop; k++)
		NN_SIZED(step)(s, r, stage, k);
}

NN_INLINE void NN_SIZED(turn)(const struct nn_tile_args *a, struct nn_spot p,
			      struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
			      const struct share *at, unsigned d, unsigned end, unsigned turn)
{
	(void)a;
	if (p.thread < NN_ADDERS && end - d < NN_TURN) {
		NN_SIZED(add)(s, r, turn % NN_STAGES, 0, end - d);
	} else if (p.thread < NN_ADDERS) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_TURN; k++)
			NN_SIZED(step)(s, r, turn % NN_STAGES, k);
	} else {
		NN_SIZED(load)
		(at, s, r, p.thread - NN_ADDERS, d + (NN_STAGES - 1) * NN_TURN, end,
		 (turn + NN_STAGES - 1) % NN_STAGES);
		NN_COPIED(NN_STAGES - 2);
	}
}

/* Padding beyond the last channel stays 0. */
NN_INLINE void NN_SIZED(put)(const struct nn_tile_args *a, struct nn_spot p,
			     struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
			     const struct share *at)
{
	(void)s;
	if (p.thread >= NN_ADDERS)
		return;
	NN_UNROLL
	for (unsigned j = 0; j < NN_EACH_OVER; j++) {
		NN_UNROLL
		for (unsigned i = 0; i < NN_EACH_DOWN; i++) {
			real *to = NN_SIZED(to)(a, at, at->leaf, r, i, j);
			if (to)
				*to = at->n + NN_PLACE(r->over, j, NN_EACH_OVER,
						       NN_OVER / NN_EACH_OVER) <
						      a->p.c.cout
					      ? r->sum[i][j]
					      : 0;
		}
	}
}

/* Of one leaf a block. */
NN_SIZED_SCRIPT(NN_SIZED(gradient), struct nn_tile_args, struct NN_SIZED(turns),
		struct NN_SIZED(chains), NN_ADDERS + NN_LOADERS)
{
	const struct share at = share_of(a, p.block, NN_DOWN, NN_OVER);
	const unsigned begin = (unsigned)nn_bound_at(&a->leaf, at.leaf) * at.steps,
		       end = (unsigned)nn_bound_at(&a->leaf, at.leaf + 1) * at.steps;
	unsigned turn = 0;
	NN_PHASE(NN_SIZED(begin), &at, begin, end);
	for (unsigned d = begin; d < end; d += NN_TURN, turn++)
		NN_PHASE(NN_SIZED(turn), &at, d, end, turn);
	NN_PHASE(NN_SIZED(put), &at);
}

#ifdef NN_LEAVES

/* A leaf is finished: it is added to the subtrees that it completes. */
NN_INLINE void NN_SIZED(close)(const struct nn_tile_args *a, struct NN_SIZED(chains) * r)
{
	NN_UNROLL
	for (int level = 0; level < NN_LEAVES; level++) { /* the last sum is that of the tree */
		const bool adds = (r->leaf >> level & 1) != 0;
		NN_UNROLL
		for (int i = 0; i < NN_EACH_DOWN; i++) {
			NN_UNROLL
			for (int j = 0; j < NN_EACH_OVER; j++) {
				if (adds)
					r->sum[i][j] = v_add(r->stack[level][i][j], r->sum[i][j]);
				else
					r->stack[level][i][j] = r->sum[i][j];
			}
		}
		if (!adds)
			break;
	}
	if (++r->leaf == a->leaf.n)
		return;
	NN_UNROLL
	for (int i = 0; i < NN_EACH_DOWN; i++) {
		NN_UNROLL
		for (int j = 0; j < NN_EACH_OVER; j++)
			r->sum[i][j] = 0;
	}
}

/* A turn, in which leaves may end. */
NN_INLINE void NN_SIZED(turn_of_leaves)(const struct nn_tile_args *a, struct nn_spot p,
					struct NN_SIZED(turns) * s, struct NN_SIZED(chains) * r,
					const struct share *at, unsigned d, unsigned end,
					unsigned turn)
{
	const unsigned n = end - d < NN_TURN ? end - d : NN_TURN;
	unsigned k = 0;
	if (p.thread >= NN_ADDERS) {
		NN_SIZED(turn)(a, p, s, r, at, d, end, turn);
		return;
	}
	while (r->leaf < a->leaf.n) {
		const unsigned left = (unsigned)nn_bound_at(&a->leaf, r->leaf + 1) * at->steps - d,
			       stop = left < n ? left : n;
		NN_SIZED(add)(s, r, turn % NN_STAGES, k, stop);
		k = stop;
		if (left > n)
			break;
		NN_SIZED(close)(a, r);
		if (left == n && d + n < end)
			break;
	}
}

/* Of all leaves. */
NN_SIZED_SCRIPT(gradient_leaves, struct nn_tile_args, struct NN_SIZED(turns),
		struct NN_SIZED(chains), NN_ADDERS + NN_LOADERS)
{
	const struct share at = share_of(a, p.block, NN_DOWN, NN_OVER);
	const unsigned end = (unsigned)nn_bound_at(&a->leaf, a->leaf.n) * at.steps;
	unsigned turn = 0;
	NN_PHASE(NN_SIZED(begin), &at, 0, end);
	for (unsigned d = 0; d < end; d += NN_TURN, turn++)
		NN_PHASE(NN_SIZED(turn_of_leaves), &at, d, end, turn);
	NN_PHASE(NN_SIZED(put), &at);
}

#endif

#undef NN_SIZED
#undef NN_SIZED_SCRIPT
#undef NN_ADDERS
#undef NN_TURN
#undef NN_PLACE
#undef NN_COLUMNS
#undef NN_AT_ONCE
