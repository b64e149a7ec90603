/*
 * Same bytes: a few steps of the training, made by other threads, pieces and kernels, and stopped
 * and resumed in between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "model/model.h"
#include "train/state/checkpoint.h"
#include "train/state/save.h"
#include "train/prepare.h"
#include "train/selfcheck/selfcheck.h"

#define STEPS 3     /* the last of them smaller */
#define STEP_S 0.05 /* processor time that a step may take: a large network gets fewer rows */

/* How the same steps are made. */
struct byte_trial {
	const struct nn_device *device;
	size_t micro;
	int threads;
	bool resume;
};

struct trials {
	struct nn_selfcheck *check;
	struct nn_train *train;
	size_t batch, rows; /* of a step, of all */
	uint64_t *order;    /* of all rows */
	struct nn_loader loader;
	void **wanted, **found; /* parameters at the end */
};

/* ---- a trial ---- */

/* Write the state as a training does, forget everything, and take it up again. */
static int stop_and_resume(struct nn_train *t, struct trials *all, const struct byte_trial *how,
			   struct nn_error *err)
{
	bool resumed;

	if (nn_save_newest(&t->kept, err) < 0 || nn_save_end(&t->kept, err) < 0)
		return -1;
	nn_step_free(t->worker.step);
	t->worker.step = NULL;
	for (int p = 0; p < t->task.program->n_params; p++)
		memset(t->worker.params[p], 0xff,
		       nn_shape_count(&t->task.program->params[p].desc.shape) *
			       nn_dtype_size(t->task.device->dtype));
	t->counters = (struct nn_counters){ 0 };
	t->options->resume = t->kept.replaces = true;
	if (nn_selfcheck_step(&t->worker.step, t, all->rows, all->batch, how->micro, err) < 0 ||
	    nn_checkpoint_resume(&t->kept, &resumed, err) < 0)
		return -1;
	return nn_graph_load(nn_step_graph(t->worker.step), (const void *const *)t->worker.params,
			     err);
}

static int steps(struct nn_train *t, struct trials *all, const struct byte_trial *how,
		 struct nn_error *err)
{
	struct nn_step_result result;
	struct nn_batch batch;

	for (uint64_t s = 0; s < STEPS && !*all->check->stop; s++) {
		if (nn_loader_draw(&all->loader, s, &batch, err) < 0 ||
		    nn_step_gradient(t->worker.step, &batch, &result, err) < 0)
			return -1;
		if (!result.finite)
			return nn_fail(
				err, NN_EDIVERGED,
				"step %llu: the loss is not finite, so there is nothing to compare",
				(unsigned long long)s + 1);
		nn_step_update(t->worker.step, s + 1, nn_schedule_rate(&t->schedule, s), false,
			       &result, NULL);
		t->counters.step = s + 1;
		if (how->resume && s == 0 && stop_and_resume(t, all, how, err) < 0)
			return -1;
	}
	nn_graph_save(nn_step_graph(t->worker.step), t->worker.params);
	return nn_queue_wait(nn_graph_queue(nn_step_graph(t->worker.step)), err);
}

/* A training of its own on the same model and data; what it borrows stays with the other. */
static struct nn_train *open_trial(const struct trials *all, const struct byte_trial *how,
				   struct nn_train_options *options, void **params,
				   struct nn_error *err)
{
	struct nn_train_setup setup = all->train->setup;
	struct nn_train *t;

	*options = *setup.train;
	setup.train = options;
	if (!(t = nn_train_new(&setup, err)))
		return NULL;
	t->task = all->train->task;
	t->task.recipe = &options->recipe;
	t->task.device = how->device;
	t->task.pool = NULL;
	t->schedule = all->train->schedule;
	t->told.log = all->train->told.log;
	t->worker.params = params;
	if (nn_pool_new(&t->task.pool, how->threads, err) < 0) {
		nn_free(t);
		return NULL;
	}
	return t;
}

/* params get what it ends with. */
static int run(struct trials *all, const struct byte_trial *how, void **params,
	       struct nn_error *err)
{
	struct nn_train_options options;
	struct nn_train *t = open_trial(all, how, &options, params, err);
	char state[4096];
	int status = -1, fd = -1;

	if (!t)
		return -1;
	if (how->resume) {
		snprintf(state, sizeof state, "%.4000s/nn-selfcheck.XXXXXX", nn_temporary_folder());
		if ((fd = mkstemp(state)) < 0) {
			nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", state);
			goto out;
		}
		t->kept.state_path = state;
	}
	if (nn_selfcheck_step(&t->worker.step, t, all->rows, all->batch, how->micro, err) == 0 &&
	    nn_selfcheck_start(t, t->worker.step, params, err) == 0 &&
	    (!how->resume || nn_checkpoint_open(&t->kept, err) == 0))
		status = steps(t, all, how, err);
out:
	if (fd >= 0) {
		close(fd);
		unlink(state);
	}
	if (how->resume)
		nn_checkpoint_free(&t->kept);
	nn_step_free(t->worker.step);
	nn_pool_free(t->task.pool);
	nn_free(t);
	return status;
}

/* ---- and what is compared ---- */

static int compare(struct trials *all, const struct byte_trial *how, const char *name,
		   const char *what, struct nn_error *err)
{
	const struct nn_program *program = all->train->task.program;
	size_t size = nn_dtype_size(all->train->task.device->dtype), n = 0;
	const char *differs = NULL;

	if (*all->check->stop)
		return 0;
	if (run(all, how, all->found, err) < 0)
		return -1;
	if (*all->check->stop)
		return 0;
	for (int p = 0; p < program->n_params; p++) {
		size_t count = nn_shape_count(&program->params[p].desc.shape);

		n += count;
		if (!differs && memcmp(all->wanted[p], all->found[p], count * size) != 0)
			differs = program->params[p].name;
	}
	return nn_selfcheck_row(all->check, name, what, !differs, err,
				"the bytes of %zu values after %d steps of %zu rows%s%s", n, STEPS,
				all->batch, differs ? "; they differ first in " : "",
				differs ? differs : "");
}

static int compare_all(struct trials *all, const struct nn_selfcheck_devices *devices,
		       struct nn_error *err)
{
	const struct byte_trial plain = { devices->kinds[0], all->batch, 1, false };
	size_t least = nn_program_group(all->train->task.program), micros[3];
	uint64_t threads = all->train->std->threads > 2 ? all->train->std->threads : 2;
	struct byte_trial other;
	char what[80];

	if (run(all, &plain, all->wanted, err) < 0)
		return -1;
	for (uint64_t n = threads; n <= threads + 1; n++) {
		other = plain;
		other.threads = (int)n;
		snprintf(what, sizeof what, "1 against %d", other.threads);
		if (compare(all, &other, "threads", what, err) < 0)
			return -1;
	}
	least += least == 0;
	micros[0] = least;
	micros[1] = 3 * least;
	micros[2] = all->batch / 2 + 1;
	for (size_t i = 0; i < 3; i++) {
		other = plain;
		other.micro = micros[i];
		snprintf(what, sizeof what, "%zu against %zu", all->batch, micros[i]);
		if (micros[i] < all->batch && (i == 0 || micros[i] != micros[i - 1]) &&
		    compare(all, &other, "micro-batch", what, err) < 0)
			return -1;
	}
	for (size_t i = 1; i < devices->n_kinds; i++) {
		other = plain;
		other.device = devices->kinds[i];
		snprintf(what, sizeof what, "%s against %s", plain.device->kind,
			 other.device->kind);
		if (compare(all, &other, "kernels", what, err) < 0)
			return -1;
	}
	other = plain;
	other.resume = true;
	return compare(all, &other, "resume", "stopped after step 1", err);
}

/* The first of the rows in their order, `batch` at a time. */
static int open_loader(struct trials *all, size_t rows, size_t batch, struct nn_error *err)
{
	const struct nn_loader_options o = { .source = nn_dataset_source(all->train->task.dataset),
					     .augment = all->train->task.augment,
					     .rows = all->order,
					     .n = rows,
					     .batch = batch };

	return nn_loader_init(&all->loader, &o, err);
}

/*
 * As many rows as a step may take time for: those of the training at most, a few or a group of
 * batch norm at least.
 */
static int choose_rows(struct trials *all, const struct nn_device *device, struct nn_error *err)
{
	struct nn_train *t = all->train;
	size_t group = nn_program_group(t->task.program), most, rows = group > 4 ? group : 4;
	struct nn_step_result result;
	struct nn_step *step;
	struct nn_batch first;
	clock_t start = 0;
	double seconds;
	int status;

	most = t->options->recipe.batch < t->task.n_rows ? t->options->recipe.batch
							 : t->task.n_rows;
	rows = rows < most ? rows : most;
	t->task.device = device;
	if (nn_selfcheck_step(&step, t, rows, rows, rows, err) < 0)
		return -1;
	status = nn_selfcheck_start(t, step, all->wanted, err);
	if (status == 0)
		status = open_loader(all, rows, rows, err);
	if (status == 0)
		status = nn_loader_draw(&all->loader, 0, &first, err);
	for (int i = 0; i < 2 && status == 0; i++) { /* the first time to warm up */
		start = clock();
		status = nn_step_gradient(step, &first, &result, err);
	}
	seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	nn_loader_fini(&all->loader);
	nn_step_free(step);
	if (status < 0)
		return -1;
	while (rows < most && seconds * 2 < STEP_S) {
		rows *= 2;
		seconds *= 2;
	}
	all->batch = rows < most ? rows : most;
	if (all->batch > t->task.n_rows / STEPS)
		all->batch = t->task.n_rows / STEPS;
	all->rows = (STEPS - 1) * all->batch + (all->batch + 1) / 2;
	return open_loader(all, all->rows, all->batch, err);
}

int nn_selfcheck_bytes(struct nn_selfcheck *check, struct nn_train *t,
		       const struct nn_selfcheck_devices *devices, struct nn_error *err)
{
	struct trials all = { .check = check, .train = t };
	int status = -1;

	if (t->task.n_rows < STEPS)
		return nn_fail(err, NN_EFAIL, "%s: --selfcheck needs %d samples, found %llu",
			       t->setup.data_path, STEPS, (unsigned long long)t->task.n_rows);
	if (!(all.order = nn_alloc(t->task.n_rows, sizeof *all.order, err)))
		return -1;
	nn_shuffle(t->std->seed, 0, t->task.rows, all.order, t->task.n_rows, t->task.window);
	all.wanted = nn_params_new(t->task.program, t->task.device->dtype, err);
	all.found = nn_params_new(t->task.program, t->task.device->dtype, err);
	if (all.wanted && all.found && choose_rows(&all, devices->kinds[0], err) == 0)
		status = compare_all(&all, devices, err);
	nn_loader_fini(&all.loader);
	nn_free(all.order);
	nn_free(all.wanted);
	nn_free(all.found);
	return status;
}
