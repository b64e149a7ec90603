/* The first part of opening a training: its model, data, losses and samples. */
#ifndef NN_TRAIN_PREPARE_H
#define NN_TRAIN_PREPARE_H

#include "plan/suggest.h"
#include "train/job.h"

/* An empty training: its task, layout and plan refer to each other. */
struct nn_train *nn_train_new(const struct nn_train_setup *setup, struct nn_error *err);
/* The command line, for suggestions. */
static inline struct nn_command nn_train_command(const struct nn_train *t)
{
	return (struct nn_command){
		t->setup.list,      t->options->model,
		t->setup.data_path, t->setup.targets_path,
		t->options->resume, t->options->checkpoint || t->options->checkpoint_every
	};
}
/*
 * Needs setup, device and net; fills what job.h lists under "what is trained" and "what it is
 * trained on".
 */
int nn_train_prepare(struct nn_train *train, struct nn_error *err);
/*
 * Its first part: data and held-out data as network, options and start model want them. fraction:
 * of --valid, 0: held-out data are files, or there are none.
 */
int nn_train_open_data(struct nn_train *train, double fraction, struct nn_error *err);
/* A line of progress: how the columns of a table were read. */
void nn_train_tell_columns(const struct nn_train *train);
/*
 * The part of it that differs between folds: rows, what is measured over them, losses. Release them
 * before they are chosen again.
 */
int nn_train_choose_rows(struct nn_train *train, struct nn_error *err);
/* Are the targets of an output what its loss takes? Once losses and rows are chosen. */
int nn_train_check_range(const struct nn_train *train, int output, struct nn_error *err);
void nn_train_release_rows(struct nn_train *train);

/*
 * The parts of nn_train_open that a plan needs too, in their order: the model, its device and pool;
 * then the data, or without any what the text alone says; then defaults that depend on others.
 */
int nn_train_open_model(struct nn_train *train, struct nn_error *err);
int nn_train_prepare_text(struct nn_train *train, struct nn_error *err);
int nn_train_take_defaults(struct nn_train *train, struct nn_error *err);
/*
 * --metric, once the evaluator is there or known not to be; NN_EUSAGE for one that these targets do
 * not have. Collective.
 */
int nn_train_take_metric(struct nn_train *train, struct nn_error *err);
/*
 * Are network, data, held-out data, options and program those of rank 0? Every rank fails with the
 * first difference, naming its rank. Collective; compare.c.
 */
int nn_train_compare(struct nn_train *train, struct nn_error *err);
/*
 * Choose the rows at once (train->plan.fit); NN_ENOMEM where nothing fits, with command lines that
 * would in setup.advice.
 */
int nn_train_fit(struct nn_train *train, struct nn_error *err);
/* The same, and what it says is taken: loader, step, evaluator, parameters. */
int nn_train_take_memory(struct nn_train *train, struct nn_error *err);

#endif
