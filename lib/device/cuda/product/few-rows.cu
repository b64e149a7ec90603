/*
 * Gradients of a dense layer's weights and bias where rows are few: a block of threads has 16
 * in-channels x 16 out-channels, a thread four neighbours of these, over all leaves. Behind the
 * last in-channel comes the bias, whose input is 1. The update may follow: what it reads is asked
 * for first.
 */
#include "device/cpu/activation.h"
#include "device/cuda/product/panels.h"
#include "device/cuda/step.h"
#include "device/cuda/wide.h"

#define NN_FEW_SIDE 16                    /* channels, of either kind */
#define NN_FEW_EACH 4                     /* out-channels of a thread */
#define NN_FEW_DEPTH (256 / sizeof(real)) /* rows of a turn */
#define NN_FEW_TURNS 3                    /* that have room */
#define NN_FEW_AT_ONCE 8                  /* rows that are read before they are added */
#define NN_FEW_THREADS (NN_FEW_SIDE * NN_FEW_SIDE / NN_FEW_EACH)
#define NN_FEW_STEP_THREADS (NN_FEW_THREADS + 32) /* those behind get an update ready */

#define NN_FEW_WIDE (NN_FEW_EACH / NN_WIDE)

struct few {
	real x[NN_FEW_TURNS][NN_FEW_DEPTH][NN_FEW_SIDE],
		dy[NN_FEW_TURNS][NN_FEW_DEPTH][NN_FEW_SIDE],
		y[NN_FEW_TURNS][NN_FEW_DEPTH][NN_FEW_SIDE];
};

struct few_sums {
	size_t m, n;  /* where the block begins */
	unsigned out; /* of the thread's channels that there are; the others are padding */
	size_t leaf;
	real *to; /* NULL: the thread has none */
	bool bias;
	real sum[NN_FEW_EACH],
		stack[NN_TILE_LEVELS][NN_FEW_EACH];          /* subtrees of leaves, by level */
	struct wide_reals w[NN_FEW_WIDE], a[NN_FEW_WIDE], b[NN_FEW_WIDE]; /* what adam's update reads */
};

/* ---- rows on their way ---- */

/* n rows of NN_FEW_SIDE columns, of which there are `left`. */
NN_INLINE void ask_columns(unsigned thread, const real *from, size_t row, size_t left, unsigned n,
			   real (*to)[NN_FEW_SIDE])
{
	const unsigned across = NN_FEW_SIDE / NN_WIDE, down = NN_FEW_THREADS / across,
		       at = thread % across * NN_WIDE, first = thread / across;
	if (left >= NN_FEW_SIDE && is_wide(from, row)) {
		NN_UNROLL
		for (unsigned k = 0; k < NN_FEW_DEPTH; k += down)
			if (k + first < n)
				NN_COPY_WIDE(&to[k + first][at], from + (k + first) * row + at);
	} else {
		for (unsigned i = thread; i < n * NN_FEW_SIDE; i += NN_FEW_THREADS)
			if (i % NN_FEW_SIDE < left)
				NN_COPY(&to[i / NN_FEW_SIDE][i % NN_FEW_SIDE],
					from + i / NN_FEW_SIDE * row + i % NN_FEW_SIDE);
	}
}

/* Rows of the turn that begins at row d. */
NN_INLINE unsigned few_in_turn(size_t d, size_t end)
{
	return d >= end ? 0 : end - d < NN_FEW_DEPTH ? (unsigned)(end - d) : (unsigned)NN_FEW_DEPTH;
}

NN_INLINE void ask_few(const struct nn_tile_args *a, unsigned thread, struct few *s,
		       const struct few_sums *r, size_t d, size_t end, unsigned turn)
{
	const struct nn_conv *c = &a->p.c;
	const unsigned n = few_in_turn(d, end), to = turn % NN_FEW_TURNS;
	if (r->m < a->m)
		ask_columns(thread, a->p.x + d * c->x_row + r->m, c->x_row, a->m - r->m, n,
			    s->x[to]);
	if (a->m - r->m < NN_FEW_SIDE)
		for (unsigned k = thread; k < n; k += NN_FEW_THREADS)
			s->x[to][k][a->m - r->m] = 1;
	if (r->n < c->cout)
		ask_columns(thread, a->p.dy + d * c->y_row + r->n, c->y_row, c->cout - r->n, n,
			    s->dy[to]);
	if (r->n < c->cout && a->p.y)
		ask_columns(thread, a->p.y + d * c->y_row + r->n, c->y_row, c->cout - r->n, n,
			    s->y[to]);
	NN_ASKED();
}

NN_INLINE void begin_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			 struct few_sums *r, size_t end)
{
	const struct nn_conv *c = &a->p.c;
	const uint32_t across = (uint32_t)((a->n + NN_FEW_SIDE - 1) / NN_FEW_SIDE),
		       down = (uint32_t)p.block / across;
	size_t m, n;
	r->m = (size_t)down * NN_FEW_SIDE;
	r->n = ((uint32_t)p.block - down * across) * NN_FEW_SIDE;
	for (unsigned turn = 0; turn < NN_FEW_TURNS - 1; turn++)
		ask_few(a, p.thread, s, r, turn * NN_FEW_DEPTH, end, turn);
	m = r->m + p.thread % NN_FEW_SIDE;
	n = r->n + p.thread / NN_FEW_SIDE * NN_FEW_EACH;
	r->out = n >= c->cout                ? 0
		 : c->cout - n < NN_FEW_EACH ? (unsigned)(c->cout - n)
					     : NN_FEW_EACH;
	r->bias = m == a->m;
	r->leaf = 0;
	r->to = NULL;
	NN_UNROLL
	for (unsigned j = 0; j < NN_FEW_EACH; j++)
		r->sum[j] = 0;
	if (m < a->m && n < a->n) {
		const struct column column = column_of(a->dw, 0, n, c->cout, a->m);
		r->to = (real *)column.w + m * column.step;
	} else if (r->bias && r->out > 0 && a->bias) {
		r->to = a->bias + n;
	}
}

/* ---- chains ---- */

/* dy of the turn's rows becomes that of what relu was given. */
NN_INLINE void mask_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			struct few_sums *r, size_t d, size_t end, unsigned turn)
{
	const unsigned at = turn % NN_FEW_TURNS, n = few_in_turn(d, end);
	(void)a;
	(void)r;
	NN_AHEAD
	for (unsigned i = p.thread; i < n * NN_FEW_SIDE; i += NN_FEW_THREADS) {
		real *dy = &s->dy[at][i / NN_FEW_SIDE][i % NN_FEW_SIDE];
		*dy = v_activate_back_y(NN_ACT_RELU, 0, s->y[at][i / NN_FEW_SIDE][i % NN_FEW_SIDE],
					*dy);
	}
}

/* n <= NN_FEW_AT_ONCE rows of a turn from row k on. */
NN_INLINE void add_rows(struct nn_spot p, const struct few *s, struct few_sums *r, unsigned from,
			unsigned k, unsigned n)
{
	const unsigned in = p.thread % NN_FEW_SIDE, out = p.thread / NN_FEW_SIDE * NN_FEW_EACH;
	real x[NN_FEW_AT_ONCE], dy[NN_FEW_AT_ONCE][NN_FEW_EACH];
	NN_UNROLL
	for (unsigned i = 0; i < NN_FEW_AT_ONCE; i++) {
		x[i] = s->x[from][i < n ? k + i : k][in];
		NN_UNROLL
		for (unsigned j = 0; j < NN_FEW_EACH; j++)
			dy[i][j] = s->dy[from][i < n ? k + i : k][out + j];
	}
	NN_UNROLL
	for (unsigned i = 0; i < NN_FEW_AT_ONCE; i++) {
		NN_UNROLL
		for (unsigned j = 0; j < NN_FEW_EACH; j++)
			if (i < n && j < r->out) /* padding stays 0 */
				r->sum[j] = r_fma(x[i], dy[i][j], r->sum[j]);
	}
}

/* A leaf is finished: it is added to the subtrees that it completes. */
NN_INLINE void close_few(const struct nn_tile_args *a, struct few_sums *r)
{
	bool adds = true;
	NN_UNROLL
	for (int level = 0; level < NN_TILE_LEVELS; level++) {
		const bool both = adds && r->leaf >> level & 1, keeps = adds && !both;
		NN_UNROLL
		for (unsigned j = 0; j < NN_FEW_EACH; j++) {
			if (both)
				r->sum[j] = v_add(r->stack[level][j], r->sum[j]);
			else if (keeps)
				r->stack[level][j] = r->sum[j];
		}
		adds = both;
	}
	if (++r->leaf == a->leaf.n)
		return;
	NN_UNROLL
	for (unsigned j = 0; j < NN_FEW_EACH; j++)
		r->sum[j] = 0;
}

NN_INLINE void add_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
		       struct few_sums *r, size_t d, size_t end, unsigned turn)
{
	const unsigned n = few_in_turn(d, end);
	unsigned k = 0;
	ask_few(a, p.thread, s, r, d + (NN_FEW_TURNS - 1) * NN_FEW_DEPTH, end,
		turn + NN_FEW_TURNS - 1);
	while (r->to && r->leaf < a->leaf.n) {
		const size_t left = nn_bound_at(&a->leaf, r->leaf + 1) - d;
		const unsigned stop = (unsigned)(left < n ? left : n);
		NN_ROLLED
		for (; k + NN_FEW_AT_ONCE <= stop; k += NN_FEW_AT_ONCE)
			add_rows(p, s, r, turn % NN_FEW_TURNS, k, NN_FEW_AT_ONCE);
		if (k < stop)
			add_rows(p, s, r, turn % NN_FEW_TURNS, k, stop - k);
		k = stop;
		if (left > n)
			break;
		close_few(a, r);
		if (left == n && d + n < end)
			break;
	}
	NN_COPIED(NN_FEW_TURNS - 2);
}

#define NN_FEW_CHAINS(t, begin, mask, add) \
	do { \
		const size_t end_ = nn_bound_at(&(t)->leaf, (t)->leaf.n); \
		unsigned turn_ = 0; \
		NN_PHASE(begin, end_); \
		if ((t)->p.y) \
			NN_PHASE(mask, 0, end_, 0); \
		for (size_t d_ = 0; d_ < end_; d_ += NN_FEW_DEPTH, turn_++) { \
			NN_PHASE(add, d_, end_, turn_); \
			if ((t)->p.y) \
				NN_PHASE(mask, d_ + NN_FEW_DEPTH, end_, turn_ + 1); \
		} \
	} while (0)

/* ---- gradients ---- */

NN_INLINE void begin_few_rows(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
			      struct few_sums *r, size_t end)
{
	begin_few(a, p, s, r, end);
	NN_COPIED(NN_FEW_TURNS - 2);
}

/* The bias has as many as there are channels, weights have padding, too. */
NN_INLINE bool has_sum(const struct few_sums *r, unsigned j)
{
	return r->to && (!r->bias || j < r->out);
}

NN_INLINE void put_few(const struct nn_tile_args *a, struct nn_spot p, struct few *s,
		       struct few_sums *r)
{
	(void)a;
	(void)p;
	(void)s;
	NN_UNROLL
	for (unsigned j = 0; j < NN_FEW_EACH; j++)
		if (has_sum(r, j))
			r->to[j] = r->sum[j];
}

NN_SCRIPT(few_rows, struct nn_tile_args, struct few, struct few_sums, NN_FEW_THREADS)
{
	NN_FEW_CHAINS(a, begin_few_rows, mask_few, add_few);
	NN_PHASE(put_few);
}

/* ---- the same, with the update, which nobody else reads them for ---- */

struct few_step {
	struct few few;
	struct step step[2]; /* of weights, of the bias */
};

/* NN_FEW_EACH neighbours, of which a weight's are aligned. */
NN_INLINE void move_own(const struct few_sums *r, real *to, const real *from)
{
	NN_UNROLL
	for (unsigned j = 0; j < NN_FEW_EACH; j += NN_WIDE) {
		if (!r->bias) {
			const struct wide_reals v = get_wide(from + j);
			put_wide(to + j, &v);
			continue;
		}
		NN_UNROLL
		for (unsigned i = j; i < j + NN_WIDE; i++)
			if (i < r->out)
				to[i] = from[i];
	}
}

NN_INLINE size_t few_place(const struct nn_tile_step_args *a, const struct few_sums *r)
{
	return (size_t)(r->to - (r->bias ? a->t.bias : a->t.dw));
}

NN_INLINE void begin_few_step(const struct nn_tile_step_args *a, struct nn_spot p,
			      struct few_step *s, struct few_sums *r, size_t end)
{
	const unsigned behind = p.thread - NN_FEW_THREADS;
	const struct nn_update *u;
	if (p.thread >= NN_FEW_THREADS) {
		if (behind < 1u + (a->t.bias != NULL))
			step_ready(&s->step[behind], &a->u[behind], NULL);
		return;
	}
	begin_few(&a->t, p, &s->few, r, end);
	u = &a->u[r->bias];
	if (r->to && u->kind == NN_OPTIMIZER_ADAM) {
		move_own(r, r->w->v, (const real *)u->w + few_place(a, r));
		move_own(r, r->a->v, (const real *)u->slot[0] + few_place(a, r));
		move_own(r, r->b->v, (const real *)u->slot[1] + few_place(a, r));
	}
	NN_COPIED(NN_FEW_TURNS - 2);
}

NN_INLINE void mask_few_step(const struct nn_tile_step_args *a, struct nn_spot p,
			     struct few_step *s, struct few_sums *r, size_t d, size_t end,
			     unsigned turn)
{
	if (p.thread < NN_FEW_THREADS)
		mask_few(&a->t, p, &s->few, r, d, end, turn);
}

NN_INLINE void add_few_step(const struct nn_tile_step_args *a, struct nn_spot p, struct few_step *s,
			    struct few_sums *r, size_t d, size_t end, unsigned turn)
{
	if (p.thread < NN_FEW_THREADS)
		add_few(&a->t, p, &s->few, r, d, end, turn);
}

/* Adam's, of what is there already. */
NN_INLINE void step_own(const struct step *step, const struct nn_update *u, struct few_sums *r,
			size_t at)
{
	struct nn_ready_update own = step->ready;
	own.w = r->w->v;
	own.a = r->a->v;
	own.b = r->b->v;
	adam_plain(&own.sink, 0, r->sum, NN_FEW_EACH);
	move_own(r, (real *)u->w + at, r->w->v);
	move_own(r, (real *)u->slot[0] + at, r->a->v);
	move_own(r, (real *)u->slot[1] + at, r->b->v);
}

NN_INLINE void step_few(const struct nn_tile_step_args *a, struct nn_spot p, struct few_step *s,
			struct few_sums *r)
{
	const struct step *step = &s->step[p.thread < NN_FEW_THREADS && r->bias];
	const struct nn_update *u = &a->u[p.thread < NN_FEW_THREADS && r->bias];
	real *sums = &s->few.x[0][0][0] + p.thread * NN_FEW_EACH; /* which can be counted through */
	if (p.thread >= NN_FEW_THREADS || !r->to || step->hold)
		return;
	if (step->plain) {
		step_own(step, u, r, few_place(a, r));
		return;
	}
	NN_UNROLL
	for (unsigned j = 0; j < NN_FEW_EACH; j++)
		sums[j] = r->sum[j];
	NN_ROLLED
	for (unsigned j = 0; j < NN_FEW_EACH; j++)
		if (has_sum(r, j))
			step_at(step, u, few_place(a, r) + j, &sums[j]);
}

NN_SCRIPT(few_rows_step, struct nn_tile_step_args, struct few_step, struct few_sums,
	  NN_FEW_STEP_THREADS)
{
	NN_FEW_CHAINS(&a->t, begin_few_step, mask_few_step, add_few_step);
	NN_PHASE(step_few);
}
