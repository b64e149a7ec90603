/*
 * What the ops of this room share: sentences about shapes, windows over images, counts that cannot
 * wrap.
 */
#ifndef NN_OP_COMMON_H
#define NN_OP_COMMON_H

#include "base/memory.h"
#include "op/op.h"

/* Where a kernel of height, width slides over an image of H, W. */
struct nn_slide {
	const char *what; /* "kernel", "window" */
	const size_t *kernel, *stride, *pad;
	const size_t *dilation; /* NULL: 1, 1 */
};

/* out = output height, width; fails where the kernel does not fit or a number is 0. */
int nn_slide_infer(const struct nn_slide *slide, const struct nn_shape *in, size_t out[2],
		   struct nn_error *err);

/* A parameter that is not a table. */
struct nn_op_param nn_op_param(const char *name, enum nn_param_role role, enum nn_init init,
			       struct nn_shape shape, size_t fan_in);
/* The op takes one input, of any shape. */
int nn_op_one_input(int n_in, struct nn_error *err);
/* No arithmetic: .flops of ops that only move values. */
uint64_t nn_op_no_flops(const void *attrs, const struct nn_shape *in, int n_in,
			const struct nn_shape *out);
/* .step of ops that take each step of TxN by itself. */
enum nn_stepping nn_op_each_step(void *attrs, const struct nn_shape *in);
/* .lengths of ops that take each value by itself, or the last dimension of each step. */
enum nn_lengths nn_op_each_length(const void *attrs, const struct nn_shape *in);
enum nn_lengths nn_op_inner_lengths(const void *attrs, const struct nn_shape *in);
/* One input, C,H,W. */
int nn_op_one_image(const struct nn_shape *in, int n_in, struct nn_error *err);
/* Two inputs or more, all of one shape, which is *out. */
int nn_op_same_shapes(const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err);
/* Does *out fit into memory at all (8 bytes a value)? */
int nn_op_check_size(const struct nn_shape *out, struct nn_error *err);

/* The output of a pooling of image *in. */
int nn_op_infer_pool(const struct nn_window *window, const struct nn_shape *in,
		     struct nn_shape *out, struct nn_error *err);

/* a * b * c, or the largest number where that is more. */
uint64_t nn_op_count(uint64_t a, uint64_t b, uint64_t c);

#endif
