/*
 * Where a model computes on several devices: which of them takes rows now, and how many. A pure
 * function of what batches cost on each.
 */
#ifndef NN_SERVE_BATCH_SPLIT_H
#define NN_SERVE_BATCH_SPLIT_H

#include <stddef.h>

#include "serve/batch/cost.h"

/* A device of a lane as the decision sees it. */
struct nn_split_view {
	const struct nn_costs *costs;
	double busy; /* seconds until it can take rows; 0: now */
};

struct nn_split {
	int place;   /* -1: all wait, since one that is busy is done with them sooner */
	size_t rows; /* that it takes now */
};

/*
 * All rows are answered soonest: on one device, or cut between two so that both end at about the
 * same time. Rows that are left are asked about again.
 */
struct nn_split nn_split_decide(const struct nn_split_view *places, size_t n, size_t rows);

#endif
