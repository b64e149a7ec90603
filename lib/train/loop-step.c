/* A step of the loop: what is asked for with it, what it adds to the counters, what is told of it.
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/model.h"
#include "parallel/step-options.h"
#include "train/figures.h"
#include "train/loop.h"
#include "train/state/save.h"
#include "train/tell/curve.h"
#include "train/tell/events.h"
#include "train/tell/progress.h"
#include "train/trend.h"

#define LOG_S 1.0 /* a step is logged about so often */

static int diverged(struct nn_train *t, const struct nn_step_result *r, struct nn_error *err)
{
	unsigned long long step = t->counters.step + 1;
	bool loss = !r->finite;
	char last[4200] = "", layer[200] = "";

	nn_save_wait(&t->kept);
	if (t->kept.state_path && t->kept.saved_step != UINT64_MAX)
		snprintf(last, sizeof last, "; %s has the state of step %llu", t->kept.state_path,
			 (unsigned long long)t->kept.saved_step);
	if (loss && r->nonfinite_line >= 0)
		snprintf(layer, sizeof layer, ": layer %s (%s) was the first to go wrong",
			 nn_net_line(t->task.net, r->nonfinite_line).name,
			 nn_net_line(t->task.net, r->nonfinite_line).layer);
	return nn_fail(err, NN_EDIVERGED,
		       "step %llu: the %s is not finite%s; a lower --lr than %g or --clip-norm "
		       "may help%s",
		       step, loss ? "loss" : "gradient", layer, t->options->recipe.lr, last);
}

/* A short --time-limit has twenty of them, and so have the steps of a training that ends before it.
 */
#define LOGGED_STEPS 20

static double log_s(const struct nn_train *t)
{
	double limit = t->options->recipe.time_limit;

	return limit > 0 && limit < LOGGED_STEPS * LOG_S ? limit / LOGGED_STEPS : LOG_S;
}

static bool is_planned(const struct nn_train *t, uint64_t step)
{
	return t->options->recipe.time_limit > 0 && t->task.planned != UINT64_MAX &&
	       (step == t->task.planned || step % (t->task.planned / LOGGED_STEPS + 1) == 0);
}

/* Is step `number`, from 1, logged, where one was at logged_s? */
static bool logs_step(const struct nn_train *t, uint64_t number, double logged_s, double now)
{
	if (!nn_log_wanted(t->told.log) && !t->told.board)
		return false;
	if (t->options->log_every)
		return number % t->options->log_every == 0;
	return now - logged_s >= log_s(t) || number == t->worker.started_step + 1 ||
	       is_planned(t, number);
}

static bool wants_norm(const struct nn_train *t, bool logs)
{
	return logs && nn_log_wanted(t->told.log) && !t->task.unmeasured;
}

static void count_step(struct nn_train *t, const struct nn_step_result *r, size_t n)
{
	struct nn_counters *c = &t->counters;

	c->step++;
	c->loss += r->loss * r->weight;
	c->weight += r->weight;
	c->rows += n;
	c->hits += r->hits;
	c->counted += r->counted;
	c->squares += r->squares;
	nn_trend_add(c, r->loss);
	t->worker.compute_s += r->compute_s;
	t->worker.input_s += r->input_s;
	t->worker.comm_s += r->comm_s;
	t->worker.wait_s += r->wait_s;
}

static void begin_epoch(struct nn_train *t, struct nn_pace *pace)
{
	struct nn_counters *c = &t->counters;

	c->loss = c->weight = 0;
	c->hits = c->counted = c->squares = 0;
	c->rows = 0;
	pace->epoch_s = nn_now_s();
	pace->epoch_rows = 0;
	pace->first_epoch = t->clock.first_epoch_s == 0;
	if (t->options->recipe.stateful)
		nn_graph_forget(nn_step_graph(t->worker.step));
}

/* What this process would do now, alone. */
static struct nn_control control_of(const struct nn_train *t)
{
	return (struct nn_control){
		.stop = *t->setup.host.stop,
		.save = *t->setup.host.save,
		.due = nn_save_late(&t->kept) || nn_save_ready(&t->kept),
		.over = t->clock.ends_s > 0 && nn_now_s() >= t->clock.ends_s,
	};
}

/* While a step is ahead of those that are counted, nobody is asked for anything: it comes first. */
const struct nn_control *nn_loop_asked(struct nn_train *t)
{
	static const struct nn_control nothing;

	if (t->layout.comm->size > 1)
		return &t->control;
	if (t->worker.step && nn_step_is_ahead(t->worker.step))
		t->control = nothing;
	else
		t->control = control_of(t);
	return &t->control;
}

static bool is_measured(const struct nn_train *t)
{
	return !nn_layout_in_parts(&t->layout) && nn_layout_measures(&t->layout, &t->task);
}

static bool divides(uint64_t every, uint64_t steps)
{
	return every && steps % every == 0;
}

/* Will --time-limit pass during the step that begins now, if it takes as long as those before? */
static bool ends_meanwhile(const struct nn_train *t, double now)
{
	uint64_t steps = t->counters.step - t->worker.started_step;

	return t->clock.ends_s > 0 &&
	       (steps == 0 || now + (now - t->clock.start_s) / (double)steps >= t->clock.ends_s);
}

/*
 * May the step after `done` steps be asked for before what came of them is known? Not where
 * something happens between the two.
 */
static bool may_go_ahead(const struct nn_train *t, uint64_t done, double now)
{
	const struct nn_control *c = &t->control;

	return t->layout.comm->size == 1 && done < t->task.planned && !ends_meanwhile(t, now) &&
	       !divides(t->task.steps_per_epoch, done) && !divides(t->options->valid_every, done) &&
	       !divides(t->options->ranks.check_every, done) &&
	       !divides(t->kept.save_steps, done) && !t->kept.snapshot.due &&
	       !(is_measured(t) && done >= t->noise.next) && !c->stop && !c->save && !c->due &&
	       !c->over;
}

void nn_loop_tell(const struct nn_train *t)
{
	if (t->setup.host.at)
		t->setup.host.at(t->setup.host.arg, t->counters.step);
}

int nn_loop_step(struct nn_train *t, struct nn_pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step;
	double start = nn_now_s(), now;
	struct nn_strategy_update update = { .number = number + 1 };
	struct nn_step_terms next = { .number = number + 2 };
	size_t rows = nn_loader_rows(&t->loader, number);
	struct nn_step_result result;
	double waited_s = nn_loader_waited(&t->loader);
	bool logs, scales = nn_optimizer_scales(nn_step_optimizer(t->worker.step));

	if (number % t->task.steps_per_epoch == 0)
		begin_epoch(t, pace);
	t->schedule.drops = (unsigned)t->counters.drops;
	update.lr = nn_schedule_rate(&t->schedule, number);
	logs = nn_step_is_ahead(t->worker.step) ? pace->logs
						: logs_step(t, number + 1, pace->logged_s, start);
	t->control = control_of(t);
	t->control.norm = wants_norm(t, logs);
	if (may_go_ahead(t, number + 1, start)) {
		pace->logs = logs_step(t, next.number, logs ? start : pace->logged_s, start);
		next.lr = nn_schedule_rate(&t->schedule, number + 1);
		next.norm = wants_norm(t, pace->logs);
		update.next = &next;
	}
	if (is_measured(t) &&
	    nn_noise_due(&t->noise, number, rows,
			 t->task.n_rows < t->options->recipe.batch ? t->task.n_rows
								   : t->options->recipe.batch))
		nn_step_noise(t->worker.step);
	if (scales)
		nn_optimizer_set_scale(nn_step_optimizer(t->worker.step), &t->counters.loss_scale);
	if (t->layout.strategy->step(&t->worker, &update, &t->control, &result, err) < 0)
		return -1;
	result.input_s += nn_loader_waited(&t->loader) - waited_s;
	if (!result.finite || (scales && !nn_loss_scale_next(&t->counters.loss_scale, result.norm)))
		return diverged(t, &result, err);
	count_step(t, &result, rows);
	nn_loop_tell(t);
	if (!scales || isfinite(result.norm))
		nn_noise_add(&t->noise, &result.noise);
	now = nn_now_s();
	nn_curve_step(t->told.curve, t->counters.step, result.loss, result.weight, rows,
		      now - start);
	pace->samples += rows;
	pace->loss += result.loss * result.weight;
	pace->weight += result.weight;
	if (t->clock.first_step_s == 0)
		t->clock.first_step_s = now - start;
	if (logs) {
		nn_event_step(t, &result, update.lr, pace->loss / pace->weight,
			      (double)(pace->samples - pace->logged_samples) /
				      (now - pace->logged_s));
		pace->logged_s = now;
		pace->logged_samples = pace->samples;
		pace->loss = pace->weight = 0;
	}
	nn_progress_step(t->told.progress,
			 &(struct nn_progress_at){ t->counters.step, t->task.planned,
						   nn_task_epoch(&t->task, t->counters.step),
						   nn_task_epochs(&t->task), result.loss },
			 now);
	return 0;
}
