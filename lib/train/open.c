/* Opening a training: everything that can fail does so before the first step. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "device/products.h"
#include "device/stored.h"
#include "data/ring.h"
#include "model/model.h"
#include "step/evaluate.h"
#include "train/state/checkpoint.h"
#include "parallel/feed.h"
#include "parallel/grid.h"
#include "parallel/pipeline.h"
#include "parallel/tensor.h"
#include "train/init.h"
#include "train/prepare.h"
#include "parallel/ranks.h"
#include "train/spool.h"
#include "train/state/lock.h"
#include "train/tell/curve.h"
#include "train/tell/events.h"
#include "train/tell/tensorboard.h"
#include "base/log.h"
#include "train/tell/progress.h"
#include "train/threshold.h"
#include "train/write.h"

static int open_device(struct nn_train *t, const char *name, struct nn_error *err)
{
	char full[NN_PRODUCTS_NAME];

	t->task.device = nn_device_open(nn_products_device(full, name, nn_products_asked(t->std)),
					nn_dtype_computed(nn_std_dtype(t->std)), err);
	return t->task.device ? 0 : -1;
}

/* --device=auto: what nn-bench stored for this model, whose shapes the data have told by now. */
static int take_stored_device(struct nn_train *t, struct nn_error *err)
{
	struct nn_use use = { nn_net_text(t->task.net), true, t->options->recipe.batch,
			      t->task.device->dtype };
	char name[NN_DEVICE_NAME], note[NN_STORED_NOTE];

	if (strcmp(t->std->device, "auto") != 0)
		return 0;
	nn_device_stored(&use, name, note);
	if (*note)
		nn_tell_note(&t->told, "%s", note);
	return strcmp(name, "cpu") == 0 ? 0 : open_device(t, name, err);
}

/* What of a text (--window) the inline text of a model tells; of a file it is told with the data.
 */
static int check_text(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_net *net = t->task.net;
	const struct nn_text_use use = {
		.file = t->setup.data_path,
		.inputs = nn_net_n_inputs(net),
		.targets = nn_net_n_outputs(net),
		.embedded = nn_net_input(net, 0)->categories && !nn_net_input(net, 0)->hash,
	};

	return t->setup.data->window && !t->task.from_file ? nn_text_check(&use, NN_EUSAGE, err)
							   : 0;
}

int nn_train_open_model(struct nn_train *t, struct nn_error *err)
{
	struct nn_net *net = NULL;

	if (nn_net_open(&net, &t->source.start, t->options->model, err) < 0)
		return -1;
	t->source.net_owned = net != NULL;
	t->task.net = net ? net : t->source.start->net;
	if (nn_init_check(t, err) < 0)
		return -1;
	t->task.from_file = access(t->options->model, F_OK) == 0;
	if (check_text(t, err) < 0)
		return -1;
	t->task.seed = t->std->seed;
	if (t->source.f64)
		t->std->precision = NN_PRECISION_F64;
	else if (!nn_opt_given(t->setup.list, "precision"))
		t->std->precision = t->source.start && t->source.start->dtype == NN_F64
					    ? NN_PRECISION_F64
					    : NN_PRECISION_F32;
	if (open_device(t, strcmp(t->std->device, "auto") == 0 ? "cpu" : t->std->device, err) < 0)
		return -1;
	if (nn_layout_ranks(&t->layout) > 1 &&
	    nn_pairs_open(&t->layout.pairs, t->layout.comm, t->task.device->remote != NULL, err) <
		    0)
		return -1;
	if (nn_layout_find_sharing(&t->layout, err) < 0)
		return -1;
	if (t->std->threads == 0)
		t->std->threads = nn_cpu_count() > t->layout.sharing
					  ? (uint64_t)(nn_cpu_count() / t->layout.sharing)
					  : 1;
	if (nn_pool_new(&t->task.pool, (int)t->std->threads, err) < 0)
		return -1;
	t->budget.start_bytes = nn_memory_resident();
	t->budget.a_state = t->kept.state_path ||
			    nn_checkpoint_place(t->options, t->std->output) != NN_CHECKPOINT_NONE;
	t->budget.keeps_state = nn_layout_first(&t->layout) && t->budget.a_state;
	return 0;
}

static int open_outputs(struct nn_train *t, struct nn_error *err)
{
	if (!nn_layout_first(&t->layout))
		return nn_log_open(&t->told.log, NULL, false, err);
	if (nn_checkpoint_lock(&t->kept, err) < 0 ||
	    nn_output_open(&t->output, t->std->output, t->options->folds == 0, err) < 0)
		return -1;
	if (nn_curve_open(&t->told.curve, t->options->plot, err) < 0 ||
	    nn_tensorboard_open(&t->told.board, t->options->tensorboard, err) < 0)
		return -1;
	return nn_log_open(&t->told.log, t->std->log, t->options->resume, err);
}

/* Columns come from rank 0, which has all. */
static int initial_values(struct nn_train *t, struct nn_error *err)
{
	int status = 0;

	if (!t->layout.tensor || nn_layout_first(&t->layout))
		status = nn_init_values(t, t->worker.params, err);
	t->counters.best = t->counters.plateau = NAN;
	return status == 0 && t->layout.tensor
		       ? nn_worker_share_set(&t->worker, t->worker.params, err)
		       : status;
}

static int load_values(struct nn_train *t, struct nn_error *err)
{
	if (nn_graph_load(nn_step_graph(t->worker.step), (const void *const *)t->worker.params,
			  err) < 0)
		return -1;
	return t->layout.tensor ? nn_tensor_begin(&t->worker, err) : 0;
}

static int start_values(struct nn_train *t, struct nn_error *err)
{
	bool resumed;

	if (nn_checkpoint_open(&t->kept, err) < 0 ||
	    nn_checkpoint_resume(&t->kept, &resumed, err) < 0)
		return -1;
	return !resumed && initial_values(t, err) < 0 ? -1 : load_values(t, err);
}

/* Read the data, which only rank 0 may be able to. */
static int open_data(struct nn_train *t, struct nn_error *err)
{
	struct nn_feed_paths paths = { &t->setup.data_path, &t->setup.targets_path,
				       &t->source.held_out_path, NULL };
	struct nn_feed *feed;

	t->source.held_out_path = t->options->valid;
	if (nn_spool(t, err) < 0)
		return -1;
	paths.spooled = t->source.spooled;
	if (nn_feed_open(&feed, t->layout.comm, &paths, err) < 0)
		return -1;
	return nn_feed_close(feed, nn_train_prepare(t, err), err);
}

/*
 * What is predicted rests on the past, as far as rank 0 knows it, or on steps that are tried, with
 * initial values: what is loaded comes after them.
 */
static int predict(struct nn_train *t, struct nn_error *err)
{
	int n = nn_layout_ranks(&t->layout);
	bool tries = nn_forecast_rate(&t->plan), all[n];

	if (nn_comm_all_gather(t->layout.comm, &tries, all, sizeof tries, err) < 0)
		return -1;
	if (!all[0])
		return 0;
	return initial_values(t, err) < 0 || load_values(t, err) < 0
		       ? -1
		       : nn_forecast_try(&t->plan, &t->worker, err);
}

static int open_parts(struct nn_train *t, struct nn_error *err)
{
	double start = nn_now_s(), planned, tried;

	if (nn_tensor_open(&t->layout, err) < 0 || nn_pipe_open(&t->layout, err) < 0 ||
	    open_outputs(t, err) < 0 || nn_train_open_model(t, err) < 0 || open_data(t, err) < 0 ||
	    take_stored_device(t, err) < 0 || nn_train_take_defaults(t, err) < 0 ||
	    nn_train_compare(t, err) < 0 || nn_train_check_output(t, err) < 0)
		return -1;
	planned = nn_now_s();
	t->clock.data_s = planned - start;
	if (nn_train_take_memory(t, err) < 0 || nn_train_take_metric(t, err) < 0 ||
	    nn_train_check_threshold(t, err) < 0)
		return -1;
	tried = nn_now_s();
	t->clock.plan_s = tried - planned;
	if (predict(t, err) < 0)
		return -1;
	t->clock.tried_s = nn_now_s() - tried;
	if (start_values(t, err) < 0)
		return -1;
	nn_forecast_make(&t->plan, t->counters.step, 1);
	return 0;
}

/* What depends on which rows are trained on. */
static void release_fold(struct nn_train *t)
{
	nn_evaluator_free(t->evaluator);
	nn_step_free(t->worker.step);
	nn_loader_fini(&t->loader);
	nn_ring_free(t->ring);
	t->ring = NULL;
	if (t->layout.strategy && t->layout.strategy->release)
		t->layout.strategy->release(&t->worker);
	nn_pipe_detach(&t->worker);
	nn_checkpoint_free(&t->kept);
	nn_free(t->worker.params);
	nn_free(t->whole);
	nn_train_release_rows(t);
}

int nn_train_next_fold(struct nn_train *t, struct nn_error *err)
{
	release_fold(t);
	t->evaluator = NULL;
	t->worker.step = NULL;
	t->worker.params = NULL;
	t->whole = NULL;
	t->counters = (struct nn_counters){ 0 };
	t->found = (struct nn_train_finding){ 0 };
	t->noise = (struct nn_noise){ 0 };
	t->clock.first_step_s = t->clock.first_epoch_s = t->clock.steady_s = t->worker.compute_s =
		t->worker.input_s = t->worker.comm_s = t->worker.wait_s = 0;
	t->clock.steady_samples = 0;
	t->clock.times = (struct nn_times){ 0 };
	t->source.fold++;
	if (nn_train_choose_rows(t, err) < 0 || nn_train_take_defaults(t, err) < 0 ||
	    nn_train_take_memory(t, err) < 0 || nn_train_take_metric(t, err) < 0)
		return -1;
	return start_values(t, err);
}

static void say(void *arg, const char *text)
{
	const struct nn_train *t = arg;

	nn_tell_note(&t->told, "%s", text);
}

static void stand_at(void *arg, uint64_t steps)
{
	struct nn_train *t = arg;

	if (t->setup.host.at)
		t->setup.host.at(t->setup.host.arg, steps);
}

/* The ranks as the options say. */
static struct nn_layout layout_of(const struct nn_train_setup *setup)
{
	const struct nn_parallel_options *o = &setup->train->ranks;
	struct nn_layout layout = {
		.options = o, .comm = setup->comm, .asked = setup->ranks, .sharing = 1, .on_host = 1
	};

	layout.strategy =
		nn_strategy_parse(o->strategy ? o->strategy : "sync", &layout.terms, NULL);
	layout.terms.staleness = nn_opt_given(setup->list, "staleness") ? o->staleness : UINT64_MAX;
	return layout;
}

struct nn_train *nn_train_new(const struct nn_train_setup *setup, struct nn_error *err)
{
	struct nn_train *t = nn_alloc(1, sizeof *t, err);

	if (!t)
		return NULL;
	t->setup = *setup;
	t->options = setup->train;
	t->std = setup->std;
	t->layout = layout_of(setup);
	t->task.recipe = &t->options->recipe;
	t->task.logs = t->std->log != NULL;
	t->task.notes = t->std->verbose > 0;
	t->worker = (struct nn_worker){ .task = &t->task,
					.layout = &t->layout,
					.counters = &t->counters,
					.note = say,
					.at = stand_at,
					.arg = t };
	t->told = (struct nn_telling){ .host = setup->host, .speaks = nn_layout_first(&t->layout) };
	t->kept = (struct nn_keeping){ .worker = &t->worker,
				       .telling = &t->told,
				       .options = t->options,
				       .list = setup->list,
				       .output = t->std->output,
				       .schedule = &t->schedule };
	t->budget.memory = t->options->memory;
	t->budget.keeps_best = t->options->patience > 0;
	t->plan = (struct nn_plan){ .task = &t->task, .layout = &t->layout, .budget = &t->budget };
	return t;
}

int nn_train_open_inputs(struct nn_train **train, const struct nn_train_setup *setup, bool f64,
			 struct nn_error *err)
{
	struct nn_train *t = nn_train_new(setup, err);

	if (!t)
		return -1;
	t->source.f64 = f64;
	if (nn_log_open(&t->told.log, NULL, false, err) < 0 || nn_train_open_model(t, err) < 0 ||
	    nn_train_prepare(t, err) < 0 || nn_train_take_defaults(t, err) < 0) {
		nn_train_free(t);
		return -1;
	}
	*train = t;
	return 0;
}

int nn_train_open(struct nn_train **train, const struct nn_train_setup *setup, struct nn_error *err)
{
	struct nn_train *t = nn_train_new(setup, err);
	double start = nn_now_s();
	struct nn_error why = { 0 };

	if (!t)
		return -1;
	if (!(t->told.progress = nn_progress_new(
		      nn_layout_first(&t->layout) ? setup->host.progress : -1, &why)) ||
	    open_parts(t, &why) < 0) {
		nn_event_failed(t, nn_now_s() - start, &why);
		nn_train_free(t);
		if (err)
			*err = why;
		return -1;
	}
	nn_train_tell_columns(t);
	*train = t;
	return 0;
}

void nn_train_free(struct nn_train *t)
{
	if (!t)
		return;
	nn_output_abort(t->output);
	nn_curve_free(t->told.curve);
	nn_tensorboard_close(t->told.board);
	nn_log_close(t->told.log);
	nn_lock_release(t->kept.lock);
	nn_progress_free(t->told.progress);
	release_fold(t);
	nn_text_free(&t->source.said);
	if (!t->source.borrowed) {
		nn_dataset_free(t->task.held_out);
		nn_dataset_free(t->task.dataset);
	}
	if (t->source.net_owned)
		nn_net_free(t->task.net);
	nn_model_file_free(t->source.start);
	nn_init_close(t);
	nn_pool_free(t->task.pool);
	nn_pipe_free(t->layout.pipe);
	nn_tensor_free(t->layout.tensor);
	nn_pairs_close(&t->layout.pairs);
	nn_free(t->worker.keeps);
	nn_free(t->worker.ranks);
	nn_free(t->kept.state_path);
	nn_free(t);
}
