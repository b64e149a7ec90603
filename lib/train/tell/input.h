/* What a training tells of its input: a line for each stage, and whether it starved the steps. */
#ifndef NN_TRAIN_TELL_INPUT_H
#define NN_TRAIN_TELL_INPUT_H

#include "train/job.h"

/* As notes, of this process. */
void nn_tell_input(const struct nn_train *train);
/* As the event "input" of the log. */
void nn_event_input(const struct nn_train *train);

#endif
