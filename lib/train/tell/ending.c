/* The last words of a training: whether it would have gone on learning, how one that was stopped
 * goes on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "train/figures.h"
#include "train/spool.h"
#include "train/tell/ending.h"
#include "train/tell/progress.h"
#include "train/trend.h"

#define FALLING 0.01 /* of the whole fall, in the last tenth */

bool nn_ending_unconverged(const struct nn_train *t, const char *reason)
{
	double last = t->found.metric, best = t->counters.best;
	bool at_best = t->rises ? last >= best : last <= best;

	return strcmp(reason, "patience") != 0 && t->counters.step > t->worker.started_step &&
	       (t->task.n_valid == 0 || at_best) && nn_trend_fall(&t->counters) > FALLING;
}

/* The option that ended it, at twice its value. */
static void longer(const struct nn_train *t, const char *reason, char text[60])
{
	const struct nn_recipe *r = &t->options->recipe;

	if (strcmp(reason, "stream") == 0)
		snprintf(text, 60, "--steps=%" PRIu64, 2 * t->counters.step);
	else if (strcmp(reason, "time-limit") == 0)
		snprintf(text, 60, "--time-limit=%g", 2 * r->time_limit);
	else
		snprintf(text, 60, "--%s=%" PRIu64, reason,
			 2 * (strcmp(reason, "steps") == 0 ? r->steps : r->epochs));
}

void nn_ending_note(const struct nn_train *t, const char *reason, uint64_t n, uint64_t folds)
{
	char option[60], where[80] = "";

	longer(t, reason, option);
	if (folds)
		snprintf(where, sizeof where, "in %" PRIu64 " of %" PRIu64 " folds ", n, folds);
	nn_tell_note(&t->told, "%sthe loss was still falling when training ended: try %s%s", where,
		     option,
		     t->task.n_valid > 0 ? ""
		     : t->ring		 ? ", with --valid=FILE to see whether that helps"
					 : ", with --valid=0.2 to see whether that helps");
}

/* "step 118 (epoch 3 of 10)" */
static void place(const struct nn_train *t, char text[100])
{
	uint64_t step = t->counters.step, epochs = nn_task_epochs(&t->task);
	int n = snprintf(text, 100, "step %" PRIu64 " (epoch %" PRIu64, step,
			 nn_task_epoch(&t->task, step));

	if (epochs && nn_task_epoch(&t->task, step) <= epochs)
		n += snprintf(text + n, 100 - (size_t)n, " of %" PRIu64, epochs);
	snprintf(text + n, 100 - (size_t)n, ")");
}

/* "all 10 epochs done": why training ended. */
static void add_why(const struct nn_train *t, const char *reason, struct nn_text *line)
{
	uint64_t step = t->counters.step, epoch = nn_task_epoch(&t->task, step),
		 patience = t->options->patience;

	if (step == 0)
		nn_text_add(line, "no step made, the model is as it began");
	else if (step == t->worker.started_step)
		nn_text_addf(line, "the model of step %" PRIu64 " (epoch %" PRIu64 ")", step,
			     epoch);
	else if (strcmp(reason, "patience") == 0)
		nn_text_addf(line,
			     "stopped after epoch %" PRIu64 ": no better %s in %" PRIu64
			     " evaluation%s",
			     epoch, t->metric, patience, nn_s(patience));
	else if (strcmp(reason, "time-limit") == 0)
		nn_text_addf(line, "time is up after %g s, in epoch %" PRIu64 " (step %" PRIu64 ")",
			     t->options->recipe.time_limit, epoch, step);
	else if (strcmp(reason, "steps") == 0)
		nn_text_addf(line, "%" PRIu64 " step%s done, in epoch %" PRIu64, step, nn_s(step),
			     epoch);
	else if (strcmp(reason, "stream") == 0)
		nn_text_addf(line,
			     "the stream has ended; %" PRIu64 " step%s done, in epoch %" PRIu64,
			     step, nn_s(step), epoch);
	else
		nn_text_addf(line, "%" PRIu64 " epoch%s done", epoch, nn_s(epoch));
}

/* "; epoch 14 is kept (accuracy 0.9812)" */
static void add_kept(const struct nn_train *t, struct nn_text *line)
{
	bool best = t->kept.best && t->counters.best_step > 0,
	     loss = strcmp(t->metric, "loss") == 0;
	bool evaluated = t->task.n_valid > 0 || t->counters.step > t->worker.started_step;
	double value = best ? t->counters.best : t->found.metric;

	if (best)
		nn_text_addf(line, "; epoch %" PRIu64 " is kept", t->counters.best_epoch);
	if (t->counters.step > 0 && !isnan(value) && (best || evaluated))
		nn_text_addf(line, "%s%s%s %.4g%s", best ? " (" : "; ",
			     t->task.n_valid == 0 ? "train_"
			     : loss               ? "valid_"
						  : "",
			     t->metric, value, best ? ")" : "");
}

void nn_ending_line(const struct nn_train *t, const char *reason)
{
	const char *output = t->std->output;
	struct nn_text line = { 0 };

	if (t->source.fold && strcmp(reason, "patience") != 0)
		return;
	if (t->source.fold)
		nn_text_addf(&line, "fold %" PRIu64 "/%" PRIu64 "  ", t->source.fold,
			     t->options->folds);
	add_why(t, reason, &line);
	add_kept(t, &line);
	if (t->counters.loss_scale.skipped)
		nn_text_addf(&line,
			     "; %" PRIu64 " step%s skipped, the gradient was not finite in f16",
			     t->counters.loss_scale.skipped, nn_s(t->counters.loss_scale.skipped));
	if (t->found.threshold.by)
		nn_text_addf(&line, "; threshold %.4g (%s %.4g)", t->found.threshold.value,
			     nn_threshold_words[t->found.threshold.by], t->found.threshold.figure);
	if (!t->source.fold)
		nn_text_addf(&line, "; written to %s",
			     output && strcmp(output, "-") != 0 ? output : "stdout");
	nn_progress_say(t->told.progress, &line);
	nn_text_free(&line);
}

/* Is stdin among the data, and nothing keeps it? Then --resume is refused. */
static bool reads_pipe(const struct nn_train *t)
{
	const struct nn_train_setup *s = &t->setup;

	return !nn_spool_file(t->options) &&
	       (nn_is_stdin(s->data_path) || (s->targets_path && nn_is_stdin(s->targets_path)));
}

void nn_ending_stopped(const struct nn_train *t)
{
	char at[100];

	place(t, at);
	if (t->source.fold)
		nn_tell_note(&t->told, "stopped in fold %" PRIu64 " of %" PRIu64 ", at %s",
			     t->source.fold, t->options->folds, at);
	else if (t->kept.state_path && t->kept.saved_step == t->counters.step)
		nn_tell_note(
			&t->told, "stopped at %s; the state is in %s: %s", at, t->kept.state_path,
			reads_pipe(t) ? "stdin would be needed again, which --spool=FILE keeps"
				      : "--resume goes on, --resume --steps=0 writes the model");
}

void nn_ending_nothing_left(const struct nn_train *t, const char *reason)
{
	bool wants_model = nn_opt_given(t->setup.list, "steps") && t->options->recipe.steps == 0;
	uint64_t step = t->counters.step, epoch = nn_task_epoch(&t->task, step);
	char at[100], more[90] = "";

	if (!t->options->resume || step == 0 || wants_model)
		return;
	place(t, at);
	if (strcmp(reason, "patience") != 0)
		snprintf(more, sizeof more, "; --%s=%" PRIu64 " goes on", reason,
			 2 * (strcmp(reason, "steps") == 0 ? step : epoch));
	nn_tell_note(&t->told, "nothing left to do: %s has the end of this training, %s%s",
		     t->kept.state_path, at, more);
}
