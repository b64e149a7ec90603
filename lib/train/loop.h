/* Inside the loop: its clock, and one step. */
#ifndef NN_TRAIN_LOOP_H
#define NN_TRAIN_LOOP_H

#include "train/job.h"

/* What the loop keeps of the clock. */
struct nn_pace {
	double epoch_s, logged_s; /* when the epoch began, when a step was last logged */
	uint64_t epoch_rows;      /* rows of the epoch when that was */
	uint64_t logged_samples, samples;
	double loss, weight; /* sums since a step was last logged */
	bool logs;           /* the step that was asked for ahead is to be logged */
	bool first_epoch;    /* the first one this process runs from its beginning */
};

/* One step, counted, told and logged. */
int nn_loop_step(struct nn_train *train, struct nn_pace *pace, struct nn_error *err);
/*
 * What is to be done: of several ranks what they agreed on in the last step, else what is wished at
 * this moment.
 */
const struct nn_control *nn_loop_asked(struct nn_train *train);
/* The host learns how many steps are done. */
void nn_loop_tell(const struct nn_train *train);

#endif
