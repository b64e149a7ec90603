/* Products by a library: what is asked of it, and devices that have them in place of their own. */
#ifndef NN_DEVICE_CUDA_MATMUL_H
#define NN_DEVICE_CUDA_MATMUL_H

#include "device/cuda/cuda.h"
#include "device/products.h"

/*
 * c[m][n] = a b, or c + a b with add: of a queue whose device has a library's products. a is
 * [m][k], or [k][m] if ta; b is [k][n], or [n][k] if tb; all of the device's type, without gaps.
 * work: NN_CUDA_WORKSPACE bytes. Failures are noted in the queue.
 */
#define NN_CUDA_WORKSPACE ((size_t)4 << 20)
struct nn_cuda_matmul {
	const char *name; /* of what is computed */
	bool ta, tb, add;
	size_t m, n, k;
	const void *a, *b;
	void *c, *work;
};
void nn_cuda_matmul(struct nn_queue *queue, const struct nn_cuda_matmul *matmul);

/* Bytes of a convolution's columns (plain.c) that are in memory at a time, but for one line's. */
size_t nn_cuda_columns(void);

/* Whose products a device has. */
enum nn_products nn_cuda_products(const struct nn_device *device);

/* What nn_cuda_device made, with such products. */
void nn_cuda_use_library_f32(struct nn_device *device, enum nn_products products);
void nn_cuda_use_library_f64(struct nn_device *device, enum nn_products products);
static inline void nn_cuda_use_library(struct nn_device *device, enum nn_products products)
{
	(device->dtype == NN_F64 ? nn_cuda_use_library_f64 : nn_cuda_use_library_f32)(device,
										      products);
}

#endif
