/* Some steps of a training, for the time they take. */
#ifndef NN_TRAIN_PLAN_REHEARSE_H
#define NN_TRAIN_PLAN_REHEARSE_H

#include "train/job.h"

/* Seconds of a step of `batch` samples: of its gradient, of its update, and of the loop around
 * them, which draws the samples. */
struct nn_rehearsal {
	double gradient_s, update_s, loop_s;
};

/* FLOP of a step that are tried in some tenths of a second. */
double nn_rehearse_flops(const struct nn_train *train);

/*
 * With the step that training will use, before its weights are loaded: what the steps leave behind
 * is loaded over, and the slots of the optimizer are zero again. flops: of a sample; where a step
 * has more than are tried, some of its micro-batches stand for it.
 */
int nn_rehearse(struct nn_train *train, double flops, struct nn_rehearsal *found,
		struct nn_error *err);
/*
 * For a plan, which has no step: one is made for as many rows of the batch as are tried in some ten
 * milliseconds, on the samples that were read, or without DATA on zeros, and freed again. -1: it
 * cannot be made.
 */
int nn_rehearse_plan(const struct nn_train *train, double flops, struct nn_rehearsal *found,
		     struct nn_error *err);
/* What dense layers of a medium size reach with this device, type and number of threads, kept for
 * the next time. -1: cannot be tried. */
int nn_rehearse_machine(const struct nn_train *train, struct nn_machine_rate *rate,
			struct nn_error *err);

#endif
