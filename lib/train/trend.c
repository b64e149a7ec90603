/* The slope of the loss over the last steps, of two running means of different age. */
#include "train/trend.h"

#define EARLY 4.0 /* powers of the step: the mean is 1 / (power + 2) of the steps old */
#define LATE 9.0
#define LEAST_STEPS 20

static void add(double *mean, double power, double step, double loss)
{
	*mean += (power + 1) / (step + power) * (loss - *mean);
}

void nn_trend_add(struct nn_counters *c, double loss)
{
	if (c->step == 1)
		c->trend.first = loss;
	add(&c->trend.early, EARLY, (double)c->step, loss);
	add(&c->trend.late, LATE, (double)c->step, loss);
}

double nn_trend_fall(const struct nn_counters *c)
{
	double apart = 1 / (EARLY + 2) - 1 / (LATE + 2), whole = c->trend.first - c->trend.late;

	if (c->step < LEAST_STEPS || !(whole > 0))
		return 0;
	return 0.1 * (c->trend.early - c->trend.late) / apart / whole;
}
