/* A search along rates, of which low ones hold and high ones do not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/load/search.h"

static double rounded(double rate)
{
	char digits[40];

	snprintf(digits, sizeof digits, "%.3g", rate);
	return strtod(digits, NULL);
}

/* The next one to try, between what held and what did not; 0: the search is over. */
static double next_rate(const struct nn_load_search *s, double low, double high)
{
	double next = isinf(high) ? 2 * low : low == 0 ? high / 2 : sqrt(low * high);

	next = rounded(fmin(fmax(next, s->least), s->most));
	if (next <= low || next >= high)
		return 0;
	return low > 0 && high <= NN_LOAD_NEAR * low ? 0 : next;
}

int nn_load_search(const struct nn_load_search *s, double *best, struct nn_error *err)
{
	double high = INFINITY, rate = rounded(fmin(fmax(s->first, s->least), s->most));

	for (*best = 0; rate > 0; rate = next_rate(s, *best, high)) {
		bool holds = false, stop = false;

		if (s->attempt(s->arg, rate, &holds, &stop, err) < 0)
			return -1;
		if (stop)
			return 0;
		*(holds ? best : &high) = rate;
	}
	return 0;
}
