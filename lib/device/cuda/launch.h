/* How the host asks for kernels; the module does it by the CUDA runtime, tests by their queue. */
#ifndef NN_DEVICE_CUDA_LAUNCH_H
#define NN_DEVICE_CUDA_LAUNCH_H

#include <string.h>

#include "base/error.h"
#include "device/cuda/kernels.h"
#include "device/queue.h"

#define NN_MAP_BLOCK 256 /* threads of NN_MAP */

/* kernel->bytes of arguments are taken by value. Failures are noted in the queue. */
void nn_cuda_launch(struct nn_queue *queue, const struct nn_cuda_kernel *kernel, size_t blocks,
		    const void *args);

/* Device memory of a queue's sums of blocks, NN_CUDA_SUMS of them. */
#define NN_CUDA_SUMS ((size_t)1 << 20)
real *nn_cuda_sums(struct nn_queue *queue);

/* From how many tiles on a dense layer is computed in tiles. */
size_t nn_cuda_least_tiles(void);
/* A dense layer's product or input gradient, and weights: in tiles, or false. */
bool nn_cuda_in_tiles(struct nn_queue *queue, const struct nn_product_args *a, bool input);
bool nn_cuda_weights_in_tiles(struct nn_queue *queue, const struct nn_weights_args *a);

/* All of a device but its memory and queue. */
void nn_cuda_device(struct nn_device *device, const struct nn_device *cpu,
		    const struct nn_remote *remote);

/* Arguments of nothing but zeros, padding too. */
#define NN_ARGS(type, name) \
	type name; \
	memset(&name, 0, sizeof name)

/* The kernel with a thread for each of args.n. */
#define NN_ASK(queue, kernel, args) \
	do { \
		if ((args).n > 0) \
			nn_cuda_launch(queue, &nn_simt_##kernel, \
				       ((args).n + NN_MAP_BLOCK - 1) / NN_MAP_BLOCK, &(args)); \
	} while (0)

/* Bounds by value, or by way of *room, bytes of work that nn_bounds_bytes says; it moves on. */
struct nn_bounds nn_cuda_bounds(struct nn_queue *queue, const size_t *bound, size_t n, size_t unit,
				char **room);
static inline size_t nn_bounds_bytes(size_t n)
{
	return n > NN_BOUNDS ? ((n + 1) * sizeof(size_t) + 255) / 256 * 256 : 0;
}

/* What fusion puts behind a product or a norm: y = act(y), and back (activation.c). */
void nn_cuda_activate(struct nn_queue *queue, const struct nn_epilogue *epilogue, real *y,
		      size_t n);
void nn_cuda_activate_back(const struct nn_call *call, const struct nn_epilogue *epilogue, real *to,
			   real *residual, size_t n);

#define NN_OP(id, name) extern const struct nn_kernel nn_cuda_op_##id;
#include "op/ops.def"
#undef NN_OP

void nn_cuda_sum_rows(const struct nn_row_sum *sum);
void nn_cuda_functions(struct nn_device *device);

#endif
