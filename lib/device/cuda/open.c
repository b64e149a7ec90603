/* The module nn-cuda.so: devices by number. */
#include <cuda_runtime_api.h>

#include "base/module.h"
#include "device/cuda/cuda.h"
#include "device/queue.h"

#define NN_CUDA_DEVICES 64

static struct nn_device devices[2][NN_CUDA_DEVICES]; /* of f32, of f64 */

int nn_cuda_number(const struct nn_device *device)
{
	return (int)((device - devices[0]) % NN_CUDA_DEVICES);
}

/* Makes no context: that takes long. */
static const struct nn_device *open_device(int number, enum nn_dtype dtype, struct nn_error *err)
{
	const struct nn_device *cpu = nn_device_open("cpu", dtype, err);
	struct nn_device *device = &devices[dtype == NN_F64][number % NN_CUDA_DEVICES];
	int n = 0;
	cudaError_t error = cudaGetDeviceCount(&n);

	if (!cpu)
		return NULL;
	if (error != cudaSuccess) {
		cudaGetLastError();
		nn_fail(err, NN_ENODEV, "%s", cudaGetErrorString(error));
	} else if (number >= n || number >= NN_CUDA_DEVICES) {
		nn_fail(err, NN_ENODEV, "there is no such device: CUDA has %d", n);
	} else if (dtype != NN_F32 && dtype != NN_F64) {
		nn_fail(err, NN_ENODEV, "it computes in f32 and f64 alone");
	} else {
		if (!device->name)
			nn_cuda_device(device, cpu, &nn_cuda_remote);
		return device;
	}
	return NULL;
}

static const char *describe(int number)
{
	static struct cudaDeviceProp properties;

	return cudaGetDeviceProperties(&properties, number) == cudaSuccess ? properties.name : NULL;
}

static const struct nn_device_module module = { open_device, describe };
const struct nn_module nn_module = { NN_MODULE_ABI, "cuda", &module };
