/* In place of blas.c where nn-cuda.so is built without the headers of cuBLASLt. */
#include "base/error.h"
#include "device/cuda/blas.h"

int nn_cuda_blas_load(struct nn_error *err)
{
	return nn_fail(err, NN_ENODEV,
		       "nn-cuda.so was built without cublasLt.h: it has no products but its own");
}

struct nn_cuda_blas *nn_cuda_blas_new(int number, const struct nn_device *device, void *stream,
				      struct nn_error *err)
{
	(void)number;
	(void)device;
	(void)stream;
	nn_cuda_blas_load(err);
	return NULL;
}

void nn_cuda_blas_free(struct nn_cuda_blas *blas)
{
	(void)blas;
}

const char *nn_cuda_blas_run(struct nn_cuda_blas *blas, const struct nn_cuda_matmul *matmul)
{
	(void)blas;
	(void)matmul;
	return "there is no cuBLASLt";
}
