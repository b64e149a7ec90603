/*
 * The time of a training from rates that were measured on this machine, and those of a training
 * that has run.
 */
#include <math.h>

#include "base/median.h"
#include "comm/link.h"
#include "parallel/strategy.h"
#include "plan/alone.h"
#include "plan/fit.h"
#include "plan/forecast.h"
#include "plan/layers.h"
#include "plan/ranks.h"
#include "plan/rates.h"
#include "plan/trial-steps.h"
#include "step/cut.h"

#define LEAST_STEPS 100               /* of a training whose rate is kept ... */
#define LEAST_S 0.02                  /* ... or seconds of fewer */
#define TRIED_BYTES ((size_t)1 << 30) /* more is not taken to try a plan */

/* ---- a rate for the steps ---- */

static const char *basis(const struct nn_rate *rate)
{
	return rate->ran ? "this training ran here before" : "some steps of it were tried here";
}

static void keep_tried(const struct nn_plan *plan, double step_s, struct nn_rate *rate)
{
	*rate = (struct nn_rate){ step_s, NAN, NAN, false };
	if (step_s > 0) /* else what was tried says nothing */
		nn_rate_put(plan, rate);
}

/* What is kept, else what steps of a plan take. */
static void find_rate(const struct nn_plan *plan, struct nn_rate *rate)
{
	const struct nn_fit *fit = &plan->fit;
	size_t taken = fit->parameters + fit->gradients + fit->optimizer + fit->activations +
		       fit->workspace,
	       made = plan->task->dataset ? 0 : plan->task->recipe->batch;
	double step_s;

	*rate = (struct nn_rate){ NAN, NAN, NAN, false };
	if (!nn_rate_get(plan, rate) && plan->budget->partly &&
	    nn_layout_n_sharers(plan->layout) * nn_layout_parts(plan->layout) == 1 && fit->fits &&
	    taken <= TRIED_BYTES && made / fit->micro <= TRIED_BYTES / (fit->input + 1) &&
	    nn_trial_steps_plan(plan, &step_s, NULL) == 0)
		keep_tried(plan, step_s, rate);
}

bool nn_forecast_rate(struct nn_plan *plan)
{
	struct nn_forecast *f = &plan->forecast;
	int ranks = nn_layout_n_sharers(plan->layout) * nn_layout_parts(plan->layout);

	f->bytes = nn_ranks_bytes(plan, ranks);
	find_rate(plan, &plan->rate);
	if (!isnan(plan->rate.step_s))
		f->basis = basis(&plan->rate);
	else
		f->basis = ranks == 1 ? "not known: too large to be tried on this machine"
				      : nn_ranks_unknown(plan);
	return isnan(plan->rate.step_s) && !plan->budget->partly &&
	       (plan->task->logs || plan->task->notes);
}

int nn_forecast_try(struct nn_plan *plan, struct nn_worker *worker, struct nn_error *err)
{
	double step_s;

	if (nn_trial_steps(worker, &step_s, err) < 0)
		return -1;
	if (!nn_layout_first(plan->layout) || isnan(step_s))
		return 0;
	keep_tried(plan, step_s, &plan->rate);
	plan->forecast.basis = basis(&plan->rate);
	return 0;
}

/* The task as one process with `threads` threads would run it. */
double nn_forecast_step(const struct nn_plan *plan, int threads)
{
	const struct nn_layout layout = nn_alone_layout();
	struct nn_task task = *plan->task;
	struct nn_plan alone = { .task = &task, .layout = &layout, .budget = plan->budget };
	struct nn_rate rate = { .step_s = NAN };

	task.pool = NULL;
	if (nn_pool_new(&task.pool, threads, NULL) == 0 &&
	    nn_fit_choose(&alone, &alone.fit, NULL) == 0)
		find_rate(&alone, &rate);
	nn_pool_free(task.pool);
	return rate.step_s;
}

/* ---- the whole ---- */

/* Of an epoch; where it was not measured, held-out rows that go forward alone. */
static double beside_steps(const struct nn_plan *plan, double row_s)
{
	const struct nn_program *p = plan->task->program;

	if (!isnan(plan->rate.extra_s) || plan->task->n_valid == 0)
		return isnan(plan->rate.extra_s) ? 0 : plan->rate.extra_s;
	return (double)plan->task->n_valid * row_s * nn_layers_flops(p, false) /
	       fmax(nn_layers_flops(p, true), 1);
}

void nn_forecast_make(struct nn_plan *plan, uint64_t done, uint64_t trainings)
{
	struct nn_forecast *f = &plan->forecast;
	double row_s = plan->rate.step_s / (double)plan->task->recipe->batch,
	       rows = (double)plan->task->n_rows, epochs, steps;
	double extra = beside_steps(plan, row_s);
	double once = isnan(plan->rate.once_s) ? 0 : plan->rate.once_s;

	f->step_s = plan->rate.step_s;
	f->epoch_s = f->total_s = NAN;
	if (plan->task->rows_unknown || rows <= 0)
		return;
	f->epoch_s = rows * row_s + extra;
	if (plan->task->planned == UINT64_MAX && plan->task->recipe->time_limit == 0)
		return;
	steps = plan->task->planned > done ? (double)(plan->task->planned - done) : 0;
	epochs = steps / (double)plan->task->steps_per_epoch;
	f->total_s = epochs * rows * row_s + ceil(epochs) * extra + once;
	f->total_s *= (double)trainings;
	if (plan->task->recipe->time_limit > 0 &&
	    !(f->total_s < plan->task->recipe->time_limit + once))
		f->total_s = plan->task->recipe->time_limit + once;
}

/* ---- a training that has run ---- */

/* What steps of sync cost beside computing. */
static void learn_link(const struct nn_plan *plan, const struct nn_times *m)
{
	int ranks = nn_layout_ranks(plan->layout);
	struct nn_cut_run mine =
		nn_cut_share((size_t)plan->task->recipe->leaves, plan->layout->comm->rank, ranks);
	size_t n = m->timed < NN_TIMED_STEPS ? m->timed : NN_TIMED_STEPS;
	double beside[NN_TIMED_STEPS], longest;

	if (n < 8 || mine.from == mine.to)
		return;
	/* the ranks with the largest share are waited for: that is not communication */
	longest = nn_ranks_largest(plan, ranks) * (double)plan->task->recipe->leaves /
		  (double)(mine.to - mine.from);
	for (size_t i = 0; i < n; i++)
		beside[i] = m->step[i] - longest * m->compute[i];
	nn_sort(beside, n);
	if (beside[n / 4] > 0) /* of steps that other work of the machine met less */
		nn_link_put(ranks, nn_ranks_gradient_bytes(plan), beside[n / 4]);
}

/* Half of what was known: one run that met a busy machine or disk does not decide alone. */
static double blend(double known, double found)
{
	return isfinite(known) && isfinite(found) ? (known + found) / 2 : found;
}

void nn_forecast_learn(const struct nn_plan *plan, const struct nn_times *m, double seconds)
{
	double first = m->steps > 1 ? m->first_s : 0;
	struct nn_rate rate = { .ran = true }, known;

	if (!nn_layout_first(plan->layout))
		return;
	if (nn_layout_ranks(plan->layout) > 1 && !nn_layout_in_parts(plan->layout) &&
	    plan->layout->strategy->parts)
		learn_link(plan, m);
	if (m->steps < 2 || (m->steps < LEAST_STEPS && m->steps_s < LEAST_S) || m->rows <= 0)
		return;
	rate.step_s = m->steps_s / m->rows * (double)plan->task->recipe->batch;
	rate.extra_s = m->epochs > 0 ? m->after_s / m->epochs : NAN;
	rate.once_s = seconds - m->steps_s - first - m->after_s +
		      (first > rate.step_s ? first - rate.step_s : 0);
	if (nn_rate_get(plan, &known) && known.ran)
		rate = (struct nn_rate){ blend(known.step_s, rate.step_s),
					 blend(known.extra_s, rate.extra_s),
					 blend(known.once_s, rate.once_s), true };
	nn_rate_put(plan, &rate);
}
