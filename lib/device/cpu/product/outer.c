/*
 * Weight-gradient tiles: inputs are broadcast, the output's gradient is the vector, sums over
 * pixels stay in registers.
 */
#include "device/cpu/product/outer.h"

#define MOST 25 /* sums in one vector each: 5 x 5 taps */

/*
 * The chain of n pixels, for M inputs in each of R kernel rows. whole: the last vector is, and
 * needs no masked load.
 */
NN_INLINE void chain(int R, int M, int NV, bool whole, vr acc[][2], const real *x, size_t xs,
		     size_t x_kh, const real *dy, size_t ys, size_t n, vm last)
{
	for (size_t p = 0; p < n; p++, x += xs, dy += ys) {
		vr g[2];
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			g[j] = j < NV - 1 || whole ? v_load(dy + j * VL)
						   : v_load_m(dy + j * VL, last);
#ifdef NN_ISA_neon /* VL inputs are one load */
		const int loaded = R == 1 ? M / VL * VL : 0;
		NN_UNROLL
		for (int i = 0; i < loaded; i += VL) {
			const vr v = v_load(x + i);
			NN_UNROLL
			for (int l = 0; l < VL; l++) {
				NN_UNROLL
				for (int j = 0; j < NV; j++)
					acc[i + l][j] = v_fma(v_lane(v, l), g[j], acc[i + l][j]);
			}
		}
#else
		const int loaded = 0;
#endif
		NN_UNROLL
		for (int i = loaded; i < R * M; i++) {
			const vr v = v_set(x[i / M * x_kh + i % M]);
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_fma(v, g[j], acc[i][j]);
		}
	}
}

/* One pixel at the image's edge: inputs outside keep their sums, and are not read. */
NN_INLINE void edge(int R, int M, int NV, vr acc[][2], const real *x, size_t x_kh, const real *dy,
		    const struct nn_outer_edge *e, vm last)
{
	vr g[2];
	if (e->a + e->b >= M)
		return;
	NN_UNROLL
	for (int j = 0; j < NV; j++)
		g[j] = j < NV - 1 ? v_load(dy + j * VL) : v_load_m(dy + j * VL, last);
	NN_UNROLL
	for (int i = 0; i < M; i++) {
		const bool inside = i >= e->a && i < M - e->b;
		const vm lanes = vm_first(inside ? VL : 0);
		NN_UNROLL
		for (int r = 0; r < R; r++) {
			const vr v = v_set(x[(size_t)r * x_kh + (size_t)(inside ? i : e->a)]);
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[r * M + i][j] =
					v_select(lanes, v_fma(v, g[j], acc[r * M + i][j]),
						 acc[r * M + i][j]);
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
NN_INLINE void store(int R, int M, int NV, bool whole, const struct nn_outer *o, vr acc[][2],
		     real *d, vm last)
{
	if (!whole) {
		NN_UNROLL
		for (int i = 0; i < R * M; i++)
			acc[i][NV - 1] = v_select(last, acc[i][NV - 1], v_zero());
	}
	/* read once: a store might change them, for all the compiler knows */
	const size_t ds = o->ds, d_kh = o->d_kh;
	NN_UNROLL
	for (int i = 0; i < R * M; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			v_store(d + i / M * d_kh + i % M * ds + j * VL, acc[i][j]);
	}
}

/* Edges are their own functions: the common ones keep all registers for the sums. */
NN_INLINE void outer(int R, int M, int NV, bool edges, bool whole, const struct nn_outer *o,
		     const real *x, const real *dy, real *d)
{
	vr acc[MOST][2];
	const vm last = vm_first(o->last);
	zero(R * M, NV, acc);
	if (!o->first) {
		NN_UNROLL
		for (int i = 0; i < R * M; i++) {
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				acc[i][j] = v_load(d + i / M * o->d_kh + i % M * o->ds + j * VL);
		}
	}
	const size_t left = edges ? o->left : 0, right = edges ? o->right : 0,
		     middle = o->pixels - left - right;
	for (size_t r = 0; r < o->rows; r++, x += o->x_row, dy += o->y_row) {
		const real *xp = x, *yp = dy;
		const struct nn_outer_edge *e = o->edge;
		for (size_t p = 0; p < left; p++, xp += o->x_pixel, yp += o->y_pixel)
			edge(R, M, NV, acc, xp, o->x_kh, yp, e++, last);
		chain(R, M, NV, whole, acc, xp, o->x_pixel, o->x_kh, yp, o->y_pixel, middle, last);
		xp += middle * o->x_pixel;
		yp += middle * o->y_pixel;
		for (size_t p = 0; p < right; p++, xp += o->x_pixel, yp += o->y_pixel)
			edge(R, M, NV, acc, xp, o->x_kh, yp, e++, last);
	}
	store(R, M, NV, whole, o, acc, d, last);
}

NN_INLINE void add(int M, int NV, vr left[][2], vr right[][2], vr sum[][2])
{
	NN_UNROLL
	for (int i = 0; i < M; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			sum[i][j] = v_add(left[i][j], right[i][j]);
	}
}

NN_INLINE void copy(int M, int NV, vr from[][2], vr to[][2])
{
	NN_UNROLL
	for (int i = 0; i < M; i++) {
		NN_UNROLL
		for (int j = 0; j < NV; j++)
			to[i][j] = from[i][j];
	}
}

/*
 * A leaf's share of o->next. All at once would take the buffers of lines on their way from what the
 * chains read.
 */
NN_INLINE void fetch_share(const struct nn_outer *o, size_t leaf)
{
	for (size_t at = leaf * 64; at < o->next_size; at += o->n_leaves * 64)
		__builtin_prefetch((const char *)o->next + at, 1);
}

/* The chain two rows at a time: of a leaf of 16 the end of the loop is guessed right more often. */
NN_INLINE void chain_pairs(int M, int NV, bool whole, vr acc[][2], const real *x, size_t xs,
			   const real *dy, size_t ys, size_t n, vm last)
{
	for (; n >= 2; n -= 2, x += 2 * xs, dy += 2 * ys) {
		chain(1, M, NV, whole, acc, x, xs, 0, dy, ys, 1, last);
		chain(1, M, NV, whole, acc, x + xs, xs, 0, dy + ys, ys, 1, last);
	}
	chain(1, M, NV, whole, acc, x, xs, 0, dy, ys, n, last);
}

/* Leaf sums wait on a stack for their neighbours: at leaf i as many as i has ones. */
NN_INLINE void outer_tree(int M, int NV, bool whole, const struct nn_outer *o, const real *x,
			  const real *dy, real *d)
{
	vr acc[NN_TILE_MAX][2], waiting[NN_OUTER_LEVELS][NN_TILE_MAX][2];
	const vm last = vm_first(o->last);
	int n_waiting = 0;
	for (size_t leaf = 0;; leaf++) {
		const size_t p = o->leaf[leaf] - o->leaf[0];
		if (o->beside)
			o->beside(o->arg); /* no vector register is in use here */
		else
			fetch_share(o, leaf);
		zero(M, NV, acc);
		chain_pairs(M, NV, whole, acc, x + p * o->x_pixel, o->x_pixel, dy + p * o->y_pixel,
			    o->y_pixel, o->leaf[leaf + 1] - o->leaf[leaf], last);
		for (size_t left = leaf; left & 1; left >>= 1)
			add(M, NV, waiting[--n_waiting], acc, acc);
		if (leaf + 1 == o->n_leaves)
			break;
		copy(M, NV, acc, waiting[n_waiting++]);
	}
	store(1, M, NV, whole, o, acc, d, last);
}

#ifdef NN_PAIR
/*
 * The same, two leaves side by side in as many registers: where leaves are short, half the sums to
 * keep are worth more loads.
 */
NN_INLINE void outer_pairs(int M, bool whole, const struct nn_outer *o, const real *x,
			   const real *dy, real *d)
{
	enum { NV = 2 };
	vr acc[NN_PAIR][NV], acc2[NN_PAIR][NV], waiting[NN_OUTER_LEVELS][NN_PAIR][NV];
	const vm last = vm_first(o->last);
	const size_t xs = o->x_pixel, ys = o->y_pixel;
	int n_waiting = 0;
	for (size_t pair = 0;; pair++) {
		const size_t *const leaf = o->leaf + 2 * pair;
		const size_t n = leaf[1] - leaf[0], n2 = leaf[2] - leaf[1], both = n < n2 ? n : n2;
		const real *x1 = x + (leaf[0] - o->leaf[0]) * xs, *x2 = x1 + n * xs;
		const real *dy1 = dy + (leaf[0] - o->leaf[0]) * ys, *dy2 = dy1 + n * ys;
		zero(M, NV, acc);
		zero(M, NV, acc2);
		for (size_t p = 0; p < both; p++, x1 += xs, x2 += xs, dy1 += ys, dy2 += ys) {
			chain(1, M, NV, whole, acc, x1, xs, 0, dy1, ys, 1, last);
			chain(1, M, NV, whole, acc2, x2, xs, 0, dy2, ys, 1, last);
		}
		chain(1, M, NV, whole, acc, x1, xs, 0, dy1, ys, n - both, last);
		chain(1, M, NV, whole, acc2, x2, xs, 0, dy2, ys, n2 - both, last);
		add(M, NV, acc, acc2, acc);
		for (size_t left = pair; left & 1; left >>= 1)
			add(M, NV, waiting[--n_waiting], acc, acc);
		if (2 * pair + 2 == o->n_leaves)
			break;
		copy(M, NV, acc, waiting[n_waiting++]);
	}
	store(1, M, NV, whole, o, acc, d, last);
}
#endif

/* Each function twice: for a last vector with fewer channels, and for a whole one. */
#define FUNCTION(name, ...) \
	static void name(const struct nn_outer *o, const real *x, const real *dy, real *d) \
	{ \
		__VA_ARGS__; \
	}
#define OUTER(NV, M) \
	FUNCTION(outer_0_##NV##_##M, outer(1, M, NV, false, false, o, x, dy, d)) \
	FUNCTION(outer_1_##NV##_##M, outer(1, M, NV, false, true, o, x, dy, d)) \
	FUNCTION(edged_0_##NV##_##M, outer(1, M, NV, true, false, o, x, dy, d)) \
	FUNCTION(edged_1_##NV##_##M, outer(1, M, NV, true, true, o, x, dy, d)) \
	FUNCTION(tree_0_##NV##_##M, outer_tree(M, NV, false, o, x, dy, d)) \
	FUNCTION(tree_1_##NV##_##M, outer_tree(M, NV, true, o, x, dy, d))
#define OUTER_0(NV, M) outer_0_##NV##_##M,
#define OUTER_1(NV, M) outer_1_##NV##_##M,
#define EDGED_0(NV, M) edged_0_##NV##_##M,
#define EDGED_1(NV, M) edged_1_##NV##_##M,
#define TREE_0(NV, M) tree_0_##NV##_##M,
#define TREE_1(NV, M) tree_1_##NV##_##M,
#define BOTH(F) \
	{ \
		{ NULL, NN_UPTO(NN_TILE_1, F, 1) }, \
		{ \
			NULL, NN_UPTO(NN_TILE_2, F, 2) \
		} \
	}

NN_UPTO(NN_TILE_1, OUTER, 1)
NN_UPTO(NN_TILE_2, OUTER, 2)

nn_outer_function *const NN_K(outer)[2][2][NN_TILE_MAX + 1] = { BOTH(OUTER_0), BOTH(OUTER_1) };
nn_outer_function *const NN_K(outer_edged)[2][2][NN_TILE_MAX + 1] = { BOTH(EDGED_0),
								      BOTH(EDGED_1) };
nn_outer_function *const NN_K(outer_tree)[2][2][NN_TILE_MAX + 1] = { BOTH(TREE_0), BOTH(TREE_1) };

#ifdef NN_PAIR
#define PAIRS(NV, M) \
	FUNCTION(pairs_0_##M, outer_pairs(M, false, o, x, dy, d)) \
	FUNCTION(pairs_1_##M, outer_pairs(M, true, o, x, dy, d))
#define PAIRS_0(NV, M) pairs_0_##M,
#define PAIRS_1(NV, M) pairs_1_##M,

NN_UPTO(NN_PAIR, PAIRS, 2)

nn_outer_function *const NN_K(outer_pairs)[2][NN_PAIR + 1] = {
	{ NULL, NN_UPTO(NN_PAIR, PAIRS_0, 2) },
	{ NULL, NN_UPTO(NN_PAIR, PAIRS_1, 2) },
};
#endif

#define SQUARE(NV, N) \
	FUNCTION(square_0_##NV##_##N, outer(N, N, NV, true, false, o, x, dy, d)) \
	FUNCTION(square_1_##NV##_##N, outer(N, N, NV, true, true, o, x, dy, d))
#if defined NN_ISA_avx512
SQUARE(1, 3)
SQUARE(1, 5)
SQUARE(2, 3)
static nn_outer_function *const squares[2][2][2] = {
	{ { square_0_1_3, square_0_1_5 }, { square_0_2_3, NULL } },
	{ { square_1_1_3, square_1_1_5 }, { square_1_2_3, NULL } },
};
#elif defined NN_ISA_neon
SQUARE(1, 3)
SQUARE(2, 3)
static nn_outer_function *const squares[2][2][2] = { { { square_0_1_3 }, { square_0_2_3 } },
						     { { square_1_1_3 }, { square_1_2_3 } } };
#elif defined NN_ISA_avx2
SQUARE(1, 3)
static nn_outer_function *const squares[2][2][2] = { { { square_0_1_3 } }, { { square_1_1_3 } } };
#else
static nn_outer_function *const squares[2][2][2];
#endif

nn_outer_function *NN_K(outer_square)(bool whole, int vectors, long n)
{
	return n == 3 || n == 5 ? squares[whole][vectors - 1][n == 5] : NULL;
}
