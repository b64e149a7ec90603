/* How the host asks for the kernels of a type. */
#ifndef NN_DEVICE_CUDA_LAUNCH_H
#define NN_DEVICE_CUDA_LAUNCH_H

#include <string.h>

#include "base/error.h"
#include "device/cuda/kernels.h"
#include "device/queue.h"

#define NN_MAP_BLOCK 256 /* threads of NN_MAP */

/* A product or input gradient: in tiles, or false. */
bool NN_CUDA(in_tiles)(struct nn_queue *queue, const struct nn_product_args *a, bool input);

/* Arguments of nothing but zeros, padding too. */
#define NN_ARGS(type, name) \
	type name; \
	memset(&name, 0, sizeof name)

/* The kernel with a thread for each of args.n. */
#define NN_ASK(queue, kernel, args) \
	do { \
		if ((args).n > 0) \
			nn_cuda_launch(queue, &NN_SIMT(kernel), \
				       ((args).n + NN_MAP_BLOCK - 1) / NN_MAP_BLOCK, &(args)); \
	} while (0)

/* Bounds by value, or by way of *room, bytes of work that nn_bounds_bytes says; it moves on. */
struct nn_bounds NN_CUDA(bounds)(struct nn_queue *queue, const size_t *bound, size_t n, size_t unit,
				 char **room);
static inline size_t nn_bounds_bytes(size_t n)
{
	return n > NN_BOUNDS ? ((n + 1) * sizeof(size_t) + 255) / 256 * 256 : 0;
}

/* What fusion puts behind a product or a norm: y = act(y), and back (activation.c). */
void NN_CUDA(activate)(struct nn_queue *queue, const struct nn_epilogue *epilogue, real *y,
		       size_t n);
void NN_CUDA(activate_back)(const struct nn_call *call, const struct nn_epilogue *epilogue,
			    real *to, real *residual, size_t n);

#define NN_OP(id, name) extern const struct nn_kernel NN_CUDA(op_##id);
#include "op/ops.def"
#undef NN_OP

extern const struct nn_kernel NN_CUDA(op_dense_plain), NN_CUDA(op_conv2d_plain),
	NN_CUDA(op_conv_transpose2d_plain), NN_CUDA(op_recurrent_plain);

void NN_CUDA(sum_rows)(const struct nn_row_sum *sum);
void NN_CUDA(update)(const struct nn_update *update);
/* As an argument of kernels: without what is the host's. */
struct nn_update NN_CUDA(update_there)(const struct nn_update *update);
void NN_CUDA(functions)(struct nn_device *device);

#endif
