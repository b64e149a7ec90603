/*
 * How many leaves a batch is cut into: enough of them for threads and ranks, each long enough for
 * the product kernels.
 */
#include "device/cpu/leaves.h"

#define NN_LEAVES_MOST 16
#define NN_LEAF_ROWS 16 /* a leaf has at least so many rows, or one batch-norm group */

/* A rest of fewer than half a group joins the group before. */
static size_t groups(size_t rows, size_t group)
{
	size_t n = rows / group, rest = rows % group;

	return n == 0 ? 1 : n + (2 * rest >= group);
}

size_t nn_cpu_leaves(size_t rows, size_t group, size_t most)
{
	size_t units = group ? groups(rows, group) : rows / NN_LEAF_ROWS, n = 1;

	while (n < NN_LEAVES_MOST && 2 * n <= units)
		n *= 2;
	return n < most ? n : most;
}
