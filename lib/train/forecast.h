/* How long a training will take. */
#ifndef NN_TRAIN_FORECAST_H
#define NN_TRAIN_FORECAST_H

struct nn_train;

struct nn_forecast {
	double step_s, epoch_s, total_s;         /* NaN: not known; an epoch with its evaluation and state */
	char basis[120];                         /* what the rates rest on, "" where step_s is not known */
};

/* Into train->forecast, for the plan in train->fit. */
void nn_forecast_make(struct nn_train *train);

#endif
