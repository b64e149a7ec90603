/* Training's own promises: how batches are cut, what rate a step has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "base/random.h"
#include "step/cut.h"
#include "step/noise.h"
#include "step/schedule.h"

/* ---- cuts ---- */

/*
 * Add the leaves' numbers the way a step adds gradients: spans fill `block`, finished nodes wait
 * for their neighbour.
 */
static double sum_of_spans(const struct nn_cut *cut, const double *rows)
{
	double waiting[32] = { 0 }, block = 0;

	for (size_t i = 0; i < cut->n_spans; i++) {
		const struct nn_cut_span *s = &cut->spans[i];
		double leaf[4096];
		size_t node = s->node;
		unsigned level = s->level;

		for (size_t l = 0; l < s->span.n_leaves; l++) {
			leaf[l] = l == 0 && !s->span.first ? block : 0;
			for (size_t r = s->span.leaf[l]; r < s->span.leaf[l + 1]; r++)
				leaf[l] += rows[s->row + r];
		}
		for (size_t step = 1; step < s->span.n_leaves; step *= 2)
			for (size_t l = 0; l < s->span.n_leaves; l += 2 * step)
				leaf[l] += leaf[l + step];
		block = leaf[0];
		if (!s->last)
			continue;
		for (; node & 1; node >>= 1, level++)
			block += waiting[level];
		if (level < cut->levels)
			waiting[level] = block;
	}
	return block;
}

static double sum_of_tree(const double *rows, size_t n, size_t n_leaves)
{
	double *leaf = calloc(n_leaves, sizeof *leaf), sum;

	for (size_t i = 0; i < n_leaves; i++)
		for (size_t r = i * n / n_leaves; r < (i + 1) * n / n_leaves; r++)
			leaf[i] += rows[r];
	for (size_t step = 1; step < n_leaves; step *= 2)
		for (size_t i = 0; i < n_leaves; i += 2 * step)
			leaf[i] += leaf[i + step];
	sum = leaf[0];
	free(leaf);
	return sum;
}

/*
 * Every row once, in order; no span larger than allowed; bounds that begin at 0 and end at the
 * span's rows.
 */
static bool well_formed(const struct nn_cut *cut, size_t micro)
{
	size_t row = 0;

	for (size_t i = 0; i < cut->n_spans; i++) {
		const struct nn_cut_span *s = &cut->spans[i];

		if (s->row != row || s->span.rows == 0 || s->span.rows > micro ||
		    s->span.rows > cut->max_rows)
			return false;
		if (s->span.leaf[0] != 0 || s->span.leaf[s->span.n_leaves] != s->span.rows)
			return false;
		row += s->span.rows;
	}
	return row == cut->rows && cut->spans[cut->n_spans - 1].last;
}

static void test_cuts(void)
{
	double rows[200];
	bool shape = true, sums = true;

	for (size_t i = 0; i < 200; i++)
		rows[i] = 1 / (double)(i + 3);
	for (size_t n = 1; n <= 200; n += n < 70 ? 1 : 13)
		for (size_t leaves = 1; leaves <= n && leaves <= 64; leaves *= 2)
			for (size_t micro = 1; micro <= n; micro += micro < 20 ? 1 : 17) {
				struct nn_cut *cut = nn_cut_new(n, leaves, 0, micro,
								nn_cut_share(leaves, 0, 1), NULL);

				shape &= well_formed(cut, micro);
				sums &= sum_of_spans(cut, rows) == sum_of_tree(rows, n, leaves);
				nn_cut_free(cut);
			}
	ok(shape, "cut: spans hold every row once, in order, at most the micro-batch");
	ok(sums, "cut: every micro-batch adds the leaves along the same tree");
}

static bool whole_groups(const struct nn_cut *cut, size_t group)
{
	size_t groups = 0;

	for (size_t i = 0; i < cut->n_spans; i++) {
		const struct nn_span *s = &cut->spans[i].span;

		if (s->group[0] != 0 || s->group[s->n_groups] != s->rows)
			return false;
		for (size_t g = 0; g < s->n_groups; g++, groups++) {
			size_t n = s->group[g + 1] - s->group[g];

			if (groups + 1 < nn_group_count(cut->rows, group)
				    ? n != group
				    : 2 * n < group && cut->rows >= group)
				return false;
		}
	}
	return groups == nn_group_count(cut->rows, group);
}

static void test_groups(void)
{
	bool good = true;

	for (size_t n = 1; n <= 150; n++)
		for (size_t group = 1; group <= 40; group += 3)
			for (size_t leaves = 1; leaves <= nn_group_count(n, group); leaves *= 2)
				for (size_t micro = 1; micro <= n; micro += 7) {
					struct nn_cut *cut =
						nn_cut_new(n, leaves, group, micro,
							   nn_cut_share(leaves, 0, 1), NULL);

					good &= well_formed(cut, n) && whole_groups(cut, group);
					nn_cut_free(cut);
				}
	ok(good, "cut: with batch norm leaves and spans are whole groups");
	ok(nn_group_count(47, 32) == 1 && nn_group_count(48, 32) == 2 &&
		   nn_group_count(10, 32) == 1 && nn_group_count(96, 32) == 3,
	   "cut: a rest under half a group joins the one before");
}

/* ---- schedules ---- */

static double rate(const char *text, double lr, uint64_t warmup, uint64_t planned, uint64_t step)
{
	struct nn_schedule s = { .lr = lr, .warmup = warmup, .planned = planned };

	return nn_schedule_parse(&s, text, NULL) < 0 ? NAN : nn_schedule_rate(&s, step);
}

static void test_schedules(void)
{
	double worst = 0;

	for (uint64_t step = 0; step <= 1000; step++) {
		double wanted = 0.1 * (1 + cos(acos(-1.0) * (double)step / 1000)) / 2;
		double off = fabs(rate("cosine", 0.1, 0, 1000, step) - wanted);

		worst = off > worst ? off : worst;
	}
	ok(worst < 3e-17,
	   "schedule: cosine agrees with libm within two units in the last place (%g)", worst);
	ok(rate("linear", 1, 0, 4, 0) == 1 && rate("linear", 1, 0, 4, 1) == 0.75 &&
		   rate("linear", 1, 0, 4, 3) == 0.25,
	   "schedule: linear falls to one step before 0");
	ok(rate("linear", 1, 4, 8, 0) == 0.25 && rate("linear", 1, 4, 8, 3) == 1 &&
		   rate("linear", 1, 4, 8, 4) == 1 && rate("linear", 1, 4, 8, 6) == 0.5,
	   "schedule: warm-up rises to the rate, then the schedule begins");
	ok(rate("step:10:0.5", 1, 0, 100, 9) == 1 && rate("step:10:0.5", 1, 0, 100, 10) == 0.5 &&
		   rate("step:10:0.5", 1, 0, 100, 35) == 0.125,
	   "schedule: step:N:F multiplies every N steps");
	ok(rate("step", 1, 0, 9, 2) == 1 && rate("step", 1, 0, 9, 3) == 0.1 &&
		   fabs(rate("step", 1, 0, 9, 8) - 0.01) < 1e-17,
	   "schedule: step falls after each third");
	ok(isnan(rate("step:0:0.5", 1, 0, 9, 0)) && isnan(rate("cosin", 1, 0, 9, 0)) &&
		   isnan(rate("step:5:2", 1, 0, 9, 0)),
	   "schedule: what is none is refused");
}

/* ---- the noise scale ---- */

/* About normal: twelve uniform numbers. */
static double normal(uint64_t number)
{
	double sum = -6;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t out[4];

		nn_philox(17, 3, number, i, out);
		for (int k = 0; k < 4; k++)
			sum += out[k] / 4294967296.0;
	}
	return sum;
}

#define D 20

/*
 * Add the squared norm of a sum of `rows` gradients of mean 0.5 and deviation 1.5 in D dimensions
 * to whole, and return it by itself.
 */
static double draw(uint64_t *number, int rows, double *whole)
{
	double sum = 0;

	for (int d = 0; d < D; d++) {
		double v = 0.5 * rows + 1.5 * sqrt(rows) * normal((*number)++);

		whole[d] += v;
		sum += v * v;
	}
	return sum;
}

/*
 * Steps of 40 samples in the parts that are given (0: not measured). tr(covariance) = 20 * 2.25,
 * |mean|^2 = 20 * 0.25, so the scale is 9. Of some forty steps, which count at a time, the scale
 * deviates by 8 % in halves and 21 % in one of them alone (by simulation): by 1 % and 3 % in the
 * mean of 50 such runs, and a quotient has a bias of about its variance. The tolerance is three
 * deviations and that.
 */
static void check_scale(const int *parts, int n, double tolerance, const char *what)
{
	struct nn_noise noise = { 0 };
	uint64_t number = 0;
	double mean = 0;

	ok(isnan(nn_noise_scale(&noise)),
	   "noise: before a step was measured the scale is not known");
	for (int step = 0; step < 50 * 40; step++) {
		struct nn_noise_sums sums = { .rows = 40 };
		double whole[D] = { 0 }, scale = 40.0 * 40.0, part;
		int left = 40;

		for (int i = 0; i < n; left -= parts[i++]) {
			part = draw(&number, parts[i], whole) / scale;
			nn_noise_part(&sums, parts[i], part);
		}
		if (left > 0)
			draw(&number, left, whole);
		for (int d = 0; d < D; d++)
			sums.squares += whole[d] * whole[d] / scale;
		nn_noise_add(&noise, &sums);
		if (step % 40 == 39)
			mean += nn_noise_scale(&noise) / 50;
	}
	if (!ok(fabs(mean / 9 - 1) < tolerance && noise.steps == 2000,
		"noise: gradients of scale 9 in %s have it", what))
		note("%g", mean);
}

static void test_noise(void)
{
	struct nn_noise noise = { 0 };
	struct nn_noise_sums sums = { .rows = 8, .squares = 1 };

	check_scale((const int[]){ 20, 20 }, 2, 0.04, "two halves");
	check_scale((const int[]){ 13, 13, 14 }, 3, 0.04, "three parts, one of them larger");
	check_scale((const int[]){ 20 }, 1, 0.14, "one half alone");
	nn_noise_add(&noise, &sums);
	ok(noise.steps == 0 && isnan(nn_noise_scale(&noise)),
	   "noise: a step without parts counts as none");
	nn_noise_part(&sums, 4, 0.5);
	nn_noise_part(&sums, 4, 0.6);
	nn_noise_add(&noise, &sums);
	ok(isinf(nn_noise_scale(&noise)), "noise: halves that point apart have no mean to tell");
	sums.squares = NAN;
	nn_noise_add(&noise, &sums);
	ok(noise.steps == 1, "noise: what is not finite is left out");
	noise = (struct nn_noise){ 0 };
	ok(nn_noise_due(&noise, 7, 64, 64) && !nn_noise_due(&noise, 8, 64, 64) &&
		   !nn_noise_due(&noise, 70, 64, 64) && !nn_noise_due(&noise, 71, 30, 64) &&
		   nn_noise_due(&noise, 72, 64, 64) && !nn_noise_due(&noise, 135, 64, 64),
	   "noise: whole batches are measured, every 4096 samples");
}

int main(void)
{
	test_cuts();
	test_groups();
	test_schedules();
	test_noise();
	return tap_done();
}
