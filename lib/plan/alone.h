/* One process at work on a task, for steps that are timed: what a training of one rank is made of.
 */
#ifndef NN_PLAN_ALONE_H
#define NN_PLAN_ALONE_H

#include "parallel/worker.h"

struct nn_alone {
	struct nn_worker worker;
	struct nn_layout layout;
	struct nn_comm self;
	struct nn_counters counters;
	struct nn_loader loader;
	uint64_t *rows; /* [n_rows] of the task, their numbers */
};

struct nn_layout nn_alone_layout(void);
/*
 * A worker for the samples of a task, which stays borrowed, and a step of these options with these
 * canonical parameters; NULL: initial ones, by the task's network and seed. Close it in any case.
 */
int nn_alone_open(struct nn_alone *alone, const struct nn_task *task,
		  const struct nn_step_options *step, const void *const *params,
		  struct nn_error *err);
void nn_alone_close(struct nn_alone *alone);
/* Step `number`, from 1, as a training makes it. */
int nn_alone_step(struct nn_alone *alone, uint64_t number, double lr, struct nn_step_result *result,
		  struct nn_error *err);

#endif
