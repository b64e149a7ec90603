/* The time of a step for each number of ranks, and whether more of them pay. */
#ifndef NN_TRAIN_PLAN_SCALING_H
#define NN_TRAIN_PLAN_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include "base/text.h"
#include "train/plan/link.h"

struct nn_train;

/* What the times of one rank rest on. */
struct nn_pace {
	int cores, threads;              /* threads: of the rank alone */
	bool fixed;                      /* --threads was given: each rank has as many */
	int asked;                       /* ranks, 0: not said */
	double alone_s;                  /* a step of it; NaN: not known */
	double single_s, full_s;         /* of one rank with one thread, with one on each core; NaN: not known */
	struct nn_link link;             /* of the ranks that were asked for; an estimate of it takes some MiB while it is made */
};

/* Threads of each of so many ranks. */
int nn_pace_threads(const struct nn_pace *pace, int ranks);
/* Seconds of a step of one rank with so many threads, and of computing of one of several ranks, `sharing` of which share its cores. */
double nn_pace_step(const struct nn_pace *pace, int threads);
double nn_pace_share(const struct nn_train *train, const struct nn_pace *pace, int ranks, int sharing);

struct nn_foreseen {
	double step_s;                   /* NaN: not known */
	double bytes;                    /* of a step, sent and received by rank 0, memory shared with others included; NaN: not known */
	double busiest, idle;            /* of a pipeline: the busiest stage's share of the work; what all stand still, by the formula */
	char basis[120];                 /* what it rests on; where it is not known, which figure is missing */
};

#define NN_SCALING_ROWS 64

struct nn_scaling {
	struct nn_scaling_row {
		int ranks, threads;      /* threads: of each */
		double step_s, speedup;  /* NaN: not known, or not possible */
		bool possible;           /* each of them has a leaf */
	} rows[NN_SCALING_ROWS];
	size_t n;
	struct nn_text why;              /* one sentence: to stay on one rank, or what more of them bring */
	char basis[120];                 /* what the cost of the all-reduce rests on, "" with one row */
	int threads;                     /* of each of the ranks that were asked for */
	struct nn_foreseen asked;        /* they, by their strategy; basis "": one rank */
};

/*
 * Of a plan whose rate is known: a step of n ranks of sync is the one of one rank with as many threads, times the largest share of the
 * leaves, times the ranks that share a core, and not less than that of as many threads in one process; and the all-reduce of the
 * gradients, nothing of which is hidden. ranks: as many
 * as were asked for, 0: up to the cores. Free it with nn_text_free(&scaling->why).
 */
void nn_scaling_make(struct nn_train *plan, int ranks, struct nn_scaling *scaling);
/* Of a training with several ranks, before its memory is taken; tries: some steps may be tried, by this rank alone. */
void nn_scaling_pace(struct nn_train *train, bool tries, struct nn_pace *pace);
/* Keep what its steps cost beside computing. */
void nn_scaling_learn(struct nn_train *train);

#endif
