/* The way of a rank up the binary tree of ranks. */
#ifndef NN_COMM_STEPS_H
#define NN_COMM_STEPS_H

#define NN_TREE_DEEP 32
#define NN_TREE_WIDE 32 /* messages at once */

/*
 * A subtree of ranks first..first+n-1, of which the first `left`, the largest power of two below n,
 * are its left part.
 */
struct nn_step_of_tree {
	int first, left, n;
};

/* The largest power of two below n; n > 1. */
static inline int nn_left_of(int n)
{
	int left = 1;

	while (2 * left < n)
		left *= 2;
	return left;
}

/* The subtrees that hold rank, of size ranks, the whole first; how many. */
static inline int nn_steps_of_tree(int rank, int size, struct nn_step_of_tree steps[NN_TREE_DEEP])
{
	int deep = 0, first = 0, n = size;

	while (n > 1) {
		int left = nn_left_of(n);

		steps[deep++] = (struct nn_step_of_tree){ first, left, n };
		if (rank - first < left) {
			n = left;
		} else {
			first += left;
			n -= left;
		}
	}
	return deep;
}

#endif
