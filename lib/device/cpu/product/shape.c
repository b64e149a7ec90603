/* The geometry of a convolution from its sizes. */
#define NN_T_f32 1
#define NN_ISA_generic 1
#include "device/cpu/product/axis.h"

static struct nn_axis axis(size_t n, size_t stride, size_t pad, size_t dilation, size_t in)
{
	struct nn_axis a = { .n = (long)n,
			     .stride = (long)stride,
			     .dilation = (long)dilation,
			     .pad = (long)pad,
			     .in = (long)in };
	a.out = (a.in + 2 * a.pad - (a.n - 1) * a.dilation - 1) / a.stride + 1;
	return a;
}

void nn_conv_init(struct nn_conv *c, const size_t kernel[2], const size_t stride[2],
		  const size_t pad[2], const size_t dilation[2], size_t groups, size_t cin,
		  size_t cout, size_t height, size_t width)
{
	c->h = axis(kernel[0], stride[0], pad[0], dilation[0], height);
	c->w = axis(kernel[1], stride[1], pad[1], dilation[1], width);
	c->cin = cin / groups;
	c->cout = cout / groups;
	c->groups = groups;
	c->x_pixel = cin;
	c->x_row = cin * width;
	c->y_pixel = cout;
	c->y_row = cout * (size_t)c->w.out;
}

bool nn_conv_depthwise(const struct nn_conv *c)
{
	return c->cin == 1 && c->groups > 1;
}

struct nn_axis nn_axis_phase(const struct nn_axis *a, long phase, long *tap, long *step)
{
	long g = a->stride, r = a->dilation;
	while (r) {
		const long rest = g % r;
		g = r;
		r = rest;
	}
	*step = a->stride / g;
	*tap = -1;
	for (long t = 0; t < a->n; t++)
		if ((t * a->dilation - phase - a->pad) % a->stride == 0)
			*tap = t;
	struct nn_axis out = { .stride = 1, .dilation = a->dilation / g, .in = a->out };
	out.n = *tap < 0 ? 0 : *tap / *step + 1;
	out.pad = *tap < 0 ? 0 : (*tap * a->dilation - phase - a->pad) / a->stride;
	out.out = phase < a->in ? (a->in - phase + a->stride - 1) / a->stride : 0;
	return out;
}

void nn_axis_visit_rotated(const struct nn_axis *h, const struct nn_axis *w,
			   void (*visit)(void *arg, size_t tap), void *arg)
{
	for (long row = 0; row < h->stride; row++)
		for (long column = 0; column < w->stride; column++) {
			long kh0, kw0, kh_step, kw_step;
			nn_axis_phase(h, row, &kh0, &kh_step);
			nn_axis_phase(w, column, &kw0, &kw_step);
			for (long kh = kh0; kh >= 0; kh -= kh_step)
				for (long kw = kw0; kw >= 0; kw -= kw_step)
					visit(arg, (size_t)(kh * w->n + kw));
		}
}
