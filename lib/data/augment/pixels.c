/* Pixels moved, coloured, covered and mixed. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/random.h"
#include "base/real.h"
#include "base/wide.h"
#include "data/augment/augment-inside.h"

/* How a picture lies: planes of pixels with their channels. */
struct grid {
	size_t planes;
	int channels, height, width;
	double per_x, per_y; /* pixels of the input for one of it */
	bool whole;          /* they are one */
};

static struct grid grid_of(const struct nn_augment_picture *p, const struct nn_augment_picture *input,
			   bool channels_last)
{
	bool planes = p->planes || !channels_last;
	struct grid g = { .planes = p->classes || !planes ? 1 : p->channels,
			  .channels = p->classes || planes ? 1 : (int)p->channels,
			  .height = (int)p->height,
			  .width = (int)p->width };

	g.per_x = (double)input->width / (double)p->width;
	g.per_y = (double)input->height / (double)p->height;
	g.whole = input->width == p->width && input->height == p->height;
	return g;
}

/* Where pixel (x, y) comes from: turned about the middle, shifted, flipped, in the input's pixels. */
static inline void where_from(const struct grid *g, const struct nn_drawn *d, int x, int y, double *u,
			      double *v)
{
	double dx = (x + 0.5 - 0.5 * g->width) * g->per_x, dy = (y + 0.5 - 0.5 * g->height) * g->per_y,
	       from_x = d->cos * dx - d->sin * dy + d->shift_x,
	       from_y = d->sin * dx + d->cos * dy + d->shift_y;

	*u = (d->flip ? -from_x : from_x) / g->per_x + 0.5 * g->width - 0.5;
	*v = from_y / g->per_y + 0.5 * g->height - 0.5;
}

#define T int32_t
#define NAME(name) classes_##name
#include "data/augment/pixels.h"
#define BLEND
#define T float
#define NAME(name) f32_##name
#include "data/augment/pixels.h"
#define T double
#define NAME(name) f64_##name
#include "data/augment/pixels.h"

bool nn_augment_moves(const struct nn_drawn *d)
{
	return d->flip || d->shift_x || d->shift_y || d->turns;
}

void nn_augment_move(const struct nn_augment_picture *picture, const struct nn_augment_picture *input,
		     enum nn_dtype dtype, bool channels_last, const struct nn_drawn *d,
		     const void *from, void *to)
{
	struct grid g = grid_of(picture, input, channels_last);

	if (picture->classes)
		classes_move(&g, d, from, to, NN_CLASS_IGNORED);
	else if (dtype == NN_F64)
		f64_move(&g, d, from, to, 0);
	else
		f32_move(&g, d, from, to, 0);
}

/* Each value has a number of its own, in the order that batches have. */
static void add_noise(const struct nn_augment *a, const struct nn_augment_picture *p,
		      const struct nn_drawn *d, void *values)
{
	size_t real = nn_dtype_size(a->dtype), positions = p->height * p->width;
	uint32_t numbers[4 * 64];

	for (size_t at = 0, n; at < p->channels * positions; at += n) {
		n = p->channels * positions - at < 256 ? p->channels * positions - at : 256;
		for (uint32_t k = 0; k < (n + 3) / 4; k++)
			nn_philox(a->seed, d->index, NN_STREAM_NOISE, (uint32_t)(at / 4) + k,
				  numbers + 4 * (size_t)k);
		if (a->dtype == NN_F64)
			f64_noise((double *)values + at, (const unsigned char *)numbers, n,
				  a->rules.noise);
		else
			f32_noise((float *)((char *)values + at * real),
				  (const unsigned char *)numbers, n, (float)a->rules.noise);
	}
}

static void cut_out(const struct nn_augment *a, const struct nn_augment_picture *p, bool channels_last,
		    const struct nn_drawn *d, void *values)
{
	struct grid g = grid_of(p, a->size, channels_last);
	int size = (int)a->rules.cutout, x = (int)(d->cut_x * g.width) - size / 2,
	    y = (int)(d->cut_y * g.height) - size / 2;

	if (a->dtype == NN_F64)
		f64_cut(&g, values, x, y, size);
	else
		f32_cut(&g, values, x, y, size);
}

void nn_augment_colours(const struct nn_augment *a, const struct nn_augment_picture *p,
			bool channels_last, const struct nn_drawn *d, void *values)
{
	size_t n = p->channels * p->height * p->width;
	bool even = a->rules.contrast > 0;

	if (a->rules.brightness > 0 || even) {
		if (a->dtype == NN_F64)
			f64_colours(values, n, d->brightness, d->contrast,
				    even ? f64_mean(values, n) * d->brightness : 0);
		else
			f32_colours(values, n, (float)d->brightness, (float)d->contrast,
				    even ? f32_mean(values, n) * (float)d->brightness : 0);
	}
	if (a->rules.noise > 0)
		add_noise(a, p, d, values);
	if (a->rules.cutout > 0)
		cut_out(a, p, channels_last, d, values);
}

void nn_augment_mix(enum nn_dtype dtype, size_t n, double share, const void *others, void *values)
{
	if (dtype == NN_F64)
		f64_mix(values, others, n, share);
	else
		f32_mix(values, others, n, (float)share);
}
