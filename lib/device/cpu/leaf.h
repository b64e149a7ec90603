/* Gradients of parameters leaf by leaf: a buffer for each leaf, added along the tree. */
#ifndef NN_DEVICE_CPU_LEAF_H
#define NN_DEVICE_CPU_LEAF_H

#include "device/cpu/vec/kernel.h"
#include "device/device.h"

/*
 * Reals of scratch for the leaves' buffers of a parameter of n reals: the first leaf's is dw
 * itself.
 */
static inline size_t nn_leaf_reals(size_t n_leaves, size_t n)
{
	size_t padded = (n + NN_PANEL - 1) / NN_PANEL * NN_PANEL;
	return n_leaves ? (n_leaves - 1) * padded : 0;
}

static inline real *nn_leaf_buffer(const struct nn_call *call, int param, size_t leaf, size_t n,
				   void *scratch)
{
	size_t padded = (n + NN_PANEL - 1) / NN_PANEL * NN_PANEL;
	return leaf == 0 ? (real *)call->dw[param] : (real *)scratch + (leaf - 1) * padded;
}

/*
 * dw = the sum of the buffers along the binary tree over their numbers. Pieces of elements are
 * shared among threads.
 */
void NN_K(leaf_tree)(const struct nn_call *call, int param, size_t n, void *scratch);

#endif
