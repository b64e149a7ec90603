/*
 * What the passes of a recurrent layer share: where forward leaves what backward needs, and how
 * work is cut.
 *
 * Arrays by position have [row][step][values], as x and y: so a leaf's positions follow each other
 * in the order in which the gradient of a weight adds them. Gates and cells, which no product
 * reads, have [step][row][values]: what a step reads lies together. What goes from step to step
 * lies in scratch, [row][values], for the rows of a piece.
 */
#ifndef NN_DEVICE_CPU_SEQUENCE_RECURRENT_H
#define NN_DEVICE_CPU_SEQUENCE_RECURRENT_H

#include <stdint.h>
#include <string.h>
#include "device/cpu/cpu.h"
#include "device/cpu/product/product.h"

#define NN_RECURRENT_ROWS ((size_t)56) /* of a piece at most: four tiles of the products */
/* bytes by position that no cache keeps from forward to backward */
#define NN_RECURRENT_FAR ((size_t)2097152)

struct nn_recurrence {
	const struct nn_call *call;
	const struct nn_recurrent *attrs;
	size_t steps, units, sums; /* sums: products of a position, gates * units */
	struct nn_matrix x, h;     /* the products of the input, of the state before */
	/*
	 * By position, for backward: gates (gru: and the state's part of n); the state before the
	 * step; lstm: the cell behind it, and by row the first one of all.
	 */
	size_t kept;
	real *gates, *before, *cells, *first_cells;
	bool far;      /* are they more than caches keep? */
	size_t pieces; /* of rows */
};

static inline size_t nn_recurrent_kept(const struct nn_recurrent *a)
{
	return a->cell == NN_CELL_LSTM || a->cell == NN_CELL_GRU ? 4 * a->units : a->units;
}

static inline struct nn_recurrence nn_recurrence_of(const struct nn_site *site)
{
	const struct nn_recurrent *a = site->attrs;
	struct nn_recurrence r = { .attrs = a,
				   .steps = site->in[0].dim[0],
				   .units = a->units,
				   .sums = nn_cell_gates(a->cell) * a->units,
				   .kept = nn_recurrent_kept(a) };
	const size_t in = site->in[0].dim[1];
	r.x = (struct nn_matrix){ .in = in, .out = r.sums, .x_row = in, .y_row = r.sums };
	r.h = (struct nn_matrix){ .in = r.units, .out = r.sums, .x_row = r.units, .y_row = r.sums };
	return r;
}

/* Reals of the state of a row: lstm's cell lies behind what it shows. */
static inline size_t nn_recurrent_state(const struct nn_recurrent *a)
{
	return a->cell == NN_CELL_LSTM ? 2 * a->units : a->units;
}

/* Reals that forward keeps for each position. */
static inline size_t nn_recurrent_saved(const struct nn_recurrence *r)
{
	return r->kept + r->units + (r->attrs->cell == NN_CELL_LSTM ? r->units : 0);
}

/* The same with what a call gives it. */
static inline struct nn_recurrence nn_recurrence_in(const struct nn_call *call)
{
	struct nn_recurrence r = nn_recurrence_of(&call->site);
	const size_t positions = call->rows * r.steps;
	r.call = call;
	r.gates = call->saved;
	if (r.gates) {
		r.before = r.gates + positions * r.kept;
		r.cells = r.before + positions * r.units;
		r.first_cells = r.cells + positions * r.units;
		r.far = positions * nn_recurrent_saved(&r) * sizeof(real) >= NN_RECURRENT_FAR;
	}
	return r;
}

static inline size_t nn_recurrent_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Rows of a piece when max_rows are cut for one thread or many. */
static inline size_t nn_recurrent_rows(size_t max_rows)
{
	return nn_recurrent_least(max_rows, NN_RECURRENT_ROWS);
}

/* Pieces of at most NN_RECURRENT_ROWS rows, as many for each thread. */
static inline size_t nn_recurrent_pieces(size_t rows, size_t threads)
{
	size_t pieces = (rows + NN_RECURRENT_ROWS - 1) / NN_RECURRENT_ROWS;
	pieces = (pieces + threads - 1) / threads * threads;
	return nn_recurrent_least(pieces, rows);
}

/* Step i of the way, which goes back where the layer does. */
static inline size_t nn_recurrent_step(const struct nn_recurrence *r, size_t i)
{
	return r->attrs->reverse ? r->steps - 1 - i : i;
}

/* Where the gates and the cell of a position lie: a step's rows follow each other. */
static inline size_t nn_recurrent_at(const struct nn_recurrence *r, size_t row, size_t t)
{
	return t * r->call->rows + row;
}

/* Has the row a step t? */
static inline bool nn_recurrent_has(const struct nn_recurrence *r, size_t row, size_t t)
{
	return !r->call->lengths || t < r->call->lengths[row];
}

/* Steps of the longest of n rows. */
static inline size_t nn_recurrent_longest(const struct nn_recurrence *r, size_t begin, size_t n)
{
	size_t longest = 0;
	if (!r->call->lengths)
		return r->steps;
	for (size_t row = begin; row < begin + n; row++)
		if (r->call->lengths[row] > longest)
			longest = r->call->lengths[row];
	return longest;
}

#if defined NN_ISA_avx512 || defined NN_ISA_avx2
#define NN_STREAM(to, v) V_(stream)(to, v)
#define NN_STREAMED() _mm_sfence()
#else
#define NN_STREAM(to, v) v_store(to, v)
#define NN_STREAMED() ((void)0)
#endif

/*
 * n values to an array by position. What is far is not read again soon: it goes past the caches,
 * and its lines need not be read to be written.
 */
NN_INLINE void nn_recurrent_keep(const struct nn_recurrence *r, const real *from, size_t n,
				 real *to)
{
	size_t k = 0;
	if (r->far && (uintptr_t)to % sizeof(vr) == 0)
		for (; k + VL <= n; k += VL)
			NN_STREAM(to + k, v_load(from + k));
	for (; k + VL <= n; k += VL)
		v_store(to + k, v_load(from + k));
	if (k < n)
		v_store_n(to + k, n - k, v_load_n(from + k, n - k));
}

static inline size_t nn_recurrent_bytes(size_t reals)
{
	return (reals * sizeof(real) + 63) / 64 * 64;
}

#endif
