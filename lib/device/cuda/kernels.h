/* The kernels: what each is told, by value, and their names. */
#ifndef NN_DEVICE_CUDA_KERNELS_H
#define NN_DEVICE_CUDA_KERNELS_H

#include "device/cpu/product/product.h"
#include "device/cpu/cpu.h"
#include "device/cuda/cuda.h"
#include "device/device.h"

/* Names of what is compiled for each type: nn_cuda_product_f32, nn_simt_product_f32. */
#define NN_CUDA(name) NN_CAT(nn_cuda_##name, NN_SUFFIX_T)
#define NN_SIMT(name) NN_CAT(nn_simt_##name, NN_SUFFIX_T)

/* n of arguments: threads of a kernel that has one for each element of something. */

#define NN_JOINED 16 /* inputs of a node that one call joins */

/* Bounds of rows, unit of them to a bound's one; more: in device memory where they are many. */
#define NN_BOUNDS 16
struct nn_bounds {
	size_t n, unit;
	const size_t *more;
	size_t at[NN_BOUNDS + 1];
};

/* Bounds to device memory, NN_PUT at a time. */
#define NN_PUT 256
struct nn_put_args {
	size_t n;
	size_t *to;
	size_t value[NN_PUT];
};

/* ---- products: a dense layer is a 1x1 convolution of an image of one pixel ---- */

struct nn_product_args {
	size_t n;
	struct nn_conv c;
	bool depthwise, turned; /* turned: input: w is what derive made, not the packed weights */
	const real *x, *w, *bias, *residual, *dy;
	real *y, *dx;
	bool add; /* input: to what dx holds */
	int act;  /* nn_tail_act */
	real slope;
};

/* Gradients of weights or of a bias: n elements of each of the leaves. */
struct nn_weights_args {
	size_t n, size; /* size: elements of a leaf; n: of those that have a buffer each */
	struct nn_conv c;
	bool depthwise, first, apart; /* apart: leaves side by side, else one after the other */
	const real *x, *dy;
	real *dw, *rest; /* of leaf 0, or of all; of the others, `size` each */
	struct nn_bounds leaf;
};

/*
 * A product or gradient in tiles: m x n elements of each group, each a chain of `depth` steps; for
 * weights of each leaf's rows.
 */
/* Leaves that a tile adds itself: their subtrees lie in registers. */
#define NN_TILE_LEAVES (sizeof(real) == 4 ? 16 : 8)
#define NN_TILE_LEVELS (sizeof(real) == 4 ? 5 : 4) /* of their tree */
struct nn_tile_args {
	struct nn_product_args p; /* p.c: channels */
	size_t m, n, depth;
	bool first, apart;
	real *dw, *rest;
	real *bias, *bias_rest; /* its gradient, or NULL; of other leaves */
	size_t size;
	struct nn_bounds leaf;
};

struct nn_tree_args {
	size_t n;
	real *first, *rest;
	size_t step, n_leaves;
};

/* The same where the update follows. */
struct nn_tile_step_args {
	struct nn_tile_args t;
	struct nn_update u[2]; /* of weights, and of the bias, where there is one */
};

struct nn_tree_step_args {
	struct nn_tree_args tree;
	struct nn_update u;
};

struct nn_turn_args {
	size_t n;
	struct nn_conv c;
	bool depthwise, unpack;
	const real *from;
	real *to;
	size_t channels, positions; /* of a flattened image; 0: none */
	size_t depth;               /* plain weights: of an out-channel */
};

/*
 * Columns of a convolution's output pixels, `depth` reals each, from x, or their gradients to dx:
 * then c.y_pixel and c.y_row are theirs.
 */
struct nn_columns_args {
	size_t n, depth;
	struct nn_conv c;
	const real *from;
	real *to;
	bool add;
};

/* ---- elements ---- */

struct nn_activation_args {
	size_t n;
	int kind;
	real slope;
	const real *at, *dy; /* backward: y or x; NULL dy: forward */
	real *to, *residual; /* residual: gets what `to` gets */
	bool add, residual_add, from_y;
};

struct nn_join_args {
	size_t n;
	int n_in;
	const real *x[NN_JOINED];
	const real *dy;
	real *y;
	real *dx[NN_JOINED];
	bool add[NN_JOINED];
};

struct nn_dropout_args {
	size_t n, row;
	const real *from;
	real *to;
	bool add;
	uint32_t key[2], stream, below;
	uint64_t sample;
	const struct nn_now *now;
	real scale;
};

/* to[outer][to_run] from [outer][from_run], `n` of them; or transposed. */
struct nn_move_args {
	size_t n;
	size_t run, from_run, to_run; /* copies: elements of a run, and where runs begin */
	size_t rows, columns;         /* transpositions: of `from`; 0: none */
	const real *from;
	real *to;
	bool add;
};

/*
 * Element i of dimension d of `to` is that at (begin + i * step) / every of `from`; `value` where
 * there is none.
 */
struct nn_take_axis {
	long begin, step, every;
	size_t size, in, stride; /* elements of `to`, of `from`, and from one to the next */
};
struct nn_take_args {
	size_t n, row; /* row: of `from` */
	int rank;
	struct nn_take_axis axis[NN_MAX_RANK];
	real value;
	const real *from;
	real *to;
	bool add, sum; /* sum: what is there is added to 0 */
};

struct nn_position_args {
	size_t n, size;
	const real *x, *w;
	real *y;
};

/* Steps x columns of a row: its last step, or the gradient of all of them. */
struct nn_last_args {
	size_t n, steps, columns;
	const uint32_t *lengths;
	const real *from;
	real *to;
	bool add;
};

/* ---- rows ---- */

#define NN_SUM_ROWS 16    /* of a block of threads that sums rows (rowsum.h) */
#define NN_NORM_COLUMNS 8 /* of a block of threads that sums columns of a leaf */

struct nn_softmax_args {
	size_t n, columns;
	bool log, add;
	const real *x, *y, *dy;
	real *to;
};

struct nn_layernorm_args {
	size_t n, columns;
	const real *x, *dy, *gamma, *beta;
	real *y, *dx, *saved;
	real eps;
	bool add, first, apart;
	real *dw[2], *rest[2];
	struct nn_bounds leaf;
};

struct nn_loss_args {
	size_t n;
	int kind;
	size_t positions, columns;
	const real *logits, *numbers, *class_weights, *row_weights;
	const int32_t *classes;
	const struct nn_now *now;
	real *row_loss, *dlogits;
};

/* A block of threads for each leaf; its unit: positions of classes, or numbers, of a row. */
struct nn_count_args {
	struct nn_count_call call;
	struct nn_bounds leaf;
	size_t step; /* from the counts of a leaf to those of the next */
};

/* ---- windows ---- */

struct nn_pool_args {
	size_t n;
	long kernel[2], stride[2], pad[2], in[2], out[2];
	size_t channels;
	const real *x, *dy;
	real *y, *dx;
	void *places;
	bool wide, add;
	bool whole; /* the window is the image */
};

struct nn_upsample_args {
	size_t n, channels, in[2], scale[2];
	bool bilinear, corners, add;
	const real *from;
	real *to;
};

/* ---- sequences ---- */

/*
 * n heads of rows, `first` and so on of all: their `t` positions have `size` values each. x: rows
 * of queries, keys, values of all heads; scores and slopes are [head][t][t].
 */
struct nn_attention_args {
	size_t n, first, heads, t, size;
	bool causal, add;
	const uint32_t *lengths;
	const real *x, *dy;
	real scale; /* of scores */
	real *score, *slope, *to;
	size_t now; /* of a step: its number; state: [row][scaled keys, values][t] of all heads */
	real *state;
};

/* Step t of recurrent layers, a thread for each unit of each row. */
struct nn_recurrent_args {
	size_t n, steps, units, sums, kept, t, earlier; /* steps of the way */
	int cell;
	bool at_first, at_last;
	const uint32_t *lengths;
	const real *ahead;           /* [position][sums] of the input */
	const real *of_state, *bias; /* [row][sums] of the state; its bias, where there is none */
	real *y, *c, *gates, *before, *cells;
	const real *dy;
	real *dh, *dc, *of_x, *of_h; /* gradients of sums: [position][sums] */
	real *state, *first_cells;   /* what rows go on with (nn_call); lstm's cells of that */
};

/* ---- batch normalization ---- */

#define NN_NORM_CHANNELS 16 /* of a block of threads that sums */

struct nn_norm_args {
	size_t n;
	size_t channels, positions, block, max_blocks;
	const real *x, *y, *dy, *gamma, *beta, *residual;
	real *to, *mean, *inverse, *partial, *sums, *d;
	real *running[2], *dw[2];
	real *statistics;
	size_t step;
	real eps, momentum, rest, slope;
	int act, mask;
	bool add, first, training;
	struct nn_bounds group, leaf;
};

/* ---- tables ---- */

struct nn_table_args {
	size_t n;
	size_t rows, size, padding, numbers, together;
	bool sum;
	const real *x, *w, *dy;
	real *y;
	struct nn_row_list list;
	size_t leaf_number;
	struct nn_bounds leaf;
};

struct nn_row_sum_args {
	size_t n;
	struct nn_row_list entries, sums;
	size_t first_leaf, end_leaf;
	uint64_t *a, *b;
	uint32_t *begin;
};

/* ---- updates and sums ---- */

struct nn_update_args {
	size_t n;
	struct nn_update u;
	struct nn_row_list rows;
	bool listed;
	real *direction;
};

struct nn_sum_args {
	size_t n;
	const real *values;
	const size_t *rows; /* how many numbers there are: *rows * n; NULL: n */
	bool squares;
	real *partial;
	double *result;
};

/* Sums of at most NN_SUM_BLOCK rows of each of a block's leaves; now: as hold, NULL: not. */
struct nn_losses_args {
	const real *row_loss;
	struct nn_bounds leaf;
	double *losses;
	size_t step;
	struct nn_now *now;
};

struct nn_clip_args {
	size_t n;
	struct nn_clip_call call;
};

struct nn_ratio_args {
	size_t n;
	struct nn_ratio_call call;
};

struct nn_hold_args {
	size_t n;
	const double *losses;
	size_t step, leaves;
	struct nn_now *now;
};

/* ---- what is of no type ---- */

/* What a thread moves at once where all is aligned to as much. */
struct nn_wide {
	uint32_t word[4];
} __attribute__((aligned(16)));

/* Lines of so many words, or wide ones, by number: n words in all. */
struct nn_gather_args {
	size_t n, line;
	const uint32_t *rows;
	const void *from;
	void *to;
};

#define NN_PEAK_CHAINS 8 /* of a thread: more than a multiply-add takes cycles */
struct nn_peak_args {
	size_t n, rounds, wide; /* wide: of `from` */
	const struct nn_wide *from;
	void *to; /* [n] */
	real factor, term;
};

#ifdef __cplusplus
extern "C" {
#endif
#define NN_CUDA_KERNEL(name) extern const struct nn_cuda_kernel NN_SIMT(name);
#include "device/cuda/kernels.def"
#ifdef __cplusplus
}
#endif

#endif
