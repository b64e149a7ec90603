/*
 * Packed weights: panels of out-channels, the chain's order inside; from and to the canonical order
 * of files.
 */
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/vec/vec.h"

size_t NN_K(conv_panels)(const struct nn_conv *c)
{
	if (nn_conv_depthwise(c))
		return nn_panels(c->cout * c->groups);
	return c->groups * nn_panels(c->cout);
}

size_t NN_K(conv_packed)(const struct nn_conv *c)
{
	if (nn_conv_depthwise(c))
		return NN_K(depthwise_packed)(c);
	return c->groups * nn_chain(c) * nn_packed_channels(c->cout);
}

size_t NN_K(dense_panels)(const struct nn_matrix *d)
{
	return nn_panels(d->out);
}

size_t NN_K(dense_packed)(const struct nn_matrix *d)
{
	return d->in * nn_packed_channels(d->out);
}

/* Where weight (channel o of a group, step k of its chain) stands among n channels' panels. */
static size_t place(size_t o, size_t k, size_t n, size_t chain)
{
	const size_t panel = o / NN_PANEL * NN_PANEL;
	return panel * chain + k * nn_panel_width(n, panel) + (o - panel);
}

/* Step k of a convolution's chain in the canonical [in-channel][kernel row][kernel column]. */
static size_t conv_column(const struct nn_conv *c, size_t k)
{
	return k % c->cin * (size_t)(c->h.n * c->w.n) + k / c->cin;
}

/* Steps of a chain at once: of so many a row of the canonical weight has a line of the cache. */
#define NN_PACK_STEPS 16

/* NN_PACK_STEPS steps that lie side by side, of `width` channels, turned in squares of a vector. */
static void pack_squares(const real *canonical, size_t row, real *packed, size_t width)
{
	vr square[VL];
	for (size_t o = 0; o < width; o += VL)
		for (size_t k = 0; k < NN_PACK_STEPS; k += VL) {
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				square[i] = v_load(canonical + (o + i) * row + k);
			v_transpose(square);
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				v_store(packed + (k + i) * width + o, square[i]);
		}
}

/*
 * Steps of a panel: `width` channels, of which n are there, `row` reals apart. Rows are read line by
 * line, for many that lie a power of two apart do not stay in the cache; what is written does.
 */
static void pack_steps(const real *canonical, size_t row, const size_t *column, size_t steps,
		       real *packed, size_t width, size_t n)
{
	for (size_t o = 0; o < width; o++)
		for (size_t k = 0; k < steps; k++)
			packed[k * width + o] = o < n ? canonical[o * row + column[k]] : 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The panel of a group that begins at channel o0, whose weights are canonical. */
static void pack_conv_panel(const struct nn_conv *c, const real *canonical, real *packed, size_t o0)
{
	const size_t chain = nn_chain(c), width = nn_panel_width(c->cout, o0);
	size_t column[NN_PACK_STEPS], steps;
	for (size_t k0 = 0; k0 < chain; k0 += steps) {
		steps = least(chain - k0, NN_PACK_STEPS);
		for (size_t k = 0; k < steps; k++)
			column[k] = conv_column(c, k0 + k);
		pack_steps(canonical, chain, column, steps, packed + place(o0, k0, c->cout, chain),
			   width, least(c->cout - o0, width));
	}
}

void NN_K(conv_pack)(const struct nn_conv *c, const real *canonical, real *packed)
{
	const size_t chain = nn_chain(c), lanes = nn_packed_channels(c->cout);
	if (nn_conv_depthwise(c)) {
		NN_K(depthwise_pack)(c, canonical, packed);
		return;
	}
	for (size_t g = 0; g < c->groups; g++)
		for (size_t o0 = 0; o0 < c->cout; o0 += NN_PANEL)
			pack_conv_panel(c, canonical + (g * c->cout + o0) * chain,
					packed + g * chain * lanes, o0);
}

void NN_K(conv_unpack)(const struct nn_conv *c, const real *packed, real *canonical)
{
	const size_t chain = nn_chain(c), lanes = nn_packed_channels(c->cout);
	if (nn_conv_depthwise(c)) {
		NN_K(depthwise_unpack)(c, packed, canonical);
		return;
	}
	for (size_t g = 0; g < c->groups; g++)
		for (size_t o = 0; o < c->cout; o++)
			for (size_t k = 0; k < chain; k++)
				canonical[(g * c->cout + o) * chain + conv_column(c, k)] =
					packed[g * chain * lanes + place(o, k, c->cout, chain)];
}

/* Input k of a dense layer, in the order of memory, in the canonical weight's row. */
static size_t dense_column(const struct nn_matrix *d, size_t k)
{
	return d->channels ? k % d->channels * d->positions + k / d->channels : k;
}

void NN_K(dense_pack)(const struct nn_matrix *d, const real *canonical, real *packed)
{
	size_t column[NN_PACK_STEPS], steps, width;
	for (size_t o0 = 0; o0 < d->out; o0 += NN_PANEL)
		for (size_t k0 = 0; k0 < d->in; k0 += steps) {
			steps = least(d->in - k0, NN_PACK_STEPS);
			width = nn_panel_width(d->out, o0);
			if (!d->channels && steps == NN_PACK_STEPS && o0 + width <= d->out) {
				pack_squares(canonical + o0 * d->in + k0, d->in,
					     packed + place(o0, k0, d->out, d->in), width);
				continue;
			}
			for (size_t k = 0; k < steps; k++)
				column[k] = dense_column(d, k0 + k);
			pack_steps(canonical + o0 * d->in, d->in, column, steps,
				   packed + place(o0, k0, d->out, d->in), width,
				   least(d->out - o0, width));
		}
}

void NN_K(dense_unpack)(const struct nn_matrix *d, const real *packed, real *canonical)
{
	for (size_t o = 0; o < d->out; o++)
		for (size_t k = 0; k < d->in; k++)
			canonical[o * d->in + dense_column(d, k)] =
				packed[place(o, k, d->out, d->in)];
}
