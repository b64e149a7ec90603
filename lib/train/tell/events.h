/* The events of the log, and the lines of progress that go with them. */
#ifndef NN_TRAIN_TELL_EVENTS_H
#define NN_TRAIN_TELL_EVENTS_H

#include "train/job.h"

void nn_event_start(const struct nn_train *train);
void nn_event_step(const struct nn_train *train, const struct nn_step_result *result, double lr,
		   double mean_loss, double samples_per_s);
/* Log the epoch of the last step and print its line. */
void nn_event_epoch(const struct nn_train *train, double seconds, double samples_per_s);
void nn_event_valid(const struct nn_train *train);
void nn_event_signal(const struct nn_train *train, int signal);
/* mean_loss: of the steps since one was last logged, NaN: none. */
void nn_event_end(const struct nn_train *train, const char *reason, double mean_loss);
/* The end of a run that failed before it could start, `seconds` after it was called. */
void nn_event_failed(const struct nn_train *train, double seconds, const struct nn_error *why);

#endif
