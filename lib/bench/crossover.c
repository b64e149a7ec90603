/*
 * nn-bench crossover: by bisection, the batch and the width from which on the second device wins.
 *
 * Two rows per axis: the last value at which a wins and the first at which b does. Axes are batch,
 * width and, for devices with copies, batch_nocopy and width_nocopy.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/comparison.h"
#include "model/widen.h"

#define MOST_BATCH 4096 /* where --batch does not say it */
#define MOST_WIDTH 8192
#define POINTS 128
#define SAMPLE_BYTES ((size_t)4 << 20)

static const struct nn_report_column columns[] = {
	{ "axis", 13, 0 },   { "value", 0, 0 }, { "a", 14, 0 },         { "b", 14, 0 },
	{ "a_s", 0, 0 },     { "b_s", 0, 0 },   { "b_nocopy_s", 0, 3 }, { "b_first_s", 0, 2 },
	{ "winner", 14, 0 }, { "check", 8, 1 }, { NULL, 0, 0 },
};

struct contender {
	const char *name; /* of a device */
	int threads;
	enum nn_dtype dtype;
	char label[32]; /* as rows say it: "cuda", "cpu 1 thread" */
};

struct crossover {
	struct nn_bench *b;
	struct nn_bench_work w;
	const char *operand;
	const struct contender *sides[2]; /* a, b */
	enum nn_bench_mode mode;
	bool width;         /* the axis */
	size_t batch, most; /* of the width axis; the largest value of this axis */
	size_t widest;
	struct {
		size_t value;
		struct nn_comparison_times times;
	} points[POINTS];
	size_t n_points;
};

/* ---- one point ---- */

struct scale {
	size_t from, to;
};

static size_t scaled(void *arg, size_t out)
{
	const struct scale *s = arg;
	double width = round((double)out * (double)s->to / (double)s->from);

	return width < 1 ? 1 : (size_t)width;
}

/* One side, with a model as wide as asked, which is opened; width 0: as wide as it is. */
static int open_side(const struct crossover *c, const struct contender *side, size_t batch,
		     size_t width, struct nn_bench_model **subject, struct nn_trial_options *way,
		     struct nn_error *err)
{
	struct scale s = { c->widest, width };
	struct nn_text text = { 0 };
	int status = width ? nn_widened(c->w.subject->net, scaled, &s, &text, err) : 0;

	if (status == 0)
		status = nn_bench_model_open(subject, width ? text.data : c->operand,
					     1 + (int)side->dtype, c->b->std->seed, err);
	nn_text_free(&text);
	if (status < 0)
		return -1;
	*way = (struct nn_trial_options){ .subject = *subject,
					  .threads = side->threads,
					  .mode = c->mode,
					  .batch = batch,
					  .most_bytes = SAMPLE_BYTES };
	way->device = nn_bench_device(c->b, side->name, side->dtype, err);
	return way->device ? 0 : -1;
}

static int measure_point(struct crossover *c, size_t value, struct nn_comparison_times *times,
			 struct nn_error *err)
{
	struct nn_trial_options ways[2];
	struct nn_bench_model *subjects[2] = { NULL, NULL };
	int status = 0;

	for (int i = 0; i < 2 && status == 0; i++)
		status = open_side(c, c->sides[i], c->width ? c->batch : value,
				   c->width ? value : 0, &subjects[i], &ways[i], err);
	if (status == 0)
		status = nn_comparison(c->b, ways, times, err);
	nn_bench_model_free(subjects[0]);
	nn_bench_model_free(subjects[1]);
	return status;
}

/* Does the largest batch fit b? */
static int check_fits(struct crossover *c, size_t batch, struct nn_error *err)
{
	struct nn_trial_options way;
	struct nn_bench_model *subject = NULL;
	struct nn_trial *trial = NULL;
	int status = open_side(c, c->sides[1], batch, 0, &subject, &way, err);

	if (status == 0)
		status = nn_trial_new(&trial, &way, err);
	nn_trial_free(trial);
	nn_bench_model_free(subject);
	return status;
}

/* What was measured there already, or is now. */
static int point(struct crossover *c, size_t value, struct nn_comparison_times *times,
		 struct nn_error *err)
{
	for (size_t i = 0; i < c->n_points; i++)
		if (c->points[i].value == value) {
			*times = c->points[i].times;
			return 0;
		}
	nn_bench_doing(c->b, "%s %zu: %s, %s", c->width ? "width" : "batch", value,
		       c->sides[0]->label, c->sides[1]->label);
	if (measure_point(c, value, times, err) < 0)
		return -1;
	if (c->n_points < POINTS) {
		c->points[c->n_points].value = value;
		c->points[c->n_points++].times = *times;
	}
	return 0;
}

/* ---- the search ---- */

/* What an axis is searched for: by the time with copies, or without. */
struct search {
	const char *axis;
	bool nocopy;
	size_t loses, wins; /* b; 0: nowhere */
	size_t wrong;       /* where a result was wrong, which ends the search */
};

/*
 * Further apart than chance explains: two that are as fast as one another have no winner, and a
 * stays.
 */
static bool b_wins(const struct search *s, const struct nn_comparison_times *t)
{
	return t->a_s - (s->nocopy ? t->b_nocopy_s : t->b_s) > t->a.ci95_s + t->b.ci95_s;
}

static const char *winner(const struct crossover *c, const struct search *s,
			  const struct nn_comparison_times *t)
{
	double more = (s->nocopy ? t->b_nocopy_s : t->b_s) - t->a_s;

	return b_wins(s, t)                       ? c->sides[1]->label
	       : more > t->a.ci95_s + t->b.ci95_s ? c->sides[0]->label
						  : "undecided";
}

/* Memory and time bound an axis too: 1 where that was met, and the axis ends below. */
static int look(struct crossover *c, struct search *s, size_t value, struct nn_error *err)
{
	struct nn_comparison_times t;

	if (point(c, value, &t, err) < 0) {
		if (err->code != NN_ENOMEM || value == 1)
			return -1;
		nn_bench_note(c->b, "%s: the search ends below %zu: %s", s->axis, value, err->text);
		return 1;
	}
	if (nn_bench_stopped(c->b))
		return 1;
	if (isnan(t.a_s) || isnan(t.b_s)) {
		nn_bench_too_short(c->b, s->axis, isnan(t.a_s) ? &t.a : &t.b);
		return 1;
	}
	if (t.verdict.wrong) {
		s->wrong = value;
		return 1;
	}
	*(b_wins(s, &t) ? &s->wins : &s->loses) = value;
	return 0;
}

/*
 * Doubling until b wins, then halving what lies between: who wins at a value wins at larger ones.
 */
static int search(struct crossover *c, struct search *s, struct nn_error *err)
{
	for (size_t value = 1; s->wins == 0; value = 2 * value < c->most ? 2 * value : c->most) {
		int status = look(c, s, value, err);

		if (status)
			return status < 0 ? -1 : 0;
		if (value == c->most)
			break;
	}
	while (s->wins > 0 && s->wins - s->loses > 1) {
		int status = look(c, s, s->loses + (s->wins - s->loses) / 2, err);

		if (status)
			return status < 0 ? -1 : 0;
	}
	return 0;
}

static int put(struct crossover *c, const struct search *s, size_t value, struct nn_error *err)
{
	struct nn_comparison_times t;

	if (point(c, value, &t, err) < 0)
		return -1;
	nn_report_text(c->w.report, "axis", s->axis);
	nn_report_count(c->w.report, "value", value);
	nn_report_text(c->w.report, "a", c->sides[0]->label);
	nn_report_text(c->w.report, "b", c->sides[1]->label);
	nn_report_real(c->w.report, "a_s", t.a_s);
	nn_report_real(c->w.report, "b_s", t.b_s);
	nn_report_real(c->w.report, "b_nocopy_s", t.copies ? t.b_nocopy_s : NAN);
	nn_report_real(c->w.report, "b_first_s", t.b_first_s);
	if (!t.verdict.wrong)
		nn_report_text(c->w.report, "winner", winner(c, s, &t));
	nn_verdict_put(&t.verdict, c->w.report);
	return nn_report_row(c->w.report, err);
}

/*
 * Two rows: the last value at which a wins, the first at which b does. Or the one where a result is
 * wrong.
 */
static int cross(struct crossover *c, const char *axis, bool nocopy, struct nn_error *err)
{
	struct search s = { .axis = axis, .nocopy = nocopy };

	if (search(c, &s, err) < 0)
		return -1;
	if (s.wrong)
		return put(c, &s, s.wrong, err);
	if ((s.loses && put(c, &s, s.loses, err) < 0) || (s.wins && put(c, &s, s.wins, err) < 0))
		return -1;
	if (nn_bench_stopped(c->b))
		return 0;
	if (s.wins)
		nn_bench_note(c->b, "%s: %s wins from %zu on", axis, c->sides[1]->label, s.wins);
	else if (s.loses)
		nn_bench_note(c->b, "%s: %s does not win up to %zu", axis, c->sides[1]->label,
			      s.loses);
	return 0;
}

static int search_axis(struct crossover *c, bool width, size_t most, struct nn_error *err)
{
	struct nn_comparison_times t;

	c->width = width;
	c->most = most;
	c->n_points = 0;
	if (cross(c, width ? "width" : "batch", false, err) < 0 || nn_bench_stopped(c->b))
		return nn_bench_stopped(c->b) ? 0 : -1;
	if (c->n_points == 0 || point(c, c->points[0].value, &t, err) < 0 || !t.copies)
		return 0;
	return cross(c, width ? "width_nocopy" : "batch_nocopy", true, err);
}

/* ---- who against whom ---- */

static int search_pair(struct crossover *c, const struct contender *a, const struct contender *b,
		       struct nn_error *err)
{
	size_t batches[NN_BENCH_BATCHES], most = MOST_BATCH,
					  width = c->widest > MOST_WIDTH ? c->widest : MOST_WIDTH;
	const char *list = c->b->options->batch;
	int n = list ? nn_bench_batches(list, batches, err) : 0;

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++)
		most = i == 0 || batches[i] > most ? batches[i] : most;
	c->sides[0] = a;
	c->sides[1] = b;
	if (list && check_fits(c, most, err) < 0)
		return -1;
	if (search_axis(c, false, most, err) < 0 || nn_bench_stopped(c->b) || c->widest == 0)
		return nn_bench_stopped(c->b) || c->widest == 0 ? 0 : -1;
	return search_axis(c, true, width, err);
}

/* With one device: what there is to compare. */
static int search_one(struct crossover *c, const char *name, struct nn_error *err)
{
	int threads = c->b->threads;
	enum nn_dtype dtype = c->w.subject->dtype;
	struct contender one = { name, 1, dtype, "" }, all = { name, threads, dtype, "" },
			 blas = { "cpu+openblas", threads, dtype, "" },
			 f64 = { name, threads, NN_F64, "" }, f32 = { name, threads, NN_F32, "" };
	struct nn_error no_blas;

	snprintf(one.label, sizeof one.label, "%s 1 thread", name);
	snprintf(all.label, sizeof all.label, threads > 1 ? "%s %d threads" : "%s", name, threads);
	snprintf(blas.label, sizeof blas.label, "cpu+openblas");
	snprintf(f64.label, sizeof f64.label, "%s f64", name);
	snprintf(f32.label, sizeof f32.label, "%s f32", name);
	if (threads > 1 && search_pair(c, &one, &all, err) < 0)
		return -1;
	if (!nn_bench_stopped(c->b) && search_pair(c, &f64, &f32, err) < 0)
		return -1;
	if (!nn_bench_stopped(c->b) && strcmp(name, "cpu") == 0 &&
	    nn_device_open("cpu+openblas", dtype, &no_blas) && search_pair(c, &all, &blas, err) < 0)
		return -1;
	return nn_bench_stopped(c->b)
		       ? 0
		       : nn_fail(err, NN_ENODEV,
				 "crossover: no second device here, only %s; what would win on a "
				 "GPU has to be measured on a machine that has one",
				 name);
}

static int search_all(void *arg, struct nn_error *err)
{
	struct crossover *c = arg;
	const char *names[NN_BENCH_DEVICES];
	struct contender a = { .threads = c->b->threads, .dtype = c->w.subject->dtype }, b = a;
	int n = nn_bench_devices(c->b, names, err);

	if (n < 0)
		return -1;
	c->batch = c->mode == NN_BENCH_TRAIN ? c->w.subject->batch : 1;
	c->widest = nn_widest(c->w.subject->net);
	a.name = "cpu";
	snprintf(a.label, sizeof a.label, "cpu");
	if (n == 1 && strcmp(names[0], "cpu") == 0)
		return search_one(c, "cpu", err);
	for (int i = 0; i < n && !nn_bench_stopped(c->b); i++) {
		if (strcmp(names[i], "cpu") == 0)
			continue;
		b.name = names[i];
		snprintf(b.label, sizeof b.label, "%s", names[i]);
		if (!nn_bench_device(c->b, b.name, b.dtype, err) || search_pair(c, &a, &b, err) < 0)
			return -1;
	}
	return 0;
}

int nn_verb_crossover(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct crossover c = { .b = b, .operand = words[0], .mode = NN_BENCH_PREDICT };

	(void)n;
	if (nn_opt_given(b->setup.list, "mode"))
		c.mode = b->options->mode;
	return nn_bench_on_model(b, words[0], columns, &c.w, search_all, &c, err);
}
