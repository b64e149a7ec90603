/* Largest values of windows, and their gradients: of maxpool2d and of what conv2d is fused with. */
#ifndef NN_DEVICE_CUDA_WINDOWS_H
#define NN_DEVICE_CUDA_WINDOWS_H

#include "device/cpu/pooling.h"
#include "device/cuda/launch.h"

void NN_CUDA(max_pool)(struct nn_queue *queue, const struct nn_pooling *pool, size_t rows,
		       const real *x, real *y, void *places);
void NN_CUDA(max_pool_back)(struct nn_queue *queue, const struct nn_pooling *pool, size_t rows,
			    const real *dy, const void *places, real *dx, bool add);

#endif
