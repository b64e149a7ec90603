/* How fast one of several ranks computes, from what is known of one process. */
#ifndef NN_TRAIN_PLAN_PACE_H
#define NN_TRAIN_PLAN_PACE_H

#include <stdbool.h>
#include "train/plan/link.h"

struct nn_train;

/* What the times of one rank rest on. */
struct nn_pace {
	int cores, threads; /* threads: of the rank alone */
	bool fixed;         /* --threads was given: each rank has as many */
	int asked;          /* ranks, 0: not said */
	double alone_s;     /* a step of it; NaN: not known */
	double single_s,
		full_s;  /* of one rank with one thread, with one on each core; NaN: not known */
	double update_s; /* of that step what the update of all parameters takes; 0: not known */
	double products; /* of its gradient the share that products take */
	double byte_s;   /* of a byte that is read or written, by an update of a net of medium size;
			    0: not known */
	struct nn_link link; /* of the ranks that were asked for; an estimate of it takes some MiB
				while it is made */
};

/* Threads of each of so many ranks. */
int nn_pace_threads(const struct nn_pace *pace, int ranks);
/* Seconds of a step of one rank with so many threads, and of computing of one of several ranks,
 * `sharing` of which share its cores. */
double nn_pace_step(const struct nn_pace *pace, int threads);
double nn_pace_share(const struct nn_train *train, const struct nn_pace *pace, int ranks,
		     int sharing);
/*
 * How much longer than in the medium net that machines are measured with arrays of so many bytes
 * take: there an update follows a gradient that lies in the cache; here others have had it, and
 * large ones lie in no cache.
 */
double nn_pace_memory(double bytes);
/* The share of the leaves that the rank with most of them has. */
double nn_pace_largest(const struct nn_train *train, int ranks);

#endif
