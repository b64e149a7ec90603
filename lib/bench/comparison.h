/* A model on two devices, or in two ways on one, measured in turns. */
#ifndef NN_BENCH_COMPARISON_H
#define NN_BENCH_COMPARISON_H

#include "bench/trial.h"

struct nn_contender {
	const char *name; /* of a device */
	int threads;
	enum nn_dtype dtype;
	char label[32]; /* as rows say it: "cuda", "cpu 1 thread" */
};

struct nn_comparison {
	const struct nn_contender *a, *b;
	const struct nn_bench_model *subject_a, *subject_b; /* of their types */
	enum nn_bench_mode mode;
	size_t batch;
};

/* Seconds of a call; NAN where the time did not suffice. */
struct nn_comparison_times {
	double a_s, b_s, b_nocopy_s;
	double b_first_s; /* the first call of b */
	bool copies;      /* b has memory of its own */
	struct nn_measure a, b;
	struct nn_verdict verdict;
};

/*
 * Measured until the means are told apart by their intervals, or --time is over. NN_ENOMEM where
 * one of them does not fit.
 */
int nn_comparison(struct nn_bench *bench, const struct nn_comparison *duel,
		  struct nn_comparison_times *times, struct nn_error *err);
/* Only whether both fit. */
int nn_comparison_fits(struct nn_bench *bench, const struct nn_comparison *duel,
		       struct nn_error *err);

#endif
