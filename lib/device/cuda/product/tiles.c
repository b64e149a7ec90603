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

/* Kernels of so many taps that they are no bits of 32, or that the last is too far from the first.
 */
static bool is_wide_apart(const struct nn_conv *c)
{
	size_t row = c->x_row > c->y_row ? c->x_row : c->y_row;

	return c->h.n + c->w.n > 32 ||
	       (size_t)(c->h.n * c->h.dilation) > (size_t)INT32_MAX / 2 / row ||
	       (size_t)(c->w.n * c->w.dilation) > (size_t)INT32_MAX / 2 / row;
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

#define NN_TILES(name, tiny) \
	{ \
		&NN_SIMT(name##_128x128), &NN_SIMT(name##_64x64), &NN_SIMT(name##_64x32), \
			&NN_SIMT(name##_128x16), tiny \
	}

bool NN_CUDA(in_tiles)(struct nn_queue *queue, const struct nn_product_args *a, bool input)
{
	static const struct nn_cuda_shape shapes[] = { { 128, 128, 1, 85 },
						       { 64, 64, 1, 70 },
						       { 64, 32, 1, 50 },
						       { 128, 16, 2, 70 },
						       { 8, 16, 1, 11 } };
	/* in blocks of 8 x 16 each thread has one chain */
	static const struct nn_cuda_kernel *const kernels[2][2][5] = {
		{ NN_TILES(tile, &NN_SIMT(tiny)), NN_TILES(tile_input, &NN_SIMT(tiny_input)) },
		{ NN_TILES(tile_image, NULL), NN_TILES(tile_image_input, NULL) },
	};
	const struct nn_conv *c = &a->c;
	bool image = input ? a->turned : !NN_CUDA(is_matrix)(c);
	const size_t n_shapes = image ? 4 : 5;
	size_t i, tiles;
	NN_ARGS(struct nn_tile_args, t);

	t.p = *a;
	t.n = input ? c->cin : c->cout;
	t.m = a->n / (t.n * c->groups);
	t.depth = (size_t)(c->h.n * c->w.n) * (input ? c->cout : c->cin);
	if (a->depthwise || t.m == 0 || t.m > INT32_MAX || t.depth > INT32_MAX || is_long(c) ||
	    (uintptr_t)a->w % 16 || (image && is_wide_apart(c)))
		return false;
	i = nn_cuda_choose(queue, shapes, n_shapes, t.m, t.n, c->groups);
	if (i == n_shapes)
		return false;
	tiles = parts_of(t.m, shapes[i].rows) * parts_of(t.n, shapes[i].columns) * c->groups;
	nn_cuda_launch(queue, kernels[image][input][i], tiles, &t);
	return true;
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
