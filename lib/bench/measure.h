/*
 * How long something takes: warm-up, samples, the mean with its interval, percentiles where there
 * are enough samples.
 *
 * A percentile needs five samples beyond it.
 */
#ifndef NN_BENCH_MEASURE_H
#define NN_BENCH_MEASURE_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/* Where times come from, in seconds. Tests pass a clock that only their kernels advance. */
struct nn_clock {
	double (*now)(void *arg);
	void *arg;
};
extern const struct nn_clock nn_clock_real;

struct nn_measure_options {
	const struct nn_clock *clock; /* NULL: nn_clock_real */
	/*
	 * for each call at most, warm-up but for its first call included; what has begun is waited
	 * for
	 */
	double seconds;
	double interval; /* stop once the half interval is below this share of the mean; 0: 0.02 */
	volatile sig_atomic_t *stop; /* ends at once when it is not 0; NULL: never */
};

/*
 * What is timed. Whoever writes it varies its input from call to call and keeps what it computed.
 */
struct nn_measure_call {
	void (*call)(void *arg);
	void *arg;
};

/* Seconds of a call. A figure that there were too few samples for is NAN. */
struct nn_measure {
	size_t n; /* samples; 0: too few for any figure */
	/* ci95_s: half the 95 % interval of the mean, from means of blocks in order of time */
	double mean_s, ci95_s;
	double least_s;
	double p50_s, p90_s, p99_s; /* of single calls */
	double first_s;             /* the very first call */
	double warmup_s;            /* all that was not counted, the first call included, */
	size_t warmup_n;            /* and how many calls that were */
	double taken_s;             /* all of it */
	bool steady;                /* ended because the interval was narrow enough */
	/*
	 * share of the time in which threads of ours could run and did not: a busy machine; NAN:
	 * unknown
	 */
	double waited;
};

/*
 * Time n calls, in turns of some milliseconds each, so that what disturbs one disturbs all. A call
 * of less than some microseconds is timed in groups and, for percentiles, alone, with the time that
 * the clock itself takes subtracted. 0, -1 when out of memory.
 */
int nn_measure(const struct nn_measure_options *options, const struct nn_measure_call *calls,
	       size_t n, struct nn_measure *results, struct nn_error *err);

/* The median, which a busy machine disturbs least; the mean of few samples. */
static inline double nn_measure_usual(const struct nn_measure *m)
{
	return isnan(m->p50_s) ? m->mean_s : m->p50_s;
}

/* value so that a share p of sorted[n] is not above it */
double nn_percentile(const double *sorted, size_t n, double p);

#endif
