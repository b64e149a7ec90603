/* Products: each output element, each gradient is one chain of fused multiply-adds, by a thread. */
#include "device/cuda/product/panels.h"

NN_MAP(put_bounds, struct nn_put_args)
{
	a->to[i] = a->value[i];
}

NN_INLINE size_t chain_of(const struct nn_conv *c)
{
	return (size_t)(c->h.n * c->w.n) * c->cin;
}

/* Weights of out-channel o of group g. */
NN_INLINE struct column weights_of(const struct nn_conv *c, bool depthwise, const real *w, size_t g,
				   size_t o)
{
	struct column d;
	if (!depthwise)
		return column_of(w, g, o, c->cout, chain_of(c));
	d.w = w + g * c->cout + o;
	d.step = lanes_of(c->groups * c->cout);
	return d;
}

/* Where tap t of an axis is at output position q; outside: -1. */
NN_INLINE long tap_at(const struct nn_axis *axis, long q, long t)
{
	long at = q * axis->stride + t * axis->dilation - axis->pad;
	return at < axis->in ? at : -1;
}

/* The output position that reads position `at` by tap t, or -1. */
NN_INLINE long reader_of(const struct nn_axis *axis, long at, long t)
{
	long q = at + axis->pad - t * axis->dilation;
	return q < 0 || q % axis->stride || q / axis->stride >= axis->out ? -1 : q / axis->stride;
}

/* y[row][pixel][channel] */
NN_MAP(product, struct nn_product_args)
{
	const struct nn_conv *c = &a->c;
	size_t channels = c->cout * c->groups, o = i % channels, q = i / channels, g = o / c->cout;
	long ow = (long)(q % (size_t)c->w.out), oh = (long)(q / (size_t)c->w.out % (size_t)c->h.out);
	size_t row = q / (size_t)(c->w.out * c->h.out);
	const real *x = a->x + row * (size_t)c->h.in * c->x_row + g * c->cin;
	struct column w = weights_of(c, a->depthwise, a->w, g, o % c->cout);
	real sum = 0;
	for (long kh = 0; kh < c->h.n; kh++)
		for (long kw = 0; kw < c->w.n; kw++) {
			long ih = tap_at(&c->h, oh, kh), iw = tap_at(&c->w, ow, kw);
			if (ih < 0 || iw < 0)
				continue;
			const real *from = x + (size_t)ih * c->x_row + (size_t)iw * c->x_pixel,
				   *by = w.w + (size_t)(kh * c->w.n + kw) * c->cin * w.step;
			for (size_t k = 0; k < c->cin; k++)
				sum = r_fma(from[k], by[k * w.step], sum);
		}
	a->y[i] = tail(a, sum, o, i);
}

/* Weight [tap, from the last][out-channel] of in-channel `in` of group g, as derive leaves them. */
NN_INLINE struct column turned_of(const struct nn_conv *c, bool depthwise, const real *w, size_t g,
				  size_t in)
{
	struct column d;
	if (!depthwise)
		return column_of(w, g, in, c->cin, (size_t)(c->h.n * c->w.n) * c->cout);
	d.w = w + g;
	d.step = lanes_of(c->groups);
	return d;
}

/* The step of the chain that a tap begins with. */
NN_INLINE size_t turned_step(const struct nn_conv *c, long kh, long kw)
{
	return (size_t)(c->h.n * c->w.n - 1 - (kh * c->w.n + kw)) * c->cout;
}

/* dx[row][pixel][in-channel]: taps descending, then out-channels; of conv-transpose2d the output. */
NN_MAP(product_input, struct nn_product_args)
{
	const struct nn_conv *c = &a->c;
	size_t channels = c->cin * c->groups, k = i % channels, q = i / channels, g = k / c->cin;
	long iw = (long)(q % (size_t)c->w.in), ih = (long)(q / (size_t)c->w.in % (size_t)c->h.in);
	size_t row = q / (size_t)(c->w.in * c->h.in);
	const real *dy = a->dy + row * (size_t)c->h.out * c->y_row + g * c->cout;
	real sum = 0;
	if (!a->turned) { /* a dense layer */
		for (size_t o = 0; o < c->cout; o++)
			sum = r_fma(dy[o], *(column_of(a->w, 0, o, c->cout, c->cin).w +
					     k * width_at(c->cout, o)), sum);
		nn_put(a->dx + i, sum, a->add);
		return;
	}
	struct column w = turned_of(c, a->depthwise, a->w, g, k % c->cin);
	for (long kh = c->h.n - 1; kh >= 0; kh--)
		for (long kw = c->w.n - 1; kw >= 0; kw--) {
			long oh = reader_of(&c->h, ih, kh), ow = reader_of(&c->w, iw, kw);
			if (oh < 0 || ow < 0)
				continue;
			const real *from = dy + (size_t)oh * c->y_row + (size_t)ow * c->y_pixel,
				   *by = w.w + turned_step(c, kh, kw) * w.step;
			for (size_t o = 0; o < c->cout; o++)
				sum = r_fma(from[o], by[o * w.step], sum);
		}
	nn_put(a->dx + i, tail(a, sum, k, i), a->add);
}

/* A packed weight's place: its channels and its tap; false: padding. */
struct weight {
	size_t o, in; /* in all groups */
	long kh, kw;
};

NN_INLINE bool find_weight(const struct nn_conv *c, bool depthwise, size_t i, struct weight *w)
{
	size_t chain = chain_of(c), k, g;
	if (depthwise) {
		size_t lanes = lanes_of(c->groups * c->cout);
		w->o = i % lanes;
		w->in = w->o / c->cout;
		k = i / lanes;
		w->kh = (long)k / c->w.n;
		w->kw = (long)k % c->w.n;
		return w->o < c->groups * c->cout;
	}
	g = i / (chain * lanes_of(c->cout));
	i %= chain * lanes_of(c->cout);
	size_t panel = i / (chain * NN_PANEL) * NN_PANEL, width = width_at(c->cout, panel);
	i -= panel * chain;
	k = i / width;
	w->o = panel + i % width;
	if (w->o >= c->cout)
		return false;
	w->o += g * c->cout;
	w->in = g * c->cin + k % c->cin;
	w->kh = (long)(k / c->cin) / c->w.n;
	w->kw = (long)(k / c->cin) % c->w.n;
	return true;
}

/* The chain of one weight over the rows of a leaf. */
NN_INLINE real weight_chain(const struct nn_weights_args *a, const struct weight *w, size_t begin,
			    size_t end, real sum)
{
	const struct nn_conv *c = &a->c;
	for (size_t r = begin; r < end; r++) {
		const real *x = a->x + r * (size_t)c->h.in * c->x_row + w->in,
			   *dy = a->dy + r * (size_t)c->h.out * c->y_row + w->o;
		for (long oh = 0; oh < c->h.out; oh++) {
			long ih = tap_at(&c->h, oh, w->kh);
			for (long ow = 0; ih >= 0 && ow < c->w.out; ow++) {
				long iw = tap_at(&c->w, ow, w->kw);
				if (iw >= 0)
					sum = r_fma(x[(size_t)ih * c->x_row + (size_t)iw * c->x_pixel],
						    dy[(size_t)oh * c->y_row + (size_t)ow * c->y_pixel],
						    sum);
			}
		}
	}
	return sum;
}

NN_INLINE real bias_chain(const struct nn_weights_args *a, size_t o, size_t begin, size_t end,
			  real sum)
{
	const struct nn_conv *c = &a->c;
	size_t pixels = (size_t)(c->h.out * c->w.out);
	for (size_t q = begin * pixels; q < end * pixels; q++)
		sum = v_add(sum, a->dy[q * c->y_pixel + o]);
	return sum;
}

/* Leaf by leaf, a stack of finished subtrees: an odd leaf closes the one before it. */
#define NN_LEAF_CHAINS(a, i, chain) \
	do { \
		real stack[32], sum; \
		int depth = 0; \
		if (a->apart) { \
			size_t leaf = i / a->size; \
			real *to = leaf ? a->rest + (leaf - 1) * a->size : a->dw; \
			size_t begin = nn_bound_at(&a->leaf, leaf), \
			       end = nn_bound_at(&a->leaf, leaf + 1); \
			i %= a->size; \
			sum = a->first ? 0 : a->dw[i]; \
			to[i] = chain; \
			break; \
		} \
		for (size_t leaf = 0; leaf < a->leaf.n; leaf++) { \
			size_t begin = nn_bound_at(&a->leaf, leaf), \
			       end = nn_bound_at(&a->leaf, leaf + 1); \
			sum = a->first ? 0 : a->dw[i]; \
			sum = chain; \
			for (size_t t = leaf; t & 1; t >>= 1) \
				sum = v_add(stack[--depth], sum); \
			stack[depth++] = sum; \
		} \
		a->dw[i] = stack[0]; \
	} while (0)

NN_MAP(product_weights, struct nn_weights_args)
{
	struct weight w = { 0, 0, 0, 0 };
	bool there = find_weight(&a->c, a->depthwise, i % a->size, &w);
	NN_LEAF_CHAINS(a, i, there ? weight_chain(a, &w, begin, end, sum) : 0);
}

NN_MAP(product_bias, struct nn_weights_args)
{
	NN_LEAF_CHAINS(a, i, bias_chain(a, i, begin, end, sum));
}

/* What the input gradient reads: packed weight i to where its in-channel's chain finds it. */
NN_MAP(turn_weights, struct nn_turn_args)
{
	const struct nn_conv *c = &a->c;
	struct weight w = { 0, 0, 0, 0 };
	if (!find_weight(c, a->depthwise, i, &w))
		return;
	size_t g = w.in / c->cin, step = turned_step(c, w.kh, w.kw) + w.o % c->cout;
	struct column to = turned_of(c, a->depthwise, a->to, g, w.in % c->cin);
	((real *)to.w)[step * to.step] = a->from[i];
}

/* Canonical [out][in][kernel row][kernel column] to packed, or back: packed weight i. */
NN_MAP(pack_weights, struct nn_turn_args)
{
	const struct nn_conv *c = &a->c;
	struct weight w = { 0, 0, 0, 0 };
	bool there = find_weight(c, a->depthwise, i, &w);
	size_t in = there ? w.in % c->cin : 0, at;
	if (!there) {
		if (!a->unpack)
			a->to[i] = 0;
		return;
	}
	if (a->channels) /* of a flattened image, held channels last */
		in = in % a->channels * a->positions + in / a->channels;
	at = ((w.o * c->cin + in) * (size_t)c->h.n + (size_t)w.kh) * (size_t)c->w.n + (size_t)w.kw;
	if (a->unpack)
		a->to[at] = a->from[i];
	else
		a->to[i] = a->from[at];
}
