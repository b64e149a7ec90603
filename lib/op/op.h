/*
 * What an operation means: attributes, shape rule, parameters, cost, what its gradient needs. No
 * arithmetic.
 */
#ifndef NN_OP_OP_H
#define NN_OP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/shape.h"

struct nn_error;

enum nn_op_id {
#define NN_OP(id, name) NN_OP_##id,
#include "op/ops.def"
#undef NN_OP
	NN_N_OPS
};

/* ---- attributes, one struct per op ---- */

enum nn_activation {
	NN_ACT_NONE,
#define NN_ACTIVATION(ID, ...) NN_ACT_##ID,
#include "op/activations.def"
	NN_N_ACTIVATIONS
};

/*
 * y = act(product + bias + residual): what fusion puts behind a product or a batchnorm; all zero:
 * nothing.
 */
struct nn_epilogue {
	enum nn_activation activation;
	double slope;  /* leaky-relu's slope, elu's alpha */
	bool residual; /* the node's last input is added before the activation */
};

struct nn_window {                           /* of a pooling */
	size_t kernel[2], stride[2], pad[2]; /* height, width */
};

/* What fusion puts behind an epilogue: the largest value of each window is the output. */
struct nn_pooled {
	bool on;
	struct nn_window window;
};

struct nn_dense {
	size_t out;
	bool bias;
	struct nn_epilogue epilogue; /* set by fusion only */
	/*
	 * The input vector is a flattened image held with channels last: element hw * channels + c
	 * in memory is c * positions + hw in the canonical weight. channels 0: not so. Set by
	 * layout only.
	 */
	size_t channels, positions;
};

struct nn_conv2d {
	size_t out, kernel[2], stride[2], pad[2], dilation[2], groups;
	bool bias;
	bool line;                   /* of height 1: the weight is [out,in/groups,kw] */
	struct nn_epilogue epilogue; /* set by fusion only */
	struct nn_pooled pooling;    /* set by fusion only */
};

/* The input gradient of a convolution, as nn.ConvTranspose2d: weight [in,out/groups,kh,kw]. */
struct nn_conv_transpose2d {
	size_t out, kernel[2], stride[2], pad[2], dilation[2], groups;
	size_t more[2]; /* rows below and columns to the right, fewer than stride */
	bool bias;
	struct nn_epilogue epilogue; /* set by fusion only */
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
/*
 * Row x of a table for each number x of the input; zeros for a number outside 0..rows-1.
 */
struct nn_embedding {
	size_t rows, size;
	size_t padding; /* this row gets no gradient and begins as zeros; NN_NO_ROW: none */
	bool sum;       /* the rows of the last dimension are added; padding is left out */
	bool lazy;      /* an update leaves rows as they are that the batch did not have */
};
#define NN_NO_ROW SIZE_MAX
#define NN_MOST_ROWS ((size_t)1 << 24) /* of a table: numbers of its rows are held as f32 */
enum nn_recurrent_cell { NN_CELL_RNN, NN_CELL_RNN_RELU, NN_CELL_LSTM, NN_CELL_GRU, NN_N_CELLS };
#define NN_RECURRENT_LAYERS 8 /* that have names */
/*
 * One direction of one layer over steps x values, whose state goes from step to step. Gates are in
 * PyTorch's order: lstm i, f, g, o; gru r, z, n.
 */
struct nn_recurrent {
	enum nn_recurrent_cell cell;
	size_t units;
	bool bias;
	bool reverse;   /* from the last step to the first */
	unsigned layer; /* for the names of parameters: below NN_RECURRENT_LAYERS */
};
/* Of a sequence Tx3N of queries, keys and values, N of each, whose heads lie side by side. */
struct nn_attention {
	size_t heads;
	bool causal;  /* a position attends to itself and those before it */
	size_t steps; /* positions whose keys are kept; set by nn_op.step only, else 0 */
};
struct nn_position {
	size_t steps; /* of the weight; set by nn_op.step only, else 0: those of the input */
};
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
/*
 * Element i of dimension d of the output is element begin[d] + i * step[d] of the input, `value`
 * outside of it: slices, crops and paddings.
 */
struct nn_slice {
	int rank;
	ptrdiff_t begin[NN_MAX_RANK];
	size_t size[NN_MAX_RANK], step[NN_MAX_RANK];
	double value;
};
struct nn_transpose {
	int dims[2]; /* these two change places; without the batch */
};
struct nn_upsample { /* of C,H,W */
	size_t scale[2];
	bool bilinear; /* else the nearest pixel */
	bool corners;  /* bilinear: the outermost pixels stay where they are */
};
/*
 * Set by layout only: between channels-last and language order, per row [channels][positions] <->
 * [positions][channels].
 */
struct nn_permute {
	size_t channels, positions;
	bool to_channels_last;
};

/* Room for the attributes of any op. */
union nn_op_attrs {
	struct nn_dense dense;
	struct nn_conv2d conv2d;
	struct nn_conv_transpose2d conv_transpose2d;
	struct nn_pool2d pool2d;
	struct nn_batchnorm batchnorm;
	struct nn_layernorm layernorm;
	struct nn_embedding embedding;
	struct nn_recurrent recurrent;
	struct nn_attention attention;
	struct nn_position position;
	struct nn_dropout dropout;
	struct nn_activation_attrs activation;
	struct nn_softmax softmax;
	struct nn_concat concat;
	struct nn_reshape reshape;
	struct nn_permute permute;
	struct nn_slice slice;
	struct nn_transpose transpose;
	struct nn_upsample upsample;
};

/* ---- the table ---- */

#define NN_MAX_PARAMS 4

/*
 * NORM: gamma, beta; TABLE: a weight [rows, size] of which a batch needs some rows; BUFFER: not
 * trained (running statistics, and what is frozen)
 */
enum nn_param_role { NN_WEIGHT, NN_BIAS, NN_NORM, NN_ROW_TABLE, NN_BUFFER };
enum nn_init {
	NN_INIT_KAIMING_UNIFORM,
	NN_INIT_XAVIER_UNIFORM,
	NN_INIT_BIAS_UNIFORM,
	NN_INIT_ZERO,
	NN_INIT_ONE,
	NN_INIT_UNIT
};

struct nn_op_param {
	const char *name; /* "weight", as torch.nn names it */
	enum nn_param_role role;
	enum nn_init init;
	struct nn_shape shape; /* canonical: dense [out,in], conv2d [out,in/groups,(kh,)kw] */
	size_t fan_in;
	/* NN_ROW_TABLE */
	size_t padding; /* this row begins as zeros and stays so; NN_NO_ROW: none */
	bool lazy;      /* an update leaves rows as they are that the batch did not have */
};

/* How an op wants its samples held inside (numerics.md, Layout). */
enum nn_op_layout {
	NN_LAYOUT_ANY, /* element by element, the output is held as the input (all inputs alike) */
	NN_LAYOUT_IMAGE, /* C,H,W samples channels last; vectors as they are */
	NN_LAYOUT_PLAIN, /* language order */
	NN_LAYOUT_DENSE, /* plain, or a flattened channels-last image through the permuted weight */
	NN_LAYOUT_VIEW,  /* reshape: data are not moved where the order allows it */
};

#define NN_OP_NEEDS_X 1u       /* backward reads the inputs */
#define NN_OP_NEEDS_Y 2u       /* backward reads the output */
#define NN_OP_ROWS_COUPLED 4u  /* batchnorm: a row depends on its group */
#define NN_OP_TRAIN_ONLY 8u    /* dropout: identity at prediction */
#define NN_OP_NUMBERS_ROWS 16u /* inputs are numbers of rows: there is no gradient towards them */
#define NN_OP_Y_ON_X 32u       /* y may lie where x[0] does, unless backward reads x */
#define NN_OP_DX_ON_DY 64u     /* one dx may lie where dy does */
#define NN_OP_WHOLE 128u       /* a product that ranks do not share: each computes all of it */
#define NN_OP_HAS_STATE 256u   /* steps of a sequence need those before them (nn_kernel.state) */
#define NN_OP_READS_LENGTHS 512u /* ignores a row's steps behind its length */

/*
 * How an op goes through a sequence, whose steps are the first dimension: all at once; one after
 * the other, as many as there are; the same, as many as the sequence has and no more.
 */
enum nn_stepping { NN_STEPS_AT_ONCE, NN_STEPS_ANY, NN_STEPS_COUNTED };

/*
 * Rows of different length, whose steps are the first dimension: they are refused; the output has
 * the same lengths, and its steps behind them are undefined; the output has one shape for all rows.
 */
enum nn_lengths { NN_LENGTHS_REFUSED, NN_LENGTHS_KEPT, NN_LENGTHS_ENDED };

/*
 * Ops that a graph inserts, or fuses into the op before them, are found by role; the role says
 * which attributes they have.
 */
enum nn_op_role {
	NN_ROLE_NONE,
	NN_ROLE_PERMUTE,    /* struct nn_permute: change of order in memory */
	NN_ROLE_RESHAPE,    /* struct nn_reshape: another shape, or a value of its own */
	NN_ROLE_SUM,        /* of all inputs */
	NN_ROLE_ACTIVATION, /* struct nn_activation_attrs */
	NN_ROLE_MAXPOOL,    /* struct nn_pool2d */
	NN_ROLE_NORM,       /* struct nn_batchnorm: of running values a linear map per channel */
};

/*
 * A product by its channels: each out-channel of each position is a chain over the in-channels of
 * its group and `taps` positions of the input.
 */
struct nn_op_product {
	size_t in, out, groups, taps;
	/* in-channels are a flattened image held channels last (struct nn_dense); 0: not so */
	size_t channels, positions;
};

struct nn_op_reader;
struct nn_text;

struct nn_op {
	const char *name;
	size_t attrs_size;
	enum nn_op_layout layout;
	enum nn_op_role role;
	unsigned flags; /* needs: for the unfused op; needs() may refine */
	/*
	 * Where in the attributes they lie; 0: the op has none. bias: bool; epilogue: struct
	 * nn_epilogue, whose residual may share memory with y, and its gradient with dy; pooling:
	 * struct nn_pooled. A bias that lies there goes with a weight whose first dimension are the
	 * out-channels.
	 */
	size_t bias, epilogue, pooling;
	/*
	 * Language shapes of one row in, of one row out; the error says what does not fit and both
	 * shapes.
	 */
	int (*infer)(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		     struct nn_error *err);
	/* Parameters in file order; NULL: none. Returns their number. */
	int (*params)(const void *attrs, const struct nn_shape *in, int n_in,
		      struct nn_op_param out[NN_MAX_PARAMS]);
	/* Of one row forward; multiply and add are 2. NULL: one per output element. */
	uint64_t (*flops)(const void *attrs, const struct nn_shape *in, int n_in,
			  const struct nn_shape *out);
	/* The same without products with padding; NULL: all of flops. */
	uint64_t (*flops_inside)(const void *attrs, const struct nn_shape *in);
	unsigned (*needs)(const void *attrs); /* NULL: flags */
	/* Does the op only rename values, so that y is a view of x[0]? NULL: never. */
	bool (*view)(const void *attrs, bool training);
	/* The product that the op is for an input of this shape; NULL: none. */
	struct nn_op_product (*product)(const void *attrs, const struct nn_shape *in);
	/* Products: the same attributes for other out-channels in other groups. */
	void (*narrow)(void *attrs, size_t out, size_t groups);
	/* NN_LAYOUT_DENSE: the input is a flattened image held channels last (0, 0: it is not). */
	void (*flattened)(void *attrs, size_t channels, size_t positions);
	/* Attributes and shapes with axes in the order in which they lie in memory; NULL: as is. */
	void (*lay_out)(void *attrs, struct nn_shape *in, int n_in);
	/*
	 * Can it go step by step through a sequence of the shape *in? Then attributes become those
	 * for one step. NULL: no.
	 */
	enum nn_stepping (*step)(void *attrs, const struct nn_shape *in);
	/* Of inputs of this shape that all have lengths; NULL: refused. */
	enum nn_lengths (*lengths)(const void *attrs, const struct nn_shape *in);
	/*
	 * How attributes are written behind "ROWSxIN" (notation.h): form, of all of it, for
	 * messages; read may take the last dimension of *in. NULL: there is no more than these.
	 */
	const char *form;
	void (*read)(struct nn_op_reader *reader, struct nn_shape *in, void *attrs);
	void (*write)(const void *attrs, struct nn_text *text);
};

extern const struct nn_op *const nn_ops[NN_N_OPS];

/* The op of a role, of which there is one. */
enum nn_op_id nn_op_of(enum nn_op_role role);
static inline bool nn_op_is_product(enum nn_op_id op)
{
	return nn_ops[op]->product;
}
/* Is its parameter a table, whose rows the input numbers? */
static inline bool nn_op_is_table(enum nn_op_id op)
{
	return nn_ops[op]->flags & NN_OP_NUMBERS_ROWS;
}
/* NEEDS_X, NEEDS_Y, ROWS_COUPLED of an op with these attributes. */
unsigned nn_op_needs(enum nn_op_id op, const void *attrs);
bool nn_op_is_view(enum nn_op_id op, const void *attrs, bool training);
/* Members of the attributes; NULL where the op has none. */
bool *nn_op_bias(enum nn_op_id op, void *attrs);
struct nn_epilogue *nn_op_epilogue(enum nn_op_id op, void *attrs);
struct nn_pooled *nn_op_pooling(enum nn_op_id op, void *attrs);
bool nn_op_has_residual(enum nn_op_id op, const void *attrs);
bool nn_op_is_pooled(enum nn_op_id op, const void *attrs);
/* The attributes of an op without what fusion put behind it. */
void nn_op_strip(enum nn_op_id op, void *attrs);
/* The input in whose memory y may lie (nn_call), or -1; may the gradient of input k lie on dy? */
int nn_op_in_place(enum nn_op_id op, const void *attrs, int n_in);
bool nn_op_takes_dy(enum nn_op_id op, const void *attrs, int n_in, int k);
/* Of one row forward. */
uint64_t nn_op_flops(enum nn_op_id op, const void *attrs, const struct nn_shape *in, int n_in,
		     const struct nn_shape *out);

/* Rows of a group of which a row depends on the others (batch norm); 0: on none. */
size_t nn_op_group(enum nn_op_id op, const void *attrs);

/* Products of each unit at a step: the rows of its weights are gates * units. */
size_t nn_cell_gates(enum nn_recurrent_cell cell);
/* The convolution from the output of a conv-transpose2d to its input of `channels` channels. */
struct nn_conv2d nn_op_mirrored(const struct nn_conv_transpose2d *attrs, size_t channels);

/* "leaky-relu", "identity"; the slope where none is given. */
const char *nn_activation_name(enum nn_activation kind);
double nn_activation_slope(enum nn_activation kind);
/* Can the derivative be had from y alone (leaky-relu: with a slope > 0)? */
bool nn_activation_from_y(enum nn_activation kind, double slope);

#endif
