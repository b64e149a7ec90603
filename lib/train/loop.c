/* The loop over epochs and steps, which strategies share. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output.h"
#include "parallel/pipeline.h"
#include "parallel/ranks.h"
#include "parallel/tensor.h"
#include "train/judge.h"
#include "train/loop.h"
#include "train/origin.h"
#include "train/replay.h"
#include "train/state/checkpoint.h"
#include "train/state/save.h"
#include "train/tell/curve.h"
#include "train/tell/ending.h"
#include "train/tell/events.h"
#include "train/tell/progress.h"
#include "train/tell/report.h"
#include "train/tell/input.h"
#include "train/tell/tensorboard.h"
#include "train/threshold.h"
#include "train/write.h"

/* ---- between steps ---- */

static void end_epoch(struct nn_train *t, struct nn_pace *pace)
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
		nn_tell_warning(&t->told, "no state is written %s",
				t->source.fold ? "with --folds" : nn_checkpoint_none(t->options));
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

/* What ranks that train alone send where they come together belongs to their steps. */
static int synchronize(struct nn_train *t, struct nn_error *err)
{
	uint64_t moved = nn_comm_moved(t->layout.comm);
	int status = nn_worker_synchronize(&t->worker, &t->control, err);

	if (t->layout.strategy->alone)
		t->clock.times.bytes += (double)(nn_comm_moved(t->layout.comm) - moved);
	return status;
}

static int after_step(struct nn_train *t, struct nn_pace *pace, struct nn_error *err)
{
	uint64_t number = t->counters.step, every = t->options->ranks.check_every;
	const struct nn_control *control = nn_loop_asked(t); /* synchronize adds to it */
	bool ends_epoch = number % t->task.steps_per_epoch == 0,
	     saves = ends_epoch || nn_save_due(&t->kept) || control->due;
	bool evaluates =
		ends_epoch || (t->options->valid_every && number % t->options->valid_every == 0);

	if (every && number % every == 0 && nn_worker_check_parameters(&t->worker, err) < 0)
		return -1;
	if (((evaluates && t->task.n_valid > 0) || saves || control->save) &&
	    synchronize(t, err) < 0)
		return -1;
	if (evaluates && nn_train_evaluate(t, err) < 0)
		return -1;
	if (evaluates && !ends_epoch)
		nn_event_valid(t);
	if (ends_epoch) {
		end_epoch(t, pace);
		if (unchanged(t, err) < 0)
			return -1;
		nn_curve_write(t->told.curve, t, false,
			       NULL); /* what failed is tried again at the end */
	}
	if (!control->save)
		return nn_save_follow(&t->kept, saves || control->due, err);
	serve_signal(t, control->save);
	return save_now(t, err);
}

/* ---- the whole ---- */

static int stop(struct nn_train *t, int signal, struct nn_error *err)
{
	nn_event_signal(t, signal);
	if (nn_worker_synchronize(&t->worker, &t->control, err) < 0 ||
	    nn_worker_gather_times(&t->worker, err) < 0)
		return -1;
	if (!t->kept.state_path && !t->source.fold)
		nn_tell_warning(&t->told, "no state is written %s: this training is lost",
				nn_checkpoint_none(t->options));
	if (save_now(t, err) < 0)
		return -1;
	if (t->layout.tensor)
		nn_tensor_end(&t->worker);
	if (t->layout.pipe && nn_pipe_end(&t->worker, err) < 0)
		return -1;
	nn_event_end(t, "signal", NAN);
	nn_ending_stopped(t);
	return 0;
}

/* The state and, at an end within an epoch, a last look that leaves no trace in it. */
/* Could all be written that is told as it happens? */
static int check_told(const struct nn_train *t, struct nn_error *err)
{
	return nn_log_check(t->told.log, err) < 0 || nn_tensorboard_check(t->told.board, err) < 0
		       ? -1
		       : 0;
}

static int finish(struct nn_train *t, struct nn_pace *pace, const char *reason,
		  struct nn_error *err)
{
	bool whole = t->counters.step % t->task.steps_per_epoch == 0,
	     ran = t->counters.step > t->worker.started_step;
	bool evaluates = !whole || (!ran && t->task.n_valid > 0);
	void **best;

	if (!whole && unchanged(t, err) < 0)
		return -1;
	if (synchronize(t, err) < 0 || nn_save_newest(&t->kept, err) < 0)
		return -1;
	if (nn_save_export_params(&t->kept, err) < 0)
		return -1;
	if (evaluates && nn_train_evaluate(t, err) < 0)
		return -1;
	if (!whole && ran)
		end_epoch(t, pace);
	if (nn_worker_gather_times(&t->worker, err) < 0) /* when all memory was taken */
		return -1;
	best = t->counters.best_step > 0 ? t->kept.best : NULL;
	if (best && nn_train_evaluate_params(t, best, err) < 0)
		return -1;
	if (nn_train_find_threshold(t, best ? best : t->worker.params, err) < 0)
		return -1;
	if (!t->source.fold && nn_train_write(t, best ? best : t->worker.params, err) < 0)
		return -1;
	if (nn_save_end(&t->kept, err) < 0)
		return -1;
	nn_checkpoint_end(&t->kept);
	nn_progress_clear(t->told.progress);
	if (t->layout.tensor)
		nn_tensor_end(&t->worker);
	if (t->layout.pipe && nn_pipe_end(&t->worker, err) < 0)
		return -1;
	nn_event_end(t, reason, pace->loss / pace->weight);
	nn_train_replay_tell(t);
	if (!ran)
		nn_ending_nothing_left(t, reason);
	nn_ending_line(t, reason);
	t->found.unconverged = nn_ending_unconverged(t, reason) ? reason : NULL;
	if (t->found.unconverged && !t->source.fold)
		nn_ending_note(t, reason, 1, 0);
	return check_told(t, err);
}

/* Why training is over, or NULL. */
static const char *over(struct nn_train *t)
{
	if (t->counters.done)
		return "patience";
	if (t->counters.step >= t->task.planned)
		return t->ends_by;
	if (t->counters.step > t->worker.started_step && nn_loop_asked(t)->over)
		return "time-limit";
	return NULL;
}

/* A step and what follows it, their seconds kept for the next prediction. */
static int timed_step(struct nn_train *t, struct nn_pace *pace, struct nn_error *err)
{
	double start = nn_now_s(), middle, rows = (double)t->counters.rows,
	       before = t->worker.compute_s + t->worker.input_s;
	struct nn_times *m = &t->clock.times;
	uint64_t moved = nn_comm_moved(t->layout.comm);

	if (m->steps == 0)
		nn_report_faults(m, -1);
	if (nn_loop_step(t, pace, err) < 0 || nn_train_replay_follow(t, err) < 0)
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

/* SIGUSR2: how far the input keeps up. */
static void show_input(const struct nn_train *t)
{
	if (!t->setup.host.show || !*t->setup.host.show)
		return;
	*t->setup.host.show = 0;
	nn_tell_input(t);
	nn_event_input(t);
}

static int loop(void *arg, int *stopped, struct nn_error *err)
{
	struct nn_train *t = arg;
	struct nn_pace pace = { .logged_s = nn_now_s() };
	const char *reason;

	if (t->layout.tensor)
		nn_tensor_note(&t->worker);
	if (t->layout.pipe)
		nn_pipe_note(&t->worker);
	nn_event_start(t);
	if (check_told(t, err) < 0 || nn_train_replay_follow(t, err) < 0)
		return -1;
	pace.epoch_s = pace.logged_s;
	pace.epoch_rows = t->counters.rows;
	t->control = (struct nn_control){ 0 };
	nn_loop_tell(t);
	while (!(*stopped = nn_loop_asked(t)->stop)) {
		if ((reason = over(t)))
			return finish(t, &pace, reason, err);
		if (timed_step(t, &pace, err) < 0)
			return -1;
		show_input(t);
	}
	return stop(t, *stopped, err);
}

static int run(struct nn_train *t, int *stopped, struct nn_error *err)
{
	const struct nn_strategy *strategy = t->layout.strategy;
	const struct nn_strategy_loop all = { loop, t };
	struct nn_worker *w = &t->worker;
	int status = nn_origin_take(t, err);

	if (status == 0 && strategy->open)
		status = strategy->open(w, err);
	if (status == 0)
		status = strategy->run ? strategy->run(w, &all, stopped, err)
				       : loop(t, stopped, err);
	if (strategy->close)
		strategy->close(w);
	nn_text_free(&w->origin.text);
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
	nn_loader_restart(&t->loader);
	status = run(t, stopped, &why);
	nn_progress_clear(t->told.progress);
	if (status < 0) {
		nn_save_wait(&t->kept);
		nn_event_end(t, why.code == NN_EDIVERGED ? "diverged" : "error", NAN);
		nn_curve_write(t->told.curve, t, true, NULL);
	} else {
		status = nn_curve_write(t->told.curve, t, true, &why);
	}
	if (status < 0 && err)
		*err = why;
	return status;
}
