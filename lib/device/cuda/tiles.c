/* Dense layers in tiles, where these keep a device busy. */
#include "device/cpu/product/pack.h"
#include "device/cuda/launch.h"

static size_t tiles_of(size_t n)
{
	return (n + NN_TILE - 1) / NN_TILE;
}

/* m x n elements of a dense layer in tiles, where there are enough; false: it was not asked for. */
static bool ask_tiles(struct nn_queue *queue, const struct nn_cuda_kernel *kernel,
		      struct nn_tile_args *t, size_t leaves)
{
	size_t tiles = tiles_of(t->m) * tiles_of(t->n) * leaves;

	if (tiles == 0 || tiles < nn_cuda_least_tiles())
		return false;
	nn_cuda_launch(queue, kernel, tiles, t);
	return true;
}

bool NN_CUDA(in_tiles)(struct nn_queue *queue, const struct nn_product_args *a, bool input)
{
	NN_ARGS(struct nn_tile_args, t);

	t.p = *a;
	t.n = input ? a->c.cin : a->c.cout;
	t.m = a->n / t.n;
	t.depth = input ? a->c.cout : a->c.cin;
	return ask_tiles(queue, input ? &NN_SIMT(tile_input) : &NN_SIMT(tile), &t, 1);
}

bool NN_CUDA(weights_in_tiles)(struct nn_queue *queue, const struct nn_weights_args *a)
{
	NN_ARGS(struct nn_tile_args, t);

	if (!a->apart && a->leaf.n > NN_TILE_LEAVES)
		return false;
	t.p.c = a->c;
	t.p.x = a->x;
	t.p.dy = a->dy;
	t.m = a->c.cin;
	t.n = nn_packed_channels(a->c.cout); /* padding gets 0 */
	t.first = a->first;
	t.apart = a->apart;
	t.dw = a->dw;
	t.rest = a->rest;
	t.size = a->size;
	t.leaf = a->leaf;
	return ask_tiles(queue, &NN_SIMT(tile_weights), &t, a->apart ? a->leaf.n : 1);
}
