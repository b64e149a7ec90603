/* What the module's two files of the CUDA runtime share. */
#ifndef NN_DEVICE_CUDA_CUDA_H
#define NN_DEVICE_CUDA_CUDA_H

#include "device/cuda/launch.h"

extern const struct nn_remote nn_cuda_remote;

/* Which device of the runtime's it is. */
int nn_cuda_number(const struct nn_device *device);

#endif
