/* Gradients of weights and biases: leaves side by side where weights are few, and their tree. */
#include "device/cuda/product.h"

#define NN_FEW 262144 /* weights whose leaves are computed side by side */

static void add_leaves(struct nn_queue *queue, const struct nn_weights_args *a)
{
	NN_ARGS(struct nn_tree_args, t);

	t.n = a->size;
	t.first = a->dw;
	t.rest = a->rest;
	t.step = a->size;
	t.n_leaves = a->leaf.n;
	if (a->apart)
		NN_ASK(queue, tree, t);
}

static bool are_apart(size_t size, size_t n_leaves)
{
	return n_leaves > 1 && size < NN_FEW;
}

size_t NN_CUDA(leaves_bytes)(size_t size, size_t n_leaves)
{
	return are_apart(size, n_leaves) ? nn_cuda_rounded(size * (n_leaves - 1) * sizeof(real))
					 : 0;
}

static void gradient(const struct nn_call *call, int param, struct nn_weights_args *a, bool bias,
		     char **room)
{
	struct nn_queue *queue = call->site.queue;

	if (!call->dw[param]) /* it is frozen */
		return;
	a->first = call->first;
	a->apart = are_apart(a->size, call->n_leaves);
	a->n = a->apart ? a->size * call->n_leaves : a->size;
	a->dw = call->dw[param];
	a->rest = (real *)(void *)*room;
	*room += NN_CUDA(leaves_bytes)(a->size, call->n_leaves);
	if (bias && !NN_CUDA(bias_in_tiles)(queue, a))
		NN_ASK(queue, product_bias, *a);
	else if (!bias && !NN_CUDA(weights_in_tiles)(queue, a))
		NN_ASK(queue, product_weights, *a);
	add_leaves(queue, a);
}

void NN_CUDA(weight_gradient)(const struct nn_call *call, int param, struct nn_weights_args *a,
			      char **room)
{
	a->depthwise = nn_conv_depthwise(&a->c);
	a->size = NN_CUDA(packed)(&a->c);
	gradient(call, param, a, false, room);
}

void NN_CUDA(bias_gradient)(const struct nn_call *call, int param, struct nn_weights_args *a,
			    char **room)
{
	a->size = a->c.cout * a->c.groups;
	gradient(call, param, a, true, room);
}
