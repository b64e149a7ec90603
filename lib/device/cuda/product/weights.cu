/*
 * Gradients of a dense layer's weights and bias where rows are few: a block of threads has a chain
 * each, of 8 in-channels x 16 out-channels, over all leaves; both factors of the next steps are on
 * their way to shared memory while it adds. Then the same with the update.
 */
#include "device/cuda/product/taps.h"
#include "device/cuda/step.h"

#define NN_FEW_ROWS 8
#define NN_FEW_CHANNELS 16
#define NN_FEW_DEPTH (512 / sizeof(real))
#define NN_FEW_THREADS (NN_FEW_ROWS * NN_FEW_CHANNELS)

struct few {
	real x[2][NN_FEW_ROWS][NN_FEW_DEPTH + NN_WIDE], dy[2][NN_FEW_DEPTH][NN_FEW_CHANNELS];
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
