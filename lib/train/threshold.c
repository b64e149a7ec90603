/* --threshold: found by the probabilities that the evaluator has of all held-out rows. */
#include <string.h>

#include "base/number.h"
#include "step/evaluate.h"
#include "train/judge.h"
#include "train/threshold.h"

#define CHUNK 1024 /* rows whose classes are read at once */

static const char *word(const struct nn_train *t)
{
	return nn_threshold_words[t->options->threshold];
}

static bool two_classes(const struct nn_task *task)
{
	const struct nn_shape *shape =
		&task->program->values[task->program->outputs[0].value].shape;

	return task->program->n_outputs == 1 && nn_shape_columns(shape) == 2 &&
	       nn_shape_positions(shape) == 1 && task->losses[0].kind == NN_LOSS_CROSS_ENTROPY &&
	       task->losses[0].ignore < 0;
}

/* Rows of the classes 0 and 1 among those that are held out. */
static void count_classes(const struct nn_task *task, uint64_t n[2])
{
	const struct nn_dataset *data = task->held_out ? task->held_out : task->dataset;
	struct nn_source source = nn_dataset_source(data);
	int32_t classes[CHUNK];
	struct nn_error ignored;

	n[0] = n[1] = 0;
	for (uint64_t at = 0, some; at < task->n_valid; at += some) {
		some = task->n_valid - at < CHUNK ? task->n_valid - at : CHUNK;
		if (source.ops->fill_target(source.data, 0, task->valid_rows + at, some, classes,
					    &ignored) < 0)
			return; /* training says why */
		for (uint64_t i = 0; i < some; i++)
			if (classes[i] == 0 || classes[i] == 1)
				n[classes[i]]++;
	}
}

int nn_train_check_threshold(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_task *task = &t->task;
	uint64_t n[2];
	char quoted[NN_QUOTED];
	const char *label;

	if (t->options->threshold == NN_THRESHOLD_NONE)
		return 0;
	if (!two_classes(task))
		return nn_fail(err, NN_EFAIL,
			       "--threshold=%s: decides between two classes, which are not the "
			       "target of this model",
			       word(t));
	if (!nn_dataset_target_classes(task->held_out ? task->held_out : task->dataset, 0))
		return 0; /* probabilities */
	count_classes(task, n);
	if (n[0] && n[1])
		return 0;
	label = task->schema->targets[0].labels[n[0] ? 1 : 0];
	return nn_fail(err, NN_EFAIL,
		       "--threshold=%s: no held-out row is of the class \"%s\", and rows of both "
		       "are needed",
		       word(t), nn_quote(quoted, label, strlen(label)));
}

int nn_train_find_threshold(struct nn_train *t, void *const *params, struct nn_error *err)
{
	struct nn_threshold *found = &t->found.threshold;

	if (t->options->threshold == NN_THRESHOLD_NONE)
		return 0;
	if (t->evaluator && !nn_metrics_find_threshold(nn_evaluator_metrics(t->evaluator, 0),
						       t->options->threshold, found))
		nn_tell_warning(&t->told,
				"no threshold is stored: the held-out rows have no probabilities "
				"to choose from");
	if (t->evaluator && found->by &&
	    nn_evaluator_set_threshold(t->evaluator, found->value, err) < 0)
		return -1;
	return nn_train_evaluate_params(t, params, err);
}
