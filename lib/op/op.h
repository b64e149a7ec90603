/* What an operation means: attributes, shape rule, parameters, cost, what its gradient needs. No
 * arithmetic. */
#ifndef NN_OP_OP_H
#define NN_OP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/shape.h"

enum nn_op_id {
#define NN_OP(id, name) NN_OP_##id,
#include "op/ops.def"
#undef NN_OP
	NN_N_OPS
};

/* ---- attributes, one struct per op ---- */

enum nn_activation {
	NN_ACT_NONE,
	NN_ACT_RELU,
	NN_ACT_LEAKY_RELU,
	NN_ACT_ELU,
	NN_ACT_GELU,
	NN_ACT_SILU,
	NN_ACT_SIGMOID,
	NN_ACT_TANH,
	NN_ACT_SOFTPLUS,
};

/* y = act(product + bias + residual): what fusion puts behind a product or a batchnorm; all zero:
 * nothing. */
struct nn_epilogue {
	enum nn_activation activation;
	double slope;  /* leaky-relu's slope, elu's alpha */
	bool residual; /* the node's last input is added before the activation */
};

struct nn_window {                           /* of a pooling */
	size_t kernel[2], stride[2], pad[2]; /* height, width */
};

struct nn_dense {
	size_t out;
	bool bias;
	struct nn_epilogue epilogue; /* set by fusion only */
	/* The input vector is a flattened image held with channels last: element hw * channels + c
	 * in memory is c * positions + hw in the canonical weight. channels 0: not so. Set by
	 * layout only. */
	size_t channels, positions;
};

struct nn_conv2d {
	size_t out, kernel[2], stride[2], pad[2], dilation[2], groups;
	bool bias;
	struct nn_epilogue epilogue; /* set by fusion only */
	bool pooled; /* set by fusion only: maxpool2d `pool` follows the epilogue; the node's output
			is pooled */
	struct nn_window pool;
};

struct nn_pool2d {
	struct nn_window window;
}; /* maxpool2d, avgpool2d (counts the padding) */

struct nn_batchnorm { /* over channels (dim 0) of C,H,W, or features of a vector */
	size_t group; /* rows; numerics.md */
	double eps, momentum;
	struct nn_epilogue epilogue; /* set by fusion only */
};

struct nn_layernorm {
	double eps;
}; /* over the last dimension */
/* Row x of a table for each number x of the input; what is no row of it (not in 0..rows-1) is
 * zeros. */
struct nn_embedding {
	size_t rows, size;
	size_t padding; /* this row gets no gradient and begins as zeros; NN_NO_ROW: none */
	bool sum;       /* the rows of the last dimension are added; padding is left out */
	bool lazy;      /* an update leaves rows as they are that the batch did not have */
};
#define NN_NO_ROW SIZE_MAX
#define NN_MOST_ROWS ((size_t)1 << 24) /* of a table: numbers of its rows are held as f32 */
struct nn_dropout {
	double p;
	uint32_t stream;
};
struct nn_activation_attrs {
	enum nn_activation kind;
	double slope;
};
struct nn_softmax {
	bool log;
}; /* over channels of C,H,W; over the last dimension else */
struct nn_concat {
	int dim;
}; /* without the batch */
struct nn_reshape {
	struct nn_shape shape;
}; /* flatten too */
/* Set by layout only: between channels-last and language order, per row [channels][positions] <->
 * [positions][channels]. */
struct nn_permute {
	size_t channels, positions;
	bool to_channels_last;
};

/* ---- the table ---- */

#define NN_MAX_PARAMS 4

/* NORM: gamma, beta; TABLE: a weight [rows, size] of which a batch needs some rows; BUFFER: not
 * trained (running statistics) */
enum nn_param_role { NN_WEIGHT, NN_BIAS, NN_NORM, NN_ROW_TABLE, NN_BUFFER };
enum nn_init {
	NN_INIT_KAIMING_UNIFORM,
	NN_INIT_BIAS_UNIFORM,
	NN_INIT_ZERO,
	NN_INIT_ONE,
	NN_INIT_UNIT
};

struct nn_op_param {
	const char *name; /* "weight", as torch.nn names it */
	enum nn_param_role role;
	enum nn_init init;
	struct nn_shape shape; /* canonical: dense [out,in], conv2d [out,in/groups,kh,kw] */
	size_t fan_in;
};

/* How an op wants its samples held inside (numerics.md, Layout). */
enum nn_op_layout {
	NN_LAYOUT_ANY, /* element by element, the output is held as the input (all inputs alike) */
	NN_LAYOUT_IMAGE, /* C,H,W samples channels last; vectors as they are */
	NN_LAYOUT_PLAIN, /* language order */
	NN_LAYOUT_DENSE, /* plain, or a flattened channels-last image through the permuted weight */
	NN_LAYOUT_VIEW,  /* reshape: no data move when the order allows it */
};

#define NN_OP_NEEDS_X 1u       /* backward reads the inputs */
#define NN_OP_NEEDS_Y 2u       /* backward reads the output */
#define NN_OP_ROWS_COUPLED 4u  /* batchnorm: a row depends on its group */
#define NN_OP_TRAIN_ONLY 8u    /* dropout: identity at prediction */
#define NN_OP_NUMBERS_ROWS 16u /* inputs are numbers of rows: there is no gradient towards them */

struct nn_op {
	const char *name;
	size_t attrs_size;
	enum nn_op_layout layout;
	unsigned flags; /* needs: for the unfused op; needs() may refine */
	/* Language shapes of one row in, of one row out; the error says what does not fit and both
	 * shapes. */
	int (*infer)(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		     struct nn_error *err);
	/* Parameters in file order; NULL: none. Returns their number. */
	int (*params)(const void *attrs, const struct nn_shape *in, int n_in,
		      struct nn_op_param out[NN_MAX_PARAMS]);
	/* Of one row forward; multiply and add are 2. NULL: one per output element. */
	uint64_t (*flops)(const void *attrs, const struct nn_shape *in, int n_in,
			  const struct nn_shape *out);
	unsigned (*needs)(const void *attrs); /* NULL: flags */
};

extern const struct nn_op *const nn_ops[NN_N_OPS];

/* Can the derivative be had from y alone (relu, leaky-relu with slope > 0, elu with alpha > 0,
 * sigmoid, tanh)? */
bool nn_activation_from_y(enum nn_activation kind, double slope);

#endif
