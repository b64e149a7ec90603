/* The module nn-cuda.so: devices by number. */
#include <cuda_runtime_api.h>

#include "base/module.h"
#include "device/cuda/blas.h"
#include "device/queue.h"

#define NN_CUDA_DEVICES 64

/* by products (nn_products), each of f32 and of f64 */
static struct nn_device devices[2 * NN_N_PRODUCTS][NN_CUDA_DEVICES];

int nn_cuda_number(const struct nn_device *device)
{
	return (int)((device - devices[0]) % NN_CUDA_DEVICES);
}

enum nn_products nn_cuda_products(const struct nn_device *device)
{
	return (enum nn_products)((device - devices[0]) / NN_CUDA_DEVICES / 2);
}

/* Makes no context: that takes long. */
static const struct nn_device *open_with(int number, enum nn_products products, enum nn_dtype dtype,
					 struct nn_error *err)
{
	const struct nn_device *cpu = nn_device_open("cpu", dtype, err);
	struct nn_device *device =
		&devices[2 * products + (dtype == NN_F64)][number % NN_CUDA_DEVICES];
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
	} else if (nn_products_rounded(products) && dtype == NN_F64) {
		nn_fail(err, NN_ENODEV, "%s is a way to multiply f32, not f64",
			nn_products_rounded(products));
	} else if (products == NN_PRODUCTS_OWN || nn_cuda_blas_load(err) == 0) {
		if (!device->name)
			nn_cuda_device(device, cpu, &nn_cuda_remote);
		if (products != NN_PRODUCTS_OWN)
			nn_cuda_use_library(device, products);
		return device;
	}
	return NULL;
}

static const struct nn_device *open_device(int number, enum nn_dtype dtype, struct nn_error *err)
{
	return open_with(number, NN_PRODUCTS_OWN, dtype, err);
}

static const char *describe(int number)
{
	static struct cudaDeviceProp properties;

	return cudaGetDeviceProperties(&properties, number) == cudaSuccess ? properties.name : NULL;
}

static const struct nn_device_module own = { open_device, describe };
static const struct nn_products_module module = { &own, open_with };
const struct nn_module nn_module = { NN_MODULE_ABI, "cuda", &module };
