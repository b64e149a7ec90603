/* The events of the log, key by key as outputs.md lists them. */
#include "config.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json-text.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "device/products.h"
#include "model/model.h"
#include "plan/fit.h"
#include "parallel/pipeline.h"
#include "parallel/tensor.h"
#include "step/evaluate.h"
#include "train/tell/events.h"
#include "parallel/ranks.h"
#include "train/figures.h"
#include "base/log.h"
#include "train/tell/progress.h"
#include "train/tell/input.h"
#include "train/tell/report.h"
#include "train/tell/tensorboard.h"

static bool to_file(const struct nn_train *t)
{
	return t->std->output && strcmp(t->std->output, "-") != 0;
}

static void text_sha256(const char *text, char hex[NN_SHA256_HEX])
{
	struct nn_sha256 sha;

	nn_sha256_init(&sha);
	nn_sha256_add(&sha, text, strlen(text));
	nn_sha256_hex(&sha, hex);
}

static bool file_sha256(const char *path, char hex[NN_SHA256_HEX])
{
	FILE *file = path ? fopen(path, "rb") : NULL;
	struct nn_sha256 sha;
	char bytes[16384];
	size_t n;
	bool good;

	if (!file)
		return false;
	nn_sha256_init(&sha);
	while ((n = fread(bytes, 1, sizeof bytes, file)) > 0)
		nn_sha256_add(&sha, bytes, n);
	good = !ferror(file);
	fclose(file);
	nn_sha256_hex(&sha, hex);
	return good;
}

/* "model name" of /proc/cpuinfo */
static bool cpu_name(char name[128])
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon) {
			snprintf(name, 128, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
			found = true;
		}
	}
	if (file)
		fclose(file);
	return found;
}

static size_t features(const struct nn_train *t)
{
	size_t n = 0;

	for (int i = 0; i < t->task.program->n_inputs; i++)
		n += nn_shape_count(&t->task.program->values[t->task.program->inputs[i]].shape);
	return n;
}

void nn_event_start(const struct nn_train *t)
{
	struct nn_log *log = t->told.log;
	char hex[NN_SHA256_HEX], cpu[128], placement[NN_PLACEMENT];

	nn_report_start(t);
	if (!nn_log_wanted(log))
		return;
	text_sha256(nn_net_text(t->task.net), hex);
	nn_log_begin(log, "start");
	nn_log_string(log, "version", PACKAGE_VERSION);
	nn_log_string(log, "model", nn_net_text(t->task.net));
	nn_log_string(log, "model_sha256", hex);
	nn_log_count(log, "parameters", nn_program_parameters(t->task.program, true));
	nn_log_json(log, "options", t->kept.options_json);
	nn_log_count(log, "seed", t->std->seed);
	nn_log_string(log, "device", t->task.device->name);
	nn_log_string(log, "kernels", t->task.device->kind);
	nn_log_string(log, "blas", nn_products_library(t->task.device->name));
	nn_log_string(log, "cpu", cpu_name(cpu) ? cpu : NULL);
	nn_log_count(log, "ranks", (uint64_t)nn_layout_ranks(&t->layout));
	nn_log_count(log, "threads", (uint64_t)nn_pool_threads(t->task.pool));
	nn_log_count(log, "cores", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	nn_log_count(log, "samples", t->task.n_rows);
	nn_log_count(log, "features", features(t));
	if (t->task.schema->targets[0].labels)
		nn_log_count(log, "classes", t->task.schema->targets[0].n_labels);
	else
		nn_log_string(log, "classes", NULL);
	nn_log_count(log, "batch", t->options->recipe.batch);
	nn_log_count(log, "leaves", t->options->recipe.leaves);
	nn_log_count(log, "micro_batch", t->options->recipe.micro_batch);
	nn_log_string(log, "data_sha256", nn_dataset_hash(t->task.dataset));
	nn_log_count(log, "steps_per_epoch", t->task.steps_per_epoch);
	nn_log_open_object(log, "predicted");
	nn_log_real(log, "step_s", t->plan.forecast.step_s);
	nn_log_real(log, "epoch_s", t->plan.forecast.epoch_s);
	nn_log_real(log, "total_s", t->plan.forecast.total_s);
	nn_log_count(log, "peak_bytes", nn_fit_peak(&t->plan));
	nn_log_close_object(log);
	nn_log_string(log, "rate", t->plan.forecast.basis);
	nn_log_string(log, "placement", nn_report_placement(t, placement));
	nn_log_end(log);
}

/* a figure of the step, which is computed in the training's own type */
static void log_value(const struct nn_train *t, const char *key, double value)
{
	if (t->task.device->dtype == NN_F64)
		nn_log_real(t->told.log, key, value);
	else
		nn_log_single(t->told.log, key, value);
}

/* What it took so far. */
static void log_cost(const struct nn_train *t)
{
	nn_log_real(t->told.log, "elapsed_s", nn_now_s() - t->clock.start_s);
	nn_log_count(t->told.log, "bytes", t->layout.comm ? nn_comm_moved(t->layout.comm) : 0);
}

/* Of a training with f16 on a GPU. */
static void log_scale(const struct nn_train *t)
{
	const struct nn_loss_scale *scale = &t->counters.loss_scale;

	if (!(scale->factor >= 1))
		return;
	nn_log_real(t->told.log, "loss_scale", scale->factor);
	nn_log_count(t->told.log, "skipped_steps", scale->skipped);
}

void nn_event_step(const struct nn_train *t, const struct nn_step_result *r, double lr,
		   double mean_loss, double samples_per_s)
{
	struct nn_log *log = t->told.log;
	uint64_t epoch = nn_task_epoch(&t->task, t->counters.step);

	nn_tensorboard_add(t->told.board, t->counters.step, "loss", r->loss);
	nn_tensorboard_add(t->told.board, t->counters.step, "lr", lr);
	nn_tensorboard_add(t->told.board, t->counters.step, "samples_per_s", samples_per_s);
	nn_log_begin(log, "step");
	nn_log_count(log, "step", t->counters.step);
	nn_log_count(log, "epoch", epoch);
	nn_log_count(log, "samples", (epoch - 1) * t->task.n_rows + t->counters.rows);
	log_value(t, "loss", r->loss);
	nn_log_real(log, "lr", lr);
	log_value(t, "grad_norm", r->norm);
	log_scale(t);
	nn_log_single(log, "noise_scale", nn_noise_scale(&t->noise));
	nn_log_real(log, "samples_per_s", samples_per_s);
	nn_log_real(log, "input_wait_s", r->input_s);
	nn_log_real(log, "compute_s", r->compute_s);
	nn_log_real(log, "comm_s", r->comm_s);
	nn_log_real(log, "wait_s", r->wait_s);
	log_value(t, "mean_loss", mean_loss);
	log_cost(t);
	nn_log_end(log);
}

/* Who is told figures, in the log or beside it. */
struct hearer {
	const struct nn_train *t;
	void (*say)(const struct nn_train *t, const char *name, double value);
	bool listed; /* --metric was among them */
};

static void say_log(const struct nn_train *t, const char *name, double value)
{
	nn_log_real(t->told.log, name, value);
}

static void say_board(const struct nn_train *t, const char *name, double value)
{
	nn_tensorboard_add(t->told.board, t->counters.step, name, value);
}

static void say_figure(void *arg, const char *name, double value)
{
	struct hearer *h = arg;

	h->say(h->t, name, value);
	h->listed |= strcmp(name, h->t->metric) == 0;
}

static void say_metrics(const struct nn_train *t,
			void (*say)(const struct nn_train *t, const char *name, double value))
{
	struct hearer h = { t, say, strcmp(t->metric, "loss") == 0 };
	char name[NN_METRIC_NAME];
	double value;

	say(t, "valid_loss",
	    t->found.held_out && nn_evaluator_get(t->evaluator, "loss", &value) ? value : NAN);
	nn_evaluator_figures(t->evaluator, t->task.program, say_figure, &h);
	if (h.listed)
		return;
	if (t->evaluator && nn_evaluator_get(t->evaluator, t->metric, &value)) {
		say(t, t->metric, value);
	} else if (!t->evaluator) {
		snprintf(name, sizeof name, "train_%s", t->metric);
		say(t, name, nn_counters_metric(&t->counters, t->metric));
	}
}

void nn_event_epoch(const struct nn_train *t, double seconds, double samples_per_s)
{
	struct nn_progress_line line = {
		.epoch = nn_task_epoch(&t->task, t->counters.step),
		.epochs = nn_task_epochs(&t->task),
		.loss = nn_counters_loss(&t->counters),
		.valid_loss = NAN,
		.value = t->found.metric,
		.seconds = seconds,
		.samples_per_s = samples_per_s,
	};
	char name[NN_METRIC_NAME];

	if (t->evaluator) {
		nn_evaluator_get(t->evaluator, "loss", &line.valid_loss);
		line.metric = strcmp(t->metric, "loss") != 0 ? t->metric : NULL;
	} else if (strcmp(t->metric, "loss") != 0) {
		snprintf(name, sizeof name, "train_%s", t->metric);
		line.metric = name;
	}
	nn_progress_epoch(t->told.progress, &line);
	if (t->told.board) {
		say_board(t, "epoch_loss", line.loss);
		say_metrics(t, say_board);
	}
	if (!nn_log_wanted(t->told.log))
		return;
	nn_log_begin(t->told.log, "epoch");
	nn_log_count(t->told.log, "epoch", line.epoch);
	nn_log_count(t->told.log, "step", t->counters.step);
	nn_log_real(t->told.log, "loss", line.loss);
	say_metrics(t, say_log);
	nn_log_real(t->told.log, "seconds", seconds);
	nn_log_real(t->told.log, "samples_per_s", samples_per_s);
	nn_log_bool(t->told.log, "best", t->found.best);
	log_cost(t);
	nn_log_end(t->told.log);
}

void nn_event_valid(const struct nn_train *t)
{
	if (t->told.board)
		say_metrics(t, say_board);
	if (!nn_log_wanted(t->told.log))
		return;
	nn_log_begin(t->told.log, "valid");
	nn_log_count(t->told.log, "step", t->counters.step);
	say_metrics(t, say_log);
	nn_log_bool(t->told.log, "best", t->found.best);
	log_cost(t);
	nn_log_end(t->told.log);
}

static const char *signal_name(int signal)
{
	switch (signal) {
	case SIGINT:
		return "SIGINT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	case SIGUSR1:
		return "SIGUSR1";
	default:
		return "signal";
	}
}

void nn_event_signal(const struct nn_train *t, int signal)
{
	nn_log_begin(t->told.log, "signal");
	nn_log_string(t->told.log, "name", signal_name(signal));
	nn_log_end(t->told.log);
}

static void log_compared(struct nn_log *log, const char *key, double predicted, double measured)
{
	nn_log_open_object(log, key);
	nn_log_real(log, "predicted", predicted);
	nn_log_real(log, "measured", measured);
	nn_log_real(log, "error", predicted / measured - 1);
	nn_log_close_object(log);
}

static void log_ranks(const struct nn_train *t)
{
	struct nn_rank_times mine = nn_worker_times(&t->worker);
	const struct nn_rank_times *ranks = t->worker.ranks ? t->worker.ranks : &mine;
	struct nn_text json = { 0 };

	nn_json_put(&json, "[");
	for (int r = 0; r < (t->worker.ranks ? nn_layout_ranks(&t->layout) : 1); r++) {
		nn_json_put(&json, "{");
		nn_json_add_count(&json, "rank",
				  (uint64_t)(t->worker.ranks ? r : t->layout.comm->rank));
		nn_json_add_string(&json, "host", ranks[r].host);
		nn_json_add_count(&json, "pid", (uint64_t)ranks[r].pid);
		nn_json_add_real(&json, "compute_s", ranks[r].compute_s);
		nn_json_add_real(&json, "comm_s", ranks[r].comm_s);
		nn_json_add_real(&json, "wait_s", ranks[r].wait_s);
		nn_text_add(&json, "}");
	}
	nn_text_add(&json, "]");
	nn_log_json(t->told.log, "ranks", json.failed ? "null" : json.data);
	nn_text_free(&json);
}

static double or_unknown(double value)
{
	return value > 0 ? value : NAN;
}

static void log_tensor(const struct nn_train *t)
{
	const struct nn_tensor_parallel *g = t->layout.tensor;

	if (!g || !g->exchange)
		return;
	nn_log_open_object(t->told.log, "tensor");
	nn_log_count(t->told.log, "ranks", (uint64_t)g->columns.ranks);
	nn_log_count(t->told.log, "bytes", g->exchange->bytes);
	nn_log_real(t->told.log, "seconds", g->exchange->counted_s);
	nn_log_close_object(t->told.log);
}

static void log_pipeline(const struct nn_train *t)
{
	const struct nn_pipe *p = t->layout.pipe;
	const struct nn_pipe_flow *f = t->worker.flow;

	if (!f)
		return;
	nn_log_open_object(t->told.log, "pipeline");
	nn_log_count(t->told.log, "stages", (uint64_t)p->stages);
	nn_log_string(t->told.log, "schedule", nn_pipeline_schedules[p->schedule]);
	nn_log_count(t->told.log, "micro_batches", f->most);
	nn_log_real(t->told.log, "idle", f->idle);
	nn_log_real(t->told.log, "formula", f->formula);
	nn_log_close_object(t->told.log);
}

void nn_event_failed(const struct nn_train *t, double seconds, const struct nn_error *why)
{
	struct nn_log *log = t->told.log;

	if (!log || !nn_log_wanted(log))
		return;
	nn_log_begin(log, "end");
	nn_log_string(log, "reason", "error");
	nn_log_string(log, "text", why->text);
	nn_log_count(log, "step", t->counters.step);
	nn_log_string(log, "epoch", NULL);
	nn_log_string(log, "best_epoch", NULL);
	nn_log_real(log, "seconds", seconds);
	nn_log_count(log, "peak_bytes", (uint64_t)nn_memory_peak());
	nn_log_string(log, "output", to_file(t) ? t->std->output : "stdout");
	nn_log_string(log, "sha256", NULL);
	nn_log_end(log);
}

void nn_event_end(const struct nn_train *t, const char *reason, double mean_loss)
{
	double seconds = nn_now_s() - t->clock.start_s, peak = (double)nn_memory_peak();
	char hex[NN_SHA256_HEX];
	struct nn_log *log = t->told.log;

	nn_report_end(t, seconds);
	if (strcmp(reason, "error") != 0 && strcmp(reason, "diverged") != 0)
		nn_forecast_learn(&t->plan, &t->clock.times, seconds);
	if (!nn_log_wanted(log))
		return;
	nn_event_input(t);
	nn_log_begin(log, "end");
	nn_log_string(log, "reason", reason);
	nn_log_count(log, "step", t->counters.step);
	nn_log_count(log, "epoch", nn_task_epoch(&t->task, t->counters.step));
	if (t->counters.best_epoch)
		nn_log_count(log, "best_epoch", t->counters.best_epoch);
	else
		nn_log_string(log, "best_epoch", NULL);
	if (t->found.threshold.by)
		nn_log_single(log, "threshold", t->found.threshold.value);
	nn_log_real(log, "seconds", seconds);
	nn_log_real(log, "first_step_s", or_unknown(t->clock.first_step_s));
	nn_log_real(log, "first_epoch_s", or_unknown(t->clock.first_epoch_s));
	nn_log_real(log, "steady_samples_per_s",
		    t->clock.steady_s > 0 ? (double)t->clock.steady_samples / t->clock.steady_s
					  : NAN);
	log_scale(t);
	nn_log_single(log, "noise_scale", nn_noise_scale(&t->noise));
	nn_log_count(log, "noise_steps", t->noise.steps);
	nn_log_count(log, "peak_bytes", (uint64_t)peak);
	nn_log_string(log, "output", to_file(t) ? t->std->output : "stdout");
	nn_log_string(log, "sha256",
		      to_file(t) && t->written && file_sha256(t->std->output, hex) ? hex : NULL);
	log_ranks(t);
	nn_log_open_object(log, "predicted");
	log_compared(log, "peak_bytes", (double)nn_fit_peak(&t->plan), peak);
	if (nn_worker_host_bytes(&t->worker) > 0)
		log_compared(log, "host_bytes", (double)t->plan.fit.host,
			     (double)nn_worker_host_bytes(&t->worker));
	log_compared(log, "step_s", t->plan.forecast.step_s, nn_report_step(t));
	if (nn_layout_ranks(&t->layout) > 1)
		log_compared(log, "step_bytes", t->plan.forecast.bytes, nn_report_bytes(t));
	log_compared(log, "total_s", t->plan.forecast.total_s, seconds);
	nn_log_close_object(log);
	log_pipeline(t);
	log_tensor(t);
	log_value(t, "mean_loss", mean_loss);
	log_cost(t);
	nn_report_causes(t);
	nn_log_end(log);
}
