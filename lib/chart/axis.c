/*
 * Ranges, ticks and their labels: steps of 1, 2, 5 times a power of ten, powers of two or ten on
 * logarithmic axes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/axis.h"

#define FAR 1e300 /* beyond it differences would overflow */
#define PAD 0.025 /* of the range, beside data that reach to the edge */

void nn_scale_init(struct nn_scale *s, const struct nn_chart_axis *axis)
{
	*s = (struct nn_scale){ .axis = axis };
	if (axis->from < axis->to) {
		nn_scale_see(s, axis->from);
		nn_scale_see(s, axis->to);
		s->any = false;
	}
}

bool nn_scale_takes(const struct nn_scale *s, double value)
{
	return isfinite(value) && (s->axis->scale == NN_CHART_LINEAR || value > 0);
}

static double measure(const struct nn_scale *s, double value)
{
	if (s->axis->scale == NN_CHART_LOG2)
		return log2(value);
	if (s->axis->scale == NN_CHART_LOG10)
		return log10(value);
	return fmin(fmax(value, -FAR), FAR);
}

void nn_scale_see(struct nn_scale *s, double value)
{
	double at;

	if (!nn_scale_takes(s, value))
		return;
	at = measure(s, value);
	s->low = s->begun ? fmin(s->low, at) : at;
	s->high = s->begun ? fmax(s->high, at) : at;
	s->any = s->begun = true;
}

double nn_scale_place(const struct nn_scale *s, double value)
{
	double share = (measure(s, value) - s->begin) / (s->end - s->begin);

	return s->first + share * (s->last - s->first);
}

double nn_scale_tick(const struct nn_scale *s, int tick)
{
	return s->first +
	       (s->ticks[tick].at - s->begin) / (s->end - s->begin) * (s->last - s->first);
}

bool nn_scale_short_unit(const struct nn_chart_axis *axis)
{
	return axis->unit && strlen(axis->unit) <= 2;
}

/* ---- labels ---- */

static int floor_to(int value, int step)
{
	return value >= 0 ? value / step * step : -((-value + step - 1) / step * step);
}

/*
 * The power of ten (a multiple of 3) that the label of a number about 10^exponent leaves to its
 * suffix.
 */
static int suffix_exponent(const struct nn_chart_axis *axis, int exponent)
{
	if (!axis->unit || (exponent < 0 && !nn_scale_short_unit(axis))) /* no milli-FLOP/B */
		return exponent >= -4 && exponent < 6 ? 0 : exponent;
	return exponent >= -9 && exponent < 21 ? floor_to(exponent, 3) : exponent;
}

static void add_suffix(const struct nn_chart_axis *axis, int exponent, char *label, size_t room)
{
	static const char *const prefixes[] = { "n", "\xc2\xb5", "m", "",  "k",
						"M", "G",        "T", "P", "E" };
	size_t n = strlen(label);

	if (!axis->unit || exponent % 3 != 0 || exponent < -9 || exponent > 18) {
		if (exponent != 0)
			n += (size_t)snprintf(label + n, room - n, "e%d", exponent);
		if (nn_scale_short_unit(axis) && n < room)
			snprintf(label + n, room - n, " %s", axis->unit);
		return;
	}
	snprintf(label + n, room - n, "%s%s%s", nn_scale_short_unit(axis) ? " " : "",
		 prefixes[exponent / 3 + 3], nn_scale_short_unit(axis) ? axis->unit : "");
}

/*
 * number * 10^exponent, with 10^-suffix taken out; in whole numbers, so that every libc prints the
 * same.
 */
static void decimal_label(const struct nn_chart_axis *axis, long long number, int exponent,
			  int suffix, char *label, size_t room)
{
	unsigned long long whole = (unsigned long long)(number < 0 ? -number : number), divisor = 1;
	int places = suffix - exponent;

	if (number == 0) {
		snprintf(label, room, "0");
		return;
	}
	for (; places < 0; places++)
		whole *= 10;
	places = places < 17 ? places : 17;
	for (int i = 0; i < places; i++)
		divisor *= 10;
	if (places > 0)
		snprintf(label, room, "%s%llu.%0*llu", number < 0 ? "\xe2\x88\x92" : "",
			 whole / divisor, places, whole % divisor);
	else
		snprintf(label, room, "%s%llu", number < 0 ? "\xe2\x88\x92" : "", whole);
	add_suffix(axis, suffix, label, room);
}

static void power_of_two_label(const struct nn_chart_axis *axis, int power, char *label,
			       size_t room)
{
	static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	const char *space = nn_scale_short_unit(axis) ? " " : "",
		   *unit = nn_scale_short_unit(axis) ? axis->unit : "";

	if (power >= 0 && power <= 14)
		snprintf(label, room, "%d%s%s", 1 << power, space, unit);
	else if (power > 14 && power < 70)
		snprintf(label, room, "%d%s%s%s", 1 << power % 10, space, binary[power / 10], unit);
	else if (power < 0 && power >= -10)
		snprintf(label, room, "1/%d%s%s", 1 << -power, space, unit);
	else
		snprintf(label, room, "2^%d%s%s", power, space, unit);
}

/* ---- ticks ---- */

static struct nn_chart_tick *add_tick(struct nn_scale *s, double at, bool labelled)
{
	struct nn_chart_tick *tick = &s->ticks[s->n_ticks];

	if (s->n_ticks == NN_CHART_TICKS || at < s->begin - 1e-9 * (s->end - s->begin) ||
	    at > s->end + 1e-9 * (s->end - s->begin))
		return NULL;
	s->n_ticks++;
	*tick = (struct nn_chart_tick){ .at = at, .labelled = labelled };
	return tick;
}

/* 1, 2 or 5 times 10^*exponent: the smallest that cuts the range into at most `wanted` parts. */
static int nice_step(double range, int wanted, int *exponent)
{
	double rough = range / wanted, unit;
	int e = (int)floor(log10(rough));

	unit = pow(10, e);
	*exponent = e;
	for (int m = 1; m <= 5; m = m == 1 ? 2 : m == 2 ? 5 : 6)
		if (rough <= m * unit * (1 + 1e-9))
			return m;
	*exponent = e + 1;
	return 1;
}

static void linear_ticks(struct nn_scale *s, int wanted, bool whole)
{
	int exponent, m = nice_step(s->end - s->begin, wanted, &exponent), suffix;
	double step, from, to, largest;

	if (s->axis->whole && exponent < 0)
		m = 1, exponent = 0;
	step = m * pow(10, exponent);
	if (whole) {
		s->begin = step * floor(s->begin / step + 1e-9);
		s->end = step * ceil(s->end / step - 1e-9);
	}
	from = ceil(s->begin / step - 1e-9);
	to = floor(s->end / step + 1e-9);
	largest = fmax(fabs(from), fabs(to)) * step;
	suffix = suffix_exponent(s->axis, largest > 0 ? (int)floor(log10(largest) + 1e-9) : 0);
	for (double i = from; i <= to; i++) {
		struct nn_chart_tick *tick = add_tick(s, i * step, true);

		if (tick)
			decimal_label(s->axis, (long long)i * m, exponent, suffix, tick->label,
				      sizeof tick->label);
	}
}

/* The logarithm moved to that of 1, 2, 5 or 10 times a power of ten, down (or up). */
static double whole_decimal(double at, bool up)
{
	static const double steps[] = { 0, 0.30102999566398120, 0.69897000433601880, 1 };
	double e = floor(at + 1e-9), best = up ? e + 1 : e;

	for (int i = 0; i < 4; i++)
		if (up ? e + steps[i] >= at - 1e-9 && e + steps[i] < best
		       : e + steps[i] <= at + 1e-9)
			best = e + steps[i];
	return best;
}

/* Decades; 2 and 5 of each where few are shown, and finer lines between. */
static void decimal_ticks(struct nn_scale *s, int wanted, bool whole)
{
	int from, to, every;
	bool few;

	if (whole) {
		s->begin = whole_decimal(s->begin, false);
		s->end = whole_decimal(s->end, true);
	}
	from = (int)floor(s->begin + 1e-9);
	to = (int)ceil(s->end - 1e-9);
	every = (to - from - 1) / wanted + 1;
	few = s->end - s->begin <= wanted / 2.4;
	for (int e = from; e <= to; e++)
		for (int m = 1; m < 10; m++) {
			bool labelled = (m == 1 && e % every == 0) || (few && (m == 2 || m == 5));
			struct nn_chart_tick *tick = labelled || to - from <= 5
							     ? add_tick(s, e + log10(m), labelled)
							     : NULL;

			if (tick && labelled)
				decimal_label(s->axis, m, e, suffix_exponent(s->axis, e),
					      tick->label, sizeof tick->label);
		}
}

static void binary_ticks(struct nn_scale *s, int wanted, bool whole)
{
	int every = (int)(s->end - s->begin - 0.9) / wanted + 1;

	if (whole) {
		s->begin = every * floor(s->begin / every + 1e-9);
		s->end = every * ceil(s->end / every - 1e-9);
	}
	for (int e = every * (int)ceil(s->begin / every - 1e-9), to = (int)floor(s->end + 1e-9);
	     e <= to; e += every) {
		struct nn_chart_tick *tick = add_tick(s, e, true);

		if (tick)
			power_of_two_label(s->axis, e, tick->label, sizeof tick->label);
	}
}

/* A range that is too narrow to be cut is widened around its value. */
static void widen(struct nn_scale *s)
{
	double size = fmax(fabs(s->begin), fabs(s->end)), range = s->end - s->begin;

	if (s->axis->scale == NN_CHART_LOG2 && range < 2) {
		s->begin = floor(s->begin + 1e-9) - (range < 1);
		s->end = ceil(s->end - 1e-9) + (range < 1);
	} else if (s->axis->scale == NN_CHART_LOG10 && range < 0.5) {
		s->begin -= 0.3;
		s->end += 0.3;
	} else if (s->axis->scale == NN_CHART_LINEAR && (range <= 1e-9 * size || range < 1e-290)) {
		double by = size > 1e-290 ? 0.1 * size : 1;

		s->begin -= by;
		s->end += by;
	}
}

void nn_scale_finish(struct nn_scale *s, int wanted, bool whole)
{
	bool share = s->axis->share && s->axis->scale == NN_CHART_LINEAR && s->high <= 1;
	double pad;

	s->begin = s->low;
	s->end = s->high;
	if (s->axis->zero && s->axis->scale == NN_CHART_LINEAR) {
		s->begin = fmin(s->begin, 0);
		s->end = fmax(s->end, 0);
	}
	if (share)
		s->end = 1;
	widen(s);
	if (share)
		s->end = 1;
	if (s->axis->zero && s->axis->scale == NN_CHART_LINEAR && s->low >= 0)
		s->begin = 0;
	pad = whole ? 0 : PAD * (s->end - s->begin);
	s->begin -= pad;
	s->end += pad;
	if (s->axis->scale == NN_CHART_LINEAR)
		linear_ticks(s, wanted, whole);
	else if (s->axis->scale == NN_CHART_LOG10)
		decimal_ticks(s, wanted, whole);
	else
		binary_ticks(s, wanted, whole);
}
