/* --try: combinations as processes, their table, the best model. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/pool.h"
#include "model/onnx.h"
#include "step/evaluate.h"
#include "train/prepare.h"
#include "train/try-values.h"

/* What a training came to, in memory that it shares with the process that waits for it. */
struct trial {
	pid_t pid;
	bool started, ended, rises;
	double metric, sd, seconds; /* sd over folds, NaN without; metric NaN: it diverged */
	char name[80];              /* of the metric */
	struct nn_error err;        /* why it ended, code NN_OK: it came to its end */
};

struct tries {
	struct nn_train_setup *setup;
	struct nn_try_axes axes;
	struct nn_train *base; /* which has read the data */
	struct nn_train_read read;
	struct trial *trials;
	size_t n, jobs;       /* trainings in all, at once */
	uint64_t threads;     /* of all */
	char directory[4096]; /* of models, which go but for the best */
	const char *suffix;   /* of their names: what kind of file they are */
	size_t best;          /* n: none so far */
	struct nn_output *table;
};

/* ---- options put and taken back ---- */

struct before {
	struct nn_train_options train;
	struct nn_data_options data;
	struct nn_std_options std;
	uint64_t given[NN_OPT_TABLES];
};

static void keep(struct before *b, const struct nn_train_setup *s)
{
	*b = (struct before){ *s->train, *s->data, *s->std, { 0 } };
	for (size_t i = 0; s->list->tables[i].rows; i++)
		b->given[i] = s->list->tables[i].given ? *s->list->tables[i].given : 0;
}

static void give_back(const struct before *b, const struct nn_train_setup *s)
{
	*s->train = b->train;
	*s->data = b->data;
	*s->std = b->std;
	for (size_t i = 0; s->list->tables[i].rows; i++)
		if (s->list->tables[i].given)
			*s->list->tables[i].given = b->given[i];
}

static int check_alone(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = {
		"checkpoint", "checkpoint-every", "resume", "log",   "plot",     "race",
		"selfcheck",  "explain",          "ranks",  "hosts", "hostfile", "spool",
		NULL
	};

	for (const char *const *name = none; *name; name++)
		if (nn_opt_given(s->list, *name))
			return nn_fail(err, NN_EUSAGE,
				       "--%s: not with --try, which trains several times", *name);
	if (nn_comm_env_size() != 1)
		return nn_fail(err, NN_EUSAGE,
			       "--try: trains on one rank, not under mpirun or srun");
	if (!s->train->valid && s->train->folds == 0)
		return nn_fail(err, NN_EUSAGE,
			       "--try: needs rows that decide, --valid=FILE, --valid=FRACTION or "
			       "--folds=K");
	return 0;
}

int nn_try_check(const struct nn_train_setup *setup,
		 int (*check)(const struct nn_train_setup *setup, struct nn_error *err),
		 struct nn_error *err)
{
	struct nn_try_axes axes;
	struct before before;
	int status = check_alone(setup, err);

	if (status < 0)
		return -1;
	keep(&before, setup);
	status = nn_try_axes_read(&axes, setup, err);
	for (size_t k = 0; status == 0 && k < axes.combinations; k++) {
		status = nn_try_put(&axes, setup, k, err);
		if (status == 0)
			status = check(setup, err);
		give_back(&before, setup);
	}
	nn_try_axes_free(&axes);
	return status;
}

/* ---- a training, in a process of its own ---- */

/* "lr=0.1 batch=32" */
static void name_trial(const struct tries *all, size_t k, struct nn_text *text)
{
	for (size_t i = 0; i < all->axes.n; i++)
		nn_text_addf(text, "%s%s=%s", i ? " " : "", all->axes.axes[i].row->name,
			     nn_try_value(&all->axes, i, k));
}

static void model_of(const struct tries *all, size_t k, char path[4200])
{
	snprintf(path, 4200, "%s/%zu%s", all->directory, k, all->suffix);
}

/* The metric of the rows held out: of all folds, or of the model that is kept. */
static int train_folds(struct nn_train *t, struct trial *trial, int *stopped, struct nn_error *err)
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

static int train(struct tries *all, size_t k, struct trial *trial)
{
	struct nn_train_setup *s = all->setup;
	struct nn_train *t = NULL;
	char model[4200];
	int stopped = 0, status;

	model_of(all, k, model);
	s->std->threads = all->threads / all->jobs ? all->threads / all->jobs : 1;
	s->std->output = s->train->folds ? "/dev/null" : model;
	s->train->checkpoint = NULL;
	s->host = (struct nn_train_host){ .warn = keep_silent,
					  .note = keep_silent,
					  .progress = -1,
					  .stop = s->host.stop,
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
static int start(struct tries *all, size_t k, struct nn_error *err)
{
	struct trial *trial = &all->trials[k];
	pid_t parent = getpid(), pid;
	double begun = nn_now_s();
	int code;

	trial->metric = trial->sd = NAN;
	pid = fork();
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

/* ---- whoever ends next ---- */

static bool better(const struct trial *a, const struct trial *b)
{
	if (isnan(a->metric) || isnan(b->metric))
		return !isnan(a->metric) && isnan(b->metric);
	return a->rises ? a->metric > b->metric : a->metric < b->metric;
}

static void tell(const struct tries *all, size_t k, size_t done)
{
	const struct trial *trial = &all->trials[k];
	struct nn_text text = { 0 };

	if (!all->setup->host.note)
		return;
	name_trial(all, k, &text);
	if (isnan(trial->metric))
		nn_text_add(&text, ": diverged");
	else
		nn_text_addf(&text, ": %s %.4g", trial->name, trial->metric);
	nn_text_addf(&text, " (%zu of %zu, %.3g s)", done, all->n, trial->seconds);
	if (!text.failed)
		all->setup->host.note(all->setup->host.arg, text.data);
	nn_text_free(&text);
}

/* Of models only the best so far stays; of equals the one that was tried first. */
static void judge(struct tries *all, size_t k)
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
	model_of(all, worse, path);
	unlink(path);
}

static int take(struct tries *all, size_t k, int code, struct nn_error *err)
{
	struct trial *trial = &all->trials[k];
	struct nn_text name = { 0 };
	int status = 0;

	trial->ended = true;
	if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
		return 0;
	if (WIFEXITED(code) && WEXITSTATUS(code) == 1 && trial->err.code == NN_EDIVERGED)
		return 0;
	name_trial(all, k, &name);
	if (WIFSIGNALED(code))
		status = nn_fail(err, NN_EFAIL, "--try: %s: was killed by signal %d", name.data,
				 WTERMSIG(code));
	else if (WEXITSTATUS(code) == 1)
		status = nn_fail(err, trial->err.code ? trial->err.code : NN_EFAIL, "--try: %s: %s",
				 name.data, trial->err.text);
	nn_text_free(&name);
	return status;
}

static size_t running(const struct tries *all)
{
	size_t n = 0;

	for (size_t k = 0; k < all->n; k++)
		n += all->trials[k].started && !all->trials[k].ended;
	return n;
}

static void signal_all(const struct tries *all, int number)
{
	for (size_t k = 0; k < all->n; k++)
		if (all->trials[k].started && !all->trials[k].ended)
			kill(all->trials[k].pid, number);
}

/* A signal that came to this process alone is passed on, once. */
static int await_one(struct tries *all, bool *told, size_t *done, struct nn_error *err)
{
	const volatile sig_atomic_t *stop = all->setup->host.stop;
	int code;
	pid_t pid = waitpid(-1, &code, 0);

	if (pid < 0 && errno != EINTR)
		return nn_fail_errno(err, NN_EFAIL, "--try: waiting for a training");
	if (*stop && !*told) {
		signal_all(all, *stop);
		*told = true;
	}
	for (size_t k = 0; pid > 0 && k < all->n; k++)
		if (all->trials[k].started && all->trials[k].pid == pid) {
			if (take(all, k, code, err) < 0)
				return -1;
			++*done;
			if (!*stop) {
				tell(all, k, *done);
				judge(all, k);
			}
			break;
		}
	return 0;
}

static int run_all(struct tries *all, struct nn_error *err)
{
	const volatile sig_atomic_t *stop = all->setup->host.stop;
	size_t next = 0, done = 0;
	bool told = false;
	int status = 0;

	while (status == 0 && (running(all) || (next < all->n && !*stop))) {
		if (next < all->n && !*stop && running(all) < all->jobs)
			status = start(all, next++, err);
		else
			status = await_one(all, &told, &done, err);
	}
	signal_all(all, SIGKILL); /* where one has failed */
	return status;
}

/* ---- what comes of it ---- */

#define CELL 4096

/* Column c of row k, of the heading where k is the number of rows; shortened for people. */
static void write_cell(const struct tries *all, size_t k, size_t c, bool people, char text[CELL])
{
	static const char *const names[] = { "metric", "sd", "seconds", "best" };
	const struct trial *trial = &all->trials[k];
	double value;

	*text = '\0';
	if (c < all->axes.n) {
		snprintf(text, CELL, "%s",
			 k == all->n ? all->axes.axes[c].row->name
				     : nn_try_value(&all->axes, c, k));
		return;
	}
	c -= all->axes.n;
	if (k == all->n || c == 3) {
		snprintf(text, CELL, "%s", k == all->n ? names[c] : k == all->best ? "yes" : "no");
		return;
	}
	value = c == 0 ? trial->metric : c == 1 ? trial->sd : round(trial->seconds * 1e6) / 1e6;
	if (!isnan(value) && people)
		snprintf(text, CELL, "%.4g", value);
	else if (!isnan(value))
		nn_format_f64(text, value);
}

static size_t width_of(const struct tries *all, size_t c)
{
	char text[CELL];
	size_t width = 0;

	for (size_t k = 0; k <= all->n; k++) {
		write_cell(all, k, c, true, text);
		width = strlen(text) > width ? strlen(text) : width;
	}
	return width;
}

/* TSV; on a terminal columns of equal width. */
static int put_table(struct tries *all, struct nn_error *err)
{
	bool people = isatty(STDOUT_FILENO);
	size_t columns = all->axes.n + 4, widths[NN_MOST_AXES + 4] = { 0 };
	char text[CELL];

	for (size_t c = 0; people && c < columns; c++)
		widths[c] = width_of(all, c);
	for (size_t row = 0; row <= all->n; row++)
		for (size_t c = 0; c < columns; c++) {
			write_cell(all, row ? row - 1 : all->n, c, people, text);
			if (nn_output_printf(all->table, err, "%-*s%s", (int)widths[c], text,
					     c + 1 == columns ? "\n"
					     : people         ? "  "
							      : "\t") < 0)
				return -1;
		}
	return nn_output_flush(all->table, err);
}

static int copy_model(struct tries *all, struct nn_error *err)
{
	struct nn_output *output;
	char path[4200], bytes[1 << 16];
	FILE *file;
	size_t n;
	int status = 0;

	model_of(all, all->best, path);
	file = fopen(path, "rb");
	if (!file)
		return nn_fail_errno(err, NN_EFAIL, "%s", path);
	if (nn_output_open(&output, all->setup->std->output, true, err) < 0) {
		fclose(file);
		return -1;
	}
	while (status == 0 && (n = fread(bytes, 1, sizeof bytes, file)) > 0)
		status = nn_output_write(output, bytes, n, err);
	if (status == 0 && ferror(file))
		status = nn_fail_errno(err, NN_EFAIL, "%s", path);
	fclose(file);
	return nn_output_close(output, status, err);
}

/* After folds: the best options on all rows, by all threads. */
static int train_best(struct tries *all, int *stopped, struct nn_error *err)
{
	struct nn_train_setup *s = all->setup;
	struct nn_train *t = NULL;
	struct before before;
	int status;

	keep(&before, s);
	s->std->threads = all->threads;
	s->train->folds = 0;
	s->train->patience = 0; /* no rows are left that would tell */
	s->train->checkpoint = NULL;
	s->read = &all->read;
	status = nn_try_put(&all->axes, s, all->best, err);
	if (status == 0)
		status = nn_train_open(&t, s, err);
	if (status == 0)
		status = nn_train_run(t, stopped, err);
	nn_train_free(t);
	give_back(&before, s);
	return status;
}

static int finish(struct tries *all, int *stopped, struct nn_error *err)
{
	const struct nn_train_setup *s = all->setup;
	struct nn_text text = { 0 };
	const struct trial *best = &all->trials[all->best];
	int status;

	if (isnan(best->metric))
		all->best = all->n;
	if (put_table(all, err) < 0)
		return -1;
	if (all->best == all->n)
		return nn_fail(err, NN_EDIVERGED, "--try: every training diverged");
	nn_text_add(&text, "best: ");
	name_trial(all, all->best, &text);
	nn_text_addf(&text, ", %s %.4g", best->name, best->metric);
	if (!text.failed && s->host.note)
		s->host.note(s->host.arg, text.data);
	nn_text_free(&text);
	if (!s->std->output)
		status = 0;
	else
		status = s->train->folds ? train_best(all, stopped, err) : copy_model(all, err);
	if (status < 0)
		return -1;
	status = nn_output_commit(all->table, err);
	all->table = NULL;
	return status;
}

/* ---- the whole ---- */

static int begin(struct tries *all, struct nn_error *err)
{
	struct nn_train_setup *s = all->setup;
	const char *place = getenv("TMPDIR");
	struct before before;
	int status;

	all->threads = s->std->threads ? s->std->threads : (uint64_t)nn_cpu_count();
	if (nn_output_open(&all->table, NULL, false, err) < 0 ||
	    nn_comm_open(&s->comm, false, err) < 0 || nn_try_axes_read(&all->axes, s, err) < 0)
		return -1;
	all->n = all->best = all->axes.combinations;
	all->jobs = all->threads < all->n ? all->threads : all->n;
	all->trials = mmap(NULL, all->n * sizeof *all->trials, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all->trials == MAP_FAILED)
		return nn_fail_errno(err, NN_ENOMEM, "--try: %zu trainings", all->n);
	snprintf(all->directory, sizeof all->directory, "%s/nn-try.XXXXXX",
		 place && *place ? place : "/tmp");
	if (!mkdtemp(all->directory)) {
		nn_fail_errno(err, NN_EFAIL, "--try: %s", all->directory);
		*all->directory = '\0';
		return -1;
	}
	keep(&before, s);
	s->std->threads = 1; /* threads would not be there in another process */
	status = nn_try_put(&all->axes, s, 0, err);
	if (status == 0)
		status = nn_train_open_inputs(&all->base, s, false, err);
	if (status == 0) {
		all->read = (struct nn_train_read){ .dataset = all->base->task.dataset,
						    .held_out = all->base->task.held_out,
						    .said = all->base->source.said.data };
	}
	give_back(&before, s);
	return status;
}

/* Models, and what a training that was killed has left beside its own. */
static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(path);
}

static void end(struct tries *all)
{
	if (*all->directory)
		remove_directory(all->directory);
	nn_output_abort(all->table);
	nn_train_free(all->base);
	nn_comm_close(all->setup->comm);
	all->setup->comm = NULL;
	nn_try_axes_free(&all->axes);
	if (all->trials && all->trials != MAP_FAILED)
		munmap(all->trials, all->n * sizeof *all->trials);
}

int nn_try_run(struct nn_train_setup *setup, int *stopped, struct nn_error *err)
{
	struct tries all = { .setup = setup,
			     .suffix = nn_onnx_named(setup->std->output) ? ".onnx" : "" };
	int status = begin(&all, err);

	*stopped = 0;
	if (status == 0)
		status = run_all(&all, err);
	*stopped = *setup->host.stop;
	if (status == 0 && !*stopped)
		status = finish(&all, stopped, err);
	end(&all);
	return status;
}
