/* On the device: where the steps of a product's chains lie, of dense layers and of convolutions. */
#ifndef NN_DEVICE_CUDA_CHAIN_H
#define NN_DEVICE_CUDA_CHAIN_H

#include "device/cuda/product/taps.h"

/* Dense layers, whose weights lie along the chain towards the input; images. */
enum product { FORWARD, INPUT, IMAGE_FORWARD, IMAGE_INPUT };

NN_INLINE bool is_input(enum product what)
{
	return what == INPUT || what == IMAGE_INPUT;
}

NN_INLINE bool is_image(enum product what)
{
	return what == IMAGE_FORWARD || what == IMAGE_INPUT;
}

/* A step of a chain. */
struct tap {
	int kh, kw;
	uint32_t channel;
};

NN_INLINE uint32_t channels_of(enum product what, const struct nn_conv *c)
{
	return (uint32_t)(is_input(what) ? c->cout : c->cin);
}

/* n steps after t; towards the input taps descend. */
NN_INLINE struct tap tap_after(enum product what, const struct nn_conv *c, struct tap t, uint32_t n)
{
	const uint32_t size = channels_of(what, c);
	t.channel += n;
	if (!is_image(what))
		return t;
	for (; t.channel >= size; t.channel -= size) {
		if (!is_input(what) && ++t.kw == (int)c->w.n) {
			t.kw = 0;
			t.kh++;
		} else if (is_input(what) && t.kw-- == 0) {
			t.kw = (int)c->w.n - 1;
			t.kh--;
		}
	}
	return t;
}

/* Step n of the chain. */
NN_INLINE struct tap tap_of(enum product what, const struct nn_conv *c, uint32_t n)
{
	struct tap t = { 0, 0, 0 };
	if (what == IMAGE_INPUT) {
		t.kh = (int)c->h.n - 1;
		t.kw = (int)c->w.n - 1;
	}
	return tap_after(what, c, t, n);
}

/* Rows and columns of the kernel as bits: of a tap; none of one behind the last. */
NN_INLINE uint32_t bits_of(const struct nn_conv *c, struct tap t)
{
	if ((uint32_t)t.kh >= (uint32_t)c->h.n)
		return 0;
	return (uint32_t)1 << t.kh | (uint32_t)1 << ((int)c->h.n + t.kw);
}

/* Does output position q lack tap t? Is input position q not read by tap t? */
NN_INLINE bool lacks_tap(const struct nn_axis *axis, int q, int t)
{
	int at = q * (int)axis->stride + t * (int)axis->dilation - (int)axis->pad;
	return at < 0 || at >= axis->in;
}

NN_INLINE bool lacks_reader(const struct nn_axis *axis, int q, int t)
{
	int at = q + (int)axis->pad - t * (int)axis->dilation;
	return at < 0 || at % (int)axis->stride || at / (int)axis->stride >= axis->out;
}

/* The taps that a position lacks, as bits. */
NN_INLINE uint32_t axis_lacks(enum product what, const struct nn_axis *axis, int q)
{
	uint32_t lacks = 0;
	for (int t = 0; t < axis->n; t++)
		lacks |= (uint32_t)(is_input(what) ? lacks_reader(axis, q, t)
						   : lacks_tap(axis, q, t))
			 << t;
	return lacks;
}

/* Where a position's tap 0 is, and how far on tap t is, if it is there. */
NN_INLINE size_t axis_begin(enum product what, const struct nn_axis *axis, int q)
{
	return (size_t)(is_input(what) ? (q + axis->pad) / axis->stride
				       : q * axis->stride - axis->pad);
}

NN_INLINE int axis_offset(enum product what, const struct nn_axis *axis, int t)
{
	int at = t * (int)axis->dilation;
	if (is_input(what) && axis->stride > 1)
		at /= (int)axis->stride;
	return is_input(what) ? -at : at;
}

/* Where a step is, from where its row or pixel begins: may lie before it. */
NN_INLINE int offset_of(enum product what, const struct nn_conv *c, struct tap t)
{
	if (!is_image(what))
		return (int)t.channel;
	return axis_offset(what, &c->h, t.kh) * (int)(is_input(what) ? c->y_row : c->x_row) +
	       axis_offset(what, &c->w, t.kw) * (int)(is_input(what) ? c->y_pixel : c->x_pixel) +
	       (int)t.channel;
}

/* What a thread reads next: NN_WIDE steps, or one, and what it has to know of them. */
struct reader {
	struct tap tap;
	uint32_t bits;
	int offset;
};

NN_INLINE struct reader reader_of(enum product what, const struct nn_conv *c, struct tap t)
{
	struct reader r;
	r.tap = t;
	r.bits = is_image(what) ? bits_of(c, t) : 0;
	r.offset = offset_of(what, c, t);
	return r;
}

NN_INLINE struct reader reader_after(enum product what, const struct nn_conv *c, struct reader r,
				     uint32_t n)
{
	if (is_image(what) && r.tap.channel + n >= channels_of(what, c))
		return reader_of(what, c, tap_after(what, c, r.tap, n));
	r.tap.channel += n;
	r.offset += (int)n;
	return r;
}

/*
 * The pixel that row m of the tiles is. Towards the input of a kernel with strides those come
 * together that the same taps reach, if there are as many of each kind.
 */
NN_INLINE size_t pixel_at(enum product what, const struct nn_conv *c, size_t n, size_t m)
{
	const uint32_t sh = (uint32_t)c->h.stride, sw = (uint32_t)c->w.stride,
		       width = (uint32_t)c->w.in;
	if (what != IMAGE_INPUT || sh * sw == 1 || (uint32_t)c->h.in % sh || width % sw || m >= n)
		return m;
	const uint32_t kinds = (uint32_t)n / (sh * sw), kind = (uint32_t)m / kinds,
		       at = (uint32_t)m - kind * kinds, line = at / (width / sw);
	return (size_t)(line * sh + kind / sw) * width + (at - line * (width / sw)) * sw +
	       kind % sw;
}

/* An address `offset` reals on from one that need not be in an array. */
NN_INLINE const real *real_at(uintptr_t from, int offset)
{
	return (const real *)(from + (uintptr_t)((intptr_t)offset * (intptr_t)sizeof(real)));
}

#endif
