/* Windows over one sample's H,W,C image: largest and mean values, and their gradients. */
#ifndef NN_DEVICE_CPU_POOLING_H
#define NN_DEVICE_CPU_POOLING_H

#include "device/cpu/cpu.h"

struct nn_pooling {
	long kernel[2], stride[2], pad[2];
	long in[2], out[2]; /* height, width */
	size_t channels;
};

/* in: H, W of the image that is pooled. */
static inline struct nn_pooling nn_pooling_of(const struct nn_window *window, size_t channels,
					      size_t height, size_t width)
{
	struct nn_pooling p = { .in = { (long)height, (long)width }, .channels = channels };
	for (int i = 0; i < 2; i++) {
		p.kernel[i] = (long)window->kernel[i];
		p.stride[i] = (long)window->stride[i];
		p.pad[i] = (long)window->pad[i];
		p.out[i] = (p.in[i] + 2 * p.pad[i] - p.kernel[i]) / p.stride[i] + 1;
	}
	return p;
}

/*
 * Bytes that one sample's places of maxima take: a byte each, or four for windows of more than 256.
 */
static inline size_t nn_pooling_places(const struct nn_pooling *p)
{
	return (size_t)(p->out[0] * p->out[1]) * p->channels *
	       (p->kernel[0] * p->kernel[1] > 256 ? 4 : 1);
}

/*
 * One sample. places (may be NULL): row * width + column in the window of the first maximum, of the
 * last NaN if there is one. The gradient adds along output pixels in order; add: to what dx holds.
 */
void NN_K(max_pool)(const struct nn_pooling *p, const real *x, real *y, void *places);
void NN_K(max_pool_back)(const struct nn_pooling *p, const real *dy, const void *places, real *dx,
			 bool add);
/* Sum over the window, row by row, divided by its size, padding counted. */
void NN_K(mean_pool)(const struct nn_pooling *p, const real *x, real *y);
void NN_K(mean_pool_back)(const struct nn_pooling *p, const real *dy, real *dx, bool add);

#endif
