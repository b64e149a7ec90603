/* How rates are measured, on the host and on devices with memory of their own. */
#ifndef NN_BENCH_MACHINE_PEAK_INSIDE_H
#define NN_BENCH_MACHINE_PEAK_INSIDE_H

#include "bench/machine/peak.h"

#define NN_PEAK_FAR ((size_t)512 << 20) /* working sets are not larger */

/* A run on all threads: amount(arg) is what it did, FLOP or bytes. */
struct nn_peak_run {
	struct nn_pool *pool;
	void (*piece)(void *arg, size_t i, int thread);
	void *arg;
	double amount;  /* of a piece, for one round */
	size_t *rounds; /* how often a piece repeats itself */
};

/* The best rate of runs within the time, of as many rounds as make a run long enough. */
double nn_peak_best(const struct nn_bench *bench, const struct nn_peak_run *run, double seconds);

#endif
