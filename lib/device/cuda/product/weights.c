/* Gradients of weights and biases: leaves side by side where weights are few, and their tree. */
#include "device/cpu/product/pack.h"
#include "device/cuda/product/product.h"

#define NN_FEW 262144     /* weights whose leaves are computed side by side */
#define NN_FEW_STEPS 256  /* of all leaves that a thread goes through by itself */

/* update NULL: none follows. */
static void add_leaves(struct nn_queue *queue, const struct nn_weights_args *a,
		       const struct nn_update *update)
{
	NN_ARGS(struct nn_tree_step_args, s);

	s.tree.n = a->size;
	s.tree.first = a->dw;
	s.tree.rest = a->rest;
	s.tree.step = a->size;
	s.tree.n_leaves = a->leaf.n;
	if (!update) {
		NN_ASK(queue, tree, s.tree);
		return;
	}
	s.u = NN_CUDA(update_there)(update);
	nn_cuda_launch(queue, &NN_SIMT(tree_step), (a->size + NN_MAP_BLOCK - 1) / NN_MAP_BLOCK, &s);
}

/* By a gradient that lies in memory. */
static void update_by(const struct nn_call *call, int param, const void *g)
{
	struct nn_update u = call->update[param];

	u.g = g;
	NN_CUDA(update)(&u);
}

static bool are_apart(size_t size, size_t n_leaves)
{
	return n_leaves > 1 && size < NN_FEW;
}

bool NN_CUDA(updates)(const struct nn_conv *c)
{
	return NN_CUDA(packed)(c) < NN_FEW;
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
	if (a->apart)
		add_leaves(queue, a, call->update ? &call->update[param] : NULL);
	else if (call->update)
		update_by(call, param, a->dw);
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
	struct nn_tile_step_args s;
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
	if (!call->update) {
		nn_cuda_launch(call->site.queue, &NN_SIMT(few_rows), blocks, &t);
		return true;
	}
	memset(&s, 0, sizeof s);
	s.t = t;
	for (int k = 0; k < 1 + bias; k++)
		s.u[k] = NN_CUDA(update_there)(&call->update[k]);
	nn_cuda_launch(call->site.queue, &NN_SIMT(few_rows_step), blocks, &s);
	return true;
}
