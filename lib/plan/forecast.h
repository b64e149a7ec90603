/* How long a training will take. */
#ifndef NN_PLAN_FORECAST_H
#define NN_PLAN_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_plan;
struct nn_training_step;
struct nn_ranks_estimate;

struct nn_forecast {
	double step_s, epoch_s,
		total_s; /* NaN: not known; an epoch with its evaluation and state */
	double bytes;    /* of a step of several ranks, through rank 0; NaN: not known */
	/* what the rates rest on; where step_s is not known, "" or what is missing */
	char basis[120];
};

#define NN_TIMED_STEPS 256

/* What the loop measured. The first step stands apart: it touches the memory. */
struct nn_times {
	/* seconds of the first step, of the others and their rows; of what follows steps */
	double first_s, steps_s, rows, after_s;
	double epochs; /* that ended */
	double steps;
	double bytes;                       /* that went through this rank in them */
	double saves, saves_s, saved_bytes; /* states that were written */
	/*
	 * steps after the first; of the last of them all and computing, where several ranks train
	 */
	size_t timed;
	double step[NN_TIMED_STEPS], compute[NN_TIMED_STEPS];
	long touched, read; /* page faults of the first step: memory touched, pages read */
};

/*
 * The rate for the plan in plan->fit: one that is kept, else from steps that are tried, of a
 * plan or of a training that shows its prediction (before its weights are loaded).
 */
void nn_forecast_rate(struct nn_plan *plan, const struct nn_training_step *own);
/* Into plan->forecast, from the rate: so many trainings, which begin after `done` steps. */
void nn_forecast_make(struct nn_plan *plan, uint64_t done, uint64_t trainings);
/*
 * Seconds of a step of this training in one process with so many threads, NaN where they are not
 * known. tries: of a plan some steps may be tried.
 */
double nn_forecast_step(const struct nn_plan *plan, int threads, bool tries);
/*
 * What the time of a training with several ranks is estimated from, into plan->rank_rate,
 * before its memory is taken: on rank 0.
 */
void nn_forecast_ranks(struct nn_plan *plan);
/*
 * Into plan->rate: what was estimated for several ranks, or what they took when they ran here
 * before.
 */
void nn_forecast_take(struct nn_plan *plan, const struct nn_ranks_estimate *estimate);
/* Keep the rate of a training that took so many seconds. */
void nn_forecast_learn(const struct nn_plan *plan, const struct nn_times *times, double seconds);

#endif
