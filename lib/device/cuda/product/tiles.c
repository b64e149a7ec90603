/* Which products are computed in tiles, and in which: as many elements keep a device busy. */
#include "device/cuda/product/product.h"

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

/*
 * Shapes of tiles: rows x columns; how many a multiprocessor needs to be busy; how many elements
 * those have done when one done by a multiprocessor's best has a hundred. The last is of few rows:
 * each thread has one chain.
 */
static const struct {
	unsigned rows, columns, fill, rate;
} shapes[] = {
	{ 128, 128, 1, 85 }, { 64, 64, 1, 70 }, { 64, 32, 1, 50 }, { 128, 16, 2, 70 }, { 8, 16, 1, 11 }
};
#define NN_SHAPES (sizeof shapes / sizeof shapes[0])

static size_t tiles_of(size_t i, size_t m, size_t n)
{
	return nn_cuda_parts(m, shapes[i].rows) * nn_cuda_parts(n, shapes[i].columns);
}

/* Which of the first n_shapes has m x n elements, `apart` times; n_shapes: none. */
static size_t choose(struct nn_queue *queue, size_t n_shapes, size_t m, size_t n, size_t apart)
{
	struct nn_cuda_way ways[NN_SHAPES];

	for (size_t i = 0; i < n_shapes; i++) {
		ways[i].tiles = tiles_of(i, m, n) * apart;
		ways[i].beside = (double)(shapes[i].rows * shapes[i].columns) / shapes[i].rate;
		ways[i].alone = shapes[i].fill * ways[i].beside;
	}
	return nn_cuda_choose(queue, ways, n_shapes);
}

bool NN_CUDA(are_few)(struct nn_queue *queue, size_t m, size_t n)
{
	return choose(queue, NN_SHAPES, m, n, 1) == NN_SHAPES - 1;
}

#define NN_TILES(name, tiny) \
	{ \
		&NN_SIMT(name##_128x128), &NN_SIMT(name##_64x64), &NN_SIMT(name##_64x32), \
			&NN_SIMT(name##_128x16), tiny \
	}

bool NN_CUDA(in_tiles)(struct nn_queue *queue, const struct nn_product_args *a, bool input)
{
	static const struct nn_cuda_kernel *const kernels[2][2][NN_SHAPES] = {
		{ NN_TILES(tile, &NN_SIMT(tiny)), NN_TILES(tile_input, &NN_SIMT(tiny_input)) },
		{ NN_TILES(tile_image, NULL), NN_TILES(tile_image_input, NULL) },
	};
	const struct nn_conv *c = &a->c;
	bool image = input ? a->turned : !NN_CUDA(is_matrix)(c);
	const size_t n_shapes = image ? NN_SHAPES - 1 : NN_SHAPES;
	size_t i;
	NN_ARGS(struct nn_tile_args, t);

	t.p = *a;
	t.n = input ? c->cin : c->cout;
	t.m = a->n / (t.n * c->groups);
	t.depth = (size_t)(c->h.n * c->w.n) * (input ? c->cout : c->cin);
	if (a->depthwise || t.m == 0 || t.m > INT32_MAX || t.depth > INT32_MAX || is_long(c) ||
	    (uintptr_t)a->w % 16 || (image && is_wide_apart(c)))
		return false;
	i = choose(queue, n_shapes, t.m, t.n, c->groups);
	if (i == n_shapes)
		return false;
	nn_cuda_launch(queue, kernels[image][input][i], tiles_of(i, t.m, t.n) * c->groups, &t);
	return true;
}
