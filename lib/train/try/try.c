/* --try: its command line, its beginning, the best model, its end. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output.h"
#include "base/pool.h"
#include "model/onnx.h"
#include "train/try/try-inside.h"

static int check_alone(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = {
		"checkpoint", "checkpoint-every", "resume", "log",   "plot",     "tensorboard", "race",
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
	if (s->std->output && nn_is_stdout(s->std->output))
		return nn_fail(err, NN_EUSAGE,
			       "--output=%s: the table of --try goes to stdout; give the model a "
			       "file",
			       s->std->output);
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
	struct nn_tries_before before;
	int status = check_alone(setup, err);

	if (status < 0)
		return -1;
	nn_tries_keep(&before, setup);
	status = nn_try_axes_read(&axes, setup, err);
	for (size_t k = 0; status == 0 && k < axes.combinations; k++) {
		status = nn_try_put(&axes, setup, k, err);
		if (status == 0)
			status = check(setup, err);
		nn_tries_give_back(&before, setup);
	}
	nn_try_axes_free(&axes);
	return status;
}

/* ---- what comes of it ---- */

static int copy_model(struct nn_tries *all, struct nn_error *err)
{
	struct nn_output *output;
	char path[4200], bytes[1 << 16];
	FILE *file;
	size_t n;
	int status = 0;

	nn_tries_model(all, all->best, path);
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
static int train_best(struct nn_tries *all, int *stopped, struct nn_error *err)
{
	struct nn_train_setup *s = all->setup;
	struct nn_train *t = NULL;
	struct nn_tries_before before;
	int status;

	nn_tries_keep(&before, s);
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
	nn_tries_give_back(&before, s);
	return status;
}

static int finish(struct nn_tries *all, int *stopped, struct nn_error *err)
{
	const struct nn_train_setup *s = all->setup;
	struct nn_text text = { 0 };
	const struct nn_tried *best = &all->trials[all->best];
	int status;

	if (isnan(best->metric))
		all->best = all->n;
	if (nn_tries_table(all, err) < 0)
		return -1;
	if (all->best == all->n)
		return nn_fail(err, NN_EDIVERGED, "--try: every training diverged");
	nn_text_add(&text, "best: ");
	nn_tries_name(all, all->best, &text);
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

static int begin(struct nn_tries *all, struct nn_error *err)
{
	struct nn_train_setup *s = all->setup;
	struct nn_tries_before before;
	int status;

	all->threads = s->std->threads ? s->std->threads : (uint64_t)nn_cpu_count();
	if (nn_output_open(&all->table, NULL, false, err) < 0 ||
	    (s->std->output && nn_output_check(s->std->output, err) < 0) ||
	    nn_comm_open(&s->comm, false, err) < 0 || nn_try_axes_read(&all->axes, s, err) < 0)
		return -1;
	all->n = all->best = all->axes.combinations;
	all->jobs = all->threads < all->n ? all->threads : all->n;
	all->trials = mmap(NULL, all->n * sizeof *all->trials, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all->trials == MAP_FAILED)
		return nn_fail_errno(err, NN_ENOMEM, "--try: %zu trainings", all->n);
	snprintf(all->directory, sizeof all->directory, "%s/nn-try.XXXXXX", nn_temporary_folder());
	if (!mkdtemp(all->directory)) {
		nn_fail_errno(err, NN_EFAIL, "--try: %s", all->directory);
		*all->directory = '\0';
		return -1;
	}
	nn_tries_keep(&before, s);
	s->std->threads = 1; /* threads would not be there in another process */
	status = nn_try_put(&all->axes, s, 0, err);
	if (status == 0)
		status = nn_train_open_inputs(&all->base, s, false, err);
	if (status == 0) {
		all->read = (struct nn_train_read){ .dataset = all->base->task.dataset,
						    .held_out = all->base->task.held_out,
						    .said = all->base->source.said.data };
	}
	nn_tries_give_back(&before, s);
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

static void end(struct nn_tries *all)
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
	struct nn_tries all = { .setup = setup,
				.suffix = nn_onnx_named(setup->std->output) ? ".onnx" : "" };
	int status = begin(&all, err);

	*stopped = 0;
	if (status == 0)
		status = nn_tries_run(&all, err);
	*stopped = *setup->host.stop;
	if (status == 0 && !*stopped)
		status = finish(&all, stopped, err);
	end(&all);
	return status;
}
