/*
 * Products forward and towards the input, in tiles of NN_ROWS rows x NN_COLUMNS channels: threads
 * keep NN_EACH_ROWS x NN_EACH_COLUMNS sums each in registers and read both factors from shared
 * memory, NN_DEPTH steps of the chains (a turn) at a time, while the NN_STAGES - 1 turns after it
 * are on their way (phase.h). The chains are those of product.cu. Of convolutions rows are pixels,
 * steps are taps and channels: the channels of a tap lie side by side at a pixel, so NN_WIDE steps
 * come in one copy where there are as many. A step whose tap is outside the image is left out by
 * its rows. Included once for each shape; NN_SHAPE is its name.
 */
#ifndef NN_DEVICE_CUDA_PIXELS_H
#define NN_DEVICE_CUDA_PIXELS_H

#include "device/cuda/product/chain.h"
#include "device/cuda/wide.h"

/* sum = fma(a, b, sum) unless a tap is lacking: without a branch. */
#if !defined __CUDACC__
#define NN_FMA_UNLESS(lacks, a, b, sum) \
	do { \
		if (!(lacks)) \
			(sum) = r_fma(a, b, sum); \
	} while (0)
#elif NN_T_f64
#define NN_FMA_UNLESS(lacks, a, b, sum) \
	asm("{ .reg .pred p; setp.eq.u32 p, %3, 0; @p fma.rn.f64 %0, %1, %2, %0; }" \
	    : "+d"(sum) \
	    : "d"(a), "d"(b), "r"(lacks))
#else
#define NN_FMA_UNLESS(lacks, a, b, sum) \
	asm("{ .reg .pred p; setp.eq.u32 p, %3, 0; @p fma.rn.ftz.f32 %0, %1, %2, %0; }" \
	    : "+f"(sum) \
	    : "f"(a), "f"(b), "r"(lacks))
#endif

/* What a compiler is to keep, and not to find again each time. */
#ifdef __CUDACC__
#define NN_KEEP(v) asm volatile("" : "+r"(v))
#else
#define NN_KEEP(v) (void)(v)
#endif

/* Where a block's tile begins, and its group. */
struct corner {
	size_t m, n, group;
};

#endif

#define NN_SIZED(name) NN_CAT(NN_CAT(name, _), NN_SHAPE)
#define NN_SIZED_SCRIPT(...) NN_SCRIPT(__VA_ARGS__)

#define NN_DOWN (NN_ROWS / NN_EACH_ROWS) /* threads */
#define NN_ACROSS (NN_COLUMNS / NN_EACH_COLUMNS)
#define NN_THREADS (NN_DOWN * NN_ACROSS)
#define NN_LINE (NN_DEPTH + NN_WIDE)  /* steps of a row, and what keeps banks apart */
#define NN_QUADS (NN_DEPTH / NN_WIDE) /* wide copies of a row */
#define NN_A_COPIES (NN_ROWS * NN_QUADS / NN_THREADS) /* of a thread, wide */
#define NN_B_COPIES (NN_COLUMNS * NN_QUADS / NN_THREADS)
#define NN_APART (NN_THREADS / NN_QUADS) /* rows of two copies of a thread; steps, of weights: */
#define NN_STEPS_APART (NN_THREADS * (unsigned)NN_WIDE / NN_COLUMNS)
/* Rows are strewn, so that those a warp reads at once lie in different banks. */
#define NN_ROW_AT(i) (r->down + (unsigned)(i)*NN_DOWN)
/* Columns are NN_WIDE neighbours each; of weights along the chain they are strewn, too. */
#define NN_COLUMN_AT(what, j) \
	((what) == INPUT \
		 ? r->across + (unsigned)(j)*NN_ACROSS \
		 : (unsigned)(j) / (unsigned)NN_WIDE * (NN_ACROSS * (unsigned)NN_WIDE) + \
			   r->across * (unsigned)NN_WIDE + (unsigned)(j) % (unsigned)NN_WIDE)

struct NN_SIZED(tile) {
	real a[NN_STAGES][NN_ROWS][NN_LINE];
	union {
		real n[NN_STAGES][NN_DEPTH][NN_COLUMNS];
		real k[NN_STAGES][NN_COLUMNS][NN_LINE]; /* along the chain */
	} b;
	uintptr_t from[NN_ROWS]; /* where rows begin in x or dy */
	uint32_t lacks[NN_ROWS]; /* taps */
	uint32_t pixel[NN_ROWS]; /* the rows of x or dy, or pixels, that they are */
};

struct NN_SIZED(sums) {
	real sum[NN_EACH_ROWS][NN_EACH_COLUMNS];
	struct corner corner;
	unsigned down, across; /* the thread in its tile */
	bool wide;
	struct tap tap;                /* of the turn that is added */
	struct reader next;            /* of the turn that is copied */
	uint32_t lacks[NN_EACH_ROWS];  /* of the thread's rows */
	uint32_t a_lacks[NN_A_COPIES]; /* of the rows that it copies */
	uint32_t all_lack;             /* taps that no row of the tile has */
	uintptr_t from[NN_A_COPIES];
	unsigned a_to, b_to;  /* where its copies lie in a stage */
	const real *b;        /* its weights of the turn that is copied */
	unsigned b_step, b_k; /* from step to step of them; the first's step */
};

NN_INLINE struct corner NN_SIZED(corner)(const struct nn_tile_args *a, struct nn_spot p)
{
	uint32_t across = (uint32_t)((a->m + NN_ROWS - 1) / NN_ROWS),
		 down = (uint32_t)((a->n + NN_COLUMNS - 1) / NN_COLUMNS), block = (uint32_t)p.block;
	struct corner c = { block % across * NN_ROWS, block / across % down * NN_COLUMNS,
			    block / across / down };
	return c;
}

/* Where row m begins, and which taps it lacks; of images those beyond the last lack all. */
NN_INLINE void NN_SIZED(find_row)(const struct nn_tile_args *a, struct NN_SIZED(tile) * s,
				  const struct corner *corner, enum product what, unsigned row)
{
	const struct nn_conv *c = &a->p.c;
	const size_t m = corner->m + row, line = is_input(what) ? c->y_row : c->x_row;
	const uintptr_t x = (uintptr_t)(is_input(what) ? a->p.dy : a->p.x);
	if (!is_image(what)) {
		s->from[row] = x + (m < a->m ? m : a->m - 1) * line * sizeof(real);
		s->pixel[row] = (uint32_t)m;
		return;
	}
	const size_t at = pixel_at(what, c, a->m, m);
	const struct pixel pixel =
		is_input(what) ? pixel_of(at, c->h.in, c->w.in) : pixel_of(at, c->h.out, c->w.out);
	s->pixel[row] = (uint32_t)at;
	const size_t h = pixel.row * (size_t)(is_input(what) ? c->h.out : c->h.in) +
			 axis_begin(what, &c->h, pixel.h),
		     w = axis_begin(what, &c->w, pixel.w);
	s->from[row] = x + (h * line + w * (is_input(what) ? c->y_pixel : c->x_pixel) +
			    corner->group * channels_of(what, c)) *
				   sizeof(real);
	s->lacks[row] = m < a->m ? axis_lacks(what, &c->h, pixel.h) |
					   axis_lacks(what, &c->w, pixel.w) << (int)c->h.n
				 : ~(uint32_t)0;
}

/*
 * A warp is 8 threads across (or as many as there are) and the rest down, in a zigzag: of two
 * neighbours, and of two next but one, one factor is the same, which halves the reads of 16 bytes.
 */
NN_INLINE void NN_SIZED(begin)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum product what)
{
	const unsigned lane = p.thread % 32, warp = p.thread / 32,
		       side = NN_ACROSS < 8 ? NN_ACROSS : 8, warps = NN_ACROSS / side;
	const struct nn_conv *c = &a->p.c;
	r->corner = NN_SIZED(corner)(a, p);
	r->across = warp % warps * side + lane / 2 % side;
	r->down = warp / warps * (32 / side) + lane / (2 * side) * 2 + lane % 2;
	r->wide = channels_of(what, c) % NN_WIDE == 0 &&
		  (is_input(what) ? is_wide(a->p.dy, c->y_row) && is_wide(NULL, c->y_pixel)
				  : is_wide(a->p.x, c->x_row) && is_wide(NULL, c->x_pixel));
	for (unsigned row = p.thread; row < NN_ROWS; row += NN_THREADS)
		NN_SIZED(find_row)(a, s, &r->corner, what, row);
}

/* The thread's weights: NN_WIDE channels of a step each; a thread beyond the channels has none. */
NN_INLINE void NN_SIZED(find_weights)(const struct nn_tile_args *a, struct nn_spot p,
				      struct NN_SIZED(sums) * r, enum product what)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned at = p.thread % (NN_COLUMNS / NN_WIDE) * NN_WIDE,
		       k = p.thread / (NN_COLUMNS / NN_WIDE);
	const size_t n = r->corner.n + at, depth = (size_t)(c->h.n * c->w.n) * channels_of(what, c);
	const bool there = n < lanes_of(a->n);
	const struct column w = column_of(a->p.w, r->corner.group, there ? n : 0, a->n, depth);
	r->b = w.w + k * w.step;
	r->b_step = (unsigned)w.step;
	r->b_k = there ? k : NN_DEPTH;
	r->b_to = k * NN_COLUMNS + at;
}

/* The turn's steps of the tile's rows, of which `left` are there. */
NN_INLINE void NN_SIZED(copy_a)(const struct nn_tile_args *a, struct nn_spot p,
				struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
				enum product what, unsigned left, unsigned to)
{
	const struct nn_conv *c = &a->p.c;
	const struct reader next = r->next;
	r->next = reader_after(what, c, next, NN_DEPTH);
	if (is_image(what) && r->all_lack & next.bits)
		return;
	if (r->wide) {
		const bool there = p.thread % NN_QUADS * NN_WIDE < left;
		real *at = &s->a[to][0][0] + r->a_to;
		NN_UNROLL
		for (unsigned j = 0; j < NN_A_COPIES; j++)
			NN_COPY_WIDE_IF(there && !(r->a_lacks[j] & next.bits),
					at + j * (NN_APART * NN_LINE),
					real_at(r->from[j], next.offset));
	} else if (p.thread % NN_DEPTH < left) {
		for (unsigned m = p.thread / NN_DEPTH; m < NN_ROWS; m += NN_THREADS / NN_DEPTH)
			if (!is_image(what) || !(s->lacks[m] & next.bits))
				NN_COPY(&s->a[to][m][p.thread % NN_DEPTH],
					real_at(s->from[m], next.offset));
	}
}

/* Of its columns; what lies along the chain is of one panel. */
NN_INLINE void NN_SIZED(copy_b)(const struct nn_tile_args *a, struct nn_spot p,
				struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
				enum product what, uint32_t d, unsigned left, unsigned to)
{
	const struct nn_conv *c = &a->p.c;
	if (what == INPUT) {
		const unsigned k = p.thread % NN_QUADS * NN_WIDE;
		const size_t panel = d / NN_PANEL * NN_PANEL, width = width_at(c->cout, d),
			     n = r->corner.n + p.thread / NN_QUADS;
		const real *w = a->p.w + panel * c->cin + (d - panel + k) + n * width;
		real *at = &s->b.k[to][0][0] + r->a_to;
		NN_UNROLL
		for (unsigned j = 0; j < NN_B_COPIES; j++)
			NN_COPY_WIDE_IF(k < left && n + j * NN_APART < a->n,
					at + j * (NN_APART * NN_LINE), w + j * NN_APART * width);
		return;
	}
	real *at = &s->b.n[to][0][0] + r->b_to;
	NN_UNROLL
	for (unsigned j = 0; j < NN_B_COPIES; j++)
		NN_COPY_WIDE_IF(r->b_k + j * NN_STEPS_APART < left,
				at + j * (NN_STEPS_APART * NN_COLUMNS),
				r->b + j * NN_STEPS_APART * r->b_step);
	r->b += NN_DEPTH * r->b_step;
}

/* The turn of step d is asked for. */
NN_INLINE void NN_SIZED(copy)(const struct nn_tile_args *a, struct nn_spot p,
			      struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			      enum product what, uint32_t d, unsigned to)
{
	const uint32_t depth = (uint32_t)a->depth;
	if (d < depth) {
		const unsigned left = depth - d < NN_DEPTH ? depth - d : NN_DEPTH;
		NN_SIZED(copy_a)(a, p, s, r, what, left, to);
		NN_SIZED(copy_b)(a, p, s, r, what, d, left, to);
	}
	NN_ASKED();
}

/* Zeros, what this thread reads and copies again and again, and the first turns. */
NN_INLINE void NN_SIZED(first)(const struct nn_tile_args *a, struct nn_spot p,
			       struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum product what)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned k = p.thread % NN_QUADS * NN_WIDE, row = p.thread / NN_QUADS;
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_ROWS; i++) {
		r->lacks[i] = is_image(what) ? s->lacks[NN_ROW_AT(i)] : 0;
		NN_UNROLL
		for (unsigned j = 0; j < NN_EACH_COLUMNS; j++)
			r->sum[i][j] = 0;
	}
	NN_UNROLL
	for (unsigned j = 0; j < NN_A_COPIES; j++) {
		r->from[j] = s->from[row + j * NN_APART];
		r->a_lacks[j] = is_image(what) ? s->lacks[row + j * NN_APART] : 0;
	}
	r->all_lack = ~(uint32_t)0;
	for (unsigned m = 0; is_image(what) && m < NN_ROWS; m++)
		r->all_lack &= s->lacks[m];
	r->a_to = row * NN_LINE + k;
	NN_KEEP(r->a_to);
	if (what != INPUT) {
		NN_SIZED(find_weights)(a, p, r, what);
		NN_KEEP(r->b_to);
		NN_KEEP(r->b_k);
		NN_KEEP(r->b_step);
	}
	r->tap = tap_of(what, c, 0);
	r->next = reader_of(what, c, tap_of(what, c, r->wide ? k : p.thread % NN_DEPTH));
	for (unsigned turn = 0; turn + 1 < NN_STAGES; turn++)
		NN_SIZED(copy)(a, p, s, r, what, turn * NN_DEPTH, turn);
	NN_COPIED(NN_STAGES - 2);
}

/* n steps of one tap from k on: rows that lack it leave them out. */
NN_INLINE void NN_SIZED(steps)(const struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			       enum product what, unsigned from, unsigned k, unsigned n,
			       uint32_t bits)
{
	real x[NN_EACH_ROWS][NN_WIDE], w[NN_EACH_COLUMNS][NN_WIDE];
	NN_UNROLL
	for (unsigned j = 0; j < NN_EACH_COLUMNS; j++) {
		NN_UNROLL
		for (unsigned l = 0; l < n; l++)
			w[j][l] = what == INPUT ? s->b.k[from][NN_COLUMN_AT(what, j)][k + l]
						: s->b.n[from][k + l][NN_COLUMN_AT(what, j)];
	}
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_ROWS; i++) {
		NN_UNROLL
		for (unsigned l = 0; l < n; l++)
			x[i][l] = s->a[from][NN_ROW_AT(i)][k + l];
	}
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_ROWS; i++) {
		const uint32_t lacks = is_image(what) ? r->lacks[i] & bits : 0;
		NN_UNROLL
		for (unsigned l = 0; l < n; l++) {
			NN_UNROLL
			for (unsigned j = 0; j < NN_EACH_COLUMNS; j++) {
				if (is_image(what))
					NN_FMA_UNLESS(lacks, x[i][l], w[j][l], r->sum[i][j]);
				else
					r->sum[i][j] = r_fma(x[i][l], w[j][l], r->sum[i][j]);
			}
		}
	}
}

/* A whole turn, of whose taps there are NN_WIDE steps each at least. */
NN_INLINE void NN_SIZED(whole)(const struct nn_tile_args *a, const struct NN_SIZED(tile) * s,
			       struct NN_SIZED(sums) * r, enum product what, unsigned from)
{
	const struct nn_conv *c = &a->p.c;
	const bool together = channels_of(what, c) % NN_DEPTH == 0;
	uint32_t bits = 0;
	if (is_image(what) && together && r->all_lack & bits_of(c, r->tap)) {
		r->tap = tap_after(what, c, r->tap, NN_DEPTH);
		return;
	}
	NN_UNROLL
	for (unsigned q = 0; q < NN_QUADS; q++) {
		if (is_image(what) && (q == 0 || !together)) {
			bits = bits_of(c, r->tap);
			r->tap =
				tap_after(what, c, r->tap, together ? NN_DEPTH : (uint32_t)NN_WIDE);
		}
		NN_SIZED(steps)(s, r, what, from, q * NN_WIDE, NN_WIDE, bits);
	}
}

/* What was asked for `turn` is added, while that of the next turns is on its way. */
NN_INLINE void NN_SIZED(add)(const struct nn_tile_args *a, struct nn_spot p,
			     struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			     enum product what, uint32_t d, unsigned turn)
{
	const uint32_t depth = (uint32_t)a->depth;
	const unsigned from = turn % NN_STAGES;
	NN_SIZED(copy)
	(a, p, s, r, what, d + (NN_STAGES - 1) * NN_DEPTH, (turn + NN_STAGES - 1) % NN_STAGES);
	if (d + NN_DEPTH <= depth && (!is_image(what) || r->wide)) {
		NN_SIZED(whole)(a, s, r, what, from);
	} else {
		for (unsigned k = 0; k < NN_DEPTH && d + k < depth; k++) {
			NN_SIZED(steps)
			(s, r, what, from, k, 1, is_image(what) ? bits_of(&a->p.c, r->tap) : 0);
			r->tap = tap_after(what, &a->p.c, r->tap, 1);
		}
	}
	NN_COPIED(NN_STAGES - 2);
}

/* n of NN_WIDE neighbours at `at` of what is written; bare: as they are. */
NN_INLINE void NN_SIZED(put_at)(const struct nn_tile_args *a, const real *sum, enum product what,
				bool bare, size_t o, size_t at, size_t n)
{
	real *to = is_input(what) ? a->p.dx : a->p.y;
	struct wide_reals by;
	NN_UNROLL
	for (size_t j = 0; j < NN_WIDE; j++) {
		if (j >= n)
			break;
		by.v[j] = bare ? sum[j] : tail(&a->p, sum[j], o + j, at + j);
		if (!bare && is_input(what) && a->p.add)
			by.v[j] = to[at + j] + by.v[j];
	}
	if (n == NN_WIDE && is_wide(to + at, 0)) {
		put_wide(to + at, &by);
		return;
	}
	NN_UNROLL
	for (size_t j = 0; j < NN_WIDE; j++)
		if (j < n)
			to[at + j] = by.v[j];
}

NN_INLINE void NN_SIZED(put_all)(const struct nn_tile_args *a, const struct NN_SIZED(tile) * s,
				 const struct NN_SIZED(sums) * r, enum product what, bool bare)
{
	const size_t groups = a->p.c.groups, each = what == INPUT ? 1 : NN_WIDE;
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_ROWS; i++) {
		const size_t at = s->pixel[NN_ROW_AT(i)] * groups * a->n;
		if (r->corner.m + NN_ROW_AT(i) >= a->m)
			continue;
		NN_UNROLL
		for (unsigned j = 0; j < NN_EACH_COLUMNS; j += (unsigned)each) {
			const size_t n = r->corner.n + NN_COLUMN_AT(what, j),
				     o = r->corner.group * a->n + n;
			if (n < a->n)
				NN_SIZED(put_at)
				(a, &r->sum[i][j], what, bare, o, at + o,
				 a->n - n < each ? a->n - n : each);
		}
	}
}

NN_INLINE void NN_SIZED(put)(const struct nn_tile_args *a, struct nn_spot p,
			     struct NN_SIZED(tile) * s, struct NN_SIZED(sums) * r,
			     enum product what)
{
	(void)p;
	if (!a->p.bias && !a->p.residual && a->p.act == NN_TAIL_NONE && !a->p.add)
		NN_SIZED(put_all)(a, s, r, what, true);
	else
		NN_SIZED(put_all)(a, s, r, what, false);
}

#define NN_TILED(name, what) \
	NN_SIZED_SCRIPT(NN_SIZED(name), struct nn_tile_args, struct NN_SIZED(tile), \
			struct NN_SIZED(sums), NN_THREADS) \
	{ \
		unsigned turn = 0; \
		NN_PHASE(NN_SIZED(begin), what); \
		NN_PHASE(NN_SIZED(first), what); \
		for (uint32_t d = 0; d < (uint32_t)a->depth; d += NN_DEPTH, turn++) \
			NN_PHASE(NN_SIZED(add), what, d, turn); \
		NN_PHASE(NN_SIZED(put), what); \
	}

NN_TILED(tile, FORWARD)
NN_TILED(tile_input, INPUT)
NN_TILED(tile_image, IMAGE_FORWARD)
NN_TILED(tile_image_input, IMAGE_INPUT)

#undef NN_SIZED
#undef NN_SIZED_SCRIPT
#undef NN_DOWN
#undef NN_ACROSS
#undef NN_THREADS
#undef NN_QUADS
#undef NN_LINE
#undef NN_A_COPIES
#undef NN_B_COPIES
#undef NN_APART
#undef NN_STEPS_APART
#undef NN_ROW_AT
#undef NN_COLUMN_AT
#undef NN_TILED
#undef NN_SHAPE
#undef NN_ROWS
#undef NN_COLUMNS
#undef NN_EACH_ROWS
#undef NN_EACH_COLUMNS
#undef NN_DEPTH
#undef NN_STAGES
