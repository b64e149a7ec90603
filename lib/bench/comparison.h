/* A model on two devices, or in two ways on one, measured in turns. */
#ifndef NN_BENCH_COMPARISON_H
#define NN_BENCH_COMPARISON_H

#include "bench/trial.h"

/* Seconds of a call; NAN where the time did not suffice. */
struct nn_comparison_times {
	double a_s, b_s, b_nocopy_s;
	double b_first_s; /* the first call of b */
	bool copies;      /* b has memory of its own */
	struct nn_measure a, b;
	struct nn_verdict verdict;
};

/*
 * The second way against the first, measured until the means are told apart by their intervals, or
 * --time is over. NN_ENOMEM where one of them does not fit.
 */
int nn_comparison(struct nn_bench *bench, const struct nn_trial_options ways[2],
		  struct nn_comparison_times *times, struct nn_error *err);

#endif
