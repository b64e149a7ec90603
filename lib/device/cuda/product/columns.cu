/*
 * Columns of convolutions, which a library multiplies (plain.c): of each output pixel what its taps
 * read, [tap][in-channel], 0 where a tap is outside the image and in what fills them up to `depth`.
 */
#include "device/cuda/product/chain.h"
#include "device/cuda/wide.h"

/* What lies at p; NULL: zeros. */
NN_INLINE struct wide_reals wide_at(const real *p)
{
	const struct wide_reals zeros = { { 0 } };
	return p ? get_wide(p) : zeros;
}

NN_INLINE struct wide_reals wide_sum(struct wide_reals a, struct wide_reals b)
{
	for (unsigned j = 0; j < NN_WIDE; j++)
		a.v[j] = v_add(a.v[j], b.v[j]);
	return a;
}

NN_INLINE int taps_of(const struct nn_conv *c)
{
	return (int)(c->h.n * c->w.n);
}

/* Taps one after the other. */
NN_INLINE struct tap next_tap(const struct nn_conv *c, struct tap t)
{
	return tap_after(IMAGE_FORWARD, c, t, (uint32_t)c->cin);
}

/* NN_WIDE channels of a pixel, of all taps. */
NN_MAP(columns_wide, struct nn_columns_args)
{
	const struct nn_conv *c = &a->c;
	const unsigned across = (unsigned)(c->cin / NN_WIDE);
	const size_t q = i / across, in = (i - q * across) * NN_WIDE;
	const struct pixel p = pixel_of(q, c->h.out, c->w.out);
	struct tap tap = { 0, 0, 0 };
	real *to = a->to + q * a->depth + in;
	NN_AHEAD
	for (int t = 0; t < taps_of(c); t++) {
		const real *from = x_at(c, a->from, p, tap.kh, tap.kw, in);
		const struct wide_reals of = wide_at(from);
		put_wide(to + (size_t)t * c->cin, &of);
		tap = next_tap(c, tap);
	}
}

/* NN_WIDE columns of a pixel. */
NN_MAP(columns, struct nn_columns_args)
{
	const struct nn_conv *c = &a->c;
	const unsigned across = (unsigned)(a->depth / NN_WIDE), cin = (unsigned)c->cin,
		       width = (unsigned)c->w.n;
	const size_t q = i / across;
	const unsigned first = (unsigned)(i - q * across) * NN_WIDE;
	const struct pixel p = pixel_of(q, c->h.out, c->w.out);
	struct wide_reals of;
	NN_UNROLL
	for (unsigned j = 0; j < NN_WIDE; j++) {
		const unsigned tap = (first + j) / cin, kh = tap / width;
		const real *from = kh < (unsigned)c->h.n
					   ? x_at(c, a->from, p, (int)kh, (int)(tap - kh * width),
						  first + j - tap * cin)
					   : NULL;
		of.v[j] = from ? *from : 0;
	}
	put_wide(a->to + q * a->depth + first, &of);
}

/* Gradients of columns to those of the image: its element adds its taps, in ascending order. */
NN_MAP(image_wide, struct nn_columns_args)
{
	const struct nn_conv *c = &a->c;
	const unsigned across = (unsigned)(c->cin / NN_WIDE);
	const size_t q = i / across, in = (i - q * across) * NN_WIDE;
	const struct pixel p = pixel_of(q, c->h.in, c->w.in);
	struct tap tap = { 0, 0, 0 };
	struct wide_reals sum = wide_at(NULL);
	real *to = a->to + q * c->cin + in;
	NN_AHEAD
	for (int t = 0; t < taps_of(c); t++) {
		const real *from = dy_at(c, a->from, p, tap.kh, tap.kw, (size_t)t * c->cin + in);
		sum = wide_sum(sum, wide_at(from));
		tap = next_tap(c, tap);
	}
	if (a->add)
		sum = wide_sum(get_wide(to), sum);
	put_wide(to, &sum);
}

NN_MAP(image, struct nn_columns_args)
{
	const struct nn_conv *c = &a->c;
	const size_t q = i / c->cin, in = i - q * c->cin;
	const struct pixel p = pixel_of(q, c->h.in, c->w.in);
	struct tap tap = { 0, 0, 0 };
	real sum = 0;
	NN_AHEAD
	for (int t = 0; t < taps_of(c); t++) {
		const real *from = dy_at(c, a->from, p, tap.kh, tap.kw, (size_t)t * c->cin + in);
		sum = v_add(sum, from ? *from : 0);
		tap = next_tap(c, tap);
	}
	nn_put(a->to + i, sum, a->add);
}

/*
 * Canonical [out][in][tap] to [out][tap][in], filled up to `depth`, or back; inputs of a flattened
 * image as it is held.
 */
NN_MAP(plain_weights, struct nn_turn_args)
{
	const size_t taps = (size_t)(a->c.h.n * a->c.w.n), o = i / a->depth, k = i % a->depth,
		     tap = k / a->c.cin;
	size_t in = k % a->c.cin, at;
	if (tap >= taps) {
		if (!a->unpack)
			a->to[i] = 0;
		return;
	}
	if (a->channels)
		in = in % a->channels * a->positions + in / a->channels;
	at = (o * a->c.cin + in) * taps + tap;
	if (a->unpack)
		a->to[at] = a->from[i];
	else
		a->to[i] = a->from[at];
}

/* What stands behind a product that is there. */
NN_MAP(finish, struct nn_product_args)
{
	a->y[i] = tail(a, a->y[i], i % a->c.cout, i);
}
