/* Products as ops ask for them: dense layers and convolutions forward, their gradients, packing. */
#ifndef NN_DEVICE_CUDA_PRODUCT_H
#define NN_DEVICE_CUDA_PRODUCT_H

#include "device/cuda/launch.h"

/* A dense layer, which is a 1x1 convolution of an image of one pixel. */
struct nn_conv nn_cuda_matrix(size_t in, size_t out);
/* An image of one pixel, of which a 1x1 kernel makes one. */
static inline bool nn_cuda_is_matrix(const struct nn_conv *c)
{
	return c->groups == 1 && c->h.in * c->w.in == 1 && c->h.n * c->w.n == 1 &&
	       c->h.out * c->w.out == 1 && c->h.pad + c->w.pad == 0;
}
/* Reals of the packed weight. */
size_t nn_cuda_packed(const struct nn_conv *c);

/* a->n elements of y; dx: turned is set where w is what nn_cuda_turn made. */
void nn_cuda_product(struct nn_queue *queue, const struct nn_product_args *a);
void nn_cuda_input_gradient(struct nn_queue *queue, const struct nn_product_args *a);

/*
 * The gradient of parameter `param` of a call, if it is wanted: the caller gives c, x, dy and leaf;
 * *room, nn_cuda_leaves_bytes of it, is taken for leaves.
 */
void nn_cuda_weight_gradient(const struct nn_call *call, int param, struct nn_weights_args *a,
			     char **room);
void nn_cuda_bias_gradient(const struct nn_call *call, int param, struct nn_weights_args *a,
			   char **room);
size_t nn_cuda_leaves_bytes(size_t size, size_t n_leaves);

/* What the input gradient of a convolution reads: its bytes, and to make it of w. */
size_t nn_cuda_turned(const struct nn_conv *c);
void nn_cuda_turn(struct nn_queue *queue, const struct nn_conv *c, const real *w, real *turned);
/* Canonical to packed or back; channels, positions: of a flattened image, or 0. */
void nn_cuda_pack(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
		  size_t positions, const void *from, void *to, bool unpack);

static inline size_t nn_cuda_rounded(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

#endif
