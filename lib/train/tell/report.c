/* Where a training ran and where its time went, as notes and as keys of the log. */
#include "base/text.h"
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/job.h"
#include "train/prepare.h"
#include "parallel/ranks.h"
#include "base/log.h"
#include "plan/fit.h"
#include "train/tell/input.h"
#include "train/tell/report.h"

void nn_report_faults(struct nn_times *m, int sign)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	m->touched += sign * usage.ru_minflt;
	m->read += sign * usage.ru_majflt;
}

const char *nn_report_placement(const struct nn_train *t, char text[NN_PLACEMENT])
{
	return nn_placement(text, nn_layout_ranks(&t->layout), nn_pool_threads(t->task.pool));
}

double nn_report_step(const struct nn_train *t)
{
	const struct nn_times *m = &t->clock.times;

	return m->rows > 0 ? m->steps_s / m->rows * (double)t->options->recipe.batch : NAN;
}

double nn_report_bytes(const struct nn_train *t)
{
	return nn_layout_ranks(&t->layout) > 1 && t->clock.times.steps > 0
		       ? t->clock.times.bytes / t->clock.times.steps
		       : NAN;
}

/* The table of what each two ranks can use. */
static void note_pairs(const struct nn_train *t)
{
	struct nn_text text = { 0 };

	for (int r = 0; r < t->layout.pairs.ranks; r++) {
		nn_text_clear(&text);
		nn_pairs_row(&t->layout.pairs, r, &text);
		if (!text.failed)
			nn_tell_note(&t->told, "%s", text.data);
	}
	nn_text_free(&text);
}

/* A pipe has as many rows as it has. */
static const char *predicted(char text[NN_DURATION], double seconds)
{
	return isfinite(seconds) ? nn_duration(text, seconds) : "an unknown time";
}

void nn_report_start(const struct nn_train *t)
{
	const struct nn_forecast *f = &t->plan.forecast;
	char text[NN_PLACEMENT], d[3][NN_DURATION];

	if (t->std->verbose < 1 && nn_layout_ranks(&t->layout) > 1)
		nn_tell_note(&t->told, "%s", nn_report_placement(t, text));
	if (t->std->verbose < 1)
		return;
	nn_tell_note(&t->told, "%s; %zu of %llu sample%s of a step at once",
		     nn_report_placement(t, text), t->plan.fit.micro,
		     (unsigned long long)t->options->recipe.batch, nn_s(t->options->recipe.batch));
	note_pairs(t);
	nn_tell_note(&t->told,
		     "start: data %s, plan and memory %s, steps that were tried %s",
		     nn_duration(d[0], t->clock.data_s), nn_duration(d[1], t->clock.plan_s),
		     nn_duration(d[2], t->clock.tried_s));
	if (isnan(f->step_s))
		nn_tell_note(&t->told, "predicted: %zu bytes; %s", nn_fit_peak(&t->plan), f->basis);
	else
		nn_tell_note(
			&t->told,
			"predicted: %zu bytes, %s a step, %s an epoch, %s in all (%s)",
			nn_fit_peak(&t->plan), predicted(d[0], f->step_s),
			predicted(d[1], f->epoch_s), predicted(d[2], f->total_s), f->basis);
}

static void note_noise(const struct nn_train *t)
{
	double scale = nn_noise_scale(&t->noise);
	unsigned long long steps = t->noise.steps, batch = t->options->recipe.batch;
	char about[40];

	snprintf(about, sizeof about, scale < 100 ? "%.2g" : "%.0f",
		 scale < 100 ? scale : round(scale / 10) * 10);
	if (steps > 0 && steps < NN_NOISE_STEPS)
		nn_tell_note(&t->told,
			     "noise scale of the gradient: not known; %llu step%s measured, it "
			     "takes %d",
			     steps, steps == 1 ? " was" : "s were", NN_NOISE_STEPS);
	else if (isinf(scale))
		nn_tell_note(&t->told,
			     "noise scale of the gradient: more than %llu steps of %llu sample%s "
			     "can tell; a larger batch pays",
			     steps, batch, nn_s(batch));
	else if (!isnan(scale))
		nn_tell_note(&t->told,
			     "noise scale of the gradient: about %s samples (%llu steps were "
			     "measured); a batch beyond that buys nothing, this one has %llu",
			     about, steps, batch);
}

#define SLOW 1.5   /* times what the others take */
#define SLOW_S 1.0 /* and so much more in all */

/*
 * Of ranks that compute batches of their own that of one, in which the slower ones compute fewer.
 */
static double pace(const struct nn_rank_times *r)
{
	return r->steps ? r->compute_s / (double)r->steps : r->compute_s;
}

/* The rank that computes much longer than the others together say, on which all wait. */
static void report_slow(const struct nn_train *t)
{
	int n = t->worker.ranks ? nn_layout_ranks(&t->layout) : 1,
	    first = t->layout.strategy->whole,
	    slow = first; /* whole batches: rank 0 computes none */
	double others = 0, more;

	for (int r = first + 1; r < n; r++)
		if (pace(&t->worker.ranks[r]) > pace(&t->worker.ranks[slow]))
			slow = r;
	for (int r = first; r < n; r++)
		others += r == slow ? 0 : pace(&t->worker.ranks[r]) / (n - first - 1);
	if (n - first < 2)
		return;
	more = t->worker.ranks[slow].compute_s * (1 - others / pace(&t->worker.ranks[slow]));
	if (pace(&t->worker.ranks[slow]) > SLOW * others && more > SLOW_S)
		nn_tell_note(&t->told, "rank %d on %s computes %.1f x as long as the other%s", slow,
			     t->worker.ranks[slow].host, pace(&t->worker.ranks[slow]) / others,
			     n - first == 2 ? "" : "s");
}

static void report_ranks(const struct nn_train *t)
{
	char d[3][NN_DURATION];

	for (int r = 0; t->worker.ranks && r < nn_layout_ranks(&t->layout) && t->std->verbose > 0 &&
			nn_layout_ranks(&t->layout) > 1;
	     r++)
		nn_tell_note(&t->told,
			     "rank %d on %s (pid %ld): compute %s, communication %s, waiting %s", r,
			     t->worker.ranks[r].host, t->worker.ranks[r].pid,
			     nn_duration(d[0], t->worker.ranks[r].compute_s),
			     nn_duration(d[1], t->worker.ranks[r].comm_s),
			     nn_duration(d[2], t->worker.ranks[r].wait_s));
	report_slow(t);
}

void nn_report_end(const struct nn_train *t, double seconds)
{
	const struct nn_times *m = &t->clock.times;
	char d[3][NN_DURATION];
	double step = nn_report_step(t), more = m->first_s - step, peak = (double)nn_memory_peak();

	if (m->steps > 0)
		report_ranks(t);
	if (t->std->verbose < 1 || m->steps < 1)
		return;
	nn_tell_note(&t->told,
		     "first step %s: %ld page%s of memory touched first, %ld read from files%s",
		     nn_duration(d[0], m->first_s), m->touched, nn_s(m->touched), m->read,
		     more > 0 && more < 0.5 * step ? "; no slower than later ones" : "");
	if (m->steps > 1)
		nn_tell_note(&t->told,
			     "later steps %s each, %s in all; evaluation, state and the like %s",
			     nn_duration(d[0], step), nn_duration(d[1], m->steps_s),
			     nn_duration(d[2], m->after_s));
	nn_tell_input(t);
	note_noise(t);
	nn_tell_note(&t->told, "memory %.0f bytes, predicted %zu (%+.1f %%)", peak,
		     nn_fit_peak(&t->plan), 100 * ((double)nn_fit_peak(&t->plan) / peak - 1));
	if (nn_worker_host_bytes(&t->worker) > 0)
		nn_tell_note(
			&t->told, "memory of all ranks on %s %zu bytes, predicted %zu (%+.1f %%)",
			t->worker.ranks[0].host, nn_worker_host_bytes(&t->worker), t->plan.fit.host,
			100 * ((double)t->plan.fit.host / (double)nn_worker_host_bytes(&t->worker) -
			       1));
	if (isfinite(t->plan.forecast.step_s) && m->steps > 1)
		nn_tell_note(&t->told, "a step %s, predicted %s (%+.1f %%)",
			     nn_duration(d[0], step), nn_duration(d[1], t->plan.forecast.step_s),
			     100 * (t->plan.forecast.step_s / step - 1));
	if (isfinite(t->plan.forecast.bytes) && nn_report_bytes(t) > 0)
		nn_tell_note(&t->told,
			     "bytes of a step through rank 0 %.4g, predicted %.4g (%+.1f %%)",
			     nn_report_bytes(t), t->plan.forecast.bytes,
			     100 * (t->plan.forecast.bytes / nn_report_bytes(t) - 1));
	if (isfinite(t->plan.forecast.total_s))
		nn_tell_note(&t->told, "time %s, predicted %s (%+.1f %%)",
			     nn_duration(d[0], seconds),
			     nn_duration(d[1], t->plan.forecast.total_s),
			     100 * (t->plan.forecast.total_s / seconds - 1));
}

void nn_report_causes(const struct nn_train *t)
{
	const struct nn_times *m = &t->clock.times;

	nn_log_open_object(t->told.log, "causes");
	nn_log_real(t->told.log, "data_s", t->clock.data_s);
	nn_log_real(t->told.log, "plan_s", t->clock.plan_s);
	nn_log_real(t->told.log, "tried_s", t->clock.tried_s);
	nn_log_real(t->told.log, "first_step_s", m->steps > 0 ? m->first_s : NAN);
	nn_log_count(t->told.log, "first_step_pages_touched",
		     m->touched > 0 ? (uint64_t)m->touched : 0);
	nn_log_count(t->told.log, "first_step_pages_read", m->read > 0 ? (uint64_t)m->read : 0);
	nn_log_real(t->told.log, "steady_step_s", nn_report_step(t));
	nn_log_real(t->told.log, "between_steps_s", m->after_s);
	nn_log_close_object(t->told.log);
}
