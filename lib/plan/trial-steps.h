/* Some steps of a training, for the time they take. */
#ifndef NN_PLAN_TRIAL_STEPS_H
#define NN_PLAN_TRIAL_STEPS_H

#include "plan/plan.h"
#include "step/step.h"

/*
 * Seconds of a step of `batch` samples: of its gradient, of its update, and of the loop around
 * them, which draws the samples.
 */
struct nn_trial_step_times {
	double gradient_s, update_s, loop_s;
};

/* The step that a training will use, and what it draws from. */
struct nn_training_step {
	struct nn_step *step;
	struct nn_loader *loader;
	bool resumes; /* it will continue somewhere in an epoch */
};

/* FLOP of a step that are tried in some tenths of a second. */
double nn_trial_step_flops(const struct nn_plan *plan);

/*
 * With the step that training will use, before its weights are loaded: what the steps leave behind
 * is loaded over, and the slots of the optimizer are zero again. flops: of a sample; where a step
 * has more than are tried, some of its micro-batches stand for it.
 */
int nn_trial_steps(const struct nn_plan *plan, const struct nn_training_step *own, double flops,
		   struct nn_trial_step_times *found, struct nn_error *err);
/*
 * For a plan, which has no step: one is made for as many rows of the batch as are tried in some ten
 * milliseconds, on the samples that were read, or without DATA on made-up ones, and freed again.
 * -1: it cannot be made.
 */
int nn_trial_steps_plan(const struct nn_plan *plan, double flops, struct nn_trial_step_times *found,
			struct nn_error *err);

#endif
