/* Figures of a training: epochs, losses and metrics. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "step/evaluate.h"
#include "train/figures.h"

uint64_t nn_task_epoch(const struct nn_task *task, uint64_t step)
{
	return (step + task->steps_per_epoch - 1) / task->steps_per_epoch;
}

uint64_t nn_task_epochs(const struct nn_task *task)
{
	if (task->planned == UINT64_MAX)
		return 0;
	return task->planned / task->steps_per_epoch + (task->planned % task->steps_per_epoch > 0);
}

double nn_counters_loss(const struct nn_counters *c)
{
	return c->weight > 0 ? c->loss / c->weight : c->rows ? 0 : NAN;
}

double nn_counters_metric(const struct nn_counters *c, const char *metric)
{
	if (strcmp(metric, "loss") == 0)
		return nn_counters_loss(c);
	if (strcmp(metric, "accuracy") == 0)
		return c->counted > 0 ? c->hits / c->counted : NAN;
	if (strcmp(metric, "rmse") == 0)
		return c->counted > 0 ? sqrt(c->squares / c->counted) : NAN;
	return NAN;
}

bool nn_task_one_loss(const struct nn_task *task)
{
	for (int o = 1; o < task->program->n_outputs; o++)
		if (task->losses[o].kind != task->losses[0].kind)
			return false;
	return true;
}

static const char *const whole_metrics[] = { "loss", "accuracy", "f1.macro", "auc", "iou.mean",
					     "rmse", "mae",      "r2",       NULL };

void nn_evaluator_figures(const struct nn_evaluator *evaluator, const struct nn_program *program,
			  void (*figure)(void *arg, const char *name, double value), void *arg)
{
	bool one = program->n_outputs == 1;
	char name[NN_METRIC_NAME];
	double value;

	for (int o = 0; evaluator && o < program->n_outputs; o++)
		for (size_t i = one; whole_metrics[i]; i++) {
			if (one)
				snprintf(name, sizeof name, "%s", whole_metrics[i]);
			else
				snprintf(name, sizeof name, "%s.%s", program->outputs[o].name,
					 whole_metrics[i]);
			if (nn_evaluator_get(evaluator, name, &value))
				figure(arg, name, value);
		}
}
