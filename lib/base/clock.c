/* Seconds from a clock that never goes back. */
#include <time.h>

#include "base/clock.h"

double nn_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
