/* conv-transpose2d, upsample, slice, transpose and permute as plain loops in double. */
#include "bench/op/reference.h"

static size_t size(const struct nn_shape *s)
{
	return nn_shape_count(s);
}

/* What pixel h,w of channel c gives to the outputs of its group. */
static void spread_pixel(const struct nn_reference *r, size_t h, size_t w, size_t c, double x,
			 double *y)
{
	const struct nn_conv_transpose2d *a = r->site->attrs;
	const size_t *d = r->site->out.dim;
	size_t cin = r->site->in[0].dim[0] / a->groups, cout = a->out / a->groups;
	for (size_t i = 0; i < a->kernel[0]; i++)
		for (size_t j = 0; j < a->kernel[1]; j++) {
			size_t oh = h * a->stride[0] + i * a->dilation[0] - a->pad[0];
			size_t ow = w * a->stride[1] + j * a->dilation[1] - a->pad[1];
			for (size_t o = 0; o < cout && oh < d[1] && ow < d[2]; o++)
				y[(oh * d[2] + ow) * d[0] + c / cin * cout + o] +=
					x *
					r->w[0][((c * cout + o) * a->kernel[0] + i) * a->kernel[1] +
						j];
		}
}

void nn_reference_conv_transpose2d(const struct nn_reference *r)
{
	const struct nn_conv_transpose2d *a = r->site->attrs;
	const size_t *d = r->site->in[0].dim;
	size_t in = size(&r->site->in[0]), out = size(&r->site->out);
	for (size_t i = 0; i < r->rows * out; i++)
		r->y[i] = a->bias ? r->w[1][i % a->out] : 0;
	for (size_t i = 0; i < r->rows * in; i++)
		spread_pixel(r, i % in / d[0] / d[2], i % in / d[0] % d[2], i % d[0], r->x[0][i],
			     r->y + i / in * out);
}

/* Place `at` of n * scale as one among n: the lower of two neighbours, and the share of the upper.
 */
static size_t between(size_t at, size_t n, size_t scale, bool corners, double *share)
{
	double place = corners ? (double)at * (double)(n - 1) / (double)(n * scale - 1)
			       : ((double)at + 0.5) / (double)scale - 0.5;
	size_t low = place > 0 ? (size_t)place : 0;
	*share = place > 0 ? place - (double)low : 0;
	return low;
}

static double pixel(const struct nn_reference *r, size_t row, size_t c, size_t h, size_t w)
{
	const size_t *d = r->site->in[0].dim;
	h = h < d[1] ? h : d[1] - 1;
	w = w < d[2] ? w : d[2] - 1;
	return r->x[0][((row * d[1] + h) * d[2] + w) * d[0] + c];
}

void nn_reference_upsample(const struct nn_reference *r)
{
	const struct nn_upsample *a = r->site->attrs;
	const size_t *in = r->site->in[0].dim, *out = r->site->out.dim;
	for (size_t i = 0; i < r->rows * size(&r->site->out); i++) {
		size_t c = i % out[0], ow = i / out[0] % out[2], oh = i / out[0] / out[2] % out[1],
		       row = i / size(&r->site->out), h, w;
		double u, v;
		if (!a->bilinear) {
			r->y[i] = pixel(r, row, c, oh / a->scale[0], ow / a->scale[1]);
			continue;
		}
		h = between(oh, in[1], a->scale[0], a->corners, &u);
		w = between(ow, in[2], a->scale[1], a->corners, &v);
		r->y[i] = (1 - u) * ((1 - v) * pixel(r, row, c, h, w) +
				     v * pixel(r, row, c, h, w + 1)) +
			  u * ((1 - v) * pixel(r, row, c, h + 1, w) +
			       v * pixel(r, row, c, h + 1, w + 1));
	}
}

/* Where an element lies; C,H,W is held H,W,C. */
static size_t place(const struct nn_shape *shape, const size_t *at)
{
	size_t i = 0;
	for (int k = 0; k < shape->rank; k++) {
		int d = shape->rank == 3 ? (k + 1) % 3 : k;
		i = i * shape->dim[d] + at[d];
	}
	return i;
}

static void indices(const struct nn_shape *shape, size_t i, size_t *at)
{
	for (int d = shape->rank; d-- > 0; i /= shape->dim[d])
		at[d] = i % shape->dim[d];
}

void nn_reference_slice(const struct nn_reference *r)
{
	const struct nn_slice *a = r->site->attrs;
	const struct nn_shape *in = &r->site->in[0], *out = &r->site->out;
	size_t to[NN_MAX_RANK] = { 0 }, from[NN_MAX_RANK] = { 0 }, n = size(out);
	for (size_t i = 0; i < r->rows * n; i++) {
		bool inside = true;
		indices(out, i % n, to);
		for (int d = 0; d < in->rank; d++) {
			ptrdiff_t at = a->begin[d] + (ptrdiff_t)(to[d] * a->step[d]);
			inside &= at >= 0 && at < (ptrdiff_t)in->dim[d];
			from[d] = (size_t)at;
		}
		r->y[i / n * n + place(out, to)] =
			inside ? r->x[0][i / n * size(in) + place(in, from)] : a->value;
	}
}

void nn_reference_transpose(const struct nn_reference *r)
{
	const int *dims = ((const struct nn_transpose *)r->site->attrs)->dims;
	const struct nn_shape *in = &r->site->in[0], *out = &r->site->out;
	size_t to[NN_MAX_RANK] = { 0 }, from[NN_MAX_RANK], n = size(out);
	for (size_t i = 0; i < r->rows * n; i++) {
		indices(out, i % n, to);
		for (int d = 0; d < in->rank; d++)
			from[d] = to[d];
		from[dims[0]] = to[dims[1]];
		from[dims[1]] = to[dims[0]];
		r->y[i / n * n + place(out, to)] = r->x[0][i / n * n + place(in, from)];
	}
}

void nn_reference_permute(const struct nn_reference *r)
{
	const struct nn_permute *a = r->site->attrs;
	size_t n = a->channels * a->positions;
	for (size_t s = 0; s < r->rows; s++)
		for (size_t c = 0; c < a->channels; c++)
			for (size_t p = 0; p < a->positions; p++) {
				size_t plain = s * n + c * a->positions + p,
				       last = s * n + p * a->channels + c;
				if (a->to_channels_last)
					r->y[last] = r->x[0][plain];
				else
					r->y[plain] = r->x[0][last];
			}
}
