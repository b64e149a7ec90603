/* The memory of a training: as much at once as fits, then the loader, the step and the evaluator.
 */
#include <stdio.h>

#include "base/memory.h"
#include "data/ring.h"
#include "model/model.h"
#include "parallel/grid.h"
#include "parallel/pipeline.h"
#include "parallel/ranks.h"
#include "parallel/shard.h"
#include "parallel/step-options.h"
#include "parallel/tensor.h"
#include "plan/fit.h"
#include "plan/suggest.h"
#include "step/evaluate.h"
#include "train/prepare.h"
#include "train/replay.h"

/*
 * What is measured of gradients for a log takes as much memory as they do. Where that is too much
 * one process does without, and its log says null.
 */
static int leave_norms(struct nn_train *t, struct nn_error *err)
{
	struct nn_fit fit;

	if (t->plan.fit.fits || !nn_layout_measures(&t->layout, &t->task) ||
	    nn_layout_ranks(&t->layout) > 1 || t->layout.asked > 1)
		return 0;
	t->task.unmeasured = true;
	if (nn_fit_choose(&t->plan, &fit, err) < 0)
		return -1;
	t->task.unmeasured = fit.fits;
	if (fit.fits)
		t->plan.fit = fit;
	return 0;
}

/*
 * As many rows at once as the rank that can take fewest; ranks that share columns compute the same
 * again.
 */
static int agree(struct nn_train *t, struct nn_error *err)
{
	size_t micro = t->plan.fit.micro, recompute = t->plan.fit.recompute,
	       offload = t->plan.fit.offload;
	bool same;

	if (nn_pipe_agree(&t->layout, &micro, err) < 0 ||
	    nn_pipe_agree(&t->layout, &recompute, err) < 0 ||
	    nn_pipe_agree(&t->layout, &offload, err) < 0)
		return -1;
	same = micro == t->plan.fit.micro && recompute == t->plan.fit.recompute &&
	       offload == t->plan.fit.offload;
	t->options->recipe.recompute = recompute;
	t->options->recipe.offload = offload;
	return same ? 0 : nn_fit_plan(&t->plan, micro, &t->plan.fit, err);
}

int nn_train_fit(struct nn_train *t, struct nn_error *err)
{
	size_t there, files;
	char of[40] = "";

	if (!t->source.sample && t->task.dataset) {
		t->budget.loaded_bytes = nn_memory_resident();
		t->budget.loaded_dtype = t->task.device->dtype;
	}
	t->budget.highest_bytes = nn_memory_peak();
	t->budget.machine = nn_memory_available();
	if (t->task.device->remote &&
	    t->task.device->remote->room(t->task.device, &t->budget.device, err) < 0)
		return -1;
	files = t->layout.on_host > 1 ? nn_memory_files() : 0; /* there once for all */
	there = nn_memory_resident() - files;
	if (!nn_mul(there, (size_t)t->layout.on_host, &there) || !nn_add(there, files, &there) ||
	    !nn_add(t->budget.machine, there, &t->budget.machine))
		t->budget.machine = SIZE_MAX;
	if (t->layout.tensor && nn_tensor_check(&t->layout, &t->task, err) < 0)
		return -1;
	if (t->layout.pipe &&
	    nn_pipe_divide(&t->layout, &t->task,
			   nn_pipe_micro(&t->layout, &t->task, t->options->recipe.batch), err) < 0)
		return -1;
	if (nn_fit_choose(&t->plan, &t->plan.fit, err) < 0 || leave_norms(t, err) < 0)
		return -1;
	if (t->plan.fit.fits && t->layout.comm && nn_layout_in_parts(&t->layout)) {
		if (agree(t, err) < 0 || nn_fit_gather(&t->plan, err) < 0)
			return -1;
		t->plan.fit.fits = nn_fit_has_room(&t->plan, &t->plan.fit);
	}
	if (t->plan.fit.fits)
		return 0;
	if (t->setup.advice) {
		const struct nn_command command = nn_train_command(t);

		nn_suggest_notes(&t->plan, &command, t->setup.advice);
	}
	if (t->plan.fit.device > t->plan.fit.device_limit)
		return nn_fail(err, NN_ENOMEM,
			       "training needs %zu bytes on the device even with "
			       "--micro-batch=%zu, it has %zu",
			       t->plan.fit.device, t->plan.fit.micro, t->plan.fit.device_limit);
	if (t->layout.on_host > 1 && !t->options->memory)
		snprintf(of, sizeof of, " for %d ranks of this host", t->layout.on_host);
	return nn_fail(
		err, NN_ENOMEM,
		"%straining needs %zu bytes%s even with --micro-batch=%zu, %zu are available",
		t->options->memory ? "--memory: " : "", nn_fit_need(&t->plan, &t->plan.fit), of,
		t->plan.fit.micro, t->plan.fit.limit);
}

/* Rows are read ahead where the next batch is known: an asynchronous rank is told its own. */
static int open_loader(struct nn_train *t, struct nn_error *err)
{
	const struct nn_task *task = &t->task;
	const struct nn_loader_options loader = {
		.source = t->ring ? nn_ring_source(t->ring) : nn_dataset_source(task->dataset),
		.augment = task->augment,
		.rows = task->rows,
		.n = task->n_rows,
		.batch = task->recipe->batch,
		.seed = task->seed,
		.window = task->window,
		.ring = t->ring,
		.prefetch = !nn_layout_in_parts(&t->layout) &&
			    (!t->layout.strategy->stale || t->layout.comm->size == 1),
		.ahead = nn_dataset_memory(task->dataset),
		.threads = nn_pool_threads(task->pool),
		.whole = t->layout.comm->size == 1,
	};

	t->worker.loader = &t->loader;
	return nn_loader_init(&t->loader, &loader, err);
}

/* Held-out rows, where this rank looks at some. */
static int open_evaluator(struct nn_train *t, struct nn_error *err)
{
	const struct nn_evaluator_options evaluator = {
		.device = t->task.device,
		.pool = t->task.pool,
		.program = t->task.program,
		.dataset = t->task.held_out ? t->task.held_out : t->task.dataset,
		.schema = t->task.schema,
		.rows = t->task.valid_rows,
		.n_rows = t->task.n_valid,
		.losses = t->task.losses,
		.weights = t->task.shares,
		.resident = t->worker.step ? nn_step_resident(t->worker.step) : NULL,
		.comm = nn_layout_evaluators(&t->layout, t->task.n_valid),
	};

	if (!nn_layout_evaluates(&t->layout, t->task.n_valid))
		return 0;
	if (nn_evaluator_new(&t->evaluator, &evaluator, err) < 0)
		return -1;
	if (!t->worker.keeps)
		return 0;
	t->whole = nn_params_some(t->task.program, t->task.device->dtype, NULL, err);
	return t->whole ? 0 : -1;
}

/*
 * A device that had room for the plan has it no more, as others took some of it since. Nobody says
 * of several ranks of a device which of them are the others.
 */
static int tell_taken(struct nn_train *t, struct nn_error *err)
{
	const struct nn_device *device = t->task.device;
	size_t had = t->budget.device, needed = t->plan.fit.device;
	char what[48] = "no --micro-batch fits";
	struct nn_error why;
	struct nn_fit fit;

	if (!device->remote || err->code != NN_ENOMEM || t->layout.on_host > 1)
		return -1;
	nn_evaluator_free(t->evaluator);
	nn_step_free(t->worker.step); /* what was taken until then is no other's */
	t->evaluator = NULL;
	t->worker.step = NULL;
	if (device->remote->room(device, &t->budget.device, &why) < 0 ||
	    t->budget.device >= needed || nn_fit_choose(&t->plan, &fit, &why) < 0)
		return -1;
	if (fit.fits)
		snprintf(what, sizeof what, "--micro-batch=%zu fits", fit.micro);
	return nn_fail(err, NN_ENOMEM,
		       "training needs %zu bytes on the device, which had %zu when it was planned "
		       "and has %zu now: %s",
		       needed, had, t->budget.device, what);
}

static int take_planned(struct nn_train *t, struct nn_error *err)
{
	struct nn_step_options step;

	t->options->recipe.micro_batch = t->plan.fit.micro;
	t->options->recipe.recompute = t->plan.fit.recompute;
	t->options->recipe.offload = t->plan.fit.offload;
	if (nn_train_replay_open(t, err) < 0 || open_loader(t, err) < 0)
		return -1;
	step = nn_layout_step(&t->layout, &t->task, t->plan.fit.micro);
	step.resident = t->plan.fit.resident > 0;
	if (t->layout.strategy->prepare && t->layout.strategy->prepare(&t->worker, &step, err) < 0)
		return -1;
	if (nn_step_new(&t->worker.step, &step, err) < 0 ||
	    (t->layout.pipe && nn_pipe_attach(&t->worker, err) < 0) ||
	    (t->layout.tensor && nn_tensor_attach(&t->worker, err) < 0) ||
	    nn_worker_find_kept(&t->worker, err) < 0)
		return -1;
	nn_shard_attach(&t->worker);
	if (open_evaluator(t, err) < 0)
		return -1;
	t->worker.params =
		nn_params_some(t->task.program, t->task.device->dtype, t->worker.keeps, err);
	return t->worker.params ? 0 : -1;
}

int nn_train_take_memory(struct nn_train *t, struct nn_error *err)
{
	if (nn_train_fit(t, err) < 0)
		return -1;
	return take_planned(t, err) < 0 ? tell_taken(t, err) : 0;
}
