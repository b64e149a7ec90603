/* How long a training will take: from what it took before, or from steps that are tried. */
#ifndef NN_PLAN_FORECAST_H
#define NN_PLAN_FORECAST_H

#include "parallel/worker.h"
#include "plan/plan.h"

#define NN_TIMED_STEPS 256

/* What the loop measured. The first step stands apart: it touches the memory. */
struct nn_times {
	/* seconds of the first step, of the others and their rows; of what follows steps */
	double first_s, steps_s, rows, after_s;
	double epochs; /* that ended */
	double steps;
	double bytes; /* that went through this rank in them */
	/*
	 * steps after the first; of the last of them all and computing, where several ranks train
	 */
	size_t timed;
	double step[NN_TIMED_STEPS], compute[NN_TIMED_STEPS];
	long touched, read; /* page faults of the first step: memory touched, pages read */
};

/*
 * The rate that is kept for the plan in plan->fit. Where there is none, but a plan or a prediction
 * to show, a plan of one process tries some steps, and a training says by true that its own are to
 * be tried: nn_forecast_try.
 */
bool nn_forecast_rate(struct nn_plan *plan);
/* As nn_trial_steps, which says what follows. */
int nn_forecast_try(struct nn_plan *plan, struct nn_worker *worker, struct nn_error *err);
/* Into plan->forecast, from the rate: `trainings` runs, which begin after `done` steps. */
void nn_forecast_make(struct nn_plan *plan, uint64_t done, uint64_t trainings);
/*
 * Seconds of a step of this training in one process with `threads` threads, NaN where unknown.
 * Some steps may be tried.
 */
double nn_forecast_step(const struct nn_plan *plan, int threads);
/* Keep the rate of a training that took `seconds`. */
void nn_forecast_learn(const struct nn_plan *plan, const struct nn_times *times, double seconds);

#endif
