/*
 * Curves of bounded size: each time they are full, neighbours are joined and every point stands for
 * twice as many steps.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "chart/chart.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/tell/curve.h"
#include "train/tell/examples.h"
#include "train/job.h"
#include "train/figures.h"

#define MOST 256   /* points of a curve; even */
#define WIDE 20.0  /* losses that differ by more are drawn on a logarithmic axis */
#define REST_S 3.0 /* between two pictures while training */

/* Some consecutive steps as one point. */
struct curve_span {
	uint64_t from, to, rows;      /* steps [from, to] */
	double loss, weight, seconds; /* loss: sum of loss * weight */
};

struct evaluation {
	uint64_t step;
	double valid_loss, metric;
};

struct nn_curve {
	char *path;
	struct nn_output *output; /* open until something was written */
	bool replaces;            /* a regular file: it can be written again and again */
	double written_s;
	struct curve_span spans[MOST];
	size_t n_spans;
	uint64_t per_span; /* steps of a full one */
	struct evaluation evaluations[MOST];
	size_t n_evaluations;
	uint64_t per_evaluation,
		evaluated; /* one in per_evaluation evaluations is kept; of how many */
	uint64_t best_step;
	double best;
};

int nn_curve_open(struct nn_curve **curve, const char *path, struct nn_error *err)
{
	struct nn_curve *c;

	*curve = NULL;
	if (!path)
		return 0;
	if (!(c = nn_alloc(1, sizeof *c, err)))
		return -1;
	c->per_span = c->per_evaluation = 1;
	if (!(c->path = nn_strdup(path, err)) || nn_output_open(&c->output, path, false, err) < 0) {
		nn_curve_free(c);
		return -1;
	}
	c->replaces = nn_output_is_regular(c->output);
	*curve = c;
	return 0;
}

void nn_curve_free(struct nn_curve *c)
{
	if (!c)
		return;
	nn_output_abort(c->output);
	nn_free(c->path);
	nn_free(c);
}

/* ---- collecting ---- */

static void join_spans(struct nn_curve *c)
{
	for (size_t i = 0; i < MOST / 2; i++) {
		const struct curve_span *a = &c->spans[2 * i], *b = a + 1;

		c->spans[i] = (struct curve_span){ a->from,
						   b->to,
						   a->rows + b->rows,
						   a->loss + b->loss,
						   a->weight + b->weight,
						   a->seconds + b->seconds };
	}
	c->n_spans = MOST / 2;
	c->per_span *= 2;
}

void nn_curve_step(struct nn_curve *c, uint64_t step, double loss, double weight, uint64_t rows,
		   double seconds)
{
	struct curve_span *last;

	if (!c)
		return;
	last = c->n_spans ? &c->spans[c->n_spans - 1] : NULL;
	if (!last || last->to - last->from + 1 >= c->per_span) {
		if (c->n_spans == MOST)
			join_spans(c);
		last = &c->spans[c->n_spans++];
		*last = (struct curve_span){ .from = step };
	}
	last->to = step;
	last->rows += rows;
	last->loss += loss * weight;
	last->weight += weight;
	last->seconds += seconds;
}

void nn_curve_evaluation(struct nn_curve *c, uint64_t step, double valid_loss, double metric,
			 bool best)
{
	if (!c)
		return;
	if (best) {
		c->best_step = step;
		c->best = metric;
	}
	if (c->evaluated++ % c->per_evaluation != 0)
		return;
	if (c->n_evaluations == MOST) {
		for (size_t i = 0; i < MOST / 2; i++)
			c->evaluations[i] = c->evaluations[2 * i];
		c->n_evaluations = MOST / 2;
		c->per_evaluation *= 2;
	}
	c->evaluations[c->n_evaluations++] = (struct evaluation){ step, valid_loss, metric };
}

/* ---- drawing ---- */

struct drawing {
	double at[MOST], loss[MOST], rate[MOST];              /* of spans */
	double evaluated_at[MOST], valid[MOST], metric[MOST]; /* of evaluations */
};

/* Epochs as soon as there is one to speak of, else steps. */
static double place(const struct nn_train *t, double step)
{
	return t->counters.step >= t->task.steps_per_epoch ? step / (double)t->task.steps_per_epoch
							   : step;
}

static void fill(struct drawing *d, const struct nn_curve *c, const struct nn_train *t)
{
	for (size_t i = 0; i < c->n_spans; i++) {
		const struct curve_span *s = &c->spans[i];

		d->at[i] = place(t, ((double)s->from + (double)s->to) / 2);
		d->loss[i] = s->weight > 0 ? s->loss / s->weight : NAN;
		d->rate[i] = s->seconds > 0 ? (double)s->rows / s->seconds : NAN;
	}
	for (size_t i = 0; i < c->n_evaluations; i++) {
		d->evaluated_at[i] = place(t, (double)c->evaluations[i].step);
		d->valid[i] = c->evaluations[i].valid_loss;
		d->metric[i] = c->evaluations[i].metric;
	}
}

/* The largest loss by the smallest; 0 where one is not above 0. */
static double spread(const struct drawing *d, const struct nn_curve *c)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < c->n_spans; i++) {
		least = fmin(least, d->loss[i]);
		most = fmax(most, d->loss[i]);
	}
	for (size_t i = 0; i < c->n_evaluations; i++) {
		least = fmin(least, d->valid[i]);
		most = fmax(most, d->valid[i]);
	}
	return least > 0 ? most / least : 0;
}

static void add_title(struct nn_text *text, const char *string, size_t most)
{
	size_t n = strcspn(string, "\n"), cut = n > most ? nn_utf8_prefix(string, most) : n;

	nn_text_add_bytes(text, string, cut);
	if (cut < strlen(string))
		nn_text_add(text, "...");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void describe(const struct nn_train *t, struct nn_text *title, struct nn_text *note)
{
	const struct nn_train_options *o = t->options;
	char lr[NN_NUMBER];

	add_title(title,
		  strchr(o->model, ' ') || strchr(o->model, '\n') ? o->model : base_name(o->model),
		  46);
	nn_text_add(title, " on ");
	add_title(title, base_name(t->setup.data_path), 30);
	nn_format_f64(lr, o->recipe.lr);
	nn_text_addf(
		note,
		"%llu sample%s, batch %llu, %s, lr %s, seed %llu; %d thread%s; after step %llu",
		(unsigned long long)t->task.n_rows, nn_s(t->task.n_rows),
		(unsigned long long)o->recipe.batch, nn_optimizers[o->recipe.optimizer].name, lr,
		(unsigned long long)t->std->seed, nn_pool_threads(t->task.pool),
		nn_s(nn_pool_threads(t->task.pool)), (unsigned long long)t->counters.step);
	if (t->worker.started_step > 0)
		nn_text_addf(note, ", resumed at %llu", (unsigned long long)t->worker.started_step);
}

/* The chart as it is, and below it what was answered at the last evaluation. */
static int draw_answers(struct nn_chart *chart, const struct nn_train *t, struct nn_text *svg,
			struct nn_error *err)
{
	struct nn_confused *confused;
	struct nn_examples *examples = NULL;
	int status = nn_confused_new(&confused, t, err);

	if (status == 0)
		status = nn_examples_new(&examples, t, err);
	if (status == 0) {
		chart->confusion = nn_confused_chart(confused);
		chart->gallery = nn_examples_chart(examples);
		status = nn_chart_svg(chart, svg, err);
	}
	nn_confused_free(confused);
	nn_examples_free(examples);
	return status;
}

static int draw(const struct nn_curve *c, const struct nn_train *t, struct drawing *d,
		struct nn_text *svg, struct nn_error *err)
{
	struct nn_text title = { 0 }, note = { 0 };
	bool metric = strcmp(t->metric, "loss") != 0;
	char metric_name[NN_METRIC_NAME + 8], best[64];
	struct nn_chart_series losses[] = {
		{ "training", NN_CHART_LINE, d->at, d->loss, c->n_spans, NULL, NULL },
		{ "held out", NN_CHART_LINE_AND_POINTS, d->evaluated_at, d->valid, c->n_evaluations,
		  NULL, NULL },
	};
	struct nn_chart_series metrics = { NULL,      NN_CHART_LINE_AND_POINTS, d->evaluated_at,
					   d->metric, c->n_evaluations,         NULL,
					   NULL };
	struct nn_chart_series rates = {
		NULL, NN_CHART_LINE, d->at, d->rate, c->n_spans, NULL, NULL
	};
	struct nn_chart_mark mark = { NN_CHART_RING, place(t, (double)c->best_step), c->best,
				      best };
	struct nn_chart_panel panels[3] = {
		{ .y = { .title = "loss", .zero = true },
		  .series = losses,
		  .n_series = t->evaluator ? 2 : 1 },
		{ .y = { .title = metric_name, .share = nn_metric_is_share(t->metric) },
		  .series = &metrics,
		  .n_series = 1,
		  .marks = &mark,
		  .n_marks = c->best_step > 0 },
		{ .y = { .title = "throughput", .unit = "samples/s", .zero = true },
		  .series = &rates,
		  .n_series = 1 },
	};
	struct nn_chart chart = {
		.x = { .title = t->counters.step >= t->task.steps_per_epoch ? "epoch" : "step",
		       .whole = true },
		.panels = panels,
		.n_panels = 3
	};
	int status;

	snprintf(metric_name, sizeof metric_name, "%s%s", t->evaluator ? "" : "train_", t->metric);
	snprintf(best, sizeof best, "best %.4g", c->best);
	panels[0].y.scale = spread(d, c) > WIDE ? NN_CHART_LOG10 : NN_CHART_LINEAR;
	if (!metric) { /* the loss's own panel shows which evaluation was best */
		panels[0].marks = t->evaluator ? &mark : NULL;
		panels[0].n_marks = t->evaluator ? panels[1].n_marks : 0;
		panels[1] = panels[2];
		chart.n_panels = 2;
	}
	describe(t, &title, &note);
	chart.title = title.data;
	chart.note = note.data;
	status = title.failed || note.failed
			 ? nn_fail(err, NN_ENOMEM, "cannot allocate the text of a chart")
			 : draw_answers(&chart, t, svg, err);
	nn_text_free(&title);
	nn_text_free(&note);
	return status;
}

static int write_picture(struct nn_curve *c, const struct nn_text *svg, struct nn_error *err)
{
	struct nn_output *output = c->output;
	int status;

	if (!output && nn_output_open(&output, c->path, false, err) < 0)
		return -1;
	c->output = NULL;
	status = nn_output_write(output, svg->data, svg->length, err);
	if (status == 0)
		return nn_output_commit(output, err);
	nn_output_abort(output);
	return status;
}

int nn_curve_write(struct nn_curve *c, const struct nn_train *t, bool last, struct nn_error *err)
{
	struct nn_text svg = { 0 };
	struct drawing *d;
	int status;

	if (!c || (!last && (!c->replaces || nn_now_s() - c->written_s < REST_S)))
		return 0;
	if (!(d = nn_alloc(1, sizeof *d, err)))
		return -1;
	fill(d, c, t);
	status = draw(c, t, d, &svg, err);
	if (status == 0)
		status = write_picture(c, &svg, err);
	c->written_s = nn_now_s();
	nn_text_free(&svg);
	nn_free(d);
	return status;
}
