/* Curves of a load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/load/plot.h"
#include "chart/chart.h"

#define MOST 64     /* rates: a search takes far fewer */
#define SHARES 1000 /* points of a distribution */

static const double percentiles[] = { 0.5, 0.9, 0.99 };
static const char *const names[] = { "p50", "p90", "p99" };
#define N_PERCENTILES (sizeof percentiles / sizeof *percentiles)

struct point {
	double rate, answered, at[N_PERCENTILES];
};

struct nn_load_plot {
	char title[400], note[512];
	double slo;
	struct point points[MOST];
	size_t n, n_shares;
	double seconds[SHARES], share[SHARES]; /* of the last pass */
	double rate[MOST], answered[MOST], at[N_PERCENTILES][MOST];
};

int nn_load_plot_new(struct nn_load_plot **plot, const char *title, const struct nn_bench *b,
		     double slo, struct nn_error *err)
{
	struct nn_load_plot *p = *plot = nn_alloc(1, sizeof *p, err);

	if (!p)
		return -1;
	nn_one_line(p->title, sizeof p->title, title);
	nn_one_line(p->note, sizeof p->note, b->machine.cpu);
	p->slo = slo;
	return 0;
}

void nn_load_plot_free(struct nn_load_plot *p)
{
	nn_free(p);
}

void nn_load_plot_add(struct nn_load_plot *p, double rate, const struct nn_load_result *r)
{
	double answered = r->elapsed > 0 ? (double)r->ok / r->elapsed : NAN;
	struct point *point = &p->points[p->n];

	if (p->n == MOST || r->ok == 0)
		return;
	*point = (struct point){ .rate = rate > 0 ? rate : answered, .answered = answered };
	for (size_t i = 0; i < N_PERCENTILES; i++)
		point->at[i] = nn_load_latency_at(&r->latency, percentiles[i]);
	p->n++;
	p->n_shares = r->ok < SHARES ? (size_t)r->ok : SHARES;
	for (size_t i = 0; i < p->n_shares; i++) {
		p->share[i] = (double)(i + 1) / (double)p->n_shares;
		p->seconds[i] = nn_load_latency_least(&r->latency, p->share[i]);
	}
}

/* ---- one pass: its distribution ---- */

static int draw_shares(const struct nn_load_plot *p, struct nn_text *text, struct nn_error *err)
{
	const struct nn_chart_series series = {
		.style = NN_CHART_LINE, .x = p->seconds, .y = p->share, .n = p->n_shares
	};
	struct nn_chart_mark marks[N_PERCENTILES];
	struct nn_chart_panel panel = { .y = { .title = "answered within it", .zero = true, .share = true },
					.series = &series,
					.n_series = 1,
					.marks = marks };
	const struct nn_chart chart = { .title = p->title,
					.note = p->note,
					.x = { .title = "time since the request was due",
					       .unit = "s",
					       .scale = NN_CHART_LOG10 },
					.panels = &panel,
					.n_panels = 1 };

	for (size_t i = 0; p->n > 0 && i < N_PERCENTILES; i++)
		if (isfinite(p->points[0].at[i]))
			marks[panel.n_marks++] =
				(struct nn_chart_mark){ NN_CHART_RING, p->points[0].at[i],
							percentiles[i], names[i] };
	return nn_chart_svg(&chart, text, err);
}

/* ---- several: over the rate ---- */

static int by_rate(const void *a, const void *b)
{
	double x = ((const struct point *)a)->rate, y = ((const struct point *)b)->rate;

	return (x > y) - (x < y);
}

static int draw_rates(struct nn_load_plot *p, struct nn_text *text, struct nn_error *err)
{
	const struct nn_chart_mark slo = { NN_CHART_AT_Y, 0, p->slo, "--slo" };
	struct nn_chart_series latencies[N_PERCENTILES];
	const struct nn_chart_series answered = {
		.style = NN_CHART_LINE_AND_POINTS, .x = p->rate, .y = p->answered, .n = p->n
	};
	const struct nn_chart_panel panels[] = {
		{ .y = { .title = "latency", .unit = "s", .scale = NN_CHART_LOG10 },
		  .series = latencies,
		  .n_series = N_PERCENTILES,
		  .marks = &slo,
		  .n_marks = p->slo > 0 },
		{ .y = { .title = "answered per second", .unit = "", .zero = true },
		  .series = &answered,
		  .n_series = 1 },
	};
	const struct nn_chart chart = {
		.title = p->title,
		.note = p->note,
		.x = { .title = "requests per second", .unit = "", .scale = NN_CHART_LOG10 },
		.panels = panels,
		.n_panels = 2
	};

	qsort(p->points, p->n, sizeof *p->points, by_rate);
	for (size_t k = 0; k < p->n; k++) {
		p->rate[k] = p->points[k].rate;
		p->answered[k] = p->points[k].answered;
		for (size_t i = 0; i < N_PERCENTILES; i++)
			p->at[i][k] = p->points[k].at[i];
	}
	for (size_t i = 0; i < N_PERCENTILES; i++)
		latencies[i] = (struct nn_chart_series){ .name = names[i],
							 .style = NN_CHART_LINE_AND_POINTS,
							 .x = p->rate,
							 .y = p->at[i],
							 .n = p->n };
	return nn_chart_svg(&chart, text, err);
}

int nn_load_plot_write(struct nn_load_plot *p, struct nn_output *output, struct nn_error *err)
{
	struct nn_text text = { 0 };
	int status = p->slo > 0 ? draw_rates(p, &text, err) : draw_shares(p, &text, err);

	if (status == 0)
		status = nn_output_write(output, text.data, text.length, err);
	nn_text_free(&text);
	return status;
}
