/* The time of a training from rates that were measured on this machine. */
#include <math.h>

#include "train/job.h"

void nn_forecast_make(struct nn_train *t)
{
	t->forecast = (struct nn_forecast){ NAN, NAN, NAN, "" };
}
