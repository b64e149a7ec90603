/*
 * Is the loss still falling where a training ends?
 *
 * Two running means of the loss over all steps whose weights grow as a power of the step keep to
 * its newest part, however long the training gets (polynomial-decay averaging; Shamir and Zhang,
 * Stochastic gradient descent for non-smooth optimization, 2013). One is 1/6 of the steps old on
 * average, the other 1/11: their difference is the slope at the end, of three numbers that a state
 * keeps.
 */
#ifndef NN_TRAIN_TREND_H
#define NN_TRAIN_TREND_H

#include "step/counters.h"

/* The loss of a step; counters->step is its number, from 1. */
void nn_trend_add(struct nn_counters *counters, double loss);
/*
 * By what share of its whole fall, since the first step, the loss falls in the last tenth of the
 * steps; 0 or less where it does not, or where there are too few steps to tell.
 */
double nn_trend_fall(const struct nn_counters *counters);

#endif
