/* The loop over epochs and steps, which strategies share. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "model/model.h"
#include "parallel/pipeline.h"
#include "parallel/step-options.h"
#include "parallel/tensor.h"
#include "train/state/checkpoint.h"
#include "train/tell/curve.h"
#include "train/tell/events.h"
#include "train/judge.h"
#include "parallel/ranks.h"
#include "train/state/record.h"
#include "base/log.h"
#include "train/tell/progress.h"
#include "train/tell/report.h"
#include "train/state/save.h"

#define LOG_S 1.0 /* a step is logged about so often */

/* What the loop keeps of the clock. */
struct pace {
	double epoch_s, logged_s; /* when the epoch began, when a step was last logged */
	uint64_t epoch_rows;      /* rows of the epoch when that was */
	uint64_t logged_samples, samples;
	double loss, weight; /* sums since a step was last logged */
	bool first_epoch;    /* the first one this process runs from its beginning */
};

/* ---- a step ---- */

static int diverged(struct nn_train *t, const struct nn_step_result *r, struct nn_error *err)
{
	unsigned long long step = t->counters.step + 1;
	char last[4200] = "", layer[200] = "";

	nn_save_wait(&t->kept);
	if (t->kept.state_path && t->kept.saved_step != UINT64_MAX)
		snprintf(last, sizeof last, "; %s has the state of step %llu", t->kept.state_path,
			 (unsigned long long)t->kept.saved_step);
	if (r->nonfinite_line >= 0)
		snprintf(layer, sizeof layer, ": layer %s (%s) was the first to go wrong",
			 nn_net_line(t->task.net, r->nonfinite_line).name,
			 nn_net_line(t->task.net, r->nonfinite_line).layer);
	return nn_fail(err, NN_EDIVERGED,
		       "step %llu: the loss is not finite%s; a lower --lr than %g or --clip-norm "
		       "may help%s",
		       step, layer, t->options->recipe.lr, last);
}

/* A short --time-limit has twenty of them. */
static double log_s(const struct nn_train *t)
{
	double limit = t->options->recipe.time_limit;

	return limit > 0 && limit < 20 * LOG_S ? limit / 20 : LOG_S;
}

static bool logs_step(const struct nn_train *t, const struct pace *pace, double now)
{
	if (!nn_log_wanted(t->told.log))
		return false;
	if (t->options->log_every)
		return (t->counters.step + 1) % t->options->log_every == 0;
	return now - pace->logged_s >= log_s(t) || t->counters.step == t->worker.started_step;
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
	t->worker.compute_s += r->compute_s;
	t->worker.input_s += r->input_s;
	t->worker.comm_s += r->comm_s;
	t->worker.wait_s += r->wait_s;
}

static void begin_epoch(struct nn_train *t, struct pace *pace)
{
	struct nn_counters *c = &t->counters;

	c->loss = c->weight = c->squares = 0;
	c->rows = c->hits = c->counted = 0;
	pace->epoch_s = nn_now_s();
	pace->epoch_rows = 0;
	pace->first_epoch = t->clock.first_epoch_s == 0;
}

/* What this process would do now, alone. */
static struct nn_control wishes(const struct nn_train *t)
{
	return (struct nn_control){
		.stop = *t->setup.host.stop,
		.save = *t->setup.host.save,
		.due = nn_save_late(&t->kept) || nn_save_ready(&t->kept),
		.over = t->clock.ends_s > 0 && nn_now_s() >= t->clock.ends_s,
	};
}

/*
 * What is to be done: of several ranks what they agreed on in the last step, else what is wished at
 * this moment.
 */
static const struct nn_control *asked(struct nn_train *t)
{
	if (t->layout.comm->size == 1)
		t->wish = wishes(t);
	return &t->wish;
}

static void tell_step(const struct nn_train *t)
{
	if (t->setup.host.at)
		t->setup.host.at(t->setup.host.arg, t->counters.step);
}

static int step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step;
	double start = nn_now_s(), now;
	struct nn_strategy_update update = { .number = number + 1 };
	size_t rows = nn_loader_rows(&t->loader, number);
	struct nn_step_result result;
	bool logs;

	if (number % t->task.steps_per_epoch == 0)
		begin_epoch(t, pace);
	t->schedule.drops = (unsigned)t->counters.drops;
	update.lr = nn_schedule_rate(&t->schedule, number);
	logs = logs_step(t, pace, start);
	t->wish = wishes(t);
	t->wish.norm = logs && !t->task.unmeasured;
	if (!nn_layout_in_parts(&t->layout) && nn_layout_measures(&t->layout, &t->task) &&
	    nn_noise_due(&t->noise, number, rows,
			 t->task.n_rows < t->options->recipe.batch ? t->task.n_rows
								   : t->options->recipe.batch))
		nn_step_noise(t->worker.step);
	if (t->layout.strategy->step(&t->worker, &update, &t->wish, &result, err) < 0)
		return -1;
	if (!result.finite)
		return diverged(t, &result, err);
	count_step(t, &result, rows);
	tell_step(t);
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
	nn_progress_step(t->told.progress, t->counters.step, t->task.planned, result.loss, now);
	return 0;
}

/* ---- between steps ---- */

static void end_epoch(struct nn_train *t, struct pace *pace)
{
	double seconds = nn_now_s() - pace->epoch_s;
	uint64_t rows = t->counters.rows - pace->epoch_rows;

	if (t->clock.first_epoch_s == 0) {
		t->clock.first_epoch_s = seconds;
	} else {
		t->clock.steady_s += seconds;
		t->clock.steady_samples += rows;
	}
	nn_event_epoch(t, seconds, (double)rows / seconds);
}

/* SIGUSR1 and SIGHUP: the state, now. */
static void serve_signal(struct nn_train *t, int signal)
{
	*t->setup.host.save = 0;
	nn_event_signal(t, signal);
	if (!t->kept.state_path)
		nn_tell_warning(
			&t->told,
			t->source.fold
				? "no state is written with --folds"
				: "no state is written without -o FILE or --checkpoint=FILE");
}

/* A signal's sender may look at the file as soon as the log says so, or the process has ended. */
static int save_now(struct nn_train *t, struct nn_error *err)
{
	if (nn_save_newest(&t->kept, err) < 0)
		return -1;
	nn_save_wait(&t->kept);
	return 0;
}

static int unchanged(const struct nn_train *t, struct nn_error *err)
{
	if (nn_dataset_unchanged(t->task.dataset, err) < 0)
		return -1;
	return t->task.held_out ? nn_dataset_unchanged(t->task.held_out, err) : 0;
}

static int after_step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step, every = t->options->ranks.check_every;
	const struct nn_control wish = *asked(t);
	bool ends_epoch = number % t->task.steps_per_epoch == 0,
	     saves = ends_epoch || nn_save_due(&t->kept) || wish.due;
	bool looks =
		ends_epoch || (t->options->valid_every && number % t->options->valid_every == 0);

	if (every && number % every == 0 && nn_worker_check_parameters(&t->worker, err) < 0)
		return -1;
	if (((looks && t->task.n_valid > 0) || saves || wish.save) &&
	    nn_worker_synchronize(&t->worker, err) < 0)
		return -1;
	if (looks && nn_train_evaluate(t, err) < 0)
		return -1;
	if (looks && !ends_epoch)
		nn_event_valid(t);
	if (ends_epoch) {
		end_epoch(t, pace);
		if (unchanged(t, err) < 0)
			return -1;
		nn_curve_write(t->told.curve, t, false,
			       NULL); /* what failed is tried again at the end */
	}
	if (!wish.save)
		return nn_save_follow(&t->kept, saves, err);
	serve_signal(t, wish.save);
	return save_now(t, err);
}

/* ---- the whole ---- */

static int stop(struct nn_train *t, int signal, struct nn_error *err)
{
	nn_event_signal(t, signal);
	if (nn_worker_synchronize(&t->worker, err) < 0 ||
	    nn_worker_gather_times(&t->worker, err) < 0)
		return -1;
	if (!t->kept.state_path && !t->source.fold)
		nn_tell_warning(&t->told,
				"no state is written without -o FILE or --checkpoint=FILE: this "
				"training is lost");
	if (save_now(t, err) < 0)
		return -1;
	if (t->layout.tensor)
		nn_tensor_end(&t->worker);
	if (t->layout.pipe && nn_pipe_end(&t->worker, err) < 0)
		return -1;
	nn_event_end(t, "signal");
	return 0;
}

/* The state and, at an end within an epoch, a last look that leaves no trace in it. */
static int finish(struct nn_train *t, struct pace *pace, const char *reason, struct nn_error *err)
{
	bool whole = t->counters.step % t->task.steps_per_epoch == 0,
	     ran = t->counters.step > t->worker.started_step;
	bool looks = !whole || (!ran && t->task.n_valid > 0);
	void **best;

	if (!whole && unchanged(t, err) < 0)
		return -1;
	if (nn_worker_synchronize(&t->worker, err) < 0 || nn_save_newest(&t->kept, err) < 0)
		return -1;
	if (nn_save_export_params(&t->kept, err) < 0)
		return -1;
	if (looks && nn_train_evaluate(t, err) < 0)
		return -1;
	if (!whole && ran)
		end_epoch(t, pace);
	if (nn_worker_gather_times(&t->worker, err) < 0) /* when all memory was taken */
		return -1;
	best = t->counters.best_step > 0 ? t->kept.best : NULL;
	if (best && nn_train_evaluate_params(t, best, err) < 0)
		return -1;
	if (!t->source.fold && nn_record_model(t, best ? best : t->worker.params, err) < 0)
		return -1;
	if (nn_save_end(&t->kept, err) < 0)
		return -1;
	nn_progress_end(t->told.progress);
	if (t->layout.tensor)
		nn_tensor_end(&t->worker);
	if (t->layout.pipe && nn_pipe_end(&t->worker, err) < 0)
		return -1;
	nn_event_end(t, reason);
	return nn_log_check(t->told.log, err);
}

/* Why training is over, or NULL. */
static const char *over(struct nn_train *t)
{
	if (t->counters.done)
		return "patience";
	if (t->counters.step >= t->task.planned)
		return t->ends_by;
	if (t->counters.step > t->worker.started_step && asked(t)->over)
		return "time-limit";
	return NULL;
}

/* A step and what follows it, their seconds kept for the next prediction. */
static int timed_step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	double start = nn_now_s(), middle, rows = (double)t->counters.rows,
	       before = t->worker.compute_s + t->worker.input_s;
	struct nn_times *m = &t->clock.times;
	uint64_t moved = nn_comm_moved(t->layout.comm);

	if (m->steps == 0)
		nn_report_faults(m, -1);
	if (step(t, pace, err) < 0)
		return -1;
	middle = nn_now_s();
	m->bytes += (double)(nn_comm_moved(t->layout.comm) - moved);
	rows = (double)t->counters.rows - (t->counters.rows > rows ? rows : 0);
	if (m->steps++ == 0) {
		m->first_s = middle - start;
		nn_report_faults(m, 1);
	} else {
		m->steps_s += middle - start;
		m->rows += rows;
		m->step[m->timed % NN_TIMED_STEPS] = middle - start;
		m->compute[m->timed++ % NN_TIMED_STEPS] =
			t->worker.compute_s + t->worker.input_s - before;
	}
	m->epochs += t->counters.step % t->task.steps_per_epoch == 0;
	if (after_step(t, pace, err) < 0)
		return -1;
	m->after_s += nn_now_s() - middle;
	return 0;
}

static int loop(void *arg, int *stopped, struct nn_error *err)
{
	struct nn_train *t = arg;
	struct pace pace = { .logged_s = nn_now_s() };
	const char *reason;

	if (t->layout.tensor)
		nn_tensor_tell(&t->worker);
	if (t->layout.pipe)
		nn_pipe_tell(&t->worker);
	nn_event_start(t);
	if (nn_log_check(t->told.log, err) < 0)
		return -1;
	pace.epoch_s = pace.logged_s;
	pace.epoch_rows = t->counters.rows;
	t->wish = (struct nn_control){ 0 };
	tell_step(t);
	while (!(*stopped = asked(t)->stop)) {
		if ((reason = over(t)))
			return finish(t, &pace, reason, err);
		if (timed_step(t, &pace, err) < 0)
			return -1;
	}
	return stop(t, *stopped, err);
}

static int run(struct nn_train *t, int *stopped, struct nn_error *err)
{
	const struct nn_strategy *strategy = t->layout.strategy;
	const struct nn_strategy_loop all = { loop, t };
	struct nn_worker *w = &t->worker;
	int status = strategy->open ? strategy->open(w, err) : 0;

	if (status == 0)
		status = strategy->run ? strategy->run(w, &all, stopped, err)
				       : loop(t, stopped, err);
	if (strategy->close)
		strategy->close(w);
	return status;
}

int nn_train_run(struct nn_train *t, int *stopped, struct nn_error *err)
{
	struct nn_error why;
	int status;

	*stopped = 0;
	t->clock.start_s = nn_now_s();
	t->clock.ends_s = t->options->recipe.time_limit > 0
				  ? t->clock.start_s + t->options->recipe.time_limit
				  : 0;
	nn_progress_limit(t->told.progress, t->clock.start_s, t->clock.ends_s);
	t->worker.started_step = t->counters.step;
	status = run(t, stopped, &why);
	nn_progress_clear(t->told.progress);
	if (status < 0) {
		nn_save_wait(&t->kept);
		nn_event_end(t, why.code == NN_EDIVERGED ? "diverged" : "error");
		nn_curve_write(t->told.curve, t, true, NULL);
	} else {
		status = nn_curve_write(t->told.curve, t, true, &why);
	}
	if (status < 0 && err)
		*err = why;
	return status;
}
