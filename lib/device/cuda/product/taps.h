/* On the device: the pixels of images, and what a tap of a convolution reads of them. */
#ifndef NN_DEVICE_CUDA_TAPS_H
#define NN_DEVICE_CUDA_TAPS_H

#include "device/cuda/product/panels.h"

/* An output or input pixel: its row of samples, and where its tap 0 is. */
struct pixel {
	uint32_t row;
	int h, w;
};

/* Pixel q of images of height x width pixels. */
NN_INLINE struct pixel pixel_of(size_t q, long height, long width)
{
	uint32_t place = (uint32_t)q, line = place / (uint32_t)width, row = line / (uint32_t)height;
	struct pixel p;
	p.row = row;
	p.h = (int)(line - row * (uint32_t)height);
	p.w = (int)(place - line * (uint32_t)width);
	return p;
}

/* Element `in` of pixel w of line h of an image: one product of 32 x 32 bits, the rest has 32. */
NN_INLINE size_t place_of(uint32_t row, long height, int h, size_t line, int w, size_t pixel,
			    size_t in)
{
	return (uint64_t)(row * (uint32_t)height + (uint32_t)h) * (uint32_t)line +
	       ((uint32_t)w * (uint32_t)pixel + (uint32_t)in);
}

/* Where x has tap (kh, kw) of output pixel p, channels from `in` on; NULL: outside. */
NN_INLINE const real *x_at(const struct nn_conv *c, const real *x, struct pixel p, int kh, int kw,
			   size_t in)
{
	int h = p.h * (int)c->h.stride + kh * (int)c->h.dilation - (int)c->h.pad,
	    w = p.w * (int)c->w.stride + kw * (int)c->w.dilation - (int)c->w.pad;
	if (h < 0 || h >= c->h.in || w < 0 || w >= c->w.in)
		return NULL;
	return x + place_of(p.row, c->h.in, h, c->x_row, w, c->x_pixel, in);
}

/* Where dy has the output pixel that reads input pixel p by tap (kh, kw); NULL: there is none. */
NN_INLINE const real *dy_at(const struct nn_conv *c, const real *dy, struct pixel p, int kh, int kw,
			    size_t out)
{
	int h = p.h + (int)c->h.pad - kh * (int)c->h.dilation,
	    w = p.w + (int)c->w.pad - kw * (int)c->w.dilation;
	if (h < 0 || w < 0)
		return NULL;
	if (c->h.stride > 1 || c->w.stride > 1) {
		if (h % (int)c->h.stride || w % (int)c->w.stride)
			return NULL;
		h /= (int)c->h.stride;
		w /= (int)c->w.stride;
	}
	if (h >= c->h.out || w >= c->w.out)
		return NULL;
	return dy + place_of(p.row, c->h.out, h, c->y_row, w, c->y_pixel, out);
}

#endif
