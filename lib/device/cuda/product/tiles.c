/* Which products are computed in tiles, and in which: as many elements keep a device busy. */
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
