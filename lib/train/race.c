/*
 * --race: each strategy is a training of its own, a process with the same command line, whose log
 * says how far it was when. What is compared is therefore what a user of that strategy would see.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "chart/chart.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/device.h"
#include "train/race-inside.h"
#include "train/race.h"
#include "parallel/strategy.h"

extern char **environ;

struct race {
	const struct nn_train_setup *setup;
	struct nn_racer runners[NN_MOST_RACERS];
	size_t n;
	char directory[4096];              /* of logs and models, which nobody keeps */
	struct nn_output *table, *picture; /* picture NULL: no --plot */
	char ranks[40];                    /* --ranks=N where the user says none; else empty */
};

/* ---- a training ---- */

/*
 * Signals come to the whole foreground group; of one that came to this process alone the child is
 * told.
 */
static int await(pid_t pid, const volatile sig_atomic_t *stop, int *code, struct nn_error *err)
{
	bool told = false;

	while (waitpid(pid, code, 0) < 0) {
		if (errno != EINTR)
			return nn_fail_errno(err, NN_EFAIL, "--race: waiting for a training");
		if (*stop && !told)
			kill(pid, *stop);
		told |= *stop != 0;
	}
	return 0;
}

/* Options of the race that its trainings do not have. */
static bool is_ours(const char *word)
{
	return strncmp(word, "--race=", 7) == 0 || strncmp(word, "--plot=", 7) == 0 ||
	       strcmp(word, "--verbose") == 0;
}

static char **command(const struct race *race, const struct nn_racer *r, struct nn_error *err)
{
	const struct nn_train_setup *s = race->setup;
	const char *operands[] = { s->data_path, s->targets_path };
	char strategy[80], log[4200];
	const char *more[] = { strategy, log, "--output=/dev/null", "--quiet",
			       race->ranks }; /* nobody goes on from a state of it */
	char **words;
	size_t kept = 0;

	snprintf(strategy, sizeof strategy, "--strategy=%s", r->name);
	snprintf(log, sizeof log, "--log=%s/log", race->directory);
	words = nn_opt_arguments(s->list, more, *race->ranks ? 5 : 4, operands,
				 s->targets_path ? 2 : 1, err);
	for (size_t i = 0; words && words[i]; i++) {
		if (is_ours(words[i]))
			nn_free(words[i]);
		else
			words[kept++] = words[i];
	}
	if (words)
		words[kept] = NULL;
	return words;
}

/* A process that the end of this one ends, however that came. */
static pid_t start(const char *program, char **words)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		execve(program, words, environ);
	raise(SIGKILL); /* nothing is to be said or cleaned up here */
	return -1;
}

/* It has said why, but not under its name. */
static void tell_status(const struct race *race, const struct nn_racer *r, int status)
{
	char text[160];

	snprintf(text, sizeof text, "--race: %s ended with status %d%s", r->name, status,
		 status == NN_EDIVERGED ? "; the race goes on" : "");
	if (race->setup->host.note)
		race->setup->host.note(race->setup->host.arg, text);
}

static int train(struct race *race, struct nn_racer *r, const char *program,
		 const volatile sig_atomic_t *stop, struct nn_error *err)
{
	char **words = command(race, r, err), log[4200];
	int code = 0, status;
	pid_t pid;

	if (!words)
		return -1;
	pid = start(program, words);
	nn_opt_arguments_free(words);
	if (pid < 0)
		return nn_fail_errno(err, NN_EFAIL, "--race: %s", program);
	if (await(pid, stop, &code, err) < 0)
		return -1;
	if (*stop)
		return 0;
	if (WIFEXITED(code) && WEXITSTATUS(code))
		tell_status(race, r, WEXITSTATUS(code));
	if (WIFEXITED(code) && (WEXITSTATUS(code) == 0 || WEXITSTATUS(code) == NN_EDIVERGED)) {
		snprintf(log, sizeof log, "%s/log", race->directory);
		status = nn_race_read(r,
				      &(const struct nn_race_log){
					      log, race->setup->train->valid != NULL, race->table },
				      err);
		unlink(log);
		return status;
	}
	if (WIFEXITED(code))
		return WEXITSTATUS(code);
	return nn_fail(err, NN_ERANK, "--race: %s was killed by signal %d", r->name,
		       WTERMSIG(code));
}

/* ---- the picture, and the word at the end ---- */

/* Losses that fall by this factor are distinguished on a logarithmic axis. */
#define WIDE 30

static bool wide(const struct race *race)
{
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < race->n; i++)
		for (size_t k = 0; k < race->runners[i].n; k++) {
			low = fmin(low, race->runners[i].loss[k]);
			high = fmax(high, race->runners[i].loss[k]);
		}
	return low > 0 && high > WIDE * low;
}

static int draw(struct race *race, struct nn_error *err)
{
	struct nn_chart_series series[2][NN_MOST_RACERS];
	struct nn_chart_panel panels[] = {
		{ .y = { .title = race->setup->train->valid ? "held-out loss" : "loss",
			 .zero = true },
		  .series = series[0],
		  .n_series = race->n },
		{ .y = { .title = "through rank 0", .unit = "B", .zero = true },
		  .series = series[1],
		  .n_series = race->n },
	};
	const struct nn_chart chart = {
		.title = "Loss and traffic of strategies over time",
		.x = { .title = "seconds", .zero = true },
		.panels = panels,
		.n_panels = 2,
	};
	struct nn_text svg = { 0 };
	int status;

	if (wide(race))
		panels[0].y.scale = NN_CHART_LOG10;
	for (size_t i = 0; i < race->n; i++) {
		const struct nn_racer *r = &race->runners[i];

		series[0][i] = (struct nn_chart_series){
			r->name, NN_CHART_LINE_AND_POINTS, r->seconds, r->loss, r->n, NULL, NULL
		};
		series[1][i] = (struct nn_chart_series){
			r->name, NN_CHART_LINE_AND_POINTS, r->seconds, r->bytes, r->n, NULL, NULL
		};
	}
	status = nn_chart_svg(&chart, &svg, err);
	if (status == 0)
		status = nn_output_write(race->picture, svg.data, svg.length, err);
	nn_text_free(&svg);
	if (status < 0)
		return -1;
	status = nn_output_commit(race->picture, err);
	race->picture = NULL;
	return status;
}

static double last(const double *column, const struct nn_racer *r)
{
	return column[r->n - 1];
}

/* Whose loss was the lowest where each ended, and those of the others. */
static void judge(const struct race *race)
{
	const struct nn_racer *best = NULL;
	struct nn_text text = { 0 };

	for (size_t i = 0; i < race->n; i++) {
		const struct nn_racer *r = &race->runners[i];

		if (r->n > 0 && (!best || last(r->loss, r) < last(best->loss, best)))
			best = r;
	}
	if (!best || !race->setup->host.note)
		return;
	nn_text_addf(&text, "lowest %sloss at the end: %s, %.4g after %.4g s",
		     race->setup->train->valid ? "held-out " : "", best->name,
		     last(best->loss, best), last(best->seconds, best));
	for (size_t i = 0; i < race->n; i++) {
		const struct nn_racer *r = &race->runners[i];

		if (r != best && r->n > 0)
			nn_text_addf(&text, "; %s %.4g after %.4g s", r->name, last(r->loss, r),
				     last(r->seconds, r));
	}
	if (!text.failed)
		race->setup->host.note(race->setup->host.arg, text.data);
	nn_text_free(&text);
}

/* ---- the whole ---- */

static void race_end(struct race *race)
{
	char log[4200];

	if (*race->directory) {
		snprintf(log, sizeof log, "%s/log", race->directory);
		unlink(log);
		rmdir(race->directory);
	}
	nn_output_abort(race->table);
	nn_output_abort(race->picture);
	for (size_t i = 0; i < race->n; i++) {
		nn_free(race->runners[i].seconds);
		nn_free(race->runners[i].loss);
		nn_free(race->runners[i].bytes);
	}
}

static int race_begin(struct race *race, struct nn_error *err)
{
	const char *plot = race->setup->train->plot;

	for (const char *at = race->setup->train->race; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");

		snprintf(race->runners[race->n++].name, sizeof race->runners->name, "%.*s",
			 (int)length, at);
		at += length;
	}
	if (nn_output_open(&race->table, NULL, false, err) < 0 ||
	    (plot && nn_output_open(&race->picture, plot, false, err) < 0))
		return -1;
	snprintf(race->directory, sizeof race->directory, "%s/nn-race.XXXXXX",
		 nn_temporary_folder());
	if (!mkdtemp(race->directory)) {
		nn_fail_errno(err, NN_EFAIL, "--race: %s", race->directory);
		*race->directory = '\0';
		return -1;
	}
	return nn_output_printf(race->table, err, "strategy,seconds,step,loss,bytes\n");
}

/*
 * On one rank all strategies are one. Without --ranks there is one for each core, two at least, as
 * many as a batch has leaves at most.
 */
static void choose_ranks(struct race *race)
{
	const struct nn_train_setup *s = race->setup;
	const struct nn_device *cpu = nn_device_open("cpu", NN_F32, NULL);
	size_t ranks = (size_t)nn_cpu_count(), leaves = s->train->recipe.leaves;
	char note[120];

	if (nn_opt_given(s->list, "ranks") || nn_opt_given(s->list, "hosts") ||
	    nn_opt_given(s->list, "hostfile"))
		return;
	if (leaves == 0)
		leaves = cpu->leaves(s->train->recipe.batch, 0, SIZE_MAX);
	ranks = ranks > leaves ? leaves : ranks;
	ranks = ranks < 2 ? 2 : ranks;
	snprintf(race->ranks, sizeof race->ranks, "--ranks=%zu", ranks);
	snprintf(note, sizeof note,
		 "--race: strategies are those of several ranks, here %zu; --ranks=N takes others",
		 ranks);
	if (s->host.note)
		s->host.note(s->host.arg, note);
}

int nn_race_run(const struct nn_train_setup *setup, const char *program,
		const volatile sig_atomic_t *stop, int *stopped, struct nn_error *err)
{
	struct race race = { .setup = setup };
	int status = race_begin(&race, err);

	*stopped = 0;
	if (status == 0)
		choose_ranks(&race);
	for (size_t i = 0; status == 0 && !(*stopped = *stop) && i < race.n; i++)
		status = train(&race, &race.runners[i], program, stop, err);
	*stopped = *stop;
	if (status == 0 && !*stopped && race.picture)
		status = draw(&race, err);
	if (status == 0) {
		status = nn_output_commit(race.table, err); /* rows that are there stay valid */
		race.table = NULL;
	}
	if (status == 0 && !*stopped)
		judge(&race);
	race_end(&race);
	return status;
}
