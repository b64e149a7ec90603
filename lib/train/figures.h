/* How far a training is, and the figures that it has measured. */
#ifndef NN_TRAIN_FIGURES_H
#define NN_TRAIN_FIGURES_H

#include "step/counters.h"
#include "step/task.h"

struct nn_evaluator;

#define NN_METRIC_NAME 160 /* bytes of a metric's name */

/* Epoch (from 1) that a step belongs to; epochs planned, 0: only time ends them. */
uint64_t nn_task_epoch(const struct nn_task *task, uint64_t step);
uint64_t nn_task_epochs(const struct nn_task *task);
/* Have all outputs the same loss? */
bool nn_task_one_loss(const struct nn_task *task);
/*
 * The epoch's mean loss, and the metric over its rows as they passed ("loss", "accuracy", "rmse";
 * else NaN).
 */
double nn_counters_loss(const struct nn_counters *counters);
double nn_counters_metric(const struct nn_counters *counters, const char *metric);
/*
 * The figures of held-out rows that --score prints without a label, under its names; of several
 * outputs OUTPUT.NAME. evaluator NULL: none.
 */
void nn_evaluator_figures(const struct nn_evaluator *evaluator, const struct nn_program *program,
			  void (*figure)(void *arg, const char *name, double value), void *arg);

#endif
