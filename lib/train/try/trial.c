/* One combination of --try: its name, its options, its training in a process of its own. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "step/evaluate.h"
#include "train/try/try-inside.h"

static const int stops[] = { SIGINT, SIGTERM };

void nn_tries_keep(struct nn_tries_before *b, const struct nn_train_setup *s)
{
	*b = (struct nn_tries_before){ *s->train, *s->data, *s->std, { 0 } };
	for (size_t i = 0; s->list->tables[i].rows; i++)
		b->given[i] = s->list->tables[i].given ? *s->list->tables[i].given : 0;
}

void nn_tries_give_back(const struct nn_tries_before *b, const struct nn_train_setup *s)
{
	*s->train = b->train;
	*s->data = b->data;
	*s->std = b->std;
	for (size_t i = 0; s->list->tables[i].rows; i++)
		if (s->list->tables[i].given)
			*s->list->tables[i].given = b->given[i];
}

void nn_tries_name(const struct nn_tries *all, size_t k, struct nn_text *text)
{
	for (size_t i = 0; i < all->axes.n; i++)
		nn_text_addf(text, "%s%s=%s", i ? " " : "", all->axes.axes[i].row->name,
			     nn_try_value(&all->axes, i, k));
}

void nn_tries_model(const struct nn_tries *all, size_t k, char path[4200])
{
	snprintf(path, 4200, "%s/%zu%s", all->directory, k, all->suffix);
}

/* The metric of the rows held out: of all folds, or of the model that is kept. */
static int train_folds(struct nn_train *t, struct nn_tried *trial, int *stopped,
		       struct nn_error *err)
{
	size_t folds = t->options->folds ? t->options->folds : 1;
	double sum = 0, squares = 0, values[folds];

	for (size_t f = 0; f < folds; f++) {
		if (nn_train_run(t, stopped, err) < 0)
			return -1;
		if (*stopped)
			return 0;
		if (!nn_evaluator_get(t->evaluator, t->metric, &values[f]))
			return nn_fail(err, NN_EFAIL, "no %s of the held-out rows", t->metric);
		sum += values[f];
		if (f + 1 < folds && nn_train_next_fold(t, err) < 0)
			return -1;
	}
	trial->metric = sum / (double)folds;
	for (size_t f = 0; f < folds; f++)
		squares += (values[f] - trial->metric) * (values[f] - trial->metric);
	trial->sd = folds > 1 ? sqrt(squares / (double)(folds - 1)) : NAN;
	return 0;
}

/* What each would say of its own, all would. */
static void keep_silent(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/*
 * A signal that ends all may come twice, to the whole foreground group and from the process that
 * waits: that one alone ends at once at a second one.
 */
static volatile sig_atomic_t stop;

static void catch_stop(int number)
{
	stop = number;
}

static void catch_stops(void)
{
	struct sigaction old, action = { .sa_handler = catch_stop };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		if (sigaction(stops[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(stops[i], &action, NULL);
}

static int train(struct nn_tries *all, size_t k, struct nn_tried *trial)
{
	struct nn_train_setup *s = all->setup;
	struct nn_train *t = NULL;
	char model[4200];
	int stopped = 0, status;

	nn_tries_model(all, k, model);
	s->std->threads = all->threads / all->jobs ? all->threads / all->jobs : 1;
	s->std->output = s->train->folds ? "/dev/null" : model;
	s->train->checkpoint = "no"; /* nothing could resume from it */
	s->host = (struct nn_train_host){ .warn = keep_silent,
					  .note = keep_silent,
					  .progress = -1,
					  .stop = &stop,
					  .save = s->host.save };
	s->read = &all->read;
	status = nn_try_put(&all->axes, s, k, &trial->err);
	if (status == 0)
		status = nn_train_open(&t, s, &trial->err);
	if (status == 0) {
		snprintf(trial->name, sizeof trial->name, "%s", t->metric);
		trial->rises = t->rises;
		status = train_folds(t, trial, &stopped, &trial->err);
	}
	nn_train_free(t);
	return status < 0 ? 1 : stopped ? 128 + stopped : 0;
}

/* It ends with this process, however that comes. */
int nn_tries_start(struct nn_tries *all, size_t k, struct nn_error *err)
{
	struct nn_tried *trial = &all->trials[k];
	pid_t parent = getpid(), pid;
	sigset_t held, before;
	double begun = nn_now_s();
	int code;

	trial->metric = trial->sd = NAN;
	sigemptyset(&held);
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		sigaddset(&held, stops[i]);
	sigprocmask(SIG_BLOCK, &held, &before);
	pid = fork();
	if (pid == 0)
		catch_stops();
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return nn_fail_errno(err, NN_EFAIL, "--try: fork");
	if (pid > 0) {
		trial->pid = pid;
		trial->started = true;
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	code = train(all, k, trial);
	trial->seconds = nn_now_s() - begun;
	_exit(code);
}
