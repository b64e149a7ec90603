/* How long a training will take. */
#ifndef NN_TRAIN_FORECAST_H
#define NN_TRAIN_FORECAST_H

struct nn_train;

struct nn_forecast {
	double step_s, epoch_s, total_s;         /* NaN: not known; an epoch with its evaluation and state */
	char basis[120];                         /* what the rates rest on, "" where step_s is not known */
};

/* What the loop measured. The first step stands apart: it touches the memory. */
struct nn_times {
	double first_s, steps_s, rows, after_s;  /* seconds of the first step, of the others and their rows; of what follows steps */
	double epochs;                           /* that ended */
	double steps;
	double saves, saves_s, saved_bytes;      /* states that were written */
	long touched, read;                      /* page faults of the first step: memory touched, pages read */
};

/*
 * A rate for the plan in train->fit: one that is kept, else from steps that are tried (of a training before its weights are loaded,
 * where they are few beside those that are planned), else an estimate.
 */
void nn_forecast_rate(struct nn_train *train);
/* Into train->forecast, from the rate. */
void nn_forecast_make(struct nn_train *train);
/* Keep the rate of a training that took so many seconds. */
void nn_forecast_learn(struct nn_train *train, double seconds);

#endif
