/* Model and data brought together: shapes, sizes, losses, and which samples are trained on. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "model/model.h"
#include "train/balance.h"
#include "train/init.h"
#include "train/job.h"
#include "train/prepare.h"
#include "train/streams.h"
#include "train/tell/progress.h"

/* ---- shapes ---- */

static int resolve(struct nn_train *t, struct nn_error *err)
{
	const struct nn_schema *schema = t->task.schema;
	struct nn_shape *shapes = nn_alloc(schema->n_inputs, sizeof *shapes, err);
	size_t *sizes = nn_alloc(schema->n_targets, sizeof *sizes, err);
	int status = -1;

	if (shapes && sizes) {
		for (size_t i = 0; i < schema->n_inputs; i++) {
			shapes[i] = schema->inputs[i].shape;
			nn_net_give_rows(t->task.net, i, schema->inputs[i].rows);
		}
		for (size_t i = 0; i < schema->n_targets; i++)
			if (nn_net_output(t->task.net, i)->open)
				sizes[i] = schema->targets[i].labels ? schema->targets[i].n_labels
								     : schema->targets[i].n_columns;
		status = nn_net_resolve(t->task.net, shapes, sizes, err);
	}
	nn_free(shapes);
	nn_free(sizes);
	return status;
}

/* Do the targets fit the output? */
static int check_output(const struct nn_train *t, int i, struct nn_error *err)
{
	const struct nn_shape *shape =
		&t->task.program->values[t->task.program->outputs[i].value].shape;
	const struct nn_target_schema *target = &t->task.schema->targets[i];
	size_t values = nn_shape_count(shape),
	       size = nn_dataset_target_size(t->task.dataset, (size_t)i);
	size_t columns = nn_shape_columns(shape);
	bool classes = nn_dataset_target_classes(t->task.dataset, (size_t)i);
	char text[NN_SHAPE_TEXT];

	nn_shape_text(text, shape);
	if (classes && target->n_labels > columns)
		return nn_fail(err, NN_EFORMAT,
			       "%s: the targets have %zu classes, the output %s has %zu",
			       t->setup.data_path, target->n_labels, text, columns);
	if (classes && size != values / columns)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: the targets have %zu class%s per sample, the output %s takes %zu",
			t->setup.data_path, size, size == 1 ? "" : "es", text, values / columns);
	if (!classes && size != values)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: the targets have %zu number%s per sample, the output %s has %zu",
			t->setup.data_path, size, nn_s(size), text, values);
	return 0;
}

/* ---- losses ---- */

static int take_loss(struct nn_train *t, int i, struct nn_error *err)
{
	struct nn_loss_spec *loss = &t->task.losses[i];
	const struct nn_train_options *o = t->options;
	const struct nn_target_schema *target = &t->task.schema->targets[i];
	bool classes = nn_dataset_target_classes(t->task.dataset, (size_t)i);
	char quoted[NN_QUOTED];

	loss->ignore = NN_CLASS_UNKNOWN;
	loss->kind = o->recipe.loss ? o->recipe.loss
		     : classes      ? NN_LOSS_CROSS_ENTROPY
				    : NN_LOSS_MSE;
	t->task.shares[i] = nn_net_output(t->task.net, (size_t)i)->weight;
	if (!classes) {
		if ((o->class_weight || o->ignore) && t->task.program->n_outputs == 1)
			return nn_fail(err, NN_EFAIL, "--%s: the targets are not classes",
				       o->class_weight ? "class-weight" : "ignore");
		return nn_train_check_range(t, i, err);
	}
	if (target->n_labels == 1)
		nn_tell_warning(&t->told,
				"%s: the target has one class only, \"%s\": any answer is right",
				t->setup.data_path,
				nn_quote(quoted, target->labels[0], strlen(target->labels[0])));
	loss->ignore = nn_schema_ignored(target, o->ignore);
	if (o->ignore && loss->ignore == NN_CLASS_UNKNOWN)
		return nn_fail(err, NN_EFAIL, "--ignore=%s: no target has this label", o->ignore);
	return o->class_weight ? nn_balance_take(t, i, err) : 0;
}

static int take_losses(struct nn_train *t, struct nn_error *err)
{
	t->task.losses = nn_alloc((size_t)t->task.program->n_outputs, sizeof *t->task.losses, err);
	t->task.shares = nn_alloc((size_t)t->task.program->n_outputs, sizeof *t->task.shares, err);
	t->task.class_weights =
		nn_alloc((size_t)t->task.program->n_outputs, sizeof *t->task.class_weights, err);
	if (!t->task.losses || !t->task.shares || !t->task.class_weights)
		return -1;
	for (int i = 0; i < t->task.program->n_outputs; i++)
		if (check_output(t, i, err) < 0 || take_loss(t, i, err) < 0)
			return -1;
	return 0;
}

/* ---- samples ---- */

/*
 * Rows of the fold that is held out now; every fold needs some, which is said before the first one
 * is trained.
 */
static int hold_fold(const struct nn_train *t, bool *held, struct nn_error *err)
{
	size_t n = nn_dataset_rows(t->task.dataset), in = 0;
	uint64_t folds = t->options->folds, *counts = nn_alloc(folds + 1, sizeof *counts, err);
	uint32_t *fold = nn_alloc(n, sizeof *fold, err);
	int status = counts && fold
			     ? nn_fold(t->task.dataset, folds, t->options->split_seed, fold, err)
			     : -1;

	for (size_t i = 0; status == 0 && i < n; i++) {
		held[i] = fold[i] == t->source.fold;
		counts[fold[i]]++;
		in += fold[i] > 0;
	}
	for (uint64_t k = 1; status == 0 && k <= folds && !t->source.sample; k++)
		if (counts[k] == 0 || counts[k] == in)
			status = nn_fail(err, NN_EFAIL,
					 "--folds=%llu: of %zu sample%s fold %llu holds out %s",
					 (unsigned long long)folds, in, nn_s(in),
					 (unsigned long long)k, counts[k] ? "all" : "none");
	nn_free(counts);
	nn_free(fold);
	return status;
}

/* Numbers of the samples that are trained on and of those held out, without those left out. */
static int take_rows(struct nn_train *t, double fraction, struct nn_error *err)
{
	const struct nn_dataset *from = t->task.held_out ? t->task.held_out : t->task.dataset;
	size_t n = nn_dataset_rows(t->task.dataset), n_from = nn_dataset_rows(from);
	bool *held = nn_alloc(n, sizeof *held, err);
	int status = -1;

	if (!held ||
	    (fraction > 0 &&
	     nn_split(t->task.dataset, fraction, t->options->split_seed, held, err) < 0) ||
	    (t->source.fold && hold_fold(t, held, err) < 0))
		goto out;
	t->task.n_rows = t->task.n_valid = 0;
	for (size_t i = 0; i < n; i++)
		t->task.n_rows += !held[i] && !nn_dataset_left_out(t->task.dataset, i);
	for (size_t i = 0; i < n_from; i++)
		t->task.n_valid += t->task.held_out ? !nn_dataset_left_out(from, i) : held[i];
	t->task.rows = nn_alloc(t->task.n_rows, sizeof *t->task.rows, err);
	t->task.valid_rows = nn_alloc(t->task.n_valid, sizeof *t->task.valid_rows, err);
	if (!t->task.rows || !t->task.valid_rows)
		goto out;
	for (size_t i = 0, r = 0; i < n; i++)
		if (!held[i] && !nn_dataset_left_out(t->task.dataset, i))
			t->task.rows[r++] = i;
	for (size_t i = 0, v = 0; i < n_from; i++)
		if (t->task.held_out ? !nn_dataset_left_out(from, i) : held[i])
			t->task.valid_rows[v++] = i;
	status = 0;
out:
	nn_free(held);
	return status;
}

static void give_notices(struct nn_train *t, const struct nn_dataset *dataset)
{
	const char *notice;

	for (size_t i = 0; dataset && (notice = nn_dataset_notice(dataset, i)); i++)
		nn_tell_note(&t->told, "%s", notice);
}

void nn_train_tell_columns(const struct nn_train *t)
{
	struct nn_text line = { 0 };

	nn_dataset_columns(t->task.dataset, &line);
	if (line.length > 0)
		nn_progress_say(t->told.progress, &line);
	nn_text_free(&line);
}

static int check_rows(const struct nn_train *t, double fraction, struct nn_error *err)
{
	if (t->task.n_rows == 0)
		return nn_fail(err, NN_EFAIL, "%s: no samples to train on", t->setup.data_path);
	if (t->options->valid && t->task.n_valid == 0)
		return fraction > 0 ? nn_fail(err, NN_EFAIL,
					      "--valid=%s: of %llu sample%s this holds out none",
					      t->options->valid, (unsigned long long)t->task.n_rows,
					      nn_s(t->task.n_rows))
				    : nn_fail(err, NN_EFAIL, "%s: no samples", t->options->valid);
	return 0;
}

/* A plan has read a part of the data: how many samples there are in all. */
static void count_all(struct nn_train *t, double fraction)
{
	bool about;
	double held_out = t->task.held_out ? nn_dataset_total(t->task.held_out, &about) : 0,
	       all = nn_dataset_total(t->task.dataset, &t->task.rows_about);
	double held = t->task.held_out ? held_out
				       : floor(t->source.fold ? all / (double)t->options->folds
							      : fraction * all);

	t->task.rows_unknown = isnan(all) || isnan(held);
	if (t->task.rows_unknown)
		return;
	t->task.n_valid = (uint64_t)held;
	t->task.n_rows = (uint64_t)(all - (t->task.held_out ? 0 : held));
}

/* ---- --augment ---- */

static int check_augment(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;
	const char *other = o->class_weight ? "class-weight" : o->ignore ? "ignore" : NULL;

	if (!nn_augment_mixes(t->task.augment) || !other)
		return 0;
	return nn_fail(err, NN_EUSAGE, "--augment=mixup: makes probabilities of classes; not with --%s",
		       other);
}

static int open_augment(struct nn_train *t, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	struct nn_augment_options options = { .list = t->options->augment,
					      .inputs = t->task.schema->inputs,
					      .n_inputs = t->task.schema->n_inputs,
					      .n_targets = (size_t)program->n_outputs,
					      .dtype = t->task.device->dtype,
					      .seed = t->task.seed };
	struct nn_augment_target *targets;
	int status;

	if (!options.list)
		return 0;
	targets = nn_alloc(options.n_targets, sizeof *targets, err);
	if (!targets)
		return -1;
	for (size_t i = 0; i < options.n_targets; i++)
		targets[i] = (struct nn_augment_target){
			program->values[program->outputs[i].value].shape,
			nn_dataset_target_classes(t->task.dataset, i),
			nn_dataset_target_size(t->task.dataset, i),
		};
	options.targets = targets;
	status = nn_augment_new(&t->task.augment, &options, err);
	nn_free(targets);
	return status < 0 ? -1 : check_augment(t, err);
}

int nn_train_choose_rows(struct nn_train *t, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	double fraction = 0;

	for (int i = 0; i < program->n_outputs; i++)
		nn_dataset_set_output(t->task.dataset, (size_t)i,
				      &program->values[program->outputs[i].value].shape);
	if (t->options->valid && nn_parse_fraction(t->options->valid, &fraction, err) < 0)
		return -1;
	if (take_rows(t, fraction, err) < 0 || check_rows(t, fraction, err) < 0 ||
	    nn_streams_order(t, err) < 0)
		return -1;
	if (nn_dataset_measure(t->task.dataset, t->task.rows, t->task.n_rows, err) < 0)
		return -1;
	if (t->source.sample)
		count_all(t, fraction);
	return take_losses(t, err) < 0 ? -1 : open_augment(t, err);
}

void nn_train_release_rows(struct nn_train *t)
{
	nn_augment_free(t->task.augment);
	t->task.augment = NULL;
	nn_balance_free(t);
	nn_free(t->task.losses);
	nn_free(t->task.shares);
	nn_free(t->task.rows);
	nn_free(t->task.valid_rows);
	t->task.losses = NULL;
	t->task.shares = NULL;
	t->task.rows = t->task.valid_rows = NULL;
}

int nn_train_prepare(struct nn_train *t, struct nn_error *err)
{
	double fraction = 0;

	t->source.fold = t->options->folds > 0;
	t->source.held_out_path =
		t->source.held_out_path ? t->source.held_out_path : t->options->valid;
	if (t->options->valid && nn_parse_fraction(t->options->valid, &fraction, err) < 0)
		return -1;
	if (nn_train_open_data(t, fraction, err) < 0)
		return -1;
	if (nn_dataset_rows(t->task.dataset) == 0)
		return nn_fail(err, NN_EFAIL, "%s: no samples to train on", t->setup.data_path);
	if (!t->source.start && resolve(t, err) < 0)
		return -1;
	t->task.program = nn_net_program(t->task.net);
	if (nn_init_freeze(t, err) < 0 || nn_init_open(t, err) < 0)
		return -1;
	if (nn_train_choose_rows(t, err) < 0)
		return -1;
	give_notices(t, t->task.dataset);
	give_notices(t, t->task.held_out);
	return 0;
}

int nn_train_prepare_text(struct nn_train *t, struct nn_error *err)
{
	bool in_file = access(t->options->model, F_OK) == 0;
	struct nn_error why;

	if (!t->source.start && nn_net_resolve(t->task.net, NULL, NULL, &why) < 0)
		return nn_fail(err, in_file ? NN_EFORMAT : NN_EUSAGE, "%s%s", why.text,
			       t->setup.host.note ? "; or give DATA, which say it" : "");
	t->task.program = nn_net_program(t->task.net);
	if (nn_init_freeze(t, err) < 0)
		return -1;
	t->task.rows_unknown = true;
	t->task.losses = nn_alloc((size_t)t->task.program->n_outputs, sizeof *t->task.losses, err);
	t->task.shares = nn_alloc((size_t)t->task.program->n_outputs, sizeof *t->task.shares, err);
	if (!t->task.losses || !t->task.shares)
		return -1;
	for (int i = 0; i < t->task.program->n_outputs; i++) {
		bool one =
			nn_shape_count(&t->task.program->values[t->task.program->outputs[i].value]
						.shape) == 1;

		t->task.losses[i].ignore = -1;
		t->task.losses[i].kind = t->options->recipe.loss ? t->options->recipe.loss
					 : one                   ? NN_LOSS_MSE
								 : NN_LOSS_CROSS_ENTROPY;
	}
	return 0;
}
