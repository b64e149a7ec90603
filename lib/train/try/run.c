/* The processes of --try: as many at once as may be, whoever ends next, the best so far. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/try/try-inside.h"

static bool better(const struct nn_tried *a, const struct nn_tried *b)
{
	if (isnan(a->metric) || isnan(b->metric))
		return !isnan(a->metric) && isnan(b->metric);
	return a->rises ? a->metric > b->metric : a->metric < b->metric;
}

static void tell(const struct nn_tries *all, size_t k, size_t done)
{
	const struct nn_tried *trial = &all->trials[k];
	struct nn_text text = { 0 };

	if (!all->setup->host.note)
		return;
	nn_tries_name(all, k, &text);
	if (isnan(trial->metric))
		nn_text_add(&text, ": diverged");
	else
		nn_text_addf(&text, ": %s %.4g", trial->name, trial->metric);
	nn_text_addf(&text, " (%zu of %zu, %.3g s)", done, all->n, trial->seconds);
	if (!text.failed)
		all->setup->host.note(all->setup->host.arg, text.data);
	nn_text_free(&text);
}

static void tell_stopped(const struct nn_tries *all, size_t done)
{
	char text[100];

	if (!all->setup->host.note)
		return;
	snprintf(text, sizeof text, "stopped: %zu of %zu trainings had ended; no model is written",
		 done, all->n);
	all->setup->host.note(all->setup->host.arg, text);
}

/* Of models only the best so far stays; of equals the one that was tried first. */
static void judge(struct nn_tries *all, size_t k)
{
	char path[4200];
	size_t worse = k;

	if (all->best == all->n || better(&all->trials[k], &all->trials[all->best]) ||
	    (k < all->best && !better(&all->trials[all->best], &all->trials[k]))) {
		worse = all->best;
		all->best = k;
	}
	if (worse == all->n)
		return;
	nn_tries_model(all, worse, path);
	unlink(path);
}

static int take(struct nn_tries *all, size_t k, int code, struct nn_error *err)
{
	struct nn_tried *trial = &all->trials[k];
	struct nn_text name = { 0 };
	int status = 0;

	trial->ended = true;
	if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
		return 0;
	if (WIFEXITED(code) && WEXITSTATUS(code) == 1 && trial->err.code == NN_EDIVERGED)
		return 0;
	nn_tries_name(all, k, &name);
	if (WIFSIGNALED(code))
		status = nn_fail(err, NN_EFAIL, "--try: %s: was killed by signal %d", name.data,
				 WTERMSIG(code));
	else if (WEXITSTATUS(code) == 1)
		status = nn_fail(err, trial->err.code ? trial->err.code : NN_EFAIL, "--try: %s: %s",
				 name.data, trial->err.text);
	nn_text_free(&name);
	return status;
}

static size_t running(const struct nn_tries *all)
{
	size_t n = 0;

	for (size_t k = 0; k < all->n; k++)
		n += all->trials[k].started && !all->trials[k].ended;
	return n;
}

static void signal_all(const struct nn_tries *all, int number)
{
	for (size_t k = 0; k < all->n; k++)
		if (all->trials[k].started && !all->trials[k].ended)
			kill(all->trials[k].pid, number);
}

/* A signal that came to this process alone is passed on, once. */
static int await_one(struct nn_tries *all, bool *told, size_t *done, struct nn_error *err)
{
	const volatile sig_atomic_t *stop = all->setup->host.stop;
	int code;
	pid_t pid;

	if (*stop && !*told) {
		signal_all(all, *stop);
		*told = true;
	}
	pid = waitpid(-1, &code, 0);
	if (pid < 0 && errno != EINTR)
		return nn_fail_errno(err, NN_EFAIL, "--try: waiting for a training");
	for (size_t k = 0; pid > 0 && k < all->n; k++)
		if (all->trials[k].started && all->trials[k].pid == pid) {
			if (take(all, k, code, err) < 0)
				return -1;
			if (!*stop) {
				tell(all, k, ++*done);
				judge(all, k);
			}
			break;
		}
	return 0;
}

int nn_tries_run(struct nn_tries *all, struct nn_error *err)
{
	const volatile sig_atomic_t *stop = all->setup->host.stop;
	size_t next = 0, done = 0;
	bool told = false;
	int status = 0;

	while (status == 0 && (running(all) || (next < all->n && !*stop))) {
		if (next < all->n && !*stop && running(all) < all->jobs)
			status = nn_tries_start(all, next++, err);
		else
			status = await_one(all, &told, &done, err);
	}
	signal_all(all, SIGKILL); /* where one has failed */
	if (status == 0 && *stop)
		tell_stopped(all, done);
	return status;
}
