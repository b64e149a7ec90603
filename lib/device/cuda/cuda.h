/*
 * What the module's two files of the CUDA runtime (open.c, queue.c) and what is compiled for each
 * type have of one another; tests put others in place of those two.
 */
#ifndef NN_DEVICE_CUDA_CUDA_H
#define NN_DEVICE_CUDA_CUDA_H

#include "device/device.h"

struct nn_losses_call;
struct nn_remote;

struct nn_cuda_kernel {
	const char *name;
	void (*run)(void); /* a __global__ function; the host form: of (args, blocks) */
	unsigned threads;
	size_t bytes; /* of its arguments */
};

/*
 * Kernels of at most so many blocks get ready while such a one before them runs, which saves half a
 * microsecond of each. With more a device has no room left, those that wait slow down the one that
 * computes, and get the multiprocessors that are free first, several of them the same.
 */
#define NN_CUDA_FEW_BLOCKS 128

/* kernel->bytes of arguments are taken by value. Failures are noted in the queue. */
void nn_cuda_launch(struct nn_queue *queue, const struct nn_cuda_kernel *kernel, size_t blocks,
		    const void *args);

/* Device memory of a queue's sums of blocks, NN_CUDA_SUMS reals. */
#define NN_CUDA_SUMS ((size_t)1 << 20)
void *nn_cuda_sums(struct nn_queue *queue);

/*
 * Do so many tiles of size x size elements (8: blocks of 8 x 16) that m x n elements are cut into
 * keep the device busier than what comes after them: smaller ones, then a thread for each element?
 */
bool nn_cuda_pays(unsigned size, size_t m, size_t n, size_t tiles);
/* The least of n costs; of several the last. */
int nn_cuda_least(const double *cost, int n);

/*
 * A shape of tiles: rows x columns elements; how many a multiprocessor needs to be busy; how many
 * elements those have done when one done by a multiprocessor's best has a hundred.
 */
struct nn_cuda_shape {
	unsigned rows, columns, fill, rate;
};

/*
 * Which of n_shapes computes m x n elements, `apart` times, first; n_shapes: none, a thread for
 * each element does.
 */
size_t nn_cuda_choose(struct nn_queue *queue, const struct nn_cuda_shape *shapes, size_t n_shapes,
		      size_t m, size_t n, size_t apart);

extern const struct nn_remote nn_cuda_remote;

/* Which device of the runtime's it is. */
int nn_cuda_number(const struct nn_device *device);

/* All of the device of cpu's type but its memory and queue. */
void nn_cuda_device_f32(struct nn_device *device, const struct nn_device *cpu,
			const struct nn_remote *remote);
void nn_cuda_device_f64(struct nn_device *device, const struct nn_device *cpu,
			const struct nn_remote *remote);
static inline void nn_cuda_device(struct nn_device *device, const struct nn_device *cpu,
				  const struct nn_remote *remote)
{
	(cpu->dtype == NN_F64 ? nn_cuda_device_f64 : nn_cuda_device_f32)(device, cpu, remote);
}

/* nn_remote's, of a type: device/cuda/leaves.h chooses. */
void nn_cuda_sum_losses_f32(const struct nn_losses_call *call);
void nn_cuda_sum_losses_f64(const struct nn_losses_call *call);
void nn_cuda_count_leaves_f32(const struct nn_count_call *call, const size_t *leaf, size_t n,
			      size_t step);
void nn_cuda_count_leaves_f64(const struct nn_count_call *call, const size_t *leaf, size_t n,
			      size_t step);
double nn_cuda_fma_f32(struct nn_queue *queue, size_t rounds);
double nn_cuda_fma_f64(struct nn_queue *queue, size_t rounds);
/* Bytes are bytes: of f64 they are there, too, and do the same. */
void nn_cuda_gather_f32(struct nn_queue *queue, void *to, const void *from, const uint32_t *rows,
			size_t bytes, size_t n);
void nn_cuda_gather_f64(struct nn_queue *queue, void *to, const void *from, const uint32_t *rows,
			size_t bytes, size_t n);
void nn_cuda_read_f32(struct nn_queue *queue, const void *memory, size_t bytes, size_t rounds);
void nn_cuda_read_f64(struct nn_queue *queue, const void *memory, size_t bytes, size_t rounds);

#endif
