/*
 * Weights for a convolution's input gradient from the packed ones: taps in descending order, in-
 * and out-channels exchanged.
 */
#include "device/cpu/product/axis.h"
#include "device/cpu/product/depthwise.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/vec/vec.h"

/*
 * Rotated: [group][panel of in-channels][phase row][phase column][kernel row, descending][kernel
 * column, descending][out-channel] [width]; a stride of 1 has one phase (nn_axis_phase).
 */
size_t NN_K(conv_rotated_panels)(const struct nn_conv *c)
{
	if (nn_conv_depthwise(c))
		return 1;
	return c->groups * nn_panels(c->cin);
}

size_t NN_K(conv_rotated)(const struct nn_conv *c)
{
	if (nn_conv_depthwise(c))
		return NN_K(depthwise_rotated)(c);
	return c->groups * (size_t)(c->h.n * c->w.n) * c->cout * nn_packed_channels(c->cin);
}

/*
 * to[out-channel][VL in-channels] of one tap; from is the tap's [in-channel][width] of a panel that
 * holds n out-channels.
 */
static void transpose(const real *from, size_t width, size_t n_in, size_t n_out, real *to,
		      size_t to_width)
{
	for (size_t o = 0; o < n_out; o += VL) {
		vr r[VL];
		NN_UNROLL
		for (size_t i = 0; i < VL; i++)
			r[i] = i < n_in ? v_load(from + i * width + o) : v_zero();
		v_transpose(r);
		if (n_out - o >= VL) {
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				v_store(to + (o + i) * to_width, r[i]);
		} else {
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				if (o + i < n_out)
					v_store(to + (o + i) * to_width, r[i]);
		}
	}
}

struct rotation {
	const struct nn_conv *c;
	const real *w;
	size_t i0; /* first of the panel's in-channels */
	real *to;  /* place of the next tap */
};

/* The tap's [out-channel][width] for in-channels from i0. */
static void rotate_tap(void *arg, size_t tap)
{
	struct rotation *r = arg;
	const struct nn_conv *c = r->c;
	const size_t chain = nn_chain(c), width = nn_panel_width(c->cin, r->i0);
	for (size_t o = 0; o < c->cout; o += NN_PANEL) {
		const size_t from_width = nn_panel_width(c->cout, o),
			     n_out = c->cout - o < NN_PANEL ? c->cout - o : NN_PANEL;
		const real *from = r->w + o * chain + tap * c->cin * from_width;
		for (size_t i = r->i0; i < r->i0 + width; i += VL)
			transpose(from + (i < c->cin ? i : 0) * from_width, from_width,
				  i < c->cin ? c->cin - i : 0, n_out,
				  r->to + o * width + (i - r->i0), width);
	}
	r->to += c->cout * width;
}

void NN_K(conv_rotate)(const struct nn_conv *c, const real *packed, real *rotated, size_t p0,
		       size_t p1)
{
	if (nn_conv_depthwise(c)) {
		if (p0 < p1)
			NN_K(depthwise_rotate)(c, packed, rotated);
		return;
	}
	const size_t panels = nn_panels(c->cin), chain = (size_t)(c->h.n * c->w.n) * c->cout;
	for (size_t p = p0; p < p1; p++) {
		const size_t g = p / panels, i0 = p % panels * NN_PANEL;
		struct rotation r = { c, packed + g * nn_chain(c) * nn_packed_channels(c->cout), i0,
				      rotated + (g * nn_packed_channels(c->cin) + i0) * chain };
		nn_axis_visit_rotated(&c->h, &c->w, rotate_tap, &r);
	}
}
