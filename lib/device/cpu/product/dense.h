/* What the files of the dense layer share: block sizes and scratch. */
#ifndef NN_DEVICE_CPU_PRODUCT_DENSE_H
#define NN_DEVICE_CPU_PRODUCT_DENSE_H

#include "device/cpu/product/product.h"
#include "device/cpu/product/tile.h"
#include "device/cpu/vec/vec.h"

/* Forward: rows of a block, about, and k's at most. */
#define NN_DENSE_ROWS ((size_t)192)
#define NN_DENSE_STEPS (2048 / sizeof(real))
/* Input gradient: rows, out-channels, inputs of a block at most. */
#define NN_DENSE_DX_ROWS ((size_t)256)
#define NN_DENSE_DX_OUT ((size_t)256)
#define NN_DENSE_DX_IN ((size_t)2048)
#define NN_DENSE_DX_TURNED ((size_t)262144) /* weights at most that are turned for many rows */
/*
 * Bytes of weights that do not stay in the caches from layer to layer: they are asked for before
 * they are needed.
 */
#define NN_DENSE_FAR ((size_t)524288)
/*
 * Weight gradient: bytes of x whose inputs stay in the second-level cache while the panels pass;
 * most rows that are copied.
 */
#define NN_DENSE_DW_BYTES ((size_t)262144)
#define NN_DENSE_DW_ROWS ((size_t)2048)
/* Rows of which two vectors fill half of the nearest cache: those of a leaf at once. */
#define NN_DENSE_DW_BLOCK (16384 / (2 * VL * sizeof(real)))
/* Levels of the tree over long leaves. */
#define NN_DENSE_DW_WAITING ((size_t)4)
/*
 * Bytes of dy that are copied at a time, about: as few copies as the memory of the others' scratch
 * allows.
 */
#define NN_DENSE_DW_COPY ((size_t)2097152)

static inline size_t nn_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t nn_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/*
 * Weight gradient: x is copied in strips of a tile's inputs, whose rows follow each other. A tile
 * then reads one line of the cache a row where it would read two, far apart.
 */
#define NN_DENSE_STRIP ((size_t)NN_TILE_2)
#define NN_DENSE_STRIP_ROW ((NN_DENSE_STRIP + VL - 1) / VL * VL)

/* Reals from strip to strip: an odd number of rows, so that strips fall into different sets. */
static inline size_t nn_dense_strip_step(size_t rows)
{
	return (rows | 1) * NN_DENSE_STRIP_ROW;
}

/* Likewise of dy, from pair to pair of vectors. */
static inline size_t nn_dense_pair_step(size_t rows)
{
	return (rows | 1) * 2 * VL;
}

/* Weight gradient: inputs of a block, whole tiles. */
static inline size_t nn_dense_weights_inputs(size_t rows)
{
	const size_t tiles = NN_DENSE_DW_BYTES / sizeof(real) / 14 / (rows + 1);
	return 14 * (tiles < 2 ? 2 : tiles > 16 ? 16 : tiles);
}

/*
 * Are rows so far apart that they fall into few sets of the caches? Then a block that is read often
 * is copied.
 */
static inline bool nn_aliased(size_t row)
{
	return row * sizeof(real) % 4096 == 0;
}

/* Are strips read often enough, or rows as they are so badly placed, that copying pays? */
static inline bool nn_dense_strips_pay(const struct nn_matrix *d, size_t rows, size_t panels)
{
	return rows <= NN_DENSE_DW_ROWS && panels >= 4 &&
	       (panels > 8 || rows >= NN_DENSE_DW_BLOCK || nn_aliased(d->x_row));
}

/* Likewise of dy, in pairs of vectors. */
static inline bool nn_dense_pairs_pay(const struct nn_matrix *d, size_t rows)
{
	return rows <= NN_DENSE_DW_ROWS && d->y_row > 2 * VL &&
	       (rows >= NN_DENSE_DW_BLOCK || d->y_row * sizeof(real) >= 2048);
}

/* Reals of such a copy. */
static inline size_t nn_copied(size_t rows, size_t n)
{
	return rows * (nn_round_up(n, NN_LANES) + NN_LANES);
}

static inline void nn_copy_row(const real *x, size_t n, real *to)
{
	size_t k = 0;
	for (; k + VL <= n; k += VL)
		v_store(to + k, v_load(x + k));
	if (k < n)
		v_store_n(to + k, n - k, v_load_n(x + k, n - k));
}

/* rows x n of x, *row apart, to `to`; *row is then the step there. */
static inline const real *nn_copy_rows(const real *x, size_t rows, size_t n, size_t *row, real *to)
{
	const size_t from = *row, step = *row = nn_copied(1, n);
	for (size_t r = 0; r < rows; r++)
		nn_copy_row(x + r * from, n, to + r * step);
	return to;
}

/* Bytes of scratch of a forward product, of at most so many rows. */
static inline size_t nn_dense_forward_scratch(const struct nn_matrix *d, size_t rows)
{
	return nn_copied(nn_least(rows, 2 * NN_DENSE_ROWS), nn_least(d->in, NN_DENSE_STEPS)) *
	       sizeof(real);
}

/* Panels of dy that are copied at a time. */
static inline size_t nn_dense_weights_panels(const struct nn_matrix *d, size_t rows)
{
	const size_t all = (d->out + NN_PANEL - 1) / NN_PANEL,
		     most = NN_DENSE_DW_COPY / sizeof(real) / NN_PANEL / (rows + 1) + 1;
	return nn_least(all, most);
}

/*
 * Reals of the copies of x and dy with at most so many rows. Fewer rows have blocks of more inputs:
 * bounds that hold for them too.
 */
static inline size_t nn_dense_weights_x(const struct nn_matrix *d, size_t rows)
{
	const size_t all = NN_DENSE_DW_BYTES / sizeof(real),
		     most = nn_least(nn_dense_weights_inputs(1) * (rows + 1),
				     all > 28 * (rows + 1) ? all : 28 * (rows + 1));
	return d->out <= 3 * NN_PANEL ? 0 : (most / NN_DENSE_STRIP + rows + 1) * NN_DENSE_STRIP_ROW;
}

static inline size_t nn_dense_weights_y(const struct nn_matrix *d, size_t rows)
{
	const size_t all = (d->out + NN_PANEL - 1) / NN_PANEL,
		     most = NN_DENSE_DW_COPY / sizeof(real) / NN_PANEL;
	return nn_dense_pairs_pay(d, rows) ? nn_least(all * (rows + 1), most + rows + 1) * NN_PANEL
					   : 0;
}

/*
 * Are n leaves of so many rows summed one after the other, each in blocks? Those of more rows than
 * are copied at once need not be as long.
 */
static inline bool nn_dense_leaves_long(const struct nn_matrix *d, size_t rows, size_t n)
{
	const size_t most = rows > NN_DENSE_DW_ROWS ? 64 : 2 * NN_DENSE_DW_BLOCK;
	return rows >= n * most && n < (size_t)2 << NN_DENSE_DW_WAITING &&
	       (n == 1 || d->in * d->out * sizeof(real) < NN_DENSE_FAR);
}

/* Reals of a leaf's sums that wait for a neighbour's, and how many may wait. */
static inline size_t nn_dense_weights_sums(const struct nn_matrix *d)
{
	return d->in * nn_round_up(d->out, NN_PANEL);
}

static inline size_t nn_dense_weights_waiting(const struct nn_matrix *d, size_t rows)
{
	size_t n = 0;
	while (n < NN_DENSE_DW_WAITING && nn_dense_leaves_long(d, rows, (size_t)2 << n))
		n++;
	return n;
}

static inline size_t nn_dense_weights_scratch(const struct nn_matrix *d, size_t rows)
{
	const size_t waiting = nn_dense_weights_waiting(d, rows) * nn_dense_weights_sums(d);
	rows = nn_least(rows, NN_DENSE_DW_ROWS);
	return waiting + nn_dense_weights_x(d, rows) + nn_dense_weights_y(d, rows);
}

#endif
