/*
 * What is drawn for a sample: numbers of one Philox stream, each use an element of its own, and the functions of them
 * in plain arithmetic, as libm's last digits differ between machines.
 */
#include <math.h>

#include "base/logarithm.h"
#include "base/random.h"
#include "data/augment/augment-inside.h"

#define LN2 0.693147180559945309417
#define PI 3.14159265358979323846

/* Uses, in order; further ones come behind, so that none changes what another draws. */
enum use {
	FLIP,
	CROP_Y,
	CROP_X,
	ROTATE,
	SCALE,
	BRIGHTNESS,
	CONTRAST,
	CUT_Y,
	CUT_X,
	PARTNER,
	SHARE = 16, /* and on: pairs, until one is taken */
};
#define MOST_PAIRS 32

/* e^(r) 2^n by its series, r below ln 2 / 2 */
static double exp_of(double v)
{
	double n = floor(v / LN2 + 0.5), r = v - n * LN2, sum = 1;

	for (int k = 14; k > 0; k--)
		sum = 1 + sum * r / k;
	return n < -1000 ? 0 : ldexp(sum, (int)n);
}

double nn_augment_root(double u, double a)
{
	return exp_of(nn_logarithm(u) / a);
}

/* Series of sine and cosine, |v| at most pi. */
static void turn(double v, double *cosine, double *sine)
{
	double square = v * v;

	*cosine = *sine = 1;
	for (int k = 26; k > 0; k -= 2) {
		*cosine = 1 - *cosine * square / ((double)k * (k - 1));
		*sine = 1 - *sine * square / ((double)k * (k + 1));
	}
	*sine *= v;
}

struct source {
	const struct nn_augment *augment;
	uint64_t index;
};

/* [0, 1) */
static double uniform(const struct source *s, uint64_t element)
{
	return (double)nn_uniform(
		nn_random_u32(s->augment->seed, s->index, NN_STREAM_AUGMENT, element));
}

/* 1 - amount to 1 + amount */
static double factor(const struct source *s, enum use use, double amount)
{
	return amount > 0 ? 1 + amount * (2 * uniform(s, use) - 1) : 1;
}

static int shift(const struct source *s, enum use use)
{
	double most = s->augment->rules.crop;

	return most > 0 ? (int)(uniform(s, use) * (2 * most + 1)) - (int)most : 0;
}

/*
 * Beta(a, a) (Joehnk 1964): u^(1/a) and v^(1/a) whose sum is at most 1; the larger share is its own, so that a
 * mixture counts once. Where none of the pairs is taken, which does not happen for a that is worth it, it is a half.
 */
static double draw_share(const struct source *s, double a)
{
	for (unsigned k = 0; k < MOST_PAIRS; k++) {
		double u = nn_augment_root(uniform(s, SHARE + 2 * k) + 0x1p-25, a),
		       v = nn_augment_root(uniform(s, SHARE + 2 * k + 1) + 0x1p-25, a);

		if (u + v > 0 && u + v <= 1)
			return u > v ? u / (u + v) : v / (u + v);
	}
	return 0.5;
}

struct nn_drawn nn_augment_draw(const struct nn_augment *a, uint64_t epoch, uint64_t row)
{
	const struct nn_augment_rules *r = &a->rules;
	struct source s = { a, (epoch << 40) + row };
	struct nn_drawn d = { .index = s.index, .share = 1, .cos = 1 };
	double size = factor(&s, SCALE, r->scale);

	d.flip = r->flip > 0 && uniform(&s, FLIP) < 0.5;
	d.shift_y = shift(&s, CROP_Y);
	d.shift_x = shift(&s, CROP_X);
	d.turns = r->rotate > 0 || r->scale > 0;
	if (r->rotate > 0)
		turn(r->rotate * (2 * uniform(&s, ROTATE) - 1) * (PI / 180), &d.cos, &d.sin);
	d.cos /= size;
	d.sin /= size;
	d.brightness = factor(&s, BRIGHTNESS, r->brightness);
	d.contrast = factor(&s, CONTRAST, r->contrast);
	d.cut_y = uniform(&s, CUT_Y);
	d.cut_x = uniform(&s, CUT_X);
	if (r->mixup > 0) {
		d.partner = uniform(&s, PARTNER);
		d.share = draw_share(&s, r->mixup);
	}
	return d;
}
