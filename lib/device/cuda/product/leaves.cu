/* Leaves of a gradient that were computed apart: their sum along the tree, and the update by it. */
#include "device/cuda/step.h"

/* Of element i; all of up to 16 leaves are asked for before the first is added. */
NN_INLINE real sum_leaves(const struct nn_tree_args *a, size_t i)
{
	real stack[32], sum, leaves[16];
	int depth = 0;
	if (a->n_leaves <= 16) {
		NN_UNROLL
		for (size_t leaf = 0; leaf < 16; leaf++)
			if (leaf < a->n_leaves)
				leaves[leaf] =
					leaf ? a->rest[(leaf - 1) * a->step + i] : a->first[i];
		NN_UNROLL
		for (size_t n = 1; n < 16; n *= 2) {
			NN_UNROLL
			for (size_t leaf = 0; leaf < 16; leaf += 2 * n)
				if (leaf + n < a->n_leaves)
					leaves[leaf] = v_add(leaves[leaf], leaves[leaf + n]);
		}
		return leaves[0];
	}
	for (size_t leaf = 0; leaf < a->n_leaves; leaf++) {
		sum = leaf ? a->rest[(leaf - 1) * a->step + i] : a->first[i];
		for (size_t t = leaf; t & 1; t >>= 1)
			sum = v_add(stack[--depth], sum);
		stack[depth++] = sum;
	}
	return stack[0];
}

NN_MAP(tree, struct nn_tree_args)
{
	a->first[i] = sum_leaves(a, i);
}

NN_INLINE void begin_tree(const struct nn_tree_step_args *a, struct nn_spot p, struct step *s,
			  char *r)
{
	(void)r;
	if (p.thread == 0)
		step_ready(s, &a->u, NULL);
}

NN_INLINE void step_tree(const struct nn_tree_step_args *a, struct nn_spot p, struct step *s,
			 char *r)
{
	const size_t i = p.block * NN_MAP_THREADS + p.thread;
	real sum;
	(void)r;
	if (i >= a->tree.n)
		return;
	sum = sum_leaves(&a->tree, i);
	step_at(s, &a->u, i, &sum);
}

NN_SCRIPT(tree_step, struct nn_tree_step_args, struct step, char, NN_MAP_THREADS)
{
	NN_PHASE(begin_tree);
	NN_PHASE(step_tree);
}
