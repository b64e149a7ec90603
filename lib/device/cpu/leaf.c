/*
 * Leaves added along the binary tree over their numbers, neighbours first; a(i) += b(i) on arrays.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"
#include "device/cpu/leaf.h"

struct tree {
	real *first, *rest; /* leaf 0; leaf 1 and on */
	size_t step;        /* from one of the rest to the next */
	size_t n_leaves;
};

NN_INLINE vr load_leaf(const struct tree *tree, size_t leaf, size_t i, size_t k)
{
	return v_get(leaf == 0 ? tree->first + i : tree->rest + (leaf - 1) * tree->step + i, k);
}

/* A stack of finished subtrees: an odd leaf closes the one before it. */
static void tree_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct tree *tree = arg;
	(void)thread;
	NN_EACH(i, k, end - begin, {
		vr stack[64], sum;
		int depth = 0;
		for (size_t leaf = 0; leaf < tree->n_leaves; leaf++) {
			sum = load_leaf(tree, leaf, begin + i, k);
			for (size_t t = leaf; t & 1; t >>= 1)
				sum = v_add(stack[--depth], sum);
			stack[depth++] = sum;
		}
		v_put(tree->first + begin + i, k, stack[0]);
	});
}

void NN_K(leaf_tree)(const struct nn_call *call, int param, size_t n, void *scratch)
{
	struct tree tree = { call->dw[param], scratch, (n + NN_PANEL - 1) / NN_PANEL * NN_PANEL,
			     call->n_leaves };
	if (call->n_leaves > 1)
		nn_cpu_split(call->pool, n, NN_PANEL, call->n_leaves * sizeof(real), tree_piece,
			     &tree);
}

struct addition {
	real *a;
	const real *b;
};

static void add_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct addition *addition = arg;
	real *a = addition->a + begin;
	const real *b = addition->b + begin;
	(void)thread;
	NN_EACH(i, k, end - begin, { v_put(a + i, k, v_add(v_get(a + i, k), v_get(b + i, k))); });
}

void NN_K(add_arrays)(struct nn_queue *queue, void *a, const void *b, size_t n,
		      struct nn_pool *pool)
{
	struct addition addition = { a, b };
	(void)queue;
	nn_cpu_split(pool, n, 64, 3 * sizeof(real), add_piece, &addition);
}
