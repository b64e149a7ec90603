/* The first part of opening a training: its model, data, losses and samples. */
#ifndef NN_TRAIN_PREPARE_H
#define NN_TRAIN_PREPARE_H

#include "train/job.h"

/* Needs setup, device and net; fills what job.h lists under "what is trained" and "what it is
 * trained on". */
int nn_train_prepare(struct nn_train *train, struct nn_error *err);
/* The part of it that differs between folds: rows, what is measured over them, losses. Release them
 * before they are chosen again. */
int nn_train_choose_rows(struct nn_train *train, struct nn_error *err);
void nn_train_release_rows(struct nn_train *train);

/*
 * The parts of nn_train_open that a plan needs too, in their order: the model, its device and pool;
 * then the data, or without any what the text alone says; then defaults that depend on others.
 */
int nn_train_open_model(struct nn_train *train, struct nn_error *err);
int nn_train_prepare_text(struct nn_train *train, struct nn_error *err);
int nn_train_take_defaults(struct nn_train *train, struct nn_error *err);
/* --metric, once the evaluator is there or known not to be; NN_EUSAGE for one that these targets do
 * not have. Collective. */
int nn_train_take_metric(struct nn_train *train, struct nn_error *err);
/* The dataset of a file for what the network wants, into train->dataset; of zeros, rows of them
 * (blank.c). */
int nn_train_open_dataset(struct nn_train *train, const char *path, struct nn_error *err);
int nn_train_blank_data(struct nn_train *train, size_t rows, struct nn_error *err);
/* Choose the rows at once (train->fit); NN_ENOMEM where nothing fits, with command lines that would
 * in setup.advice. */
int nn_train_fit(struct nn_train *train, struct nn_error *err);

#endif
