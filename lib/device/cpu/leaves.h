/* How many leaves a batch is cut into. */
#ifndef NN_DEVICE_CPU_LEAVES_H
#define NN_DEVICE_CPU_LEAVES_H

#include <stddef.h>

/* numerics.md, rule 2; group: rows of a batch-norm group, 0: none; most: a power of two. */
size_t nn_cpu_leaves(size_t rows, size_t group, size_t most);

#endif
