/* Rates of trainings on this machine, kept between runs. */
#ifndef NN_PLAN_RATES_H
#define NN_PLAN_RATES_H

#include "plan/plan.h"

/* What is kept for this network, device, batch, micro-batch and number of threads. */
bool nn_rate_get(const struct nn_plan *plan, struct nn_rate *rate);
void nn_rate_put(const struct nn_plan *plan, const struct nn_rate *rate);

/*
 * Seconds that a file of so many bytes takes to be written and synced where the last ones were; a
 * guess where there were none.
 */
double nn_file_seconds(double bytes);
void nn_file_seconds_put(double bytes, double seconds);

#endif
