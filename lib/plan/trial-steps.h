/* Steps of a training that are tried, for the time they take. */
#ifndef NN_PLAN_TRIAL_STEPS_H
#define NN_PLAN_TRIAL_STEPS_H

#include "parallel/worker.h"
#include "plan/plan.h"

/*
 * Seconds of a step of a full batch: of a fifth to half a second of steps as the loop makes them,
 * with a rate of 0, at most a tenth of the training; of long ones some micro-batches.
 *
 * With the worker that will train, whose step has initial parameters; they are to be
 * loaded again, slots of the optimizer are zero again. Collective; -1: the job is lost.
 * *step_s NaN: that would take too long.
 */
int nn_trial_steps(struct nn_worker *worker, double *step_s, struct nn_error *err);
/*
 * For a plan, which has no worker: of one process. A step is made, for the samples that were read,
 * or without DATA for made-up ones, and freed again. -1: it cannot be made.
 */
int nn_trial_steps_plan(const struct nn_plan *plan, double *step_s, struct nn_error *err);

#endif
