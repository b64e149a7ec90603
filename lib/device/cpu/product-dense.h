/* What the files of the dense layer share: block sizes and scratch. */
#ifndef NN_DEVICE_CPU_PRODUCT_DENSE_H
#define NN_DEVICE_CPU_PRODUCT_DENSE_H

#include "device/cpu/product.h"
#include "device/cpu/vec.h"

/* Forward: rows of a block, about, and k's at most. */
#define NN_DENSE_ROWS ((size_t) 192)
#define NN_DENSE_STEPS (2048 / sizeof(real))
/* Input gradient: rows, out-channels, inputs of a block at most. */
#define NN_DENSE_DX_ROWS ((size_t) 256)
#define NN_DENSE_DX_OUT ((size_t) 256)
#define NN_DENSE_DX_IN ((size_t) 2048)
/* Weight gradient: bytes of x whose inputs stay in the second-level cache while the panels pass; most rows that are copied. */
#define NN_DENSE_DW_BYTES ((size_t) 262144)
#define NN_DENSE_DW_ROWS ((size_t) 2048)

static inline size_t nn_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t nn_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Weight gradient: inputs of a block, whole tiles. */
static inline size_t nn_dense_weights_inputs(size_t rows)
{
	const size_t tiles = NN_DENSE_DW_BYTES / sizeof(real) / 14 / (rows + 1);
	return 14 * (tiles < 2 ? 2 : tiles > 16 ? 16 : tiles);
}

/* Are rows so far apart that they fall into few sets of the caches? Then a block that is read often is copied. */
static inline bool nn_aliased(size_t row)
{
	return row * sizeof(real) % 4096 == 0;
}

/* Reals of such a copy. */
static inline size_t nn_copied(size_t rows, size_t n)
{
	return rows * (nn_round_up(n, NN_LANES) + NN_LANES);
}

/* rows x n of x, *row apart, to `to`; *row is then the step there. */
static inline const real *nn_copy_rows(const real *x, size_t rows, size_t n, size_t *row, real *to)
{
	const size_t from = *row, step = *row = nn_copied(1, n);
	for (size_t r = 0; r < rows; r++) {
		size_t k = 0;
		for (; k + VL <= n; k += VL)
			v_store(to + r * step + k, v_load(x + r * from + k));
		v_store_n(to + r * step + k, n - k, v_load_n(x + r * from + k, n - k));
	}
	return to;
}

static inline size_t nn_dense_weights_scratch(size_t rows)
{
	rows = nn_least(rows, NN_DENSE_DW_ROWS);
	return nn_copied(rows, nn_dense_weights_inputs(rows)) + nn_copied(rows, NN_PANEL);
}

#endif
