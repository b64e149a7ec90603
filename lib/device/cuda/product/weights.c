/* Gradients of weights and biases: leaves side by side where weights are few, and their tree. */
#include "device/cpu/product/pack.h"
#include "device/cuda/product/product.h"

#define NN_FEW 262144     /* weights whose leaves are computed side by side */
#define NN_FEW_STEPS 256  /* of all leaves that a thread goes through by itself */

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

bool NN_CUDA(few_gradients)(const struct nn_call *call, bool bias, const struct nn_weights_args *a)
{
	NN_ARGS(struct nn_tile_args, t);
	size_t blocks;

	if (!call->dw[0] || (bias && !call->dw[1]) || !call->first || !NN_CUDA(is_matrix)(&a->c) ||
	    a->leaf.n > NN_TILE_LEAVES || a->leaf.at[a->leaf.n] * a->leaf.unit > NN_FEW_STEPS ||
	    NN_CUDA(packed)(&a->c) >= NN_FEW)
		return false;
	t.p.c = a->c;
	t.p.x = a->x;
	t.p.dy = a->dy;
	t.m = a->c.cin;
	t.n = nn_packed_channels(a->c.cout); /* padding gets 0 */
	t.dw = call->dw[0];
	t.bias = bias ? call->dw[1] : NULL;
	t.leaf = a->leaf;
	blocks = (t.n + 15) / 16 * ((t.m + bias + 7) / 8);
	if (!nn_cuda_pays(8, t.m, t.n, blocks))
		return false;
	nn_cuda_launch(call->site.queue, &NN_SIMT(few_rows), blocks, &t);
	return true;
}
