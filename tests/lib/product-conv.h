/* Convolution kernels against a scalar loop over random geometries. */
#ifndef NN_TESTS_PRODUCT_CONV_H
#define NN_TESTS_PRODUCT_CONV_H

#include "lib/product-arrays.h"

/* ---- the scalar loops ---- */

static const real *at(const struct nn_conv *c, const real *x, long h, long w)
{
	return x + (size_t)h * c->x_row + (size_t)w * c->x_pixel;
}

static real *out_at(const struct nn_conv *c, real *y, long h, long w)
{
	return y + (size_t)h * c->y_row + (size_t)w * c->y_pixel;
}

static real weight(const struct nn_conv *c, const real *w, size_t o, size_t i, long kh, long kw)
{
	return w[((o * c->cin + i) * (size_t)c->h.n + (size_t)kh) * (size_t)c->w.n + (size_t)kw];
}

static int inside(const struct nn_axis *a, long at)
{
	return at >= 0 && at < a->in;
}

static void plain_forward(const struct nn_conv *c, const real *x, const real *w,
			  const struct nn_tail *t, real *y)
{
	for (long oh = 0; oh < c->h.out; oh++)
		for (long ow = 0; ow < c->w.out; ow++)
			for (size_t o = 0; o < c->groups * c->cout; o++) {
				real acc = 0;
				for (long kh = 0; kh < c->h.n; kh++)
					for (long kw = 0; kw < c->w.n; kw++) {
						const long h = oh * c->h.stride +
							       kh * c->h.dilation - c->h.pad;
						const long v = ow * c->w.stride +
							       kw * c->w.dilation - c->w.pad;
						if (!inside(&c->h, h) || !inside(&c->w, v))
							continue;
						for (size_t i = 0; i < c->cin; i++)
							acc = r_fma(at(c, x, h,
								       v)[o / c->cout * c->cin + i],
								    weight(c, w, o, i, kh, kw),
								    acc);
					}
				const real r =
					t->residual ? ((const real *)t->residual)
							      [(size_t)oh * t->residual_row +
							       (size_t)ow * t->residual_pixel + o]
						    : 0;
				out_at(c, y, oh, ow)[o] = tail(acc, t, o, r);
			}
}

static void plain_input_gradient(const struct nn_conv *c, real *dy, const real *w, real *dx,
				 bool add)
{
	for (long h = 0; h < c->h.in; h++)
		for (long v = 0; v < c->w.in; v++)
			for (size_t i = 0; i < c->groups * c->cin; i++) {
				real acc = 0;
				for (long kh = c->h.n - 1; kh >= 0; kh--)
					for (long kw = c->w.n - 1; kw >= 0; kw--) {
						const long oh = h + c->h.pad - kh * c->h.dilation,
							   ow = v + c->w.pad - kw * c->w.dilation;
						if (oh < 0 || ow < 0 || oh % c->h.stride ||
						    ow % c->w.stride ||
						    oh / c->h.stride >= c->h.out ||
						    ow / c->w.stride >= c->w.out)
							continue;
						for (size_t o = 0; o < c->cout; o++) {
							const size_t all = i / c->cin * c->cout + o;
							acc = r_fma(out_at(c, dy, oh / c->h.stride,
									   ow / c->w.stride)[all],
								    weight(c, w, all, i % c->cin,
									   kh, kw),
								    acc);
						}
					}
				real *d = dx + (size_t)h * c->x_row + (size_t)v * c->x_pixel + i;
				*d = add ? acc + *d : acc;
			}
}

/* n samples, one leaf. */
static void plain_weight_gradient(const struct nn_conv *c, size_t n, const real *x, size_t x_size,
				  real *dy, size_t y_size, real *dw)
{
	for (size_t o = 0; o < c->groups * c->cout; o++)
		for (size_t i = 0; i < c->cin; i++)
			for (long kh = 0; kh < c->h.n; kh++)
				for (long kw = 0; kw < c->w.n; kw++) {
					real acc = 0;
					for (size_t s = 0; s < n; s++)
						for (long oh = 0; oh < c->h.out; oh++)
							for (long ow = 0; ow < c->w.out; ow++) {
								const long h = oh * c->h.stride +
									       kh * c->h.dilation -
									       c->h.pad;
								const long v = ow * c->w.stride +
									       kw * c->w.dilation -
									       c->w.pad;
								if (inside(&c->h, h) &&
								    inside(&c->w, v))
									acc = r_fma(
										at(c,
										   x + s * x_size,
										   h,
										   v)[o / c->cout *
											      c->cin +
										      i],
										out_at(c,
										       dy + s * y_size,
										       oh, ow)[o],
										acc);
							}
					dw[((o * c->cin + i) * (size_t)c->h.n + (size_t)kh) *
						   (size_t)c->w.n +
					   (size_t)kw] = acc;
				}
}

/* ---- the kernels ---- */

static struct nn_conv random_conv(int kind)
{
	static const size_t channels[] = { 1, 2, 3, 5, 8, 15, 16, 17, 20, 31, 32, 33, 40, 64, 70 };
	struct nn_conv c;
	size_t kernel[2], stride[2], pad[2], dilation[2], size[2], groups = 1, cin, cout;
	for (int i = 0; i < 2; i++) {
		kernel[i] = 1 + any(kind % 7 == 6 ? 7 : 4);
		stride[i] = 1 + any(3);
		dilation[i] = any(4) ? 1 : 1 + any(3);
		pad[i] = any(2) ? any(kernel[i] + 1) : 0;
		size[i] = 1 + any(kind % 5 == 4 ? 34 : 12);
	}
	if (any(3) == 0) {
		kernel[1] = kernel[0];
		stride[1] = stride[0];
		pad[1] = pad[0];
	}
	for (int i = 0; i < 2; i++)
		if (size[i] + 2 * pad[i] < (kernel[i] - 1) * dilation[i] + 1)
			size[i] = (kernel[i] - 1) * dilation[i] + 1;
	cin = channels[any(12)];
	cout = channels[any(15)];
	if (kind % 4 == 1) {
		groups = 2 + any(3);
		cin = groups * (1 + any(9));
		cout = groups * (1 + any(20));
	} else if (kind % 4 == 2) {
		groups = cin = channels[1 + any(14)];
		cout = groups * (1 + (any(3) == 0 ? any(3) : 0));
	}
	nn_conv_init(&c, kernel, stride, pad, dilation, groups, cin, cout, size[0], size[1]);
	if (any(4) == 0) { /* a part of wider pixels */
		c.x_pixel += any(4);
		c.x_row = c.x_pixel * (size_t)c.w.in + any(3);
		c.y_pixel += any(4);
		c.y_row = c.y_pixel * (size_t)c.w.out + any(3);
	}
	return c;
}

static void describe(const struct nn_conv *c)
{
	printf("# %zu groups of %zu to %zu, %ldx%ld, kernel %ldx%ld, stride %ld %ld, pad %ld %ld, "
	       "dilation %ld %ld\n",
	       c->groups, c->cin, c->cout, c->h.in, c->w.in, c->h.n, c->w.n, c->h.stride,
	       c->w.stride, c->h.pad, c->w.pad, c->h.dilation, c->w.dilation);
}

static struct array packed_conv(const struct kernels *k, const struct nn_conv *c, struct array w)
{
	struct array p = array(k->conv_packed(c));
	k->conv_pack(c, w.v, p.v);
	return p;
}

static long check_forward(const struct kernels *k, const struct nn_conv *c, struct array x,
			  struct array w, const struct nn_tail *t, struct array before,
			  struct array want)
{
	struct array p = packed_conv(k, c, w), y = copy(before);
	struct nn_tail here = *t;
	if (here.residual == before.v) /* y itself */
		here.residual = y.v;
	for (long oh = 0, e; oh < c->h.out; oh = e) {
		e = oh + 1 + (long)any((size_t)c->h.out);
		k->conv_forward(c, x.v, p.v, &here, y.v, oh, e < c->h.out ? e : c->h.out);
	}
	const long bad = compare("forward", k, y, want);
	drop(p);
	drop(y);
	return bad;
}

static long test_forward(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t)c->h.in * c->x_row, y_size = (size_t)c->h.out * c->y_row,
		     outs = c->groups * c->cout;
	struct array x = numbers(x_size, kind % 3 == 0),
		     w = numbers(outs * c->cin * (size_t)(c->h.n * c->w.n), kind % 9 == 0);
	struct array bias = numbers(outs, 0), before = numbers(y_size, 0),
		     other = numbers(y_size, 0);
	struct nn_tail t = { .bias = kind & 1 ? bias.v : NULL,
			     .act = (enum nn_tail_act)any(3),
			     .slope = 0.01 };
	if (kind & 2) {
		t.residual = kind & 4 ? before.v : other.v;
		t.residual_row = c->y_row;
		t.residual_pixel = c->y_pixel;
	}
	struct array want = copy(before);
	if (t.residual == before.v) {
		struct nn_tail in_place = t;
		in_place.residual = before.v;
		plain_forward(c, x.v, w.v, &in_place, want.v);
	} else {
		plain_forward(c, x.v, w.v, &t, want.v);
	}
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		bad += check_forward(sets[s], c, x, w, &t, before, want);
	drop(x), drop(w), drop(bias), drop(before), drop(other), drop(want);
	return bad;
}

static long check_input_gradient(const struct kernels *k, const struct nn_conv *c, struct array dy,
				 struct array w, struct array before, bool add, struct array want)
{
	struct array p = packed_conv(k, c, w), r = array(k->conv_rotated(c)), dx = copy(before);
	for (size_t q = 0; q < k->conv_rotated_panels(c); q++)
		k->conv_rotate(c, p.v, r.v, q, q + 1);
	for (long h = 0, e; h < c->h.in; h = e) {
		e = h + 1 + (long)any((size_t)c->h.in);
		k->conv_input_gradient(c, dy.v, r.v, dx.v, add, h, e < c->h.in ? e : c->h.in);
	}
	long bad = compare("input gradient", k, dx, want) + compare("rotated weights", k, r, r);
	drop(p), drop(r), drop(dx);
	return bad;
}

static long test_input_gradient(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t)c->h.in * c->x_row, y_size = (size_t)c->h.out * c->y_row;
	struct array dy = numbers(y_size, kind % 3 == 1), before = numbers(x_size, 0);
	struct array w =
		numbers(c->groups * c->cout * c->cin * (size_t)(c->h.n * c->w.n), kind % 9 == 1);
	struct array want = copy(before);
	plain_input_gradient(c, dy.v, w.v, want.v, kind & 1);
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		bad += check_input_gradient(sets[s], c, dy, w, before, kind & 1, want);
	drop(dy), drop(before), drop(w), drop(want);
	return bad;
}

#define SAMPLES 3

static long check_weight_gradient(const struct kernels *k, const struct nn_conv *c, struct array x,
				  struct array dy, struct array want)
{
	const size_t x_size = (size_t)c->h.in * c->x_row, y_size = (size_t)c->h.out * c->y_row;
	const size_t panels = k->conv_panels(c), cut_p = any(panels + 1);
	const long cut_kh = (long)any((size_t)c->h.n + 1);
	struct array dw = numbers(k->conv_packed(c), 1), back = array(want.n), again = array(dw.n);
	for (size_t s = 0; s < SAMPLES; s++)
		for (long oh = 0, e; oh < c->h.out; oh = e) {
			e = oh + 1 + (long)any((size_t)c->h.out);
			e = e < c->h.out ? e : c->h.out;
			for (int piece = 0; piece < 4; piece++)
				k->conv_weight_gradient(
					c, x.v + s * x_size, dy.v + s * y_size, dw.v,
					s == 0 && oh == 0, oh, e, piece & 1 ? cut_kh : 0,
					piece & 1 ? c->h.n : cut_kh, piece & 2 ? cut_p : 0,
					piece & 2 ? panels : cut_p);
		}
	k->conv_unpack(c, dw.v, back.v);
	long bad = compare("weight gradient", k, back, want);
	k->conv_pack(c, back.v, again.v);
	bad += compare("padding of the weight gradient", k, dw, again);
	drop(dw), drop(back), drop(again);
	return bad;
}

static long check_bias_gradient(const struct kernels *k, const struct nn_conv *c, struct array dy)
{
	const size_t n = c->groups * c->cout, y_size = (size_t)c->h.out * c->y_row;
	struct array db = array(n), want = array(n);
	for (size_t s = 0; s < SAMPLES; s++)
		k->conv_bias_gradient(c, dy.v + s * y_size, db.v, s == 0, 0, c->h.out);
	for (size_t o = 0; o < n; o++) {
		real acc = 0;
		for (size_t s = 0; s < SAMPLES; s++)
			for (long oh = 0; oh < c->h.out; oh++)
				for (long ow = 0; ow < c->w.out; ow++)
					acc = r_fma(1, out_at(c, dy.v + s * y_size, oh, ow)[o],
						    acc);
		want.v[o] = acc;
	}
	const long bad = compare("bias gradient", k, db, want);
	drop(db), drop(want);
	return bad;
}

static long test_weight_gradient(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t)c->h.in * c->x_row, y_size = (size_t)c->h.out * c->y_row;
	struct array x = numbers(SAMPLES * x_size, kind % 3 == 2),
		     dy = numbers(SAMPLES * y_size, kind % 9 == 2);
	struct array want = array(c->groups * c->cout * c->cin * (size_t)(c->h.n * c->w.n));
	plain_weight_gradient(c, SAMPLES, x.v, x_size, dy.v, y_size, want.v);
	long bad = 0;
	for (int s = 0; s < n_sets; s++) {
		bad += check_weight_gradient(sets[s], c, x, dy, want);
		bad += check_bias_gradient(sets[s], c, dy);
	}
	drop(x), drop(dy), drop(want);
	return bad;
}

static long convolutions(int n, long (*test)(const struct nn_conv *, int))
{
	long bad = 0;
	for (int i = 0; i < n; i++) {
		const struct nn_conv c = random_conv(i);
		const long b = test(&c, i);
		if (b)
			describe(&c);
		bad += b;
	}
	return bad;
}

#endif
