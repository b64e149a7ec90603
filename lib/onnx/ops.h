/* The ops that can be imported, a line in ops.c each. */
#ifndef NN_ONNX_OPS_H
#define NN_ONNX_OPS_H

#include "onnx/graph.h"

/* Errors say what is wrong, not where. */
typedef int nn_onnx_import_op(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			      struct nn_error *err);

/* NULL: not supported. */
nn_onnx_import_op *nn_onnx_op_find(const Onnx__Node *node);
/* Does it take rows that are another dimension than the first? */
bool nn_onnx_op_moves(const Onnx__Node *node);

/* op-product.c */
nn_onnx_import_op nn_onnx_gemm, nn_onnx_matmul, nn_onnx_conv;
/* op-window.c */
nn_onnx_import_op nn_onnx_maxpool, nn_onnx_averagepool, nn_onnx_global_average, nn_onnx_global_max,
	nn_onnx_reduce_mean;
/* op-norm.c */
nn_onnx_import_op nn_onnx_batchnorm, nn_onnx_layernorm, nn_onnx_softmax;
/* op-activation.c */
nn_onnx_import_op nn_onnx_activation, nn_onnx_clip, nn_onnx_dropout, nn_onnx_identity, nn_onnx_cast;
/* op-join.c */
nn_onnx_import_op nn_onnx_add, nn_onnx_sub, nn_onnx_mul, nn_onnx_div, nn_onnx_sum, nn_onnx_concat;
/* op-shape.c */
nn_onnx_import_op nn_onnx_flatten, nn_onnx_reshape, nn_onnx_squeeze, nn_onnx_unsqueeze;
/* op-move.c */
nn_onnx_import_op nn_onnx_transposed, nn_onnx_pad, nn_onnx_slice;
/* op-table.c */
nn_onnx_import_op nn_onnx_gather, nn_onnx_reduce_sum;
/* Is v nothing but the numbers of rows of tables? */
bool nn_onnx_is_index(const struct nn_onnx_graph *g, const struct nn_onnx_value *v);
/* op-recurrent.c */
nn_onnx_import_op nn_onnx_recurrent;
/* op-grow.c */
nn_onnx_import_op nn_onnx_conv_transpose, nn_onnx_resize, nn_onnx_upsample;
/* A matched group, at its last node. */
nn_onnx_import_op nn_onnx_matched;

/*
 * op-window.c: a window over the last two dimensions of C,H,W, or the last of C,L, which then
 * counts as C,1,L.
 */
struct nn_onnx_window {
	size_t kernel[2], stride[2], dilation[2];
	size_t before[2], after[2]; /* pads */
	size_t in[2], out[2];
};
int nn_onnx_window(const struct nn_onnx_node *node, struct nn_onnx_value *image,
		   const size_t *kernel, bool may_be_empty, struct nn_onnx_window *window,
		   struct nn_error *err);
/* kernel, stride, dilation and pads as the attributes say; 1 and 0 for what C,L lacks. */
int nn_onnx_window_attributes(const struct nn_onnx_node *node, int n_dims,
			      struct nn_onnx_window *window, struct nn_error *err);
/* " NAME=AxB" unless both are `usual`. */
void nn_onnx_add_pair(struct nn_text *text, const char *name, const size_t pair[2], size_t usual);
/* C,1,L for C,L. */
struct nn_shape nn_onnx_image_shape(const struct nn_shape *shape);

#endif
