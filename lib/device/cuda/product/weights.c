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

/* ---- tiles ---- */

/*
 * In-channels x out-channels of a tile; cycles that a step takes where a multiprocessor has one
 * tile, and those that each takes beside others.
 */
static const struct {
	const struct nn_cuda_kernel *kernel;
	unsigned down, over, alone, beside;
} tiles[] = { { &NN_SIMT(gradient_128), 128, sizeof(real) == 4 ? 128 : 64, 136, 136 },
	      { &NN_SIMT(gradient_64), 64, 64, 36, 36 },
	      { &NN_SIMT(gradient_32), 32, 32, 12, 12 },
	      { &NN_SIMT(gradient_16), 16, 16, 6, 4 },
	      { &NN_SIMT(gradient_8), 8, 16, 4, 4 } };
#define NN_TILES (sizeof tiles / sizeof tiles[0])

/* Tiles of all taps, and those of the bias, of a leaf. */
static size_t tiles_of(const struct nn_tile_args *t, unsigned down, unsigned over)
{
	const struct nn_conv *c = &t->p.c;
	size_t taps = t->dw ? (size_t)(c->h.n * c->w.n) : 0;

	return nn_cuda_parts(t->n, over) * (taps * nn_cuda_parts(c->cin, down) + (t->bias != NULL)) *
	       c->groups;
}

/* In one of the tiles, of a leaf each; all: of all leaves. false: in none. */
static bool ask_tiles(struct nn_queue *queue, const struct nn_tile_args *t, bool all)
{
	const unsigned leaves_tile = sizeof(real) == 4 ? 64 : 32;
	struct nn_cuda_way ways[NN_TILES];
	size_t i;

	if (all) {
		nn_cuda_launch(queue, &NN_SIMT(gradient_leaves),
			       tiles_of(t, leaves_tile, leaves_tile), t);
		return true;
	}
	for (i = 0; i < NN_TILES; i++) {
		ways[i].tiles = tiles_of(t, tiles[i].down, tiles[i].over) * t->leaf.n;
		ways[i].alone = tiles[i].alone;
		ways[i].beside = tiles[i].beside;
	}
	i = nn_cuda_choose(queue, ways, NN_TILES);
	if (i == NN_TILES)
		return false;
	nn_cuda_launch(queue, tiles[i].kernel, ways[i].tiles, t);
	return true;
}

/* Do kernels that count with 32 bits come through it? */
static bool are_short(const struct nn_conv *c, size_t rows)
{
	const double most = INT32_MAX, loaders = 64;

	return (double)c->h.in * (double)c->x_row * loaders < most &&
	       (double)c->h.out * (double)c->y_row * loaders < most &&
	       (double)rows * (double)c->h.out * (double)c->w.out < most &&
	       (double)c->h.n * (double)c->w.n * (double)c->cin * (double)c->cout *
			       (double)c->groups * (double)NN_TILE_LEAVES <
		       most;
}

/* ---- gradients ---- */

/* Of a parameter that is wanted: where leaves go. */
static void begin_gradient(const struct nn_call *call, int param, size_t size,
			   struct nn_weights_args *a, char **room)
{
	a->first = call->first;
	a->size = size;
	a->apart = are_apart(size, call->n_leaves);
	a->n = a->apart ? size * call->n_leaves : size;
	a->dw = call->dw[param];
	a->rest = (real *)(void *)*room;
	*room += NN_CUDA(leaves_bytes)(size, call->n_leaves);
}

static void end_gradient(const struct nn_call *call, int param, const struct nn_weights_args *a)
{
	if (a->apart)
		add_leaves(call->site.queue, a, call->update ? &call->update[param] : NULL);
	else if (call->update)
		update_by(call, param, a->dw);
}

/*
 * w and b, or one of them, of which a is one: both have one leaf, or leaves apart, or else none
 * has; false: not.
 */
static bool ask_together(const struct nn_call *call, const struct nn_weights_args *a,
			 const struct nn_weights_args *w, const struct nn_weights_args *b)
{
	const bool all = a->leaf.n > 1 && !a->apart;
	NN_ARGS(struct nn_tile_args, t);

	if (!are_short(&a->c, call->leaf[call->n_leaves] * a->leaf.unit) ||
	    (all && (!w || a->leaf.n > NN_TILE_LEAVES)) || (w && w->depthwise))
		return false;
	t.p.c = a->c;
	t.p.x = a->x;
	t.p.dy = a->dy;
	t.n = nn_packed_channels(a->c.cout); /* padding gets 0 */
	t.first = a->first;
	t.leaf = a->leaf;
	if (w) {
		t.dw = w->dw;
		t.rest = w->rest;
		t.size = w->size;
	} else { /* groups do not matter */
		t.n = t.p.c.cout = a->size;
		t.p.c.groups = 1;
	}
	if (b) {
		t.bias = b->dw;
		t.bias_rest = b->rest;
	}
	return ask_tiles(call->site.queue, &t, all);
}

void NN_CUDA(gradients)(const struct nn_call *call, int weight, int bias,
			const struct nn_weights_args *a, char **room)
{
	const bool has_weight = weight >= 0 && call->dw[weight], /* else it is frozen */
		has_bias = bias >= 0 && call->dw[bias];
	struct nn_weights_args w = *a, b = *a;

	w.depthwise = nn_conv_depthwise(&a->c);
	if (has_weight)
		begin_gradient(call, weight, NN_CUDA(packed)(&a->c), &w, room);
	if (has_bias)
		begin_gradient(call, bias, a->c.cout * a->c.groups, &b, room);
	if (has_weight && has_bias) {
		struct nn_weights_args beside = b;

		beside.apart = w.apart;
		if (ask_together(call, &w, &w, &beside)) {
			end_gradient(call, weight, &w);
			end_gradient(call, bias, &beside);
			return;
		}
	}
	if (has_weight) {
		if (!ask_together(call, &w, &w, NULL))
			NN_ASK(call->site.queue, product_weights, w);
		end_gradient(call, weight, &w);
	}
	if (has_bias) {
		if (!ask_together(call, &b, NULL, &b))
			NN_ASK(call->site.queue, product_bias, b);
		end_gradient(call, bias, &b);
	}
}

bool NN_CUDA(few_gradients)(const struct nn_call *call, bool bias, const struct nn_weights_args *a,
			    const real *y)
{
	NN_ARGS(struct nn_tile_args, t);
	struct nn_tile_step_args s;
	struct nn_cuda_way way = { 0, 0, 0 }; /* which always pays, but that tests draw */

	if (!call->dw[0] || (bias && !call->dw[1]) || !call->first || !NN_CUDA(is_matrix)(&a->c) ||
	    a->leaf.n > NN_TILE_LEAVES || a->leaf.at[a->leaf.n] * a->leaf.unit > NN_FEW_STEPS ||
	    NN_CUDA(packed)(&a->c) >= NN_FEW)
		return false;
	t.p.c = a->c;
	t.p.x = a->x;
	t.p.dy = a->dy;
	t.p.y = (real *)(uintptr_t)y;
	t.m = a->c.cin;
	t.n = nn_packed_channels(a->c.cout); /* padding gets 0 */
	t.dw = call->dw[0];
	t.bias = bias ? call->dw[1] : NULL;
	t.leaf = a->leaf;
	way.tiles = nn_cuda_parts(t.n, 16) * nn_cuda_parts(t.m + bias, 16);
	if (nn_cuda_choose(call->site.queue, &way, 1) == 1)
		return false;
	if (!call->update) {
		nn_cuda_launch(call->site.queue, &NN_SIMT(few_rows), way.tiles, &t);
		return true;
	}
	memset(&s, 0, sizeof s);
	s.t = t;
	for (int k = 0; k < 1 + bias; k++)
		s.u[k] = NN_CUDA(update_there)(&call->update[k]);
	nn_cuda_launch(call->site.queue, &NN_SIMT(few_rows_step), way.tiles, &s);
	return true;
}
