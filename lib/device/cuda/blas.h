/*
 * cuBLASLt, whose library is opened when a device asks for it. blas-none.c is in place of blas.c
 * where there are no headers.
 */
#ifndef NN_DEVICE_CUDA_BLAS_H
#define NN_DEVICE_CUDA_BLAS_H

#include "device/cuda/matmul.h"

/* NN_ENODEV: the library or one of its functions is not there, which the line names. */
int nn_cuda_blas_load(struct nn_error *err);

/* The library for a queue: of device `number`, which is the thread's; stream: a cudaStream_t. */
struct nn_cuda_blas;
struct nn_cuda_blas *nn_cuda_blas_new(int number, const struct nn_device *device, void *stream,
				      struct nn_error *err);
void nn_cuda_blas_free(struct nn_cuda_blas *blas);
/* NULL: the product was asked for; else why not. */
const char *nn_cuda_blas_run(struct nn_cuda_blas *blas, const struct nn_cuda_matmul *matmul);

#endif
