/* Which products are computed in tiles, and in which: as many elements keep a device busy. */
#include "device/cpu/product/pack.h"
#include "device/cuda/product/product.h"

static size_t parts_of(size_t n, size_t size)
{
	return (n + size - 1) / size;
}

/* Lines of images so long that kernels do not count their elements with 32 bits. */
static bool is_long(const struct nn_conv *c)
{
	return c->x_row > INT32_MAX || c->y_row > INT32_MAX;
}

/* In the largest tiles that pay; false: in none. */
static bool ask_tiles(struct nn_queue *queue, const struct nn_cuda_kernel *const kernels[2],
		      struct nn_tile_args *t, size_t leaves)
{
	static const unsigned sizes[2] = { 128, 64 };
	size_t apart = t->p.c.groups * leaves;

	if (t->m == 0 || t->n == 0 || t->m > INT32_MAX || t->depth > INT32_MAX)
		return false;
	for (int i = 0; i < 2; i++) {
		size_t tiles = parts_of(t->m, sizes[i]) * parts_of(t->n, sizes[i]) * apart;

		if (kernels[i] && nn_cuda_pays(sizes[i], t->m, t->n, tiles)) {
			nn_cuda_launch(queue, kernels[i], tiles, t);
			return true;
		}
	}
	return false;
}

/* A chain for each thread of blocks of 8 x 16. */
static bool ask_tiny(struct nn_queue *queue, const struct nn_tile_args *t, bool input)
{
	size_t blocks = parts_of(t->m, 8) * parts_of(t->n, 16);

	if (blocks == 0 || !nn_cuda_pays(8, t->m, t->n, blocks))
		return false;
	nn_cuda_launch(queue, input ? &NN_SIMT(tiny_input) : &NN_SIMT(tiny), blocks, t);
	return true;
}

bool NN_CUDA(in_tiles)(struct nn_queue *queue, const struct nn_product_args *a, bool input)
{
	static const struct nn_cuda_kernel *const kernels[2][2][2] = {
		{ { &NN_SIMT(tile_128), &NN_SIMT(tile_64) },
		  { &NN_SIMT(tile_input_128), &NN_SIMT(tile_input_64) } },
		{ { &NN_SIMT(tile_image_128), &NN_SIMT(tile_image_64) },
		  { &NN_SIMT(tile_image_input_128), &NN_SIMT(tile_image_input_64) } },
	};
	const struct nn_conv *c = &a->c;
	bool image = input ? a->turned : !NN_CUDA(is_matrix)(c);
	NN_ARGS(struct nn_tile_args, t);

	if (a->depthwise || is_long(c))
		return false;
	t.p = *a;
	t.n = input ? c->cin : c->cout;
	t.m = a->n / (t.n * c->groups);
	t.depth = (size_t)(c->h.n * c->w.n) * (input ? c->cout : c->cin);
	return ask_tiles(queue, kernels[image][input], &t, 1) ||
	       (!image && ask_tiny(queue, &t, input));
}

/* A chain for each thread of blocks of 8 x 16, of a leaf. */
static bool ask_few(struct nn_queue *queue, const struct nn_tile_args *t, bool image)
{
	size_t apart = t->apart ? t->leaf.n : 1;

	if (t->leaf.n > apart)
		return false;
	nn_cuda_launch(queue, image ? &NN_SIMT(few_image_weights) : &NN_SIMT(few_weights),
		       parts_of(t->m, 8) * parts_of(t->n, 16) * t->p.c.groups * apart, t);
	return true;
}

bool NN_CUDA(bias_in_tiles)(struct nn_queue *queue, const struct nn_weights_args *a)
{
	size_t apart = a->apart ? a->leaf.n : 1;

	if (a->leaf.n > apart)
		return false;
	nn_cuda_launch(queue, &NN_SIMT(few_biases), parts_of(a->size, 32) * apart, a);
	return true;
}

bool NN_CUDA(weights_in_tiles)(struct nn_queue *queue, const struct nn_weights_args *a)
{
	/* those of one leaf a block; those of all have no registers to be large */
	static const struct nn_cuda_kernel *const kernels[2][2][2] = {
		{ { &NN_SIMT(tile_weights_128), &NN_SIMT(tile_weights_64) },
		  { &NN_SIMT(tile_image_weights_128), &NN_SIMT(tile_image_weights_64) } },
		{ { NULL, &NN_SIMT(tile_leaves_64) }, { NULL, &NN_SIMT(tile_image_leaves_64) } },
	};
	const bool all = !a->apart && a->leaf.n > 1;
	const struct nn_conv *c = &a->c;
	NN_ARGS(struct nn_tile_args, t);
	bool image;

	if (a->depthwise || is_long(c) || (all && a->leaf.n > NN_TILE_LEAVES))
		return false;
	t.p.c = *c;
	t.p.x = a->x;
	t.p.dy = a->dy;
	t.m = (size_t)(c->h.n * c->w.n) * c->cin;
	t.n = nn_packed_channels(c->cout); /* padding gets 0 */
	t.first = a->first;
	t.apart = a->apart;
	t.dw = a->dw;
	t.rest = a->rest;
	t.size = a->size;
	t.leaf = a->leaf;
	image = !NN_CUDA(is_matrix)(c);
	return ask_tiles(queue, kernels[all][image], &t, a->apart ? a->leaf.n : 1) ||
	       ask_few(queue, &t, image);
}
