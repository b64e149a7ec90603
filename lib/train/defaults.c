/* Defaults that depend on other options, on the model or on the data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "train/job.h"
#include "train/prepare.h"
#include "train/ranks.h"
#include "train/record.h"

/* Where ranks have parts of the network all but the first know nothing of held-out rows: whether
 * more is better they are told. */
static int share_metric(struct nn_train *t, struct nn_error *err)
{
	char rises = t->metric && nn_metric_rises(t->metric);

	if (nn_train_in_parts(t) && nn_comm_broadcast(t->comm, 0, &rises, 1, err) < 0)
		return -1;
	t->rises = rises;
	return 0;
}

int nn_train_take_metric(struct nn_train *t, struct nn_error *err)
{
	const char *named = t->options->metric;
	bool classes = nn_dataset_target_classes(t->dataset, 0);
	double value;

	if (nn_train_in_parts(t) && t->n_valid > 0 && !t->evaluator) {
		t->metric = named ? named : "loss";
	} else if (t->evaluator) {
		t->metric =
			named ? named : nn_metrics_default(nn_evaluator_metrics(t->evaluator, 0));
		if (!nn_evaluator_get(t->evaluator, t->metric, &value))
			return nn_fail(
				err, NN_EUSAGE, "--metric=%s: not a metric of these targets; %s",
				named,
				classes ? "accuracy, loss, f1.macro, recall.LABEL and such are"
					: "rmse, mae, r2 and loss are");
	} else {
		bool values = t->losses[0].kind != NN_LOSS_CROSS_ENTROPY &&
			      t->losses[0].kind != NN_LOSS_BCE;
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
	unsigned long long batch = t->options->batch, leaves = t->options->leaves, wanted = 1,
			   larger = batch;
	const struct nn_comm *comm = nn_train_sharers(t);
	size_t ranks = comm ? (size_t)comm->size : 1;
	char other[80] = "", more[80] = "", pipelines[40] = "";

	if (ranks <= leaves || t->strategy->whole)
		return 0;
	while (wanted < ranks)
		wanted *= 2;
	while (larger < batch * wanted && t->device->leaves(larger, group, SIZE_MAX) < ranks)
		larger *= 2;
	if (t->device->leaves(larger, group, SIZE_MAX) >= ranks)
		snprintf(other, sizeof other, "--batch=%llu", larger);
	if (wanted <= groups)
		snprintf(more, sizeof more, "%s--leaves=%llu", *other ? " or " : "", wanted);
	if (!*other && !*more)
		snprintf(other, sizeof other, "at most --ranks=%llu",
			 leaves * (unsigned long long)(t->comm->size / comm->size));
	if (nn_train_in_parts(t))
		snprintf(pipelines, sizeof pipelines, " for %zu %s", ranks,
			 t->pipe ? "pipelines" : "groups");
	return nn_fail(err, NN_EUSAGE, "--ranks=%d: a batch of %llu has %llu lea%s%s; use %s%s",
		       t->comm->size, batch, leaves, leaves == 1 ? "f" : "ves", pipelines, other,
		       more);
}

static int take_leaves(struct nn_train *t, struct nn_error *err)
{
	struct nn_train_options *o = t->options;
	size_t group = nn_program_group(t->program),
	       groups = group ? nn_group_count(o->batch, group) : o->batch;

	if (o->leaves == 0)
		o->leaves = t->device->leaves(o->batch, group, SIZE_MAX);
	else if (o->leaves > groups)
		return nn_fail(err, access(o->model, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE,
			       "--leaves=%llu: a batch of %llu has %zu batch-norm group%s of %zu",
			       (unsigned long long)o->leaves, (unsigned long long)o->batch, groups,
			       groups == 1 ? "" : "s", group);
	return check_ranks(t, group, groups, err);
}

/* Steps that depend on the norm of a whole table cannot be those of some rows. */
static int check_tables(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_optimizer_info *info = &nn_optimizers[t->options->optimizer];

	for (int i = 0; info->per_param && i < t->program->n_nodes; i++) {
		const struct nn_node *node = &t->program->nodes[i];

		if (node->op == NN_OP_embedding && ((const struct nn_embedding *)node->attrs)->lazy)
			return nn_fail(err, NN_EUSAGE,
				       "--optimizer=%s: its steps are those of whole tables, but "
				       "embedding %s has sparse=yes",
				       info->name, nn_net_line(t->net, node->line).name);
	}
	return 0;
}

int nn_train_take_defaults(struct nn_train *t, struct nn_error *err)
{
	const struct nn_optimizer_info *info = &nn_optimizers[t->options->optimizer];
	struct nn_train_options *o = t->options;
	const struct nn_opt_list *list = t->setup.list;

	if (nn_train_one_loss(t))
		o->loss = 1 + (int)t->losses[0].kind;
	if (!nn_opt_given(list, "lr"))
		o->lr = info->lr;
	if (!nn_opt_given(list, "weight-decay"))
		o->weight_decay = info->weight_decay;
	if (!nn_opt_given(list, "epochs") && !nn_opt_given(list, "steps") && o->time_limit == 0)
		o->epochs = 10;
	if (nn_parse_shuffle(o->shuffle, &t->window, err) < 0 ||
	    nn_schedule_parse(&t->schedule, o->schedule, err) < 0)
		return -1;
	t->steps_per_epoch = t->n_rows / o->batch + (t->n_rows % o->batch > 0);
	t->planned = UINT64_MAX;
	t->ends_by = "epochs";
	if ((o->epochs || nn_opt_given(list, "epochs")) &&
	    !nn_mul(o->epochs, t->steps_per_epoch, &t->planned))
		t->planned = UINT64_MAX;
	if (nn_opt_given(list, "steps") && o->steps < t->planned) {
		t->planned = o->steps;
		t->ends_by = "steps";
	}
	t->schedule.lr = o->lr;
	t->schedule.warmup = o->warmup;
	t->schedule.planned = t->planned;
	if (info->kind == NN_RPROP && o->batch < t->n_rows && t->fold <= 1)
		nn_train_warn(t, "--optimizer=rprop is meant for the full batch: --batch=%llu",
			      (unsigned long long)t->n_rows);
	if (check_tables(t, err) < 0)
		return -1;
	return take_leaves(t, err);
}
