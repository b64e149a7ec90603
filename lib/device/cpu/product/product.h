/*
 * The product kernels: convolution and dense layer, forward and gradients, for one thread's piece
 * of the work.
 */

/*
 * Every element is one chain of fused multiply-adds from zero, in the order of numerics.md: forward
 * over kernel row, kernel column, in-channel; towards the input over kernel row and column
 * descending, out-channel; towards the weights over samples, then positions row by row. Taps
 * outside the image are not in the chain. However a caller cuts the work (rows, panels, samples),
 * bytes are the same.
 *
 * Nothing here allocates, starts threads or fails. `real` pointers need no alignment. Images are
 * NHWC; strides count reals.
 *
 * Packed weights: [group][panel of out-channels][kernel row][kernel column][in-channel][width],
 * width = NN_PANEL, or NN_LANES for a last panel of at most NN_LANES channels; lanes beyond the
 * channels hold 0, in weights and in gradients. Panels are numbered over all groups: n_groups *
 * panels of a group. Depthwise (in-channels of a group = 1, groups > 1): [kernel row][kernel
 * column][out-channel, rounded up to NN_LANES], and a "panel" is NN_PANEL consecutive out-channels.
 * Bias: [out-channels], not packed.
 *
 * A test includes this file once per set of kernels (NN_SUFFIX in kernel.h).
 */

#include "device/cpu/vec/kernel.h"

#ifndef NN_DEVICE_CPU_PRODUCT_H
#define NN_DEVICE_CPU_PRODUCT_H

/*
 * Input position = output position * stride + tap * dilation - pad; positions outside 0..in-1 are
 * skipped.
 */
struct nn_axis {
	long n; /* taps */
	long stride, dilation, pad;
	long in, out;
};

struct nn_conv {
	struct nn_axis h, w;
	size_t cin, cout; /* of one group */
	size_t groups;
	size_t x_row, x_pixel; /* input: reals from row to row, pixel to pixel */
	size_t y_row, y_pixel; /* output */
};

/* A dense layer x[rows][in] -> y[rows][out]. */
struct nn_matrix {
	size_t in, out;
	size_t x_row, y_row; /* reals from row to row */
	/*
	 * x is an image of positions x channels in the canonical weight's channels x positions; 0:
	 * it is not
	 */
	size_t channels, positions;
};

/* y = activation(chain + bias + residual), in this order. */
enum nn_tail_act { NN_TAIL_NONE, NN_TAIL_RELU, NN_TAIL_LEAKY };

struct nn_tail {
	const void *bias; /* real [out-channels] or NULL */
	/* laid out by the strides below, begins where y does; may be y itself; or NULL */
	const void *residual;
	size_t residual_row, residual_pixel; /* dense: residual_row alone */
	enum nn_tail_act
		act; /* relu: v > 0 or NaN ? v : 0 (so a NaN shows); leaky: v > 0 ? v : slope * v */
	double slope;
};

/*
 * Takes a packed gradient in place of memory: elements [at, at + n), each once, soon after it was
 * computed.
 */
struct nn_sink {
	void (*take)(const struct nn_sink *sink, size_t at, const void *g, size_t n);
	/* real: arrays by element that it reads and writes; NULL behind the last one */
	const void *touched[3];
};

/*
 * Dense image strides: kernel, stride, pad, dilation are {height, width}; channels in all groups.
 */
void nn_conv_init(struct nn_conv *c, const size_t kernel[2], const size_t stride[2],
		  const size_t pad[2], const size_t dilation[2], size_t groups, size_t cin,
		  size_t cout, size_t height, size_t width);
bool nn_conv_depthwise(const struct nn_conv *c);

#endif

/* ---- convolution: x, y, dx, dy point to one sample ---- */

/* Panels in all groups (what p counts below), reals of the packed weight. */
size_t NN_K(conv_panels)(const struct nn_conv *c);
size_t NN_K(conv_packed)(const struct nn_conv *c);
/* Canonical [out-channel][in-channel of the group][kernel row][kernel column] <-> packed. */
void NN_K(conv_pack)(const struct nn_conv *c, const real *canonical, real *packed);
void NN_K(conv_unpack)(const struct nn_conv *c, const real *packed, real *canonical);
/*
 * What the input gradient reads instead of the packed weights: rotated and transposed, made anew
 * after each update. Panels are of in-channels here; pieces [p0, p1) may be made by different
 * threads.
 */
size_t NN_K(conv_rotated_panels)(const struct nn_conv *c);
size_t NN_K(conv_rotated)(const struct nn_conv *c);
void NN_K(conv_rotate)(const struct nn_conv *c, const real *packed, real *rotated, size_t p0,
		       size_t p1);

/*
 * Output rows [oh0, oh1) of a sample, all channels. tail NULL: none. Threads: samples, else rows.
 */
void NN_K(conv_forward)(const struct nn_conv *c, const real *x, const real *w,
			const struct nn_tail *tail, real *y, long oh0, long oh1);
/* Input rows [h0, h1) of a sample; positions that no tap reaches get 0. add: dx = dx + gradient. */
void NN_K(conv_input_gradient)(const struct nn_conv *c, const real *dy, const real *rotated,
			       real *dx, bool add, long h0, long h1);
/*
 * Input rows [h0, h1) of the same with a tail, whose bias is of in-channels: a transposed
 * convolution, whose input is c's output. Not by depth.
 */
void NN_K(conv_transposed)(const struct nn_conv *c, const real *x, const real *rotated,
			   const struct nn_tail *tail, real *y, long h0, long h1);
/*
 * One sample's part of a leaf: dw (packed) goes on from what it holds, or from 0 if `first`. Output
 * rows [oh0, oh1), which must come in ascending order; kernel rows [kh0, kh1) and panels [p0, p1)
 * of it: pieces that different threads may take.
 */
void NN_K(conv_weight_gradient)(const struct nn_conv *c, const real *x, const real *dy, real *dw,
				bool first, long oh0, long oh1, long kh0, long kh1, size_t p0,
				size_t p1);
/* db[out-channels] over output rows [oh0, oh1). */
void NN_K(conv_bias_gradient)(const struct nn_conv *c, const real *dy, real *db, bool first,
			      long oh0, long oh1);

/* ---- dense: x, y, dx, dy point to the first of `rows` rows ---- */

size_t NN_K(dense_panels)(const struct nn_matrix *d);
size_t NN_K(dense_packed)(const struct nn_matrix *d);
/* Canonical [out][in] <-> packed [panel][in, in the order of memory][width]. */
void NN_K(dense_pack)(const struct nn_matrix *d, const real *canonical, real *packed);
void NN_K(dense_unpack)(const struct nn_matrix *d, const real *packed, real *canonical);
/*
 * Bytes of scratch that one thread needs for any of the three below with at most so many rows; its
 * contents need not be kept.
 */
size_t NN_K(dense_scratch)(const struct nn_matrix *d, size_t rows);

/*
 * Out-channels of panels [p0, p1). Threads: rows in multiples of 14 or so, or panels; with few rows
 * panels.
 */
void NN_K(dense_forward)(const struct nn_matrix *d, size_t rows, const real *x, const real *w,
			 const struct nn_tail *tail, real *y, size_t p0, size_t p1, void *scratch);
/* One row, no residual; w is canonical, x no image: the bytes that packed weights give. */
void NN_K(dense_plain)(const struct nn_matrix *d, const real *x, const real *w,
		       const struct nn_tail *tail, real *y);
/*
 * Columns [k0, k1) of dx, from the packed weights as they are. Threads: rows in multiples of
 * NN_PANEL, or k in multiples of NN_LANES.
 */
void NN_K(dense_input_gradient)(const struct nn_matrix *d, size_t rows, const real *dy,
				const real *w, real *dx, bool add, size_t k0, size_t k1,
				void *scratch);
/*
 * dw (packed), inputs [k0, k1) of panels [p0, p1): rows leaf[i]..leaf[i+1]-1 are leaf i, summed
 * along the tree (n_leaves a power of two, rows counted from leaf[0], which x and dy point to).
 * first false: one leaf, whose chain goes on from what dw holds. sink: takes them in place of dw;
 * NULL: nobody does. Threads: panels, or k in multiples of 56.
 */
void NN_K(dense_weight_gradient)(const struct nn_matrix *d, const real *x, const real *dy,
				 const size_t *leaf, size_t n_leaves, bool first, real *dw,
				 const struct nn_sink *sink, size_t k0, size_t k1, size_t p0,
				 size_t p1, void *scratch);
/* db[out], the same chains with x = 1. */
void NN_K(dense_bias_gradient)(const struct nn_matrix *d, const real *dy, const size_t *leaf,
			       size_t n_leaves, bool first, real *db);

/* ---- leaves ---- */

/* left[i] += right[i]: one addition of the tree, neighbours first. */
void NN_K(leaf_add)(real *left, const real *right, size_t n);

/* ---- the measure ---- */

/*
 * Run n rounds of independent fused multiply-adds in registers, as fast as the core can; returns
 * their floating-point operations.
 */
double NN_K(fma_peak)(size_t n);
