/* How long a training will take. */
#ifndef NN_TRAIN_PLAN_FORECAST_H
#define NN_TRAIN_PLAN_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

struct nn_train;
struct nn_foreseen;

struct nn_forecast {
	double step_s, epoch_s,
		total_s; /* NaN: not known; an epoch with its evaluation and state */
	double bytes;    /* of a step of several ranks, through rank 0; NaN: not known */
	char basis[120]; /* what the rates rest on; where step_s is not known, "" or what is missing
			  */
};

#define NN_TIMED_STEPS 256

/* What the loop measured. The first step stands apart: it touches the memory. */
struct nn_times {
	double first_s, steps_s, rows, after_s; /* seconds of the first step, of the others and
						   their rows; of what follows steps */
	double epochs;                          /* that ended */
	double steps;
	double bytes;                       /* that went through this rank in them */
	double saves, saves_s, saved_bytes; /* states that were written */
	size_t timed; /* steps after the first; of the last of them all and computing, where several
			 ranks train */
	double step[NN_TIMED_STEPS], compute[NN_TIMED_STEPS];
	long touched, read; /* page faults of the first step: memory touched, pages read */
};

/*
 * A rate for the plan in train->fit: one that is kept, else from steps that are tried (of a
 * training before its weights are loaded, where they are few beside those that are planned), else
 * an estimate.
 */
void nn_forecast_rate(struct nn_train *train);
/* Before its memory is planned: measure what an estimate will need, where one will be shown and
 * nothing is kept. */
void nn_forecast_machine(struct nn_train *train);
/* Into train->forecast, from the rate. */
void nn_forecast_make(struct nn_train *train);
/*
 * Seconds of a step of this training in one process with so many threads, NaN where they are not
 * known. tries: of a plan some steps may be tried.
 */
double nn_forecast_step(const struct nn_train *train, int threads, bool tries);
struct nn_pace;
/* update_s and products of the pace; measure: what the machine does may be measured where it is not
 * kept. */
void nn_forecast_parts(struct nn_train *train, bool measure, struct nn_pace *pace);
/* What a training with several ranks is foreseen from, into train->pace, before its memory is
 * taken: on rank 0. */
void nn_forecast_ranks(struct nn_train *train);
/* Into train->rate: what was foreseen of several ranks, or what they took when they ran here
 * before. */
void nn_forecast_take(struct nn_train *train, const struct nn_foreseen *foreseen);
/* Keep the rate of a training that took so many seconds. */
void nn_forecast_learn(struct nn_train *train, double seconds);

#endif
