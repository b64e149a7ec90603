/* The model file of a training: nn.train holds what changes the bytes, and what came out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "base/output.h"
#include "model/model.h"
#include "parallel/ranks.h"
#include "step/evaluate.h"
#include "train/state/record.h"

uint64_t nn_train_epoch(const struct nn_train *t)
{
	return (t->counters.step + t->task.steps_per_epoch - 1) / t->task.steps_per_epoch;
}

uint64_t nn_train_epochs(const struct nn_train *t)
{
	if (t->task.planned == UINT64_MAX)
		return 0;
	return t->task.planned / t->task.steps_per_epoch +
	       (t->task.planned % t->task.steps_per_epoch > 0);
}

double nn_train_loss(const struct nn_train *t)
{
	return t->counters.weight > 0 ? t->counters.loss / t->counters.weight
	       : t->counters.rows     ? 0
				      : NAN;
}

double nn_train_passed(const struct nn_train *t, const char *metric)
{
	const struct nn_counters *c = &t->counters;

	if (strcmp(metric, "loss") == 0)
		return nn_train_loss(t);
	if (strcmp(metric, "accuracy") == 0)
		return c->counted ? (double)c->hits / (double)c->counted : NAN;
	if (strcmp(metric, "rmse") == 0)
		return c->counted ? sqrt(c->squares / (double)c->counted) : NAN;
	return NAN;
}

bool nn_train_one_loss(const struct nn_train *t)
{
	for (int o = 1; o < t->task.n_outputs; o++)
		if (t->task.losses[o].kind != t->task.losses[0].kind)
			return false;
	return true;
}

/* ---- nn.train ---- */

/* an option as its text says it */
static void add_option(const struct nn_train *t, struct nn_text *json, const char *name)
{
	char value[4096];

	if (nn_opt_text(t->setup.list, name, value, sizeof value) && value[0])
		nn_json_add_string(json, name, value);
}

/*
 * The output whose name comes next in the order of bytes, after `last` (-1: none); -1 after the
 * last.
 */
static int next_by_name(const struct nn_train *t, int last)
{
	const struct nn_program_output *outputs = t->task.program->outputs;
	int next = -1;

	for (int o = 0; o < t->task.n_outputs; o++)
		if ((last < 0 || strcmp(outputs[o].name, outputs[last].name) > 0) &&
		    (next < 0 || strcmp(outputs[o].name, outputs[next].name) < 0))
			next = o;
	return next;
}

static void add_weights(struct nn_text *json, const double *weights, size_t n)
{
	nn_json_put(json, "[");
	for (size_t c = 0; c < n; c++)
		nn_json_put_real(json, weights[c]);
	nn_text_add(json, "]");
}

/* Of several outputs an object by name; those without classes are left out. */
static void add_class_weights(const struct nn_train *t, struct nn_text *json)
{
	if (!t->options->class_weight)
		return;
	nn_json_add_key(json, "class-weight");
	if (t->task.n_outputs == 1) {
		add_weights(json, t->task.class_weights[0], t->task.schema->targets[0].n_labels);
		return;
	}
	nn_json_put(json, "{");
	for (int o = next_by_name(t, -1); o >= 0; o = next_by_name(t, o))
		if (t->task.class_weights[o]) {
			nn_json_add_key(json, t->task.program->outputs[o].name);
			add_weights(json, t->task.class_weights[o],
				    t->task.schema->targets[o].n_labels);
		}
	nn_text_add(json, "}");
}

/* One name, or where outputs differ an object of them. */
static void add_loss(const struct nn_train *t, struct nn_text *json)
{
	if (nn_train_one_loss(t)) {
		nn_json_add_string(json, "loss", nn_loss_name(t->task.losses[0].kind));
		return;
	}
	nn_json_add(json, "loss", "{");
	for (int o = next_by_name(t, -1); o >= 0; o = next_by_name(t, o))
		nn_json_add_string(json, t->task.program->outputs[o].name,
				   nn_loss_name(t->task.losses[o].kind));
	nn_text_add(json, "}");
}

static const char *const whole_metrics[] = { "loss", "accuracy", "f1.macro", "iou.mean",
					     "rmse", "mae",      "r2",       NULL };

void nn_train_figures(const struct nn_train *t,
		      void (*figure)(void *arg, const char *name, double value), void *arg)
{
	char name[NN_METRIC_NAME];
	double value;

	for (int o = 0; t->evaluator && o < t->task.n_outputs; o++)
		for (size_t i = t->task.n_outputs == 1; whole_metrics[i]; i++) {
			if (t->task.n_outputs == 1)
				snprintf(name, sizeof name, "%s", whole_metrics[i]);
			else
				snprintf(name, sizeof name, "%s.%s",
					 t->task.program->outputs[o].name, whole_metrics[i]);
			if (nn_evaluator_get(t->evaluator, name, &value))
				figure(arg, name, value);
		}
}

#define MOST_FIGURES 256

struct figures {
	struct {
		char name[NN_METRIC_NAME];
		double value;
	} figure[MOST_FIGURES];
	size_t n;
};

static void collect(void *arg, const char *name, double value)
{
	struct figures *f = arg;

	if (f->n == MOST_FIGURES)
		return;
	snprintf(f->figure[f->n].name, NN_METRIC_NAME, "%s", name);
	f->figure[f->n++].value = value;
}

/* the name stands first in a figure */
static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * The loss of the last epoch as its rows passed, and the figures of held-out rows or, without them,
 * of those that passed.
 */
static int add_metrics(const struct nn_train *t, struct nn_text *json)
{
	struct figures *f = nn_alloc(1, sizeof *f, NULL);
	char name[NN_METRIC_NAME];
	double value;

	if (!f)
		return -1;
	collect(f, "loss", nn_train_loss(t));
	nn_train_figures(t, collect, f);
	if (t->evaluator && nn_evaluator_get(t->evaluator, "loss", &value))
		collect(f, "valid_loss", value);
	if (!t->evaluator && strcmp(t->metric, "loss") != 0) {
		snprintf(name, sizeof name, "train_%s", t->metric);
		collect(f, name, nn_train_passed(t, t->metric));
	}
	qsort(f->figure, f->n, sizeof *f->figure, by_name);
	nn_json_add(json, "metrics", "{");
	for (size_t i = 0; i < f->n; i++)
		nn_json_add_real(json, f->figure[i].name, f->figure[i].value);
	nn_text_add(json, "}");
	nn_free(f);
	return 0;
}

static void add_train(const struct nn_train *t, struct nn_text *json)
{
	const struct nn_train_options *o = t->options;
	double fraction = 0;

	nn_json_put(json, "{");
	nn_json_add_count(json, "batch", o->recipe.batch);
	if (o->patience)
		nn_json_add_count(json, "best-epoch", t->counters.best_epoch);
	add_class_weights(t, json);
	nn_json_add_real(json, "clip-norm", o->recipe.clip_norm);
	nn_json_add_string(json, "device", t->task.device->name);
	nn_json_add_count(json, "epoch", nn_train_epoch(t));
	if (o->ignore)
		nn_json_add_string(json, "ignore", o->ignore);
	nn_json_add_count(json, "leaves", o->recipe.leaves);
	add_loss(t, json);
	nn_json_add_real(json, "lr", o->recipe.lr);
	if (t->metric)
		nn_json_add_string(json, "metric", t->metric);
	if (add_metrics(t, json) < 0)
		json->failed = true;
	if (t->setup.data->missing != NN_MISSING_ERROR)
		add_option(t, json, "missing");
	nn_json_add_real(json, "momentum", o->recipe.momentum);
	nn_json_add_string(json, "nesterov", o->recipe.nesterov ? "yes" : "no");
	add_option(t, json, "normalize");
	nn_json_add_string(json, "optimizer", nn_optimizers[o->recipe.optimizer].name);
	nn_json_add_count(json, "patience", o->patience);
	add_option(t, json, "precision");
	if (!t->std->reproducible)
		nn_json_add_string(json, "reproducible", "no");
	nn_json_add_string(json, "schedule", o->recipe.schedule);
	nn_json_add_count(json, "seed", t->std->seed);
	nn_json_add_string(json, "shuffle", o->recipe.shuffle);
	nn_json_add_count(json, "split-seed", o->split_seed);
	nn_json_add_count(json, "step", t->counters.step);
	if (t->schedule.kind != NN_RATE_CONSTANT && t->schedule.kind != NN_RATE_PLATEAU)
		nn_json_add_count(json, "steps", t->task.planned);
	if (o->valid && nn_parse_fraction(o->valid, &fraction, NULL) == 0 && fraction > 0)
		nn_json_add_real(json, "valid", fraction);
	nn_json_add_count(json, "valid-every", o->valid_every);
	nn_json_add_count(json, "warmup", o->recipe.warmup);
	nn_json_add_real(json, "weight-decay", o->recipe.weight_decay);
	nn_text_add(json, "}");
}

int nn_record_model(struct nn_train *t, void *const *params, struct nn_error *err)
{
	struct nn_text input = { 0 }, target = { 0 }, train = { 0 };
	int status = -1;

	if (!nn_layout_first(&t->layout))
		return 0;
	add_train(t, &train);
	if (nn_schema_input_json(t->task.schema, &input) < 0 ||
	    nn_schema_target_json(t->task.schema, &target) < 0 || train.failed) {
		nn_fail(err, NN_ENOMEM, "cannot allocate the description of the model");
		goto end;
	}
	if (nn_model_file_write(t->output, t->task.net, t->task.device->dtype,
				(const void *const *)params, input.data, target.data, train.data,
				err) < 0)
		goto end;
	status = nn_output_commit(t->output, err);
	t->output = NULL;
	t->written = status == 0;
end:
	nn_text_free(&input);
	nn_text_free(&target);
	nn_text_free(&train);
	return status;
}
