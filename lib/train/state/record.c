/* The model file of a training: nn.train holds what changes the bytes, and what came out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "model/onnx.h"
#include "step/evaluate.h"
#include "train/figures.h"
#include "train/state/record.h"

/* an option as its text says it */
static void add_option(const struct nn_model_record *r, struct nn_text *json, const char *name)
{
	char value[4096];

	if (nn_opt_text(r->list, name, value, sizeof value) && value[0])
		nn_json_add_string(json, name, value);
}

/*
 * The output whose name comes next in the order of bytes, after `last` (-1: none); -1 after the
 * last.
 */
static int next_by_name(const struct nn_model_record *r, int last)
{
	const struct nn_program_output *outputs = r->task->program->outputs;
	int next = -1;

	for (int o = 0; o < r->task->program->n_outputs; o++)
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
static void add_class_weights(const struct nn_model_record *r, struct nn_text *json)
{
	if (!r->options->class_weight)
		return;
	nn_json_add_key(json, "class-weight");
	if (r->task->program->n_outputs == 1) {
		add_weights(json, r->task->class_weights[0], r->task->schema->targets[0].n_labels);
		return;
	}
	nn_json_put(json, "{");
	for (int o = next_by_name(r, -1); o >= 0; o = next_by_name(r, o))
		if (r->task->class_weights[o]) {
			nn_json_add_key(json, r->task->program->outputs[o].name);
			add_weights(json, r->task->class_weights[o],
				    r->task->schema->targets[o].n_labels);
		}
	nn_text_add(json, "}");
}

/* One name, or where outputs differ an object of them. */
static void add_loss(const struct nn_model_record *r, struct nn_text *json)
{
	if (nn_task_one_loss(r->task)) {
		nn_json_add_string(json, "loss", nn_loss_name(r->task->losses[0].kind));
		return;
	}
	nn_json_add(json, "loss", "{");
	for (int o = next_by_name(r, -1); o >= 0; o = next_by_name(r, o))
		nn_json_add_string(json, r->task->program->outputs[o].name,
				   nn_loss_name(r->task->losses[o].kind));
	nn_text_add(json, "}");
}

#define MOST_FIGURES 256

struct figures {
	struct {
		char name[NN_METRIC_NAME];
		double value;
	} figure[MOST_FIGURES];
	size_t n;
};

static void add_figure(void *arg, const char *name, double value)
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
static int add_metrics(const struct nn_model_record *r, struct nn_text *json)
{
	struct figures *f = nn_alloc(1, sizeof *f, NULL);
	char name[NN_METRIC_NAME];
	double value;

	if (!f)
		return -1;
	add_figure(f, "loss", nn_counters_loss(r->counters));
	nn_evaluator_figures(r->evaluator, r->task->program, add_figure, f);
	if (r->evaluator && nn_evaluator_get(r->evaluator, "loss", &value))
		add_figure(f, "valid_loss", value);
	if (!r->evaluator && strcmp(r->metric, "loss") != 0) {
		snprintf(name, sizeof name, "train_%s", r->metric);
		add_figure(f, name, nn_counters_metric(r->counters, r->metric));
	}
	qsort(f->figure, f->n, sizeof *f->figure, by_name);
	nn_json_add(json, "metrics", "{");
	for (size_t i = 0; i < f->n; i++)
		nn_json_add_real(json, f->figure[i].name, f->figure[i].value);
	nn_text_add(json, "}");
	nn_free(f);
	return 0;
}

/* In the digits of the type that probabilities have. */
static void add_threshold(const struct nn_model_record *r, struct nn_text *json)
{
	const struct nn_threshold *threshold = r->threshold;
	char number[NN_NUMBER];

	if (r->task->device->dtype == NN_F64)
		nn_format_f64(number, threshold->value);
	else
		nn_format_f32(number, (float)threshold->value);
	nn_json_add(json, "threshold", "{");
	nn_json_add_string(json, "by", nn_threshold_words[threshold->by]);
	nn_json_add(json, "value", number);
	nn_text_add(json, "}");
}

static void add_train(const struct nn_model_record *r, struct nn_text *json)
{
	const struct nn_train_options *o = r->options;
	double fraction = 0;

	nn_json_put(json, "{");
	if (o->augment)
		nn_json_add_string(json, "augment", o->augment);
	nn_json_add_count(json, "batch", o->recipe.batch);
	if (o->patience)
		nn_json_add_count(json, "best-epoch", r->counters->best_epoch);
	add_class_weights(r, json);
	nn_json_add_real(json, "clip-norm", o->recipe.clip_norm);
	nn_json_add_count(json, "epoch", nn_task_epoch(r->task, r->counters->step));
	if (o->freeze)
		nn_json_add_string(json, "freeze", o->freeze);
	if (o->ignore)
		nn_json_add_string(json, "ignore", o->ignore);
	if (*r->init)
		nn_json_add_string(json, "init", r->init);
	nn_json_add_count(json, "leaves", o->recipe.leaves);
	add_loss(r, json);
	nn_json_add_real(json, "lr", o->recipe.lr);
	if (r->metric)
		nn_json_add_string(json, "metric", r->metric);
	if (add_metrics(r, json) < 0)
		json->failed = true;
	if (r->missing != NN_MISSING_ERROR)
		add_option(r, json, "missing");
	nn_json_add_real(json, "momentum", o->recipe.momentum);
	nn_json_add_string(json, "nesterov", o->recipe.nesterov ? "yes" : "no");
	add_option(r, json, "normalize");
	nn_json_add_string(json, "optimizer", nn_optimizers[o->recipe.optimizer].name);
	nn_json_add_count(json, "patience", o->patience);
	add_option(r, json, "precision");
	if (!r->std->reproducible)
		nn_json_add_string(json, "reproducible", "no");
	nn_json_add_string(json, "schedule", o->recipe.schedule);
	nn_json_add_count(json, "seed", r->std->seed);
	nn_json_add_string(json, "shuffle", o->recipe.shuffle);
	nn_json_add_count(json, "split-seed", o->split_seed);
	nn_json_add_count(json, "step", r->counters->step);
	if (r->schedule->kind != NN_RATE_CONSTANT && r->schedule->kind != NN_RATE_PLATEAU)
		nn_json_add_count(json, "steps", r->task->planned);
	if (r->threshold->by)
		add_threshold(r, json);
	if (o->valid && nn_parse_fraction(o->valid, &fraction, NULL) == 0 && fraction > 0)
		nn_json_add_real(json, "valid", fraction);
	nn_json_add_count(json, "valid-every", o->valid_every);
	nn_json_add_count(json, "warmup", o->recipe.warmup);
	if (r->weight)
		nn_json_add_string(json, "weight", r->weight);
	nn_json_add_real(json, "weight-decay", o->recipe.weight_decay);
	nn_text_add(json, "}");
}

int nn_record_model(const struct nn_model_record *r, struct nn_output *output, void *const *params,
		    struct nn_error *err)
{
	struct nn_text input = { 0 }, target = { 0 }, train = { 0 };
	int status = -1;

	if (output)
		add_train(r, &train);
	if (nn_schema_input_json(r->task->schema, &input) < 0 ||
	    nn_schema_target_json(r->task->schema, &target) < 0 || train.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the description of the model");
	else if (nn_onnx_named(r->std->output))
		status = nn_onnx_model_write(
			output, r->std->output,
			&(struct nn_onnx_model){ r->task->net, r->task->device->dtype,
						 (const void *const *)params, input.data,
						 target.data, train.data },
			err);
	else
		status = output ? nn_model_file_write(output, r->task->net, nn_std_dtype(r->std),
						      (const void *const *)params, input.data,
						      target.data, train.data, err)
				: 0;
	nn_text_free(&input);
	nn_text_free(&target);
	nn_text_free(&train);
	return status;
}
