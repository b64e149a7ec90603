/* A step of several ranks before they have run: the bytes through rank 0, and of sync its time. */
#ifndef NN_PLAN_RANKS_H
#define NN_PLAN_RANKS_H

#include "plan/rank-rate.h"

struct nn_ranks_estimate {
	double step_s; /* NaN: not known */
	/* of a step, sent and received by rank 0, shared memory included; NaN: not known */
	double bytes;
	/* of a pipeline: the busiest stage's share of the work; the idle share, by the formula */
	double busiest, idle;
	char basis[120]; /* what it rests on; where it is not known, which figure is missing */
};

/*
 * For a training of `ranks` ranks, or a plan; `sharing` of them are on the cores of this one. A
 * pipeline needs to be divided. The time is that of sync alone, from the link between ranks that
 * trainings measured: the other strategies have to be tried.
 */
void nn_ranks_estimate(const struct nn_plan *plan, const struct nn_rank_rate *rate, int ranks,
		       int sharing, struct nn_ranks_estimate *estimate);

/*
 * Seconds of a step of sync: that of one rank with as many threads, times the largest share of the
 * leaves, and an all-reduce of the gradients.
 */
double nn_ranks_sync_seconds(const struct nn_plan *plan, const struct nn_rank_rate *rate,
			     const struct nn_link *link, int ranks, int sharing);
/* Bytes of gradients that ranks of sync add; embeddings send the rows that occurred, which are few.
 */
double nn_ranks_gradient_bytes(const struct nn_plan *plan);

#endif
