/* How fast one of several ranks computes, from what is known of one process. */
#ifndef NN_PLAN_RANK_RATE_H
#define NN_PLAN_RANK_RATE_H

#include <stdbool.h>
#include "comm/link.h"

struct nn_plan;

/* What the times of one rank rest on. */
struct nn_rank_rate {
	int cores, threads; /* threads: of the rank alone */
	bool fixed;         /* --threads was given: each rank has as many */
	int asked;          /* ranks, 0: not said */
	double alone_s;     /* a step of it; NaN: not known */
	double single_s,
		full_s; /* of one rank with one thread, with one on each core; NaN: not known */
	/* of the ranks that were asked for; an estimate of it takes some MiB while it is made */
	struct nn_link link;
};

/* Threads of each of so many ranks. */
int nn_rank_rate_threads(const struct nn_rank_rate *rate, int ranks);
/*
 * Seconds of a step of one rank with so many threads, and of computing of one of several ranks,
 * `sharing` of which share its cores.
 */
double nn_rank_rate_step(const struct nn_rank_rate *rate, int threads);
double nn_rank_rate_share(const struct nn_plan *plan, const struct nn_rank_rate *rate, int ranks,
			  int sharing);
/* The share of the leaves that the rank with most of them has. */
double nn_rank_rate_largest(const struct nn_plan *plan, int ranks);

#endif
