/* The product kernels equal a scalar loop of fused multiply-adds, bit for bit, however the work is cut. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/cpu/product-axis.h"
#include "lib/product-sets.h"

/* Compiled for float and double (NN_T_f32, NN_T_f64), and with LONG for the full sweep. */
#ifdef LONG
#define EFFORT(quick, full) (full)
#else
#define EFFORT(quick, full) (quick)
#endif

/* ---- numbers ---- */

static uint64_t seed = 1;

static size_t any(size_t n)                  /* 0 .. n-1 */
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t) (seed >> 33) % n;
}

/* Reals with room behind them that must stay as it is; `odd` puts -0, infinities and NaN among them. */
struct array {
	real *v;
	size_t n;
};
#define GUARD 64

static struct array array(size_t n)
{
	struct array a = { malloc((n + 2 * GUARD) * sizeof(real)), n };
	if (!a.v) {
		puts("Bail out! out of memory");
		exit(1);
	}
	for (size_t i = 0; i < n + 2 * GUARD; i++)
		a.v[i] = (real) NAN;
	a.v += GUARD;
	return a;
}

static struct array numbers(size_t n, int odd)
{
	static const double odds[] = { -0.0, 0.0, INFINITY, -INFINITY, NAN, 1e-40, -0.0, -0.0 };
	struct array a = array(n);
	for (size_t i = 0; i < n; i++)
		a.v[i] = (real) ((double) any(1 << 24) / (1 << 23) - 1);
	for (size_t i = 0; odd && n && i < 3 + n / 300; i++)
		a.v[any(n)] = (real) odds[any(8)];
	return a;
}

static struct array copy(struct array from)
{
	struct array a = array(from.n);
	memcpy(a.v, from.v, from.n * sizeof(real));
	return a;
}

static void drop(struct array a)
{
	free(a.v - GUARD);
}

static int differs(real a, real b)
{
	return memcmp(&a, &b, sizeof a) != 0 && !(a != a && b != b);
}

/* How many elements differ, guards included; say where the first is. */
static long compare(const char *what, const struct kernels *k, struct array got, struct array want)
{
	long bad = 0;
	for (size_t i = 0; i < want.n; i++)
		if (differs(got.v[i], want.v[i]) && bad++ == 0)
			printf("# %s, %s: element %zu of %zu is %.9g, not %.9g\n", what, k->isa, i, want.n, (double) got.v[i],
			       (double) want.v[i]);
	for (size_t i = 0; i < GUARD; i++)
		if ((!isnan(got.v[-1 - (long) i]) || !isnan(got.v[got.n + i])) && bad++ == 0)
			printf("# %s, %s: written outside the array\n", what, k->isa);
	return bad;
}

/* ---- the scalar loops ---- */

static real tail(real v, const struct nn_tail *t, size_t o, real residual)
{
	if (t->bias)
		v += ((const real *) t->bias)[o];
	if (t->residual)
		v += residual;
	if (t->act == NN_TAIL_RELU)
		return v > 0 || v != v ? v : 0;
	if (t->act == NN_TAIL_LEAKY)
		return v > 0 ? v : (real) t->slope * v;
	return v;
}

static const real *at(const struct nn_conv *c, const real *x, long h, long w)
{
	return x + (size_t) h * c->x_row + (size_t) w * c->x_pixel;
}

static real *out_at(const struct nn_conv *c, real *y, long h, long w)
{
	return y + (size_t) h * c->y_row + (size_t) w * c->y_pixel;
}

static real weight(const struct nn_conv *c, const real *w, size_t o, size_t i, long kh, long kw)
{
	return w[((o * c->cin + i) * (size_t) c->h.n + (size_t) kh) * (size_t) c->w.n + (size_t) kw];
}

static int inside(const struct nn_axis *a, long at)
{
	return at >= 0 && at < a->in;
}

static void plain_forward(const struct nn_conv *c, const real *x, const real *w, const struct nn_tail *t, real *y)
{
	for (long oh = 0; oh < c->h.out; oh++)
		for (long ow = 0; ow < c->w.out; ow++)
			for (size_t o = 0; o < c->groups * c->cout; o++) {
				real acc = 0;
				for (long kh = 0; kh < c->h.n; kh++)
					for (long kw = 0; kw < c->w.n; kw++) {
						const long h = oh * c->h.stride + kh * c->h.dilation - c->h.pad;
						const long v = ow * c->w.stride + kw * c->w.dilation - c->w.pad;
						if (!inside(&c->h, h) || !inside(&c->w, v))
							continue;
						for (size_t i = 0; i < c->cin; i++)
							acc = r_fma(at(c, x, h, v)[o / c->cout * c->cin + i],
								    weight(c, w, o, i, kh, kw), acc);
					}
				const real r = t->residual ? ((const real *) t->residual)[(size_t) oh * t->residual_row +
									 (size_t) ow * t->residual_pixel + o] : 0;
				out_at(c, y, oh, ow)[o] = tail(acc, t, o, r);
			}
}

static void plain_input_gradient(const struct nn_conv *c, real *dy, const real *w, real *dx, bool add)
{
	for (long h = 0; h < c->h.in; h++)
		for (long v = 0; v < c->w.in; v++)
			for (size_t i = 0; i < c->groups * c->cin; i++) {
				real acc = 0;
				for (long kh = c->h.n - 1; kh >= 0; kh--)
					for (long kw = c->w.n - 1; kw >= 0; kw--) {
						const long oh = h + c->h.pad - kh * c->h.dilation, ow = v + c->w.pad - kw * c->w.dilation;
						if (oh < 0 || ow < 0 || oh % c->h.stride || ow % c->w.stride ||
						    oh / c->h.stride >= c->h.out || ow / c->w.stride >= c->w.out)
							continue;
						for (size_t o = 0; o < c->cout; o++) {
							const size_t all = i / c->cin * c->cout + o;
							acc = r_fma(out_at(c, dy, oh / c->h.stride, ow / c->w.stride)[all],
								    weight(c, w, all, i % c->cin, kh, kw), acc);
						}
					}
				real *d = dx + (size_t) h * c->x_row + (size_t) v * c->x_pixel + i;
				*d = add ? acc + *d : acc;
			}
}

/* n samples, one leaf. */
static void plain_weight_gradient(const struct nn_conv *c, size_t n, const real *x, size_t x_size, real *dy, size_t y_size,
				  real *dw)
{
	for (size_t o = 0; o < c->groups * c->cout; o++)
		for (size_t i = 0; i < c->cin; i++)
			for (long kh = 0; kh < c->h.n; kh++)
				for (long kw = 0; kw < c->w.n; kw++) {
					real acc = 0;
					for (size_t s = 0; s < n; s++)
						for (long oh = 0; oh < c->h.out; oh++)
							for (long ow = 0; ow < c->w.out; ow++) {
								const long h = oh * c->h.stride + kh * c->h.dilation - c->h.pad;
								const long v = ow * c->w.stride + kw * c->w.dilation - c->w.pad;
								if (inside(&c->h, h) && inside(&c->w, v))
									acc = r_fma(at(c, x + s * x_size, h, v)[o / c->cout * c->cin + i],
										    out_at(c, dy + s * y_size, oh, ow)[o], acc);
							}
					dw[((o * c->cin + i) * (size_t) c->h.n + (size_t) kh) * (size_t) c->w.n + (size_t) kw] = acc;
				}
}

/* The tree over leaf sums, neighbours first. */
static real tree(real *leaf, size_t n)
{
	for (size_t d = 1; d < n; d *= 2)
		for (size_t i = 0; i + d < n; i += 2 * d)
			leaf[i] += leaf[i + d];
	return leaf[0];
}

/* ---- convolution ---- */

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
	if (any(4) == 0) {                       /* a part of wider pixels */
		c.x_pixel += any(4);
		c.x_row = c.x_pixel * (size_t) c.w.in + any(3);
		c.y_pixel += any(4);
		c.y_row = c.y_pixel * (size_t) c.w.out + any(3);
	}
	return c;
}

static void describe(const struct nn_conv *c)
{
	printf("# %zu groups of %zu to %zu, %ldx%ld, kernel %ldx%ld, stride %ld %ld, pad %ld %ld, dilation %ld %ld\n", c->groups,
	       c->cin, c->cout, c->h.in, c->w.in, c->h.n, c->w.n, c->h.stride, c->w.stride, c->h.pad, c->w.pad,
	       c->h.dilation, c->w.dilation);
}

static struct array packed_conv(const struct kernels *k, const struct nn_conv *c, struct array w)
{
	struct array p = array(k->conv_packed(c));
	k->conv_pack(c, w.v, p.v);
	return p;
}

static long check_forward(const struct kernels *k, const struct nn_conv *c, struct array x, struct array w,
			  const struct nn_tail *t, struct array before, struct array want)
{
	struct array p = packed_conv(k, c, w), y = copy(before);
	struct nn_tail here = *t;
	if (here.residual == before.v)           /* y itself */
		here.residual = y.v;
	for (long oh = 0, e; oh < c->h.out; oh = e) {
		e = oh + 1 + (long) any((size_t) c->h.out);
		k->conv_forward(c, x.v, p.v, &here, y.v, oh, e < c->h.out ? e : c->h.out);
	}
	const long bad = compare("forward", k, y, want);
	drop(p);
	drop(y);
	return bad;
}

static long test_forward(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t) c->h.in * c->x_row, y_size = (size_t) c->h.out * c->y_row, outs = c->groups * c->cout;
	struct array x = numbers(x_size, kind % 3 == 0), w = numbers(outs * c->cin * (size_t) (c->h.n * c->w.n), kind % 9 == 0);
	struct array bias = numbers(outs, 0), before = numbers(y_size, 0), other = numbers(y_size, 0);
	struct nn_tail t = { .bias = kind & 1 ? bias.v : NULL, .act = (enum nn_tail_act) any(3), .slope = 0.01 };
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

static long check_input_gradient(const struct kernels *k, const struct nn_conv *c, struct array dy, struct array w,
				 struct array before, bool add, struct array want)
{
	struct array p = packed_conv(k, c, w), r = array(k->conv_rotated(c)), dx = copy(before);
	for (size_t q = 0; q < k->conv_rotated_panels(c); q++)
		k->conv_rotate(c, p.v, r.v, q, q + 1);
	for (long h = 0, e; h < c->h.in; h = e) {
		e = h + 1 + (long) any((size_t) c->h.in);
		k->conv_input_gradient(c, dy.v, r.v, dx.v, add, h, e < c->h.in ? e : c->h.in);
	}
	long bad = compare("input gradient", k, dx, want) + compare("rotated weights", k, r, r);
	drop(p), drop(r), drop(dx);
	return bad;
}

static long test_input_gradient(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t) c->h.in * c->x_row, y_size = (size_t) c->h.out * c->y_row;
	struct array dy = numbers(y_size, kind % 3 == 1), before = numbers(x_size, 0);
	struct array w = numbers(c->groups * c->cout * c->cin * (size_t) (c->h.n * c->w.n), kind % 9 == 1);
	struct array want = copy(before);
	plain_input_gradient(c, dy.v, w.v, want.v, kind & 1);
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		bad += check_input_gradient(sets[s], c, dy, w, before, kind & 1, want);
	drop(dy), drop(before), drop(w), drop(want);
	return bad;
}

#define SAMPLES 3

static long check_weight_gradient(const struct kernels *k, const struct nn_conv *c, struct array x, struct array dy,
				  struct array want)
{
	const size_t x_size = (size_t) c->h.in * c->x_row, y_size = (size_t) c->h.out * c->y_row;
	const size_t panels = k->conv_panels(c), cut_p = any(panels + 1);
	const long cut_kh = (long) any((size_t) c->h.n + 1);
	struct array dw = numbers(k->conv_packed(c), 1), back = array(want.n), again = array(dw.n);
	for (size_t s = 0; s < SAMPLES; s++)
		for (long oh = 0, e; oh < c->h.out; oh = e) {
			e = oh + 1 + (long) any((size_t) c->h.out);
			e = e < c->h.out ? e : c->h.out;
			for (int piece = 0; piece < 4; piece++)
				k->conv_weight_gradient(c, x.v + s * x_size, dy.v + s * y_size, dw.v, s == 0 && oh == 0, oh, e,
							piece & 1 ? cut_kh : 0, piece & 1 ? c->h.n : cut_kh,
							piece & 2 ? cut_p : 0, piece & 2 ? panels : cut_p);
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
	const size_t n = c->groups * c->cout, y_size = (size_t) c->h.out * c->y_row;
	struct array db = array(n), want = array(n);
	for (size_t s = 0; s < SAMPLES; s++)
		k->conv_bias_gradient(c, dy.v + s * y_size, db.v, s == 0, 0, c->h.out);
	for (size_t o = 0; o < n; o++) {
		real acc = 0;
		for (size_t s = 0; s < SAMPLES; s++)
			for (long oh = 0; oh < c->h.out; oh++)
				for (long ow = 0; ow < c->w.out; ow++)
					acc = r_fma(1, out_at(c, dy.v + s * y_size, oh, ow)[o], acc);
		want.v[o] = acc;
	}
	const long bad = compare("bias gradient", k, db, want);
	drop(db), drop(want);
	return bad;
}

static long test_weight_gradient(const struct nn_conv *c, int kind)
{
	const size_t x_size = (size_t) c->h.in * c->x_row, y_size = (size_t) c->h.out * c->y_row;
	struct array x = numbers(SAMPLES * x_size, kind % 3 == 2), dy = numbers(SAMPLES * y_size, kind % 9 == 2);
	struct array want = array(c->groups * c->cout * c->cin * (size_t) (c->h.n * c->w.n));
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

/* ---- dense ---- */

static struct nn_matrix matrix(size_t in, size_t out)
{
	struct nn_matrix d = { .in = in, .out = out, .x_row = in, .y_row = out };
	if (any(4) == 0) {
		d.x_row += any(5);
		d.y_row += any(5);
	}
	if (in % 6 == 0 && any(2)) {
		d.channels = 6;
		d.positions = in / 6;
	}
	return d;
}

/* The canonical place of input k. */
static size_t column(const struct nn_matrix *d, size_t k)
{
	return d->channels ? k % d->channels * d->positions + k / d->channels : k;
}

static long dense_forward(const struct nn_matrix *d, size_t rows, int kind)
{
	struct array x = numbers(rows * d->x_row, kind % 3 == 0), w = numbers(d->in * d->out, 0), bias = numbers(d->out, 0);
	struct array before = numbers(rows * d->y_row, 0), want = copy(before);
	struct nn_tail t = { .bias = kind & 1 ? bias.v : NULL, .residual = kind & 2 ? before.v : NULL, .residual_row = d->y_row,
			     .act = (enum nn_tail_act) any(3), .slope = 0.25 };
	for (size_t r = 0; r < rows; r++)
		for (size_t o = 0; o < d->out; o++) {
			real acc = 0;
			for (size_t k = 0; k < d->in; k++)
				acc = r_fma(x.v[r * d->x_row + k], w.v[o * d->in + column(d, k)], acc);
			want.v[r * d->y_row + o] = tail(acc, &t, o, before.v[r * d->y_row + o]);
		}
	long bad = 0;
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(d)), y = copy(before), back = array(w.n);
		const size_t panels = k->dense_panels(d), cut = any(panels + 1);
		void *scratch = malloc(k->dense_scratch(d, rows) + 1);
		k->dense_pack(d, w.v, p.v);
		t.residual = kind & 2 ? y.v : NULL;
		k->dense_forward(d, rows, x.v, p.v, &t, y.v, cut, panels, scratch);
		k->dense_forward(d, rows, x.v, p.v, &t, y.v, 0, cut, scratch);
		bad += compare("dense forward", k, y, want);
		k->dense_unpack(d, p.v, back.v);
		bad += compare("dense weights packed and unpacked", k, back, w);
		free(scratch);
		drop(p), drop(y), drop(back);
	}
	drop(x), drop(w), drop(bias), drop(before), drop(want);
	return bad;
}

static long dense_input_gradient(const struct nn_matrix *d, size_t rows, int kind)
{
	struct array dy = numbers(rows * d->y_row, kind % 3 == 0), w = numbers(d->in * d->out, 0);
	struct array before = numbers(rows * d->x_row, 0), want = copy(before);
	for (size_t r = 0; r < rows; r++)
		for (size_t k = 0; k < d->in; k++) {
			real acc = 0;
			for (size_t o = 0; o < d->out; o++)
				acc = r_fma(dy.v[r * d->y_row + o], w.v[o * d->in + column(d, k)], acc);
			want.v[r * d->x_row + k] = kind & 1 ? acc + before.v[r * d->x_row + k] : acc;
		}
	long bad = 0;
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(d)), dx = copy(before);
		const size_t cut = any(d->in + 1);
		void *scratch = malloc(k->dense_scratch(d, rows) + 1);
		k->dense_pack(d, w.v, p.v);
		k->dense_input_gradient(d, rows, dy.v, p.v, dx.v, kind & 1, cut, d->in, scratch);
		k->dense_input_gradient(d, rows, dy.v, p.v, dx.v, kind & 1, 0, cut, scratch);
		bad += compare("dense input gradient", k, dx, want);
		free(scratch);
		drop(p), drop(dx);
	}
	drop(dy), drop(w), drop(before), drop(want);
	return bad;
}

/* What the chain over rows [r0, r1) makes of acc; x NULL: a bias. */
static real over_rows(const struct nn_matrix *d, const real *x, const real *dy, size_t k, size_t o, size_t r0, size_t r1, real acc)
{
	for (size_t r = r0; r < r1; r++)
		acc = r_fma(x ? x[r * d->x_row + k] : 1, dy[r * d->y_row + o], acc);
	return acc;
}

static real over_leaves(const struct nn_matrix *d, const real *x, const real *dy, size_t k, size_t o, const size_t *leaf,
			size_t n_leaves)
{
	real sums[64];
	for (size_t i = 0; i < n_leaves; i++)
		sums[i] = over_rows(d, x, dy, k, o, leaf[i], leaf[i + 1], 0);
	return tree(sums, n_leaves);
}

static long check_dense_weights(const struct kernels *k, const struct nn_matrix *d, const real *x, const real *dy,
				const size_t *leaf, size_t n_leaves, size_t pieces, struct array want, struct array want_bias)
{
	struct array dw = numbers(k->dense_packed(d), 1), db = array(d->out), back = array(want.n), again = array(dw.n);
	const size_t panels = k->dense_panels(d), cut_p = any(panels + 1), cut_k = any(d->in + 1), rows = leaf[n_leaves];
	void *scratch = malloc(k->dense_scratch(d, rows) + 1);
	for (size_t i = 0; i < pieces; i++) {    /* of the one leaf */
		const size_t part[2] = { i * rows / pieces, (i + 1) * rows / pieces };
		const size_t *cuts = pieces > 1 ? part : leaf, n = pieces > 1 ? 1 : n_leaves;
		const real *xp = x + cuts[0] * d->x_row, *yp = dy + cuts[0] * d->y_row;
		for (int q = 0; q < 4; q++)
			k->dense_weight_gradient(d, xp, yp, cuts, n, i == 0, dw.v, q & 1 ? cut_k : 0, q & 1 ? d->in : cut_k,
						 q & 2 ? cut_p : 0, q & 2 ? panels : cut_p, scratch);
		k->dense_bias_gradient(d, yp, cuts, n, i == 0, db.v);
	}
	k->dense_unpack(d, dw.v, back.v);
	k->dense_pack(d, back.v, again.v);
	const long bad = compare("dense weight gradient", k, back, want) + compare("dense bias gradient", k, db, want_bias) +
			 compare("padding of the dense weight gradient", k, dw, again);
	free(scratch);
	drop(dw), drop(db), drop(back), drop(again);
	return bad;
}

static long dense_weights(const struct nn_matrix *d, size_t rows, size_t n_leaves, size_t pieces, int kind)
{
	struct array x = numbers(rows * d->x_row, kind % 3 == 0), dy = numbers(rows * d->y_row, kind % 9 == 0);
	struct array want = array(d->in * d->out), want_bias = array(d->out);
	size_t leaf[65];
	for (size_t i = 0; i <= n_leaves; i++)
		leaf[i] = i * rows / n_leaves;
	for (size_t o = 0; o < d->out; o++) {
		for (size_t k = 0; k < d->in; k++)
			want.v[o * d->in + column(d, k)] = over_leaves(d, x.v, dy.v, k, o, leaf, n_leaves);
		want_bias.v[o] = over_leaves(d, NULL, dy.v, 0, o, leaf, n_leaves);
	}
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		bad += check_dense_weights(sets[s], d, x.v, dy.v, leaf, n_leaves, pieces, want, want_bias);
	drop(x), drop(dy), drop(want), drop(want_bias);
	return bad;
}

/* ---- the claims ---- */

static int n_tests, n_failed;

static void claim(const char *text, long bad)
{
	n_tests++;
	n_failed += bad != 0;
	printf("%sok %d - product: %s\n", bad ? "not " : "", n_tests, text);
	fflush(stdout);
}

static const size_t ins[] = { 1, 5, 16, 24, 33, 97, 126, 256, 300, 530 }, outs[] = { 1, 7, 10, 16, 17, 32, 48, 50, 70, 128, 150, 290 };
#define N_INS (sizeof ins / sizeof *ins)
#define N_OUTS (sizeof outs / sizeof *outs)

static long all_dense(long (*test)(const struct nn_matrix *, size_t, int))
{
	long bad = 0;
	for (size_t rows = 1; rows <= 64; rows++)
		for (int i = 0; i < EFFORT(2, 12); i++) {
			const struct nn_matrix d = matrix(ins[any(N_INS)], outs[any(N_OUTS)]);
			const long b = test(&d, rows, i + (int) rows);
			if (b)
				printf("# %zu rows, %zu to %zu\n", rows, d.in, d.out);
			bad += b;
		}
	const struct nn_matrix big = matrix(530, 290);
	return bad + test(&big, 530, 1) + test(&big, 270, 0);
}

static long all_dense_weights(void)
{
	long bad = 0;
	for (size_t n_leaves = 1; n_leaves <= 16; n_leaves *= 2)
		for (int i = 0; i < EFFORT(10, 100); i++) {
			const struct nn_matrix d = matrix(ins[any(N_INS - 1)], outs[any(N_OUTS - 1)]);
			const size_t rows = n_leaves + any(40);
			const long b = dense_weights(&d, rows, n_leaves, n_leaves == 1 ? 1 + any(3) : 1, i);
			if (b)
				printf("# %zu rows, %zu leaves, %zu to %zu\n", rows, n_leaves, d.in, d.out);
			bad += b;
		}
	return bad;
}

static long column_splits(void)
{
	long bad = 0;
	const struct nn_matrix d = matrix(60, EFFORT(150, 290));
	struct array x = numbers(20 * d.x_row, 0), w = numbers(d.in * d.out, 0);
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(&d));
		k->dense_pack(&d, w.v, p.v);
		for (size_t rows = 1; rows <= 20; rows += EFFORT(3, 1)) {
			struct array want = numbers(rows * d.y_row, 0);
			struct array y = copy(want);
			const size_t panels = k->dense_panels(&d);
			void *scratch = malloc(k->dense_scratch(&d, rows) + 1);
			k->dense_forward(&d, rows, x.v, p.v, NULL, want.v, 0, panels, scratch);
			for (size_t p0 = 0; p0 < panels; p0++)
				for (size_t p1 = p0 + 1; p1 <= panels; p1++) {
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, p0, p1, scratch);
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, 0, p0, scratch);
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, p1, panels, scratch);
					bad += compare("a split of columns", k, y, want);
				}
			free(scratch);
			drop(want), drop(y);
		}
		drop(p);
	}
	drop(x), drop(w);
	return bad;
}

static long leaf_sums(void)
{
	long bad = 0;
	for (size_t n = 0; n < 70; n++) {
		struct array a = numbers(n, 1), b = numbers(n, 1), want = copy(a);
		for (size_t i = 0; i < n; i++)
			want.v[i] = a.v[i] + b.v[i];
		for (int s = 0; s < n_sets; s++) {
			struct array got = copy(a);
			sets[s]->leaf_add(got.v, b.v, n);
			bad += compare("leaf_add", sets[s], got, want);
			drop(got);
		}
		drop(a), drop(b), drop(want);
	}
	return bad;
}

int main(void)
{
	find_sets();
	printf("# instruction sets:");
	for (int s = 0; s < n_sets; s++)
		printf(" %s", sets[s]->isa);
	printf("; reals of %zu bytes\n", sizeof(real));
	claim("dense forward is one chain of fma per element, 1 to 64 rows", all_dense(dense_forward));
	claim("dense input gradient is one chain of fma per element, 1 to 64 rows", all_dense(dense_input_gradient));
	claim("dense weight gradient is a chain per leaf and a tree over leaves, 1 to 16 leaves", all_dense_weights());
	claim("columns may be split anywhere between panels", column_splits());
	claim("convolution forward is one chain of fma per element, taps outside are skipped",
	      convolutions(EFFORT(120, 1500), test_forward));
	claim("convolution input gradient is one chain over the rotated kernel",
	      convolutions(EFFORT(120, 1500), test_input_gradient));
	claim("convolution weight gradient is one chain over samples and positions",
	      convolutions(EFFORT(120, 1500), test_weight_gradient));
	claim("leaves are added element by element", leaf_sums());
	printf("1..%d\n", n_tests);
	return n_failed != 0;
}
