/*
 * The machine that figures belong to: what ends every row of nn-bench, and what kept answers are
 * bound to.
 */
#ifndef NN_BENCH_MACHINE_MACHINE_H
#define NN_BENCH_MACHINE_MACHINE_H

#include <stddef.h>
#include "base/pool.h"

struct nn_machine {
	char cpu[NN_CPU_NAME +
		 16];  /* the processor's name and the instruction set of the kernels */
	char gpu[128]; /* "": none that could be asked */
	char blas[64]; /* "": OpenBLAS was not asked for, all products are ours */
	int threads;
};

void nn_machine_init(struct nn_machine *machine, int threads);

/* Bytes of the data cache of that level (1, 2, 3) that a core sees; 0: unknown. */
size_t nn_machine_cache(int level);
/* Bytes of memory in all, 0: unknown. */
size_t nn_machine_memory(void);

#endif
