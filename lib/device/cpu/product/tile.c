/*
 * Forward tiles: pixels are broadcast straight from the image, weights are the vectors, sums stay
 * in registers.
 */
#include "device/cpu/product/tile.h"

/* Pixel i of a tile: four pointers reach 16 pixels with the machine's addressing modes. */
NN_INLINE const real *pixel(const char *const x[4], size_t s, size_t s3, int i)
{
	const char *p = x[i / 4];
	return (const real *)(i % 4 == 0   ? p
			      : i % 4 == 1 ? p + s
			      : i % 4 == 2 ? p + 2 * s
					   : p + s3);
}

/* n steps of the chains of pixels a .. W-b-1. */
NN_INLINE void run(int W, int NV, int a, int b, vr acc[][2], const real *x0, size_t xs,
		   const real *w, size_t ws, size_t n)
{
	const size_t s = xs * sizeof(real), s3 = 3 * s;
	const char *x[4] = { (const char *)x0, (const char *)x0 + 4 * s, (const char *)x0 + 8 * s,
			     (const char *)x0 + 12 * s };
#ifdef NN_ISA_neon /* VL steps at a time: their inputs of a pixel are one load */
	for (; n >= VL; n -= VL) {
		vr v[NN_TILE_MAX];
		NN_UNROLL
		for (int i = a; i < W - b; i++)
			v[i] = v_load(pixel(x, s, s3, i));
		NN_UNROLL
		for (int l = 0; l < VL; l++, w += ws) {
			vr wk[2];
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				wk[j] = v_load(w + j * VL);
			NN_UNROLL
			for (int i = a; i < W - b; i++) {
				NN_UNROLL
				for (int j = 0; j < NV; j++)
					acc[i][j] = v_fma(v_lane(v[i], l), wk[j], acc[i][j]);
			}
		}
		NN_UNROLL
		for (int q = 0; q < 4; q++)
			x[q] += VL * sizeof(real);
	}
#endif
	for (size_t k = 0; k < n; k++) {
		vr wk[2];
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			wk[j] = v_load(w + j * VL);
		w += ws;
		NN_UNROLL
		for (int i = a; i < W - b; i++) {
			vr v = v_set(*pixel(x, s, s3, i));
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_fma(v, wk[j], acc[i][j]);
		}
		NN_UNROLL
		for (int q = 0; q < 4; q++)
			x[q] += sizeof(real);
	}
}

/* The same with the pixels left out that lack this kernel column. */
NN_INLINE void run_cut(int W, int NV, int a, int b, vr acc[][2], const real *x, size_t xs,
		       const real *w, size_t ws, size_t n)
{
	if (a + b >= W)
		return;
	if (a + b == 0)
		run(W, NV, 0, 0, acc, x, xs, w, ws, n);
	else if (W > 1 && a == 1 && b == 0)
		run(W, NV, 1, 0, acc, x, xs, w, ws, n);
	else if (W > 1 && a == 0 && b == 1)
		run(W, NV, 0, 1, acc, x, xs, w, ws, n);
	else if (W > 2 && a == 1)
		run(W, NV, 1, 1, acc, x, xs, w, ws, n);
	else if (W > 2 && a == 2)
		run(W, NV, 2, 0, acc, x, xs, w, ws, n);
	else if (W > 2)
		run(W, NV, 0, 2, acc, x, xs, w, ws, n);
}

/* Bias, residual, activation, on what is in registers. */
NN_INLINE void finish(int W, int NV, const struct nn_tile *t, vr acc[][2], const real *b,
		      const real *residual, vm last)
{
	if (b) {
		vr bias[2];
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			bias[j] = j < NV - 1 ? v_load(b + j * VL) : v_load_m(b + j * VL, last);
		NN_UNROLL
		for (int i = 0; i < W; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_add(acc[i][j], bias[j]);
		}
	}
	if (residual) {
		NN_UNROLL
		for (int i = 0; i < W; i++) {
			const real *r = residual + i * t->rs;
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] =
					v_add(acc[i][j], j < NV - 1 ? v_load(r + j * VL)
								    : v_load_m(r + j * VL, last));
		}
	}
	if (t->act == NN_TAIL_RELU) {
		NN_UNROLL
		for (int i = 0; i < W; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_max(v_zero(), acc[i][j]);
		}
	} else if (t->act == NN_TAIL_LEAKY) {
		const vr slope = v_set(t->slope);
		NN_UNROLL
		for (int i = 0; i < W; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_select(v_gt(acc[i][j], v_zero()), acc[i][j],
						     v_mul(slope, acc[i][j]));
		}
	}
}

NN_INLINE void start(int W, int NV, const struct nn_tile *t, vr acc[][2], const real *from, vm last)
{
	NN_UNROLL
	for (int i = 0; i < W; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			acc[i][j] = v_zero();
	}
	if (!from)
		return;
	NN_UNROLL
	for (int i = 0; i < W; i++) {
		NN_UNROLL
		for (int j = 0; j < NV - 1; j++)
			acc[i][j] = v_load(from + i * t->fs + j * VL);
		acc[i][NV - 1] = v_load_m(from + i * t->fs + (NV - 1) * VL, last);
	}
}

NN_INLINE void store(int W, int NV, const struct nn_tile *t, vr acc[][2], real *y, vm last)
{
	const size_t ys = t->ys; /* read once: a store might change it */
	if (t->last == VL) {
		NN_UNROLL
		for (int i = 0; i < W; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				v_store(y + i * ys + j * VL, acc[i][j]);
		}
		return;
	}
	NN_UNROLL
	for (int i = 0; i < W; i++) {
		NN_UNROLL
		for (int j = 0; j < NV - 1; j++)
			v_store(y + i * ys + j * VL, acc[i][j]);
		v_store_m(y + i * ys + (NV - 1) * VL, last, acc[i][NV - 1]);
	}
}

NN_INLINE void tile(int W, int NV, const struct nn_tile *t, const real *x, const real *w, real *y,
		    const real *residual)
{
	vr acc[NN_TILE_MAX][2];
	const vm last = vm_first(t->last);
	start(W, NV, t, acc, t->from, last);
	for (size_t kh = 0; kh < t->kh; kh++, x += t->x_kh, w += t->w_kh) {
		if (t->run) {
			for (const struct nn_tile_run *r = t->run; r < t->run + t->n_runs; r++)
				run_cut(W, NV, r->a, r->b, acc, x + r->x, t->xs, w + r->w, t->ws,
					r->kl);
			continue;
		}
		const real *xk = x, *wk = w;
		for (size_t kw = 0; kw < t->kw; kw++, xk += t->x_kw, wk += t->kl * t->ws)
			run(W, NV, 0, 0, acc, xk, t->xs, wk, t->ws, t->kl);
	}
	finish(W, NV, t, acc, t->bias, residual, last);
	store(W, NV, t, acc, y, last);
}

#define TILE(NV, W) \
	static void tile_##NV##_##W(const struct nn_tile *t, const real *x, const real *w, \
				    real *y, const real *residual) \
	{ \
		tile(W, NV, t, x, w, y, residual); \
	}
#define NAME(NV, W) tile_##NV##_##W,

NN_UPTO(NN_TILE_1, TILE, 1)
NN_UPTO(NN_TILE_2, TILE, 2)

nn_tile_function *const NN_K(tile)[2][NN_TILE_MAX + 1] = {
	{ NULL, NN_UPTO(NN_TILE_1, NAME, 1) },
	{ NULL, NN_UPTO(NN_TILE_2, NAME, 2) },
};

/* R rows times U pairs of vectors whose weights lie in different places. */
NN_INLINE void wide(int R, int U, const struct nn_tile *t, const real *x, const real *const w[],
		    real *y, const real *residual)
{
	vr acc[8][NN_WIDE_ROWS][2];
	const vm all = vm_first(VL);
	NN_UNROLL
	for (int u = 0; u < U; u++)
		start(R, 2, t, acc[u], NULL, all);
	const real *wu[8];
	NN_UNROLL
	for (int u = 0; u < U; u++)
		wu[u] = w[u];
	for (size_t k = 0; k < t->kl; k++) {
		vr v[NN_WIDE_ROWS];
		NN_UNROLL
		for (int i = 0; i < R; i++)
			v[i] = v_set(x[i * t->xs + k]);
		NN_UNROLL
		for (int u = 0; u < U; u++) {
			NN_UNROLL
			for (int j = 0; j < 2; j++) {
				const vr wk = v_load(wu[u] + k * NN_PANEL + j * VL);
				NN_UNROLL
				for (int i = 0; i < R; i++)
					acc[u][i][j] = v_fma(v[i], wk, acc[u][i][j]);
			}
		}
	}
	NN_UNROLL
	for (int u = 0; u < U; u++) {
		finish(R, 2, t, acc[u], t->bias ? t->bias + 2 * u * VL : NULL,
		       residual ? residual + 2 * u * VL : NULL, all);
		store(R, 2, t, acc[u], y + 2 * u * VL, all);
	}
}

#define WIDE(R, U) \
	static void wide_##R##_##U(const struct nn_tile *t, const real *x, const real *const w[], \
				   real *y, const real *residual) \
	{ \
		wide(R, U, t, x, w, y, residual); \
	}
WIDE(1, 2)
WIDE(2, 2)
#ifdef NN_ISA_generic
nn_wide_function *const NN_K(wide)[NN_WIDE_ROWS + 1][NN_WIDE_LEVELS] = {
	[1] = { [1] = wide_1_2 }, [2] = { [1] = wide_2_2 }
};
#else
WIDE(1, 4)
WIDE(3, 2)
#ifdef NN_ISA_avx2
nn_wide_function *const NN_K(wide)[NN_WIDE_ROWS + 1][NN_WIDE_LEVELS] = {
	[1] = { [1] = wide_1_2, wide_1_4 },
	[2] = { [1] = wide_2_2 },
	[3] = { [1] = wide_3_2 },
};
#else
WIDE(2, 4)
#ifdef NN_ISA_neon
nn_wide_function *const NN_K(wide)[NN_WIDE_ROWS + 1][NN_WIDE_LEVELS] = {
	[1] = { [1] = wide_1_2, wide_1_4 },
	[2] = { [1] = wide_2_2, wide_2_4 },
	[3] = { [1] = wide_3_2 },
};
#else
WIDE(1, 8)
WIDE(3, 4)
nn_wide_function *const NN_K(wide)[NN_WIDE_ROWS + 1][NN_WIDE_LEVELS] = {
	[1] = { [1] = wide_1_2, wide_1_4, wide_1_8 },
	[2] = { [1] = wide_2_2, wide_2_4 },
	[3] = { [1] = wide_3_2, wide_3_4 },
};
#endif
#endif
#endif
