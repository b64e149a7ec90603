/* Pooling: an element of the output, or of the input's gradient, by a thread. Images are H,W,C. */
#include "device/cuda/phase.h"

struct window {
	long h0, h1, w0, w1; /* taps inside the image */
	long top, left;
};

NN_INLINE struct window window_at(const struct nn_pool_args *a, long oh, long ow)
{
	struct window w;
	w.top = oh * a->stride[0] - a->pad[0];
	w.left = ow * a->stride[1] - a->pad[1];
	w.h0 = w.top < 0 ? -w.top : 0;
	w.h1 = w.top + a->kernel[0] > a->in[0] ? a->in[0] - w.top : a->kernel[0];
	w.w0 = w.left < 0 ? -w.left : 0;
	w.w1 = w.left + a->kernel[1] > a->in[1] ? a->in[1] - w.left : a->kernel[1];
	return w;
}

/* Element i of images of `size` positions. */
struct element {
	size_t row, channel;
	long h, w;
};

NN_INLINE struct element element_at(const struct nn_pool_args *a, const long size[2], size_t i)
{
	struct element e;
	e.channel = i % a->channels;
	i /= a->channels;
	e.w = (long)(i % (size_t)size[1]);
	e.h = (long)(i / (size_t)size[1] % (size_t)size[0]);
	e.row = i / (size_t)(size[0] * size[1]);
	return e;
}

NN_INLINE size_t index_of(const struct nn_pool_args *a, const long size[2], const struct element *e,
			  long h, long w)
{
	return ((e->row * (size_t)size[0] + (size_t)h) * (size_t)size[1] + (size_t)w) * a->channels +
	       e->channel;
}

NN_INLINE void keep_place(const struct nn_pool_args *a, size_t i, long place)
{
	if (a->wide)
		((uint32_t *)a->places)[i] = (uint32_t)place;
	else
		((uint8_t *)a->places)[i] = (uint8_t)place;
}

/* The first largest value, the last NaN where there is one. */
NN_MAP(max_pool, struct nn_pool_args)
{
	struct element e = element_at(a, a->out, i);
	struct window w = window_at(a, e.h, e.w);
	long place = w.h0 * a->kernel[1] + w.w0;
	real best = a->x[index_of(a, a->in, &e, w.top + w.h0, w.left + w.w0)];
	for (long h = w.h0; h < w.h1; h++)
		for (long t = w.w0; t < w.w1; t++) {
			real v = a->x[index_of(a, a->in, &e, w.top + h, w.left + t)];
			if (v > best || v != v) {
				best = v;
				place = h * a->kernel[1] + t;
			}
		}
	a->y[i] = best;
	if (a->places)
		keep_place(a, i, place);
}

/* The output positions whose windows meet position `at` of an axis. */
NN_INLINE void readers(const struct nn_pool_args *a, int axis, long at, long *begin, long *end)
{
	long over = at + a->pad[axis] - a->kernel[axis] + 1;
	*begin = over <= 0 ? 0 : (over + a->stride[axis] - 1) / a->stride[axis];
	*end = (at + a->pad[axis]) / a->stride[axis] + 1;
	*end = *end < a->out[axis] ? *end : a->out[axis];
}

/*
 * What element i of dx gets, window by window in the order of output pixels. The first is stored
 * where windows lie apart, else it is added to 0, as are all others.
 */
NN_INLINE void gather(const struct nn_pool_args *a, size_t i, bool largest)
{
	struct element e = element_at(a, a->in, i);
	bool apart = a->whole || (a->stride[0] >= a->kernel[0] &&
				  a->stride[1] >= a->kernel[1] && largest);
	real size = (real)(a->kernel[0] * a->kernel[1]), sum = a->add ? a->dx[i] : 0;
	long h0, h1, w0, w1;
	readers(a, 0, e.h, &h0, &h1);
	readers(a, 1, e.w, &w0, &w1);
	for (long h = h0; h < h1; h++)
		for (long w = w0; w < w1; w++) {
			size_t at = index_of(a, a->out, &e, h, w);
			long tap = (e.h + a->pad[0] - h * a->stride[0]) * a->kernel[1] + e.w +
				   a->pad[1] - w * a->stride[1];
			real d = a->dy[at];
			if (!largest)
				d = v_div(d, size);
			else if (tap != (a->wide ? (long)((const uint32_t *)a->places)[at]
						 : (long)((const uint8_t *)a->places)[at]))
				d = 0;
			sum = apart && !a->add ? d : v_add(sum, d);
		}
	a->dx[i] = sum;
}

NN_MAP(max_pool_back, struct nn_pool_args)
{
	gather(a, i, true);
}

/* Padding counts. */
NN_MAP(mean_pool, struct nn_pool_args)
{
	struct element e = element_at(a, a->out, i);
	struct window w = window_at(a, e.h, e.w);
	real sum = 0;
	for (long h = w.h0; h < w.h1; h++)
		for (long t = w.w0; t < w.w1; t++)
			sum = v_add(sum, a->x[index_of(a, a->in, &e, w.top + h, w.left + t)]);
	a->y[i] = v_div(sum, (real)(a->kernel[0] * a->kernel[1]));
}

NN_MAP(mean_pool_back, struct nn_pool_args)
{
	gather(a, i, false);
}
