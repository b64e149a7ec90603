/* Weight-gradient tiles: inputs are broadcast, the output's gradient is the vector, sums over pixels stay in registers. */
#include "device/cpu/product-outer.h"


/* The chain of n pixels. */
NN_INLINE void chain(int M, int NV, vr acc[][2], const real *x, size_t xs, const real *dy, size_t ys, size_t n, vm last)
{
	for (size_t p = 0; p < n; p++, x += xs, dy += ys) {
		vr g[2];
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			g[j] = j < NV - 1 ? v_load(dy + j * VL) : v_load_m(dy + j * VL, last);
		NN_UNROLL
		for (int i = 0; i < M; i++) {
			const vr v = v_set(x[i]);
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_fma(v, g[j], acc[i][j]);
		}
	}
}

NN_INLINE void zero(int M, int NV, vr acc[][2])
{
	NN_UNROLL
	for (int i = 0; i < M; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			acc[i][j] = v_zero();
	}
}

/* Lanes that are padding stay 0 even where x is not finite. */
NN_INLINE void store(int M, int NV, const struct nn_outer *o, vr acc[][2], real *d, vm last)
{
	if (o->last < VL) {
		NN_UNROLL
		for (int i = 0; i < M; i++)
			acc[i][NV - 1] = v_select(last, acc[i][NV - 1], v_zero());
	}
	NN_UNROLL
	for (int i = 0; i < M; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			v_store(d + i * o->ds + j * VL, acc[i][j]);
	}
}

NN_INLINE void outer(int M, int NV, const struct nn_outer *o, const real *x, const real *dy, real *d)
{
	vr acc[NN_TILE_MAX][2];
	const vm last = vm_first(o->last);
	zero(M, NV, acc);
	if (!o->first) {
		NN_UNROLL
		for (int i = 0; i < M; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_load(d + i * o->ds + j * VL);
		}
	}
	for (size_t r = 0; r < o->rows; r++, x += o->x_row, dy += o->y_row)
		chain(M, NV, acc, x, o->x_pixel, dy, o->y_pixel, o->pixels, last);
	store(M, NV, o, acc, d, last);
}

/* Leaf sums wait on a stack for their neighbours: at leaf i as many as i has ones. */
NN_INLINE void outer_tree(int M, int NV, const struct nn_outer *o, const real *x, const real *dy, real *d)
{
	vr acc[NN_TILE_MAX][2], waiting[NN_OUTER_LEVELS][NN_TILE_MAX][2];
	const vm last = vm_first(o->last);
	int n_waiting = 0;
	for (size_t leaf = 0;; leaf++) {
		const size_t p = o->leaf[leaf] - o->leaf[0];
		zero(M, NV, acc);
		chain(M, NV, acc, x + p * o->x_pixel, o->x_pixel, dy + p * o->y_pixel, o->y_pixel,
		      o->leaf[leaf + 1] - o->leaf[leaf], last);
		for (size_t left = leaf; left & 1; left >>= 1) {
			n_waiting--;
			NN_UNROLL
			for (int i = 0; i < M; i++) {
				NN_UNROLL
				for (int j = 0; j < NV; j++)
					acc[i][j] = v_add(waiting[n_waiting][i][j], acc[i][j]);
			}
		}
		if (leaf + 1 == o->n_leaves)
			break;
		NN_UNROLL
		for (int i = 0; i < M; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				waiting[n_waiting][i][j] = acc[i][j];
		}
		n_waiting++;
	}
	store(M, NV, o, acc, d, last);
}

#define OUTER(NV, M) \
	static void outer_##NV##_##M(const struct nn_outer *o, const real *x, const real *dy, real *d) \
	{ \
		outer(M, NV, o, x, dy, d); \
	} \
	static void outer_tree_##NV##_##M(const struct nn_outer *o, const real *x, const real *dy, real *d) \
	{ \
		outer_tree(M, NV, o, x, dy, d); \
	}
#define NAME(NV, M) outer_##NV##_##M,
#define NAME_TREE(NV, M) outer_tree_##NV##_##M,

NN_UPTO(NN_TILE_1, OUTER, 1)
NN_UPTO(NN_TILE_2, OUTER, 2)

nn_outer_function *const NN_K(outer)[2][NN_TILE_MAX + 1] = {
	{ NULL, NN_UPTO(NN_TILE_1, NAME, 1) },
	{ NULL, NN_UPTO(NN_TILE_2, NAME, 2) },
};
nn_outer_function *const NN_K(outer_tree)[2][NN_TILE_MAX + 1] = {
	{ NULL, NN_UPTO(NN_TILE_1, NAME_TREE, 1) },
	{ NULL, NN_UPTO(NN_TILE_2, NAME_TREE, 2) },
};
