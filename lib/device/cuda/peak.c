/* Peaks of the device, asked of as many threads as any has at once. */
#include "device/cuda/launch.h"

#define NN_FMA_THREADS ((size_t)1 << 18)
#define NN_READ_THREADS ((size_t)1 << 17)

double NN_CUDA(fma)(struct nn_queue *queue, size_t rounds)
{
	NN_ARGS(struct nn_peak_args, a);

	a.n = NN_FMA_THREADS;
	a.rounds = rounds;
	a.factor = (real)0.999;
	a.term = (real)0.001;
	a.to = nn_cuda_sums(queue);
	NN_ASK(queue, peak_fma, a);
	return (double)a.n * (double)rounds * NN_PEAK_CHAINS * 2;
}

void NN_CUDA(read)(struct nn_queue *queue, const void *memory, size_t bytes, size_t rounds)
{
	NN_ARGS(struct nn_peak_args, a);

	a.wide = bytes / sizeof *a.from;
	a.n = a.wide < NN_READ_THREADS ? a.wide : NN_READ_THREADS;
	a.rounds = rounds;
	a.from = memory;
	a.to = nn_cuda_sums(queue);
	NN_ASK(queue, peak_read, a);
}
