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
 * A way to compute something in tiles: how many there are; how long a multiprocessor has one where
 * it has no other, and each beside others, in units that all ways have.
 */
struct nn_cuda_way {
	size_t tiles;
	double alone, beside;
};

/* Which of n ways takes least, of equal ones the first; n: none, a thread for each element does. */
size_t nn_cuda_choose(struct nn_queue *queue, const struct nn_cuda_way *ways, size_t n);

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
