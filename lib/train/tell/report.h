/*
 * What a training tells of itself with -v and in its log: where it ran, where the time went, what
 * was predicted.
 */
#ifndef NN_TRAIN_TELL_REPORT_H
#define NN_TRAIN_TELL_REPORT_H

#include "plan/explain.h"
#include "train/job.h"

/* Add the page faults of this process so far, times sign, to those of the first step. */
void nn_report_faults(struct nn_times *times, int sign);
/* "1 rank x 2 threads on 2 cores" */
const char *nn_report_placement(const struct nn_train *train, char text[NN_PLACEMENT]);
/* Notes before the first step and after the last (-v). seconds: of the training. */
void nn_report_start(const struct nn_train *train);
void nn_report_end(const struct nn_train *train, double seconds);
/* The keys of the end event that tell first step, first epoch and steady state apart. */
void nn_report_causes(const struct nn_train *train);

/* Seconds of a step after the first, for a full batch; NaN: there was none. */
double nn_report_step(const struct nn_train *train);
/* Bytes of a step through this rank of several; NaN: it is alone. */
double nn_report_bytes(const struct nn_train *train);

#endif
