/* Opening a training: everything that can fail does so before the first step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/stored.h"
#include "train/checkpoint.h"
#include "train/feed.h"
#include "train/plan/fit-ranks.h"
#include "train/plan/suggest.h"
#include "train/prepare.h"
#include "train/ranks.h"
#include "train/spool.h"

/* ---- memory ---- */

int nn_train_fit(struct nn_train *t, struct nn_error *err)
{
	size_t there;
	char of[40] = "";

	if (!t->sample && t->dataset) {
		t->loaded_bytes = nn_memory_resident();
		t->loaded_dtype = t->device->dtype;
	}
	t->highest_bytes = nn_memory_peak();
	t->limit_bytes = nn_memory_available();
	there = nn_memory_resident() - (t->on_host > 1 ? nn_memory_files() : 0);
	if (!nn_mul(there, (size_t)t->on_host, &there) ||
	    !nn_add(t->limit_bytes, there, &t->limit_bytes))
		t->limit_bytes = SIZE_MAX;
	if (t->tensor && nn_tensor_check(t, err) < 0)
		return -1;
	if (t->pipe && nn_pipe_divide(t, nn_pipe_micro(t, t->options->batch), err) < 0)
		return -1;
	if (nn_fit_choose(t, &t->fit, err) < 0)
		return -1;
	if (t->fit.fits && t->comm && nn_train_in_parts(t)) {
		if (nn_pipe_agree(t, err) < 0 || nn_fit_gather(t, err) < 0)
			return -1;
		t->fit.fits = nn_fit_need(t, &t->fit) <= t->fit.limit;
	}
	if (t->fit.fits)
		return 0;
	if (t->setup.advice)
		nn_suggest_notes(t, t->setup.advice);
	if (t->on_host > 1 && !t->options->memory)
		snprintf(of, sizeof of, " for %d ranks of this host", t->on_host);
	return nn_fail(
		err, NN_ENOMEM,
		"%straining needs %zu bytes%s even with --micro-batch=%zu, %zu are available",
		t->options->memory ? "--memory: " : "", nn_fit_need(t, &t->fit), of, t->fit.micro,
		t->fit.limit);
}

static int take_memory(struct nn_train *t, struct nn_error *err)
{
	struct nn_step_options step;

	if (nn_train_fit(t, err) < 0)
		return -1;
	t->options->micro_batch = t->fit.micro;
	step = nn_train_step_options(t, t->fit.micro);
	if (t->strategy->prepare && t->strategy->prepare(t, &step, err) < 0)
		return -1;
	if (nn_step_new(&t->step, &step, err) < 0 || (t->pipe && nn_pipe_attach(t, err) < 0) ||
	    (t->tensor && nn_tensor_attach(t, err) < 0) || nn_train_find_kept(t, err) < 0 ||
	    nn_shard_attach(t, err) < 0)
		return -1;
	if (nn_train_evaluates(t)) {
		struct nn_evaluator_options evaluator = {
			.device = t->device,
			.pool = t->pool,
			.program = t->program,
			.dataset = t->held_out ? t->held_out : t->dataset,
			.schema = t->schema,
			.rows = t->valid_rows,
			.n_rows = t->n_valid,
			.losses = t->losses,
			.weights = t->shares,
			.comm = nn_train_evaluators(t),
		};

		if (nn_evaluator_new(&t->evaluator, &evaluator, err) < 0)
			return -1;
		if (t->keeps &&
		    !(t->whole = nn_params_some(t->program, t->device->dtype, NULL, err)))
			return -1;
	}
	t->params = nn_params_some(t->program, t->device->dtype, t->keeps, err);
	return t->params ? 0 : -1;
}

/* ---- the parts in order ---- */

static int open_device(struct nn_train *t, const char *name, struct nn_error *err)
{
	bool cpu = strcmp(name, "cpu") == 0;

	t->device = nn_device_open(cpu && !t->std->reproducible ? "cpu+openblas" : name,
				   t->std->precision == 1 ? NN_F64 : NN_F32, err);
	return t->device ? 0 : -1;
}

/* --device=auto: what nn-bench stored for this model, whose shapes the data have told by now. */
static int take_stored_device(struct nn_train *t, struct nn_error *err)
{
	struct nn_use use = { nn_net_text(t->net), true, t->options->batch, t->device->dtype };
	char name[NN_DEVICE_NAME], note[NN_STORED_NOTE];

	if (strcmp(t->std->device, "auto") != 0)
		return 0;
	nn_device_stored(&use, name, note);
	if (*note)
		nn_train_note(t, "%s", note);
	return strcmp(name, "cpu") == 0 ? 0 : open_device(t, name, err);
}

int nn_train_open_model(struct nn_train *t, struct nn_error *err)
{
	struct nn_net *net = NULL;

	if (nn_net_open(&net, &t->start, t->options->model, err) < 0)
		return -1;
	t->net_owned = net != NULL;
	t->net = net ? net : t->start->net;
	if (t->f64)
		t->std->precision = 1;
	else if (!nn_opt_given(t->setup.list, "precision"))
		t->std->precision = t->start && t->start->dtype == NN_F64;
	if (open_device(t, strcmp(t->std->device, "auto") == 0 ? "cpu" : t->std->device, err) < 0)
		return -1;
	if (nn_train_sharing(t, err) < 0)
		return -1;
	if (t->std->threads == 0)
		t->std->threads =
			nn_cpu_count() > t->sharing ? (uint64_t)(nn_cpu_count() / t->sharing) : 1;
	if (nn_pool_new(&t->pool, (int)t->std->threads, err) < 0)
		return -1;
	t->start_bytes = nn_memory_resident();
	t->keeps_state = nn_train_first(t) && (t->state_path || nn_checkpoint_wanted(t));
	return 0;
}

static int open_outputs(struct nn_train *t, struct nn_error *err)
{
	if (!nn_train_first(t))
		return nn_log_open(&t->log, NULL, false, err);
	if (nn_checkpoint_lock(t, err) < 0 ||
	    nn_output_open(&t->output, t->std->output, t->options->folds == 0, err) < 0)
		return -1;
	if (nn_curve_open(&t->curve, t->options->plot, err) < 0)
		return -1;
	return nn_log_open(&t->log, t->std->log, t->options->resume, err);
}

/* Columns come from rank 0, which has all. */
static int initial_values(struct nn_train *t, struct nn_error *err)
{
	int status = 0;

	if (!t->tensor || nn_train_first(t))
		status = t->start ? nn_model_file_params(t->start, t->device->dtype, t->params, err)
				  : nn_net_init(t->net, t->std->seed, t->device->dtype, t->params,
						err);
	t->counters.best = t->counters.plateau = NAN;
	return status == 0 && t->tensor ? nn_train_share_set(t, t->params, err) : status;
}

static int start_values(struct nn_train *t, struct nn_error *err)
{
	bool resumed;

	if (nn_checkpoint_open(t, err) < 0 || nn_checkpoint_resume(t, &resumed, err) < 0)
		return -1;
	if (!resumed && initial_values(t, err) < 0)
		return -1;
	if (nn_graph_load(nn_step_graph(t->step), (const void *const *)t->params, err) < 0)
		return -1;
	return t->tensor ? nn_tensor_begin(t, err) : 0;
}

/* Read the data, which only rank 0 may be able to. */
static int open_data(struct nn_train *t, struct nn_error *err)
{
	struct nn_feed *feed;

	t->held_out_path = t->options->valid;
	if (nn_spool(t, err) < 0 || nn_feed_open(&feed, t, err) < 0)
		return -1;
	return nn_feed_close(feed, nn_train_prepare(t, err), err);
}

static int open_parts(struct nn_train *t, struct nn_error *err)
{
	double start = nn_now_s(), planned, tried;

	if (nn_tensor_open(t, err) < 0 || nn_pipe_open(t, err) < 0 || open_outputs(t, err) < 0 ||
	    nn_train_open_model(t, err) < 0 || open_data(t, err) < 0 ||
	    take_stored_device(t, err) < 0 || nn_train_take_defaults(t, err) < 0 ||
	    nn_train_compare(t, err) < 0)
		return -1;
	planned = nn_now_s();
	t->data_s = planned - start;
	nn_forecast_machine(t);
	if (nn_train_ranks(t) > 1)
		nn_forecast_ranks(t);
	t->tried_s = nn_now_s() - planned;
	if (take_memory(t, err) < 0 || nn_train_take_metric(t, err) < 0)
		return -1;
	tried = nn_now_s();
	t->plan_s = tried - planned - t->tried_s;
	nn_forecast_rate(t); /* before the weights are there: what it tries is loaded over */
	t->tried_s += nn_now_s() - tried;
	if (start_values(t, err) < 0)
		return -1;
	nn_forecast_make(t);
	return 0;
}

/* What depends on which rows are trained on. */
static void release_fold(struct nn_train *t)
{
	nn_evaluator_free(t->evaluator);
	nn_step_free(t->step);
	if (t->strategy && t->strategy->release)
		t->strategy->release(t);
	nn_checkpoint_free(t);
	nn_free(t->params);
	nn_free(t->whole);
	nn_train_release_rows(t);
}

int nn_train_next_fold(struct nn_train *t, struct nn_error *err)
{
	release_fold(t);
	t->evaluator = NULL;
	t->step = NULL;
	t->params = NULL;
	t->whole = NULL;
	t->counters = (struct nn_counters){ 0 };
	t->found = (struct nn_train_finding){ 0 };
	t->noise = (struct nn_noise){ 0 };
	t->first_step_s = t->first_epoch_s = t->steady_s = t->compute_s = t->input_s = t->comm_s =
		t->wait_s = 0;
	t->steady_samples = 0;
	t->times = (struct nn_times){ 0 };
	t->fold++;
	if (nn_train_choose_rows(t, err) < 0 || nn_train_take_defaults(t, err) < 0 ||
	    take_memory(t, err) < 0 || nn_train_take_metric(t, err) < 0)
		return -1;
	return start_values(t, err);
}

static struct nn_train *train_new(const struct nn_train_setup *setup, struct nn_error *err)
{
	struct nn_train *t = nn_alloc(1, sizeof *t, err);

	if (!t)
		return NULL;
	t->setup = *setup;
	t->comm = setup->comm;
	t->strategy = nn_strategy_parse(setup->train->strategy ? setup->train->strategy : "sync",
					&t->terms, NULL);
	t->options = setup->train;
	t->std = setup->std;
	return t;
}

int nn_train_open_inputs(struct nn_train **train, const struct nn_train_setup *setup, bool f64,
			 struct nn_error *err)
{
	struct nn_train *t = train_new(setup, err);

	if (!t)
		return -1;
	t->f64 = f64;
	if (nn_log_open(&t->log, NULL, false, err) < 0 || nn_train_open_model(t, err) < 0 ||
	    nn_train_prepare(t, err) < 0 || nn_train_take_defaults(t, err) < 0) {
		nn_train_free(t);
		return -1;
	}
	*train = t;
	return 0;
}

int nn_train_open(struct nn_train **train, const struct nn_train_setup *setup, struct nn_error *err)
{
	struct nn_train *t = train_new(setup, err);

	if (!t)
		return -1;
	if (!(t->progress = nn_progress_new(nn_train_first(t) ? setup->host.progress : -1, err)) ||
	    open_parts(t, err) < 0) {
		nn_train_free(t);
		return -1;
	}
	*train = t;
	return 0;
}

void nn_train_free(struct nn_train *t)
{
	if (!t)
		return;
	nn_output_abort(t->output);
	nn_curve_free(t->curve);
	nn_log_close(t->log);
	nn_lock_release(t->lock);
	nn_progress_free(t->progress);
	release_fold(t);
	nn_dataset_free(t->held_out);
	nn_dataset_free(t->dataset);
	if (t->net_owned)
		nn_net_free(t->net);
	nn_model_file_free(t->start);
	nn_pool_free(t->pool);
	nn_pipe_free(t->pipe);
	nn_tensor_free(t->tensor);
	nn_free(t->keeps);
	nn_free(t->ranks);
	nn_free(t->state_path);
	nn_free(t);
}
