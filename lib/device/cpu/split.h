/* Work cut into pieces large enough to be worth a thread's while. */
#ifndef NN_DEVICE_CPU_SPLIT_H
#define NN_DEVICE_CPU_SPLIT_H

#include "base/pool.h"

/*
 * run(arg, begin, end, thread) over 0..n-1, cut at multiples of `unit` into pieces worth a thread's
 * while, at `bytes` of memory an item (or what a thread could read in the time an item takes: some
 * 200 bytes a nanosecond). Small work stays in the caller's thread.
 */
void nn_cpu_split(struct nn_pool *pool, size_t n, size_t unit, size_t bytes,
		  void (*run)(void *arg, size_t begin, size_t end, int thread), void *arg);

/*
 * As nn_pool_run, in the caller's thread alone where all pieces together go through too few bytes.
 */
void nn_cpu_pieces(struct nn_pool *pool, size_t pieces, size_t bytes,
		   void (*run)(void *arg, size_t i, int thread), void *arg);

#endif
