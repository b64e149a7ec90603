/* The loop over epochs and steps, which strategies share. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/judge.h"
#include "train/ranks.h"
#include "train/record.h"
#include "train/report.h"
#include "train/save.h"

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

	nn_save_wait(t);
	if (t->state_path && t->saved_step != UINT64_MAX)
		snprintf(last, sizeof last, "; %s has the state of step %llu", t->state_path,
			 (unsigned long long)t->saved_step);
	if (r->bad_line >= 0)
		snprintf(layer, sizeof layer, ": layer %s (%s) was the first to go wrong",
			 nn_net_line(t->net, r->bad_line).name,
			 nn_net_line(t->net, r->bad_line).layer);
	return nn_fail(err, NN_EDIVERGED,
		       "step %llu: the loss is not finite%s; a lower --lr than %g or --clip-norm "
		       "may help%s",
		       step, layer, t->options->lr, last);
}

/* A short --time-limit has twenty of them. */
static double log_s(const struct nn_train *t)
{
	double limit = t->options->time_limit;

	return limit > 0 && limit < 20 * LOG_S ? limit / 20 : LOG_S;
}

static bool logs_step(const struct nn_train *t, const struct pace *pace, double now)
{
	if (!nn_log_wanted(t->log))
		return false;
	if (t->options->log_every)
		return (t->counters.step + 1) % t->options->log_every == 0;
	return now - pace->logged_s >= log_s(t) || t->counters.step == t->started_step;
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
	t->compute_s += r->compute_s;
	t->input_s += r->input_s;
	t->comm_s += r->comm_s;
	t->wait_s += r->wait_s;
}

static void begin_epoch(struct nn_train *t, struct pace *pace)
{
	struct nn_counters *c = &t->counters;

	c->loss = c->weight = c->squares = 0;
	c->rows = c->hits = c->counted = 0;
	pace->epoch_s = nn_now_s();
	pace->epoch_rows = 0;
	pace->first_epoch = t->first_epoch_s == 0;
}

/* What this process would do now, alone. */
static struct nn_wish wishes(const struct nn_train *t)
{
	return (struct nn_wish){
		.stop = *t->setup.host.stop,
		.save = *t->setup.host.save,
		.due = nn_save_late(t) || nn_save_ready(t),
		.over = t->ends_s > 0 && nn_now_s() >= t->ends_s,
	};
}

/* What is to be done: of several ranks what they agreed on in the last step, else what is wished at
 * this moment. */
static const struct nn_wish *asked(struct nn_train *t)
{
	if (t->comm->size == 1)
		t->wish = wishes(t);
	return &t->wish;
}

static void tell_step(const struct nn_train *t)
{
	if (t->setup.host.at)
		t->setup.host.at(t->setup.host.arg, t->counters.step);
}

/* What comes after the batch, while the epoch lasts. */
static void follow(struct nn_train *t, const struct nn_strategy_batch *batch)
{
	const uint64_t *next = batch->rows + batch->n;
	size_t left = t->n_rows - (size_t)(next - t->order.rows);

	nn_step_follow(t->step, next, left < batch->n ? left : batch->n);
}

static int step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step;
	double start = nn_now_s(), now;
	struct nn_strategy_batch batch = nn_train_batch(t, &t->order, number);
	struct nn_step_result result;
	bool logs;

	if (number % t->steps_per_epoch == 0)
		begin_epoch(t, pace);
	t->schedule.drops = (unsigned)t->counters.drops;
	batch.lr = nn_schedule_rate(&t->schedule, number);
	logs = logs_step(t, pace, start);
	t->wish = wishes(t);
	t->wish.norm = logs;
	if (!nn_train_in_parts(t) && nn_train_measures(t) &&
	    nn_noise_due(&t->noise, number, batch.n,
			 t->n_rows < t->options->batch ? t->n_rows : t->options->batch))
		nn_step_noise(t->step);
	if (!nn_train_in_parts(t))
		follow(t, &batch);
	if (t->strategy->step(t, &batch, &t->wish, &result, err) < 0)
		return -1;
	if (!result.finite)
		return diverged(t, &result, err);
	count_step(t, &result, batch.n);
	tell_step(t);
	nn_noise_add(&t->noise, &result.noise);
	now = nn_now_s();
	nn_curve_step(t->curve, t->counters.step, result.loss, result.weight, batch.n, now - start);
	pace->samples += batch.n;
	pace->loss += result.loss * result.weight;
	pace->weight += result.weight;
	if (t->first_step_s == 0)
		t->first_step_s = now - start;
	if (logs) {
		nn_event_step(t, &result, batch.lr, pace->loss / pace->weight,
			      (double)(pace->samples - pace->logged_samples) /
				      (now - pace->logged_s));
		pace->logged_s = now;
		pace->logged_samples = pace->samples;
		pace->loss = pace->weight = 0;
	}
	nn_progress_step(t->progress, t->counters.step, t->planned, result.loss, now);
	return 0;
}

/* ---- between steps ---- */

static void end_epoch(struct nn_train *t, struct pace *pace)
{
	double seconds = nn_now_s() - pace->epoch_s;
	uint64_t rows = t->counters.rows - pace->epoch_rows;

	if (t->first_epoch_s == 0) {
		t->first_epoch_s = seconds;
	} else {
		t->steady_s += seconds;
		t->steady_samples += rows;
	}
	nn_event_epoch(t, seconds, (double)rows / seconds);
}

/* SIGUSR1 and SIGHUP: the state, now. */
static void serve_signal(struct nn_train *t, int signal)
{
	*t->setup.host.save = 0;
	nn_event_signal(t, signal);
	if (!t->state_path)
		nn_train_warn(t,
			      t->fold ? "no state is written with --folds"
				      : "no state is written without -o FILE or --checkpoint=FILE");
}

/* A signal's sender may look at the file as soon as the log says so, or the process has ended. */
static int save_now(struct nn_train *t, struct nn_error *err)
{
	if (nn_save_newest(t, err) < 0)
		return -1;
	nn_save_wait(t);
	return 0;
}

static int unchanged(const struct nn_train *t, struct nn_error *err)
{
	if (nn_dataset_unchanged(t->dataset, err) < 0)
		return -1;
	return t->held_out ? nn_dataset_unchanged(t->held_out, err) : 0;
}

static int after_step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step;
	const struct nn_wish wish = *asked(t);
	bool ends_epoch = number % t->steps_per_epoch == 0,
	     saves = ends_epoch || nn_save_due(t) || wish.due;
	bool looks =
		ends_epoch || (t->options->valid_every && number % t->options->valid_every == 0);

	if (nn_train_check_parameters(t, err) < 0)
		return -1;
	if (((looks && t->n_valid > 0) || saves || wish.save) && nn_train_settle(t, err) < 0)
		return -1;
	if (looks && nn_train_judge(t, err) < 0)
		return -1;
	if (looks && !ends_epoch)
		nn_event_valid(t);
	if (ends_epoch) {
		end_epoch(t, pace);
		if (unchanged(t, err) < 0)
			return -1;
		nn_curve_write(t->curve, t, false,
			       NULL); /* what failed is tried again at the end */
	}
	if (!wish.save)
		return nn_save_follow(t, saves, err);
	serve_signal(t, wish.save);
	return save_now(t, err);
}

/* ---- the whole ---- */

static int stop(struct nn_train *t, int signal, struct nn_error *err)
{
	nn_event_signal(t, signal);
	if (nn_train_settle(t, err) < 0 || nn_train_gather_times(t, err) < 0)
		return -1;
	if (!t->state_path && !t->fold)
		nn_train_warn(t, "no state is written without -o FILE or --checkpoint=FILE: this "
				 "training is lost");
	if (save_now(t, err) < 0)
		return -1;
	if (t->tensor)
		nn_tensor_end(t);
	if (t->pipe && nn_pipe_end(t, err) < 0)
		return -1;
	nn_event_end(t, "signal");
	return 0;
}

/* The state and, at an end within an epoch, a last look that leaves no trace in it. */
static int finish(struct nn_train *t, struct pace *pace, const char *reason, struct nn_error *err)
{
	bool whole = t->counters.step % t->steps_per_epoch == 0,
	     ran = t->counters.step > t->started_step;
	bool looks = !whole || (!ran && t->n_valid > 0);
	void **best;

	if (!whole && unchanged(t, err) < 0)
		return -1;
	if (nn_train_settle(t, err) < 0 || nn_save_newest(t, err) < 0)
		return -1;
	if (nn_train_collect(t, err) < 0)
		return -1;
	if (looks && nn_train_judge(t, err) < 0)
		return -1;
	if (!whole && ran)
		end_epoch(t, pace);
	if (nn_train_gather_times(t, err) < 0) /* when all memory was taken */
		return -1;
	best = t->counters.best_step > 0 ? t->best : NULL;
	if (best && nn_train_evaluate(t, best, err) < 0)
		return -1;
	if (!t->fold && nn_record_model(t, best ? best : t->params, err) < 0)
		return -1;
	if (nn_save_end(t, err) < 0)
		return -1;
	nn_progress_end(t->progress);
	if (t->tensor)
		nn_tensor_end(t);
	if (t->pipe && nn_pipe_end(t, err) < 0)
		return -1;
	nn_event_end(t, reason);
	return nn_log_check(t->log, err);
}

/* Why training is over, or NULL. */
static const char *over(struct nn_train *t)
{
	if (t->counters.done)
		return "patience";
	if (t->counters.step >= t->planned)
		return t->ends_by;
	if (t->counters.step > t->started_step && asked(t)->over)
		return "time-limit";
	return NULL;
}

/* A step and what follows it, their seconds kept for the next prediction. */
static int timed_step(struct nn_train *t, struct pace *pace, struct nn_error *err)
{
	double start = nn_now_s(), middle, rows = (double)t->counters.rows,
	       before = t->compute_s + t->input_s;
	struct nn_times *m = &t->times;
	uint64_t moved = nn_comm_moved(t->comm);

	if (m->steps == 0)
		nn_report_faults(m, -1);
	if (step(t, pace, err) < 0)
		return -1;
	middle = nn_now_s();
	m->bytes += (double)(nn_comm_moved(t->comm) - moved);
	rows = (double)t->counters.rows - (t->counters.rows > rows ? rows : 0);
	if (m->steps++ == 0) {
		m->first_s = middle - start;
		nn_report_faults(m, 1);
	} else {
		m->steps_s += middle - start;
		m->rows += rows;
		m->step[m->timed % NN_TIMED_STEPS] = middle - start;
		m->compute[m->timed++ % NN_TIMED_STEPS] = t->compute_s + t->input_s - before;
	}
	m->epochs += t->counters.step % t->steps_per_epoch == 0;
	if (after_step(t, pace, err) < 0)
		return -1;
	m->after_s += nn_now_s() - middle;
	return 0;
}

int nn_train_loop(struct nn_train *t, int *stopped, struct nn_error *err)
{
	struct pace pace = { .logged_s = nn_now_s() };
	const char *reason;

	if (t->tensor)
		nn_tensor_tell(t);
	if (t->pipe)
		nn_pipe_tell(t);
	nn_event_start(t);
	if (nn_log_check(t->log, err) < 0)
		return -1;
	pace.epoch_s = pace.logged_s;
	pace.epoch_rows = t->counters.rows;
	t->wish = (struct nn_wish){ 0 };
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
	int status = t->strategy->open ? t->strategy->open(t, err) : 0;

	if (status == 0)
		status = (t->strategy->run ? t->strategy->run : nn_train_loop)(t, stopped, err);
	if (t->strategy->close)
		t->strategy->close(t);
	return status;
}

int nn_train_run(struct nn_train *t, int *stopped, struct nn_error *err)
{
	struct nn_error why;
	int status;

	*stopped = 0;
	t->start_s = nn_now_s();
	t->ends_s = t->options->time_limit > 0 ? t->start_s + t->options->time_limit : 0;
	nn_progress_limit(t->progress, t->start_s, t->ends_s);
	t->started_step = t->counters.step;
	status = run(t, stopped, &why);
	nn_progress_clear(t->progress);
	if (status < 0) {
		nn_save_wait(t);
		nn_event_end(t, why.code == NN_EDIVERGED ? "diverged" : "error");
		nn_curve_write(t->curve, t, true, NULL);
	} else {
		status = nn_curve_write(t->curve, t, true, &why);
	}
	if (status < 0 && err)
		*err = why;
	return status;
}
