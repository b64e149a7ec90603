/* Rates of trainings on this machine, kept between runs. */
#ifndef NN_PLAN_RATES_H
#define NN_PLAN_RATES_H

#include "plan/plan.h"

/* What is kept for this network, device, batch, micro-batch and number of threads. */
bool nn_rate_get(const struct nn_plan *plan, struct nn_rate *rate);
void nn_rate_put(const struct nn_plan *plan, const struct nn_rate *rate);

#endif
