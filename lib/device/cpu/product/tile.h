/* The register tile of forward products: W pixels times one or two vectors of out-channels. */
#ifndef NN_DEVICE_CPU_PRODUCT_TILE_H
#define NN_DEVICE_CPU_PRODUCT_TILE_H

#include "device/cpu/product/product.h"
#include "device/cpu/vec/vec.h"

/*
 * Most pixels of a tile with one and with two vectors: what the registers hold beside a broadcast
 * and the weights.
 */
#if defined NN_ISA_avx512
#define NN_TILE_1 16
#define NN_TILE_2 14
#elif defined NN_ISA_avx2
#define NN_TILE_1 12
#define NN_TILE_2 6
#elif defined NN_ISA_neon /* a vector of each pixel's inputs stays beside them */
#define NN_TILE_1 12
#define NN_TILE_2 8
#else
#define NN_TILE_1 4
#define NN_TILE_2 4
#endif
#define NN_TILE_MAX NN_TILE_1

/* F(NV, 1) .. F(NV, n): one function for each number of pixels. */
#define NN_UPTO_4(F, NV) F(NV, 1) F(NV, 2) F(NV, 3) F(NV, 4)
#define NN_UPTO_6(F, NV) NN_UPTO_4(F, NV) F(NV, 5) F(NV, 6)
#define NN_UPTO_7(F, NV) NN_UPTO_6(F, NV) F(NV, 7)
#define NN_UPTO_8(F, NV) NN_UPTO_7(F, NV) F(NV, 8)
#define NN_UPTO_12(F, NV) NN_UPTO_8(F, NV) F(NV, 9) F(NV, 10) F(NV, 11) F(NV, 12)
#define NN_UPTO_14(F, NV) NN_UPTO_12(F, NV) F(NV, 13) F(NV, 14)
#define NN_UPTO_16(F, NV) NN_UPTO_14(F, NV) F(NV, 15) F(NV, 16)
#define NN_UPTO(n, F, NV) NN_CAT(NN_UPTO_, n)(F, NV)

struct nn_tile {
	size_t kh, kw, kl; /* kernel rows, kernel columns, in-channels: the chain */
	size_t x_kh, x_kw; /* their steps in x; an in-channel's is 1 */
	size_t w_kh;       /* step of a kernel row in w; columns and channels follow each other */
	size_t ws;         /* step of a k in w: the panel's width */
	size_t xs, ys, rs; /* steps from pixel to pixel in x, y, residual */
	size_t last;       /* channels of the last vector, 1..VL */
	/*
	 * a tile at the image's edge: what to do for each kernel row instead of kw times kl steps;
	 * or NULL
	 */
	const struct nn_tile_run *run;
	size_t n_runs;
	const real *from; /* where the chain goes on from, or NULL: from 0 */
	size_t fs;        /* step from pixel to pixel there */
	const real *bias; /* of the tile's first channel, or NULL */
	enum nn_tail_act act;
	real slope;
};

/*
 * Steps of a kernel row without the first a and last b pixels of the tile, which lack these taps.
 */
struct nn_tile_run {
	int a, b;
	size_t x, w; /* where it begins, from the kernel row's beginning */
	size_t kl;
};

/* Can a tile of `pixels` leave out a pixels at its beginning and b at its end? */
static inline bool nn_tile_cut(long a, long b, long pixels)
{
	return a + b <= 1 || a + b >= pixels || (a + b == 2);
}

/*
 * x, w, y: of the tile's first pixel and channel, first tap; residual: of the first pixel and
 * channel, or NULL.
 */
typedef void nn_tile_function(const struct nn_tile *t, const real *x, const real *w, real *y,
			      const real *residual);

/* [vectors - 1][pixels], pixels from 1 */
extern nn_tile_function *const NN_K(tile)[2][NN_TILE_MAX + 1];

/*
 * Few rows: times 1 << n pairs of full vectors, whose weights w[] lie in different places; only a
 * run of kl steps.
 */
#define NN_WIDE_ROWS 3
#define NN_WIDE_LEVELS 4

typedef void nn_wide_function(const struct nn_tile *t, const real *x, const real *const w[],
			      real *y, const real *residual);

/* [rows][n]; NULL where registers do not suffice. */
extern nn_wide_function *const NN_K(wide)[NN_WIDE_ROWS + 1][NN_WIDE_LEVELS];

#endif
