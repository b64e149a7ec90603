/*
 * Chains of few rows: a block has 8 rows x 16 channels. Half of its threads add, a row and two
 * channels each; the other half bring what they add, turns ahead, into shared memory, where rows
 * lie along the chain, so that one load feeds several steps.
 */
#ifndef NN_DEVICE_CUDA_TINY_H
#define NN_DEVICE_CUDA_TINY_H

#include "device/cuda/product/panels.h"

#define NN_TINY_ROWS 8
#define NN_TINY_CHANNELS 16
#define NN_TINY_EACH 2                                                  /* channels of a thread */
#define NN_TINY_ADDERS (NN_TINY_ROWS * NN_TINY_CHANNELS / NN_TINY_EACH) /* threads */
#define NN_TINY_BEARERS 64                                              /* threads behind them */
#define NN_TINY_THREADS (NN_TINY_ADDERS + NN_TINY_BEARERS)
#define NN_TINY_DEPTH (512 / sizeof(real)) /* steps of a turn */
#define NN_TINY_LINE (NN_TINY_DEPTH + NN_WIDE)
#define NN_TINY_TURNS 3 /* whose steps have room */
#define NN_TINY_GROUP \
	(64 / sizeof(real)) /* steps whose factors are read while those before are added */

#define NN_TINY_GROUPS 4 /* without a jump */

/* w: forward [step][channel], as in a panel; towards the input [channel][step]. */
struct tiny {
	real x[NN_TINY_TURNS][NN_TINY_ROWS][NN_TINY_LINE],
		w[NN_TINY_TURNS][NN_TINY_CHANNELS * NN_TINY_LINE];
};

struct tiny_sum {
	size_t m, n;             /* where the block begins */
	unsigned rows, channels; /* of the block that there are */
	bool wide, whole; /* rows are copied NN_WIDE steps at a time; all of the block are there */
	const real *x;    /* what the thread copies: of its first row */
	struct column w;  /* of its channels, or first channel; w NULL: there are none */
	struct behind behind[NN_TINY_EACH];
	real sum[NN_TINY_EACH];
};

NN_INLINE bool tiny_adds(struct nn_spot p)
{
	return p.thread < NN_TINY_ADDERS;
}

/*
 * The thread's row, and its channel j. Of neighbours, and of every other pair of them, one factor
 * is the same: so loads of 8 and of 16 bytes take the least turns.
 */
NN_INLINE unsigned tiny_row(struct nn_spot p)
{
	return p.thread / 16 * 2 + p.thread % 2;
}

NN_INLINE unsigned tiny_channel(bool input, struct nn_spot p, unsigned j)
{
	unsigned i = p.thread / 2 % 8;
	return input ? i + 8 * j : i * NN_TINY_EACH + j;
}

/* Steps of the turn that begins at step d. */
NN_INLINE unsigned tiny_steps(const struct nn_tile_args *a, size_t d)
{
	return d >= a->depth                  ? 0
	       : a->depth - d < NN_TINY_DEPTH ? (unsigned)(a->depth - d)
					      : (unsigned)NN_TINY_DEPTH;
}

/* What a thread copies: NN_WIDE steps of every other row, from this step and row on. */
#define NN_TINY_ALONG (NN_TINY_DEPTH / NN_WIDE)
#define NN_TINY_DOWN (NN_TINY_BEARERS / NN_TINY_ALONG)

NN_INLINE void ask_rows(unsigned bearer, struct tiny *s, const struct tiny_sum *r, size_t row,
			size_t d, unsigned n, unsigned to)
{
	const unsigned k = bearer % NN_TINY_ALONG * NN_WIDE, first = bearer / NN_TINY_ALONG;
	const real *x = r->x + d;
	if (r->whole && n == NN_TINY_DEPTH) {
		NN_UNROLL
		for (unsigned i = 0; i < NN_TINY_ROWS; i += NN_TINY_DOWN)
			NN_COPY_WIDE(&s->x[to][first + i][k], x + k + (first + i) * row);
	} else if (r->wide) {
		NN_ROLLED
		for (unsigned i = first; i < r->rows && k < n; i += NN_TINY_DOWN)
			NN_COPY_WIDE(&s->x[to][i][k], x + k + i * row);
	} else {
		NN_ROLLED
		for (unsigned i = bearer; i < r->rows * n; i += NN_TINY_BEARERS)
			NN_COPY(&s->x[to][i / n][i % n], x + i / n * row + i % n);
	}
}

/* Forward: the channels of a panel's steps. */
NN_INLINE void ask_panel(unsigned bearer, struct tiny *s, const struct tiny_sum *r, size_t d,
			 unsigned n, unsigned to)
{
	const unsigned across = NN_TINY_CHANNELS / NN_WIDE, down = NN_TINY_BEARERS / across,
		       at = bearer % across * NN_WIDE, first = bearer / across;
	const real *w;
	if (!r->w.w)
		return;
	w = r->w.w + (d + first) * r->w.step;
	if (n == NN_TINY_DEPTH) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_TINY_DEPTH; k += down)
			NN_COPY_WIDE(&s->w[to][(k + first) * NN_TINY_CHANNELS + at],
				     w + k * r->w.step);
	} else {
		NN_ROLLED
		for (unsigned k = 0; k + first < n; k += down)
			NN_COPY_WIDE(&s->w[to][(k + first) * NN_TINY_CHANNELS + at],
				     w + k * r->w.step);
	}
}

/* Towards the input: out-channels d on of the in-channels; what a panel has beyond the last is 0.
 */
NN_INLINE void ask_channels(const struct nn_tile_args *a, unsigned bearer, struct tiny *s,
			    const struct tiny_sum *r, size_t d, unsigned n, unsigned to)
{
	const unsigned k = bearer % NN_TINY_ALONG * NN_WIDE, first = bearer / NN_TINY_ALONG;
	const struct column w = column_of(a->p.w, 0, d + k, a->p.c.cout, a->p.c.cin);
	const real *from = w.w + (r->n + first) * w.step;
	if (r->whole && n == NN_TINY_DEPTH) {
		NN_UNROLL
		for (unsigned i = 0; i < NN_TINY_CHANNELS; i += NN_TINY_DOWN)
			NN_COPY_WIDE(&s->w[to][(first + i) * NN_TINY_LINE + k], from + i * w.step);
	} else {
		NN_ROLLED
		for (unsigned i = 0; first + i < r->channels && k < n; i += NN_TINY_DOWN)
			NN_COPY_WIDE(&s->w[to][(first + i) * NN_TINY_LINE + k], from + i * w.step);
	}
}

/* Ask for the steps of the chain from d on, which turn `turn` adds. */
NN_INLINE void ask_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			const struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned n = tiny_steps(a, d), to = turn % NN_TINY_TURNS,
		       bearer = p.thread - NN_TINY_ADDERS;
	if (n > 0) {
		ask_rows(bearer, s, r, input ? c->y_row : c->x_row, d, n, to);
		if (input)
			ask_channels(a, bearer, s, r, d, n, to);
		else
			ask_panel(bearer, s, r, d, n, to);
	}
	NN_ASKED();
}

/* The first turns are asked for; r->m, r->n and, forward, r->w are there. */
NN_INLINE void start_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			  struct tiny_sum *r, bool input)
{
	const real *x = input ? a->p.dy : a->p.x;
	const size_t row = input ? a->p.c.y_row : a->p.c.x_row, rows = a->m - r->m,
		     channels = a->n - r->n;
	r->rows = rows < NN_TINY_ROWS ? (unsigned)rows : NN_TINY_ROWS;
	r->channels = channels < NN_TINY_CHANNELS ? (unsigned)channels : NN_TINY_CHANNELS;
	r->wide = is_wide(x, row) && a->depth % NN_WIDE == 0;
	r->whole =
		r->wide && r->rows == NN_TINY_ROWS && (!input || r->channels == NN_TINY_CHANNELS);
	r->x = x + r->m * row;
	NN_UNROLL
	for (unsigned j = 0; j < NN_TINY_EACH; j++)
		r->sum[j] = 0;
	if (!tiny_adds(p))
		for (unsigned turn = 0; turn < NN_TINY_TURNS - 1; turn++)
			ask_tiny(a, p, s, r, input, turn * NN_TINY_DEPTH, turn);
}

struct factors {
	real x[NN_TINY_GROUP], w[NN_TINY_EACH][NN_TINY_GROUP];
};

/* Of the group that begins at step k of a turn. */
NN_INLINE void read_factors(struct nn_spot p, const struct tiny *s, bool input, unsigned from,
			    unsigned k, struct factors *f)
{
	const real *x = &s->x[from][tiny_row(p)][k];
	NN_UNROLL
	for (unsigned i = 0; i < NN_TINY_GROUP; i++)
		f->x[i] = x[i];
	NN_UNROLL
	for (unsigned i = 0; i < NN_TINY_GROUP; i++) {
		NN_UNROLL
		for (unsigned j = 0; j < NN_TINY_EACH; j++) {
			const unsigned n = tiny_channel(input, p, j);
			f->w[j][i] = s->w[from][input ? n * NN_TINY_LINE + k + i
						      : (k + i) * NN_TINY_CHANNELS + n];
		}
	}
}

NN_INLINE void add_factors(struct tiny_sum *r, const struct factors *f, unsigned n)
{
	NN_UNROLL
	for (unsigned i = 0; i < NN_TINY_GROUP; i++) {
		NN_UNROLL
		for (unsigned j = 0; j < NN_TINY_EACH; j++)
			if (i < n)
				r->sum[j] = r_fma(f->x[i], f->w[j][i], r->sum[j]);
	}
}

/* A turn: its steps, d on, are there. */
NN_INLINE void turn_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			 struct tiny_sum *r, bool input, size_t d, unsigned turn)
{
	const unsigned from = turn % NN_TINY_TURNS, n = tiny_steps(a, d);
	struct factors f[2];
	if (!tiny_adds(p)) {
		ask_tiny(a, p, s, r, input, d + (NN_TINY_TURNS - 1) * NN_TINY_DEPTH,
			 turn + NN_TINY_TURNS - 1);
		NN_COPIED(NN_TINY_TURNS - 2);
	} else if (n == NN_TINY_DEPTH) {
		NN_ROLLED
		for (unsigned k = 0; k < NN_TINY_DEPTH; k += NN_TINY_GROUPS * NN_TINY_GROUP) {
			read_factors(p, s, input, from, k, &f[0]);
			NN_UNROLL
			for (unsigned g = 0; g < NN_TINY_GROUPS; g++) {
				if (g + 1 < NN_TINY_GROUPS)
					read_factors(p, s, input, from, k + (g + 1) * NN_TINY_GROUP,
						     &f[(g + 1) % 2]);
				add_factors(r, &f[g % 2], NN_TINY_GROUP);
			}
		}
	} else {
		NN_ROLLED
		for (unsigned k = 0; k < n; k += NN_TINY_GROUP) {
			read_factors(p, s, input, from, k, &f[0]);
			add_factors(r, &f[0], n - k);
		}
	}
}

#endif
