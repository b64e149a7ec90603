/* What nn_remote has that depends on the type of the device. */
#ifndef NN_DEVICE_CUDA_LEAVES_H
#define NN_DEVICE_CUDA_LEAVES_H

#include "device/cuda/cuda.h"
#include "device/queue.h"

static inline void nn_cuda_sum_losses(const struct nn_losses_call *call)
{
	(call->device->dtype == NN_F64 ? nn_cuda_sum_losses_f64 : nn_cuda_sum_losses_f32)(call);
}

static inline void nn_cuda_count_leaves(const struct nn_device *device,
					const struct nn_count_call *call, const size_t *leaf,
					size_t n, size_t step)
{
	(device->dtype == NN_F64 ? nn_cuda_count_leaves_f64
				 : nn_cuda_count_leaves_f32)(call, leaf, n, step);
}

static inline double nn_cuda_fma(const struct nn_device *device, struct nn_queue *queue,
				 size_t rounds)
{
	return (device->dtype == NN_F64 ? nn_cuda_fma_f64 : nn_cuda_fma_f32)(queue, rounds);
}

#endif
