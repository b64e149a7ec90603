/*
 * The register tile of weight gradients: M neighbouring inputs times one or two vectors of the
 * output's gradient.
 */
#ifndef NN_DEVICE_CPU_PRODUCT_OUTER_H
#define NN_DEVICE_CPU_PRODUCT_OUTER_H

#include "device/cpu/product/product.h"
#include "device/cpu/product/tile.h"

struct nn_outer {
	size_t rows, pixels;   /* the chain: rows of pixels */
	size_t x_row, x_pixel; /* their steps */
	size_t y_row, y_pixel;
	size_t ds;   /* step from input to input in d: the panel's width */
	size_t last; /* channels of the last vector, 1..VL */
	bool first;  /* the chain begins at 0, else goes on from d */
	/*
	 * Pixels at a row's beginning (left) and end (right) that lack some inputs; both counted in
	 * pixels. Not for outer, outer_tree.
	 */
	size_t left, right;
	const struct nn_outer_edge *edge; /* [left + right] */
	size_t x_kh, d_kh;                /* outer_square: steps of a kernel row */
	const size_t *leaf;               /* outer_tree: pixels leaf[i]..leaf[i+1]-1 are leaf i */
	size_t n_leaves;                  /* a power of two, at most NN_OUTER_LEAVES */
	/* outer_tree: memory that is asked for meanwhile, for writing, so many bytes */
	const real *next;
	size_t next_size;
	/* or NULL; called before each leaf in its place, for work that the products hide */
	void (*beside)(void *arg);
	void *arg;
};

/*
 * The tile's first a and last b inputs do not exist at a pixel; x points there nonetheless as if
 * they did.
 */
struct nn_outer_edge {
	long a, b;
};

/*
 * Most inputs of a tile of two vectors that computes two leaves side by side: half of NN_TILE_2.
 * With AVX2 it would load too much.
 */
#if defined NN_ISA_avx512
#define NN_PAIR 7
#endif

#define NN_OUTER_LEVELS 17 /* of the tree: log2(NN_OUTER_LEAVES) + 1 */
#define NN_OUTER_LEAVES 65536

/*
 * x: of the first pixel and input, dy: of the first pixel and channel, d: of the first input and
 * channel.
 */
typedef void nn_outer_function(const struct nn_outer *o, const real *x, const real *dy, real *d);

/*
 * [last == VL][vectors - 1][inputs], inputs from 1 to NN_TILE_1, NN_TILE_2; lanes of d beyond the
 * channels are set to 0.
 */
extern nn_outer_function *const NN_K(outer)[2][2][NN_TILE_MAX + 1];
extern nn_outer_function *const NN_K(outer_edged)[2][2][NN_TILE_MAX + 1];
/* The same for n kernel rows of n inputs each, n = 3 or 5; NULL where registers do not suffice. */
nn_outer_function *NN_K(outer_square)(bool whole, int vectors, long n);
/* One row of pixels cut into leaves, whose sums are added along the tree. */
extern nn_outer_function *const NN_K(outer_tree)[2][2][NN_TILE_MAX + 1];
#ifdef NN_PAIR
/* The same for two vectors, two leaves and more; [last == VL][inputs] from 1 to NN_PAIR. */
extern nn_outer_function *const NN_K(outer_pairs)[2][NN_PAIR + 1];
#endif

/* Whole vectors of padding, which no tile writes: 0 for k's [k0, k1) of a panel with n channels. */
static inline void nn_clear_padding(real *d, size_t width, size_t n, size_t k0, size_t k1)
{
	for (size_t k = k0; k < k1; k++)
		for (size_t o = (n + VL - 1) / VL * VL; o < width; o += VL)
			v_store(d + k * width + o, v_zero());
}

#endif
