/* The model file of a training, and the figures that stand in it. */
#ifndef NN_TRAIN_STATE_RECORD_H
#define NN_TRAIN_STATE_RECORD_H

#include "train/job.h"
#include "train/prepare.h"

/* Write params as the model to the output opened at start. */
int nn_record_model(struct nn_train *train, void *const *params, struct nn_error *err);

#define NN_METRIC_NAME 160 /* bytes of a metric's name */

/*
 * The figures of held-out rows that --score prints without a label, under its names; of several
 * outputs OUTPUT.NAME.
 */
void nn_train_figures(const struct nn_train *train,
		      void (*figure)(void *arg, const char *name, double value), void *arg);

/* Have all outputs the same loss? */
bool nn_train_one_loss(const struct nn_train *train);
/* Epoch (from 1) of the last step; epochs planned, 0: only time ends them. */
uint64_t nn_train_epoch(const struct nn_train *train);
uint64_t nn_train_epochs(const struct nn_train *train);
/*
 * The epoch's mean loss, and the metric over its rows as they passed ("loss", "accuracy", "rmse";
 * else NaN).
 */
double nn_train_loss(const struct nn_train *train);
double nn_train_passed(const struct nn_train *train, const char *metric);

#endif
