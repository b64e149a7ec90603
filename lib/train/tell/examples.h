/*
 * What a plot shows of held-out rows: which class was taken for which, and pictures with their true
 * masks and those found, all with the parameters of the last evaluation.
 */
#ifndef NN_TRAIN_TELL_EXAMPLES_H
#define NN_TRAIN_TELL_EXAMPLES_H

#include "chart/chart.h"

struct nn_train;
struct nn_confused;
struct nn_examples;

/* *confused NULL: nothing was evaluated, no output has classes, or they are too many. */
int nn_confused_new(struct nn_confused **confused, const struct nn_train *train,
		    struct nn_error *err);
void nn_confused_free(struct nn_confused *confused);
/* For a chart, as long as it lives; of NULL NULL. */
const struct nn_chart_confusion *nn_confused_chart(const struct nn_confused *confused);

/* *examples NULL: nothing was evaluated, or no output is a mask. */
int nn_examples_new(struct nn_examples **examples, const struct nn_train *train,
		    struct nn_error *err);
void nn_examples_free(struct nn_examples *examples);
const struct nn_chart_gallery *nn_examples_chart(const struct nn_examples *examples);

#endif
