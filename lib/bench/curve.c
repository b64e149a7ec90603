/* Curves over the batch, from the rows that were measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "chart/chart.h"
#include "base/memory.h"
#include "bench/curve.h"

#define MOST_CURVES 8
#define MOST_PANELS 4 /* two modes, throughput and latency */
#define PERCENTILES 3
#define KNEE 0.9

struct point {
	double batch, rate, p[PERCENTILES];
};

struct curve {
	const char *mode, *device;
	struct point points[NN_BENCH_BATCHES];
	size_t n;
};

struct nn_curves {
	char title[400], note[512];
	struct curve curves[MOST_CURVES];
	size_t n;
};

int nn_curves_new(struct nn_curves **curves, const char *title, const struct nn_bench *b,
		  struct nn_error *err)
{
	struct nn_curves *c = *curves = nn_alloc(1, sizeof *c, err);

	if (!c)
		return -1;
	nn_one_line(c->title, sizeof c->title, title);
	snprintf(c->note, sizeof c->note, "%s, %d thread%s", b->machine.cpu, b->threads,
		 nn_s(b->threads));
	return 0;
}

void nn_curves_free(struct nn_curves *c)
{
	nn_free(c);
}

void nn_curves_add(struct nn_curves *c, const char *mode, const char *device, double batch,
		   const struct nn_measure *m)
{
	struct curve *curve = c->curves;

	while (curve < c->curves + c->n &&
	       (strcmp(curve->mode, mode) != 0 || strcmp(curve->device, device) != 0))
		curve++;
	if (curve == c->curves + MOST_CURVES || curve->n == NN_BENCH_BATCHES)
		return;
	c->n += curve == c->curves + c->n;
	curve->mode = mode;
	curve->device = device;
	curve->points[curve->n++] =
		(struct point){ batch, batch / m->mean_s, { m->p50_s, m->p90_s, m->p99_s } };
}

/* ---- the knee ---- */

/* The knee of n points with x rising; its index. */
static size_t find_knee(const double *rate, size_t n)
{
	double largest = 0;
	size_t knee = 0;

	for (size_t i = 0; i < n; i++)
		largest = fmax(largest, rate[i]);
	while (knee + 1 < n && !(rate[knee] >= KNEE * largest))
		knee++;
	return knee;
}

static int by_batch(const void *a, const void *b)
{
	double x = ((const struct point *)a)->batch, y = ((const struct point *)b)->batch;

	return (x > y) - (x < y);
}

/* In the order of the batch. */
static struct curve sorted(const struct curve *curve)
{
	struct curve s = *curve;

	qsort(s.points, s.n, sizeof *s.points, by_batch);
	return s;
}

static size_t knee_of(const struct curve *curve)
{
	double rate[NN_BENCH_BATCHES];

	for (size_t i = 0; i < curve->n; i++)
		rate[i] = curve->points[i].rate;
	return find_knee(rate, curve->n);
}

void nn_curves_notes(const struct nn_curves *c, const struct nn_bench *b)
{
	for (size_t i = 0; i < c->n; i++) {
		struct curve curve = sorted(&c->curves[i]);
		const struct point *knee = &curve.points[knee_of(&curve)];

		if (curve.n >= 3)
			nn_bench_note(b,
				      "%s on %s: a batch of %.0f reaches %.4g samples/s, 90 %% of "
				      "the most; larger ones gain little",
				      curve.mode, curve.device, knee->batch, knee->rate);
	}
}

/* ---- the picture ---- */

/* What a panel points to, for all panels. */
struct picture {
	double x[MOST_CURVES][NN_BENCH_BATCHES], rate[MOST_CURVES][NN_BENCH_BATCHES];
	double p[MOST_CURVES][PERCENTILES][NN_BENCH_BATCHES];
	struct nn_chart_series rates[MOST_CURVES], latencies[MOST_CURVES * PERCENTILES];
	struct nn_chart_mark knees[MOST_CURVES];
	char labels[MOST_CURVES][32], names[MOST_CURVES * PERCENTILES][64], titles[MOST_PANELS][64];
	struct nn_chart_panel panels[MOST_PANELS];
	size_t n_curves, n_panels;
};

static void add_curve(struct picture *pic, const struct curve *curve)
{
	static const char *const percentiles[PERCENTILES] = { "p50", "p90", "p99" };
	size_t k = pic->n_curves++, knee = knee_of(curve);

	for (size_t i = 0; i < curve->n; i++) {
		pic->x[k][i] = curve->points[i].batch;
		pic->rate[k][i] = curve->points[i].rate;
		for (int p = 0; p < PERCENTILES; p++)
			pic->p[k][p][i] = curve->points[i].p[p];
	}
	pic->rates[k] = (struct nn_chart_series){ .name = curve->device,
						  .style = NN_CHART_LINE_AND_POINTS,
						  .x = pic->x[k],
						  .y = pic->rate[k],
						  .n = curve->n };
	snprintf(pic->labels[k], sizeof pic->labels[k], "knee: %.0f", curve->points[knee].batch);
	pic->knees[k] = (struct nn_chart_mark){ NN_CHART_RING, curve->points[knee].batch,
						curve->points[knee].rate, pic->labels[k] };
	for (int p = 0; p < PERCENTILES; p++) {
		size_t at = PERCENTILES * k + (size_t)p;

		snprintf(pic->names[at], sizeof pic->names[at], "%s %s", curve->device,
			 percentiles[p]);
		pic->latencies[at] = (struct nn_chart_series){ .name = pic->names[at],
							       .style = NN_CHART_LINE_AND_POINTS,
							       .x = pic->x[k],
							       .y = pic->p[k][p],
							       .n = curve->n };
	}
}

/* Curves first..n_curves-1 are of this mode: a panel of throughput and one of latency. */
static void add_panels(struct picture *pic, const char *mode, size_t first)
{
	size_t n = pic->n_curves - first;
	char *rate = pic->titles[pic->n_panels], *latency = pic->titles[pic->n_panels + 1];

	snprintf(rate, sizeof pic->titles[0], "%s: samples/s", mode);
	snprintf(latency, sizeof pic->titles[0], "%s: latency", mode);
	pic->panels[pic->n_panels++] =
		(struct nn_chart_panel){ .y = { .title = rate, .unit = "", .zero = true },
					 .series = pic->rates + first,
					 .n_series = n,
					 .marks = pic->knees + first,
					 .n_marks = n };
	pic->panels[pic->n_panels++] = (struct nn_chart_panel){
		.y = { .title = latency, .unit = "s", .scale = NN_CHART_LOG10 },
		.series = pic->latencies + PERCENTILES * first,
		.n_series = PERCENTILES * n
	};
}

int nn_curves_plot(const struct nn_curves *c, struct nn_output *output, struct nn_error *err)
{
	static const char *const modes[] = { "predict", "train" };
	struct picture *pic = nn_alloc(1, sizeof *pic, err);
	struct nn_chart chart = { .title = c->title,
				  .note = c->note,
				  .x = { .title = "batch", .scale = NN_CHART_LOG2 } };
	struct nn_text text = { 0 };
	int status = -1;

	for (size_t m = 0; pic && m < sizeof modes / sizeof *modes; m++) {
		size_t first = pic->n_curves;

		for (size_t i = 0; i < c->n; i++)
			if (strcmp(c->curves[i].mode, modes[m]) == 0) {
				struct curve curve = sorted(&c->curves[i]);

				add_curve(pic, &curve);
			}
		if (pic->n_curves > first)
			add_panels(pic, modes[m], first);
	}
	if (pic) {
		chart.panels = pic->panels;
		chart.n_panels = pic->n_panels;
		status = nn_chart_svg(&chart, &text, err);
	}
	if (status == 0)
		status = nn_output_write(output, text.data, text.length, err);
	nn_text_free(&text);
	nn_free(pic);
	return status;
}
