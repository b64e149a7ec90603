/* Defaults that depend on other options, on the model or on the data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/model.h"
#include "step/cut.h"
#include "step/evaluate.h"
#include "train/job.h"
#include "train/prepare.h"
#include "parallel/ranks.h"
#include "train/figures.h"

/*
 * Where ranks have parts of the network all but the first know nothing of held-out rows: whether
 * more is better they are told.
 */
static int share_metric(struct nn_train *t, struct nn_error *err)
{
	char rises = t->metric && nn_metric_rises(t->metric);

	if (nn_layout_in_parts(&t->layout) &&
	    nn_comm_broadcast(t->layout.comm, 0, &rises, 1, err) < 0)
		return -1;
	t->rises = rises;
	return 0;
}

int nn_train_take_metric(struct nn_train *t, struct nn_error *err)
{
	const char *named = t->options->metric;
	bool classes = nn_dataset_target_classes(t->task.dataset, 0);
	double value;

	if (nn_layout_in_parts(&t->layout) && t->task.n_valid > 0 && !t->evaluator) {
		t->metric = named ? named : "loss";
	} else if (t->evaluator) {
		t->metric =
			named ? named : nn_metrics_default(nn_evaluator_metrics(t->evaluator, 0));
		if (!nn_evaluator_get(t->evaluator, t->metric, &value))
			return nn_fail(err, NN_EUSAGE,
				       "--metric=%s: not a metric of these targets; they have %s",
				       named,
				       classes ? "accuracy, loss, f1.macro, recall.LABEL and others"
					       : "rmse, mae, r2 and loss");
	} else {
		bool values = t->task.losses[0].kind != NN_LOSS_CROSS_ENTROPY &&
			      t->task.losses[0].kind != NN_LOSS_BCE;
		const char *passed = classes ? "accuracy" : values ? "rmse" : "loss";

		t->metric = named ? named : passed;
		if (strcmp(t->metric, "loss") != 0 && strcmp(t->metric, passed) != 0)
			return nn_fail(err, NN_EUSAGE,
				       "--metric=%s: without --valid only %s%s known", named,
				       strcmp(passed, "loss") == 0 ? "" : passed,
				       strcmp(passed, "loss") == 0 ? "loss is" : " and loss are");
	}
	if (share_metric(t, err) < 0)
		return -1;
	t->options->metric = t->metric;
	return 0;
}

/* A rank needs a leaf of a full batch; what would give it one. */
static int check_ranks(const struct nn_train *t, size_t group, size_t groups, struct nn_error *err)
{
	unsigned long long batch = t->options->recipe.batch, leaves = t->options->recipe.leaves,
			   wanted = 1, larger = batch;
	const struct nn_comm *comm = nn_layout_sharers(&t->layout);
	size_t ranks = comm ? (size_t)comm->size : 1;
	char other[80] = "", more[80] = "", pipelines[40] = "";

	if (ranks <= leaves || t->layout.strategy->whole)
		return 0;
	while (wanted < ranks)
		wanted *= 2;
	while (larger < batch * wanted && t->task.device->leaves(larger, group, SIZE_MAX) < ranks)
		larger *= 2;
	if (t->task.device->leaves(larger, group, SIZE_MAX) >= ranks)
		snprintf(other, sizeof other, "--batch=%llu", larger);
	if (wanted <= groups)
		snprintf(more, sizeof more, "%s--leaves=%llu", *other ? " or " : "", wanted);
	if (!*other && !*more)
		snprintf(other, sizeof other, "at most --ranks=%llu",
			 leaves * (unsigned long long)(t->layout.comm->size / comm->size));
	if (nn_layout_in_parts(&t->layout))
		snprintf(pipelines, sizeof pipelines, " for %zu %s", ranks,
			 t->layout.pipe ? "pipelines" : "groups");
	return nn_fail(err, NN_EUSAGE, "--ranks=%d: a batch of %llu has %llu lea%s%s; use %s%s",
		       t->layout.comm->size, batch, leaves, leaves == 1 ? "f" : "ves", pipelines,
		       other, more);
}

static int take_leaves(struct nn_train *t, struct nn_error *err)
{
	struct nn_train_options *o = t->options;
	size_t group = nn_program_group(t->task.program),
	       groups = group ? nn_group_count(o->recipe.batch, group) : o->recipe.batch;

	if (o->recipe.leaves == 0)
		o->recipe.leaves = t->task.device->leaves(o->recipe.batch, group, SIZE_MAX);
	else if (o->recipe.leaves > groups)
		return nn_fail(err, access(o->model, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE,
			       "--leaves=%llu: a batch of %llu has %zu batch-norm group%s of %zu",
			       (unsigned long long)o->recipe.leaves,
			       (unsigned long long)o->recipe.batch, groups, nn_s(groups), group);
	return check_ranks(t, group, groups, err);
}

/* Steps that depend on the norm of a whole table cannot be those of some rows. */
static int check_tables(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_optimizer_info *info = &nn_optimizers[t->options->recipe.optimizer];

	for (int i = 0; info->ratio && i < t->task.program->n_params; i++) {
		const struct nn_program_param *param = &t->task.program->params[i];

		if (param->desc.role == NN_ROW_TABLE && param->desc.lazy)
			return nn_fail(err, NN_EUSAGE,
				       "--optimizer=%s: its steps are those of whole tables, but "
				       "embedding %s has sparse=yes",
				       info->name, nn_net_line(t->task.net, param->line).name);
	}
	return 0;
}

#define USUAL_EPOCHS 10
#define USUAL_STEPS 2000 /* a small net on a small table has learned by then */

/* As many whole epochs as make USUAL_STEPS, at least USUAL_EPOCHS; of data without a known number
 * of rows (steps_per_epoch 0), those. */
static uint64_t usual_epochs(uint64_t steps_per_epoch)
{
	uint64_t epochs = steps_per_epoch ? (USUAL_STEPS + steps_per_epoch - 1) / steps_per_epoch
					  : USUAL_EPOCHS;

	return epochs > USUAL_EPOCHS ? epochs : USUAL_EPOCHS;
}

int nn_train_take_defaults(struct nn_train *t, struct nn_error *err)
{
	const struct nn_optimizer_info *info = &nn_optimizers[t->options->recipe.optimizer];
	struct nn_train_options *o = t->options;
	const struct nn_opt_list *list = t->setup.list;

	o->recipe.recompute = o->recompute;
	o->recipe.offload = nn_opt_given(list, "offload");
	o->recipe.offload_folder = o->offload;
	if (nn_task_one_loss(&t->task))
		o->recipe.loss = t->task.losses[0].kind;
	if (!nn_opt_given(list, "lr"))
		o->recipe.lr = info->lr;
	if (!nn_opt_given(list, "weight-decay"))
		o->recipe.weight_decay = info->weight_decay;
	t->task.steps_per_epoch =
		t->task.n_rows / o->recipe.batch + (t->task.n_rows % o->recipe.batch > 0);
	if (!nn_opt_given(list, "epochs") && !nn_opt_given(list, "steps") &&
	    o->recipe.time_limit == 0 && !o->recipe.replay)
		o->recipe.epochs = usual_epochs(t->task.steps_per_epoch);
	if (nn_parse_shuffle(o->recipe.shuffle, &t->task.window, err) < 0 ||
	    nn_schedule_parse(&t->schedule, o->recipe.schedule, err) < 0)
		return -1;
	if (o->recipe.stateful)
		t->task.window = 0;
	t->task.planned = UINT64_MAX;
	t->ends_by = "epochs";
	if ((o->recipe.epochs || nn_opt_given(list, "epochs")) &&
	    !nn_mul(o->recipe.epochs, t->task.steps_per_epoch, &t->task.planned))
		t->task.planned = UINT64_MAX;
	if (nn_opt_given(list, "steps") && o->recipe.steps < t->task.planned) {
		t->task.planned = o->recipe.steps;
		t->ends_by = "steps";
	}
	t->schedule.lr = o->recipe.lr;
	t->schedule.warmup = o->recipe.warmup;
	t->schedule.planned = t->task.planned;
	if (info->flags & NN_FULL_BATCH && o->recipe.batch < t->task.n_rows && t->source.fold <= 1)
		nn_tell_warning(&t->told,
				"--optimizer=%s is meant for the full batch: --batch=%llu",
				info->name, (unsigned long long)t->task.n_rows);
	if (check_tables(t, err) < 0)
		return -1;
	return take_leaves(t, err);
}
