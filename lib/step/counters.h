/*
 * Where a training stands, besides its tensors: all that a resumed run needs to continue as if it
 * had never stopped.
 */
#ifndef NN_STEP_COUNTERS_H
#define NN_STEP_COUNTERS_H

#include "step/optimizer.h"

struct nn_counters {
	uint64_t step; /* steps done */
	struct nn_loss_scale loss_scale;
	/* the epoch of the last step, as its rows passed */
	double loss, weight; /* sum of loss * weight, and of weight */
	uint64_t rows;
	double hits, counted, squares;
	/* the loss of the first step, and running means of all, one older than the other */
	struct nn_trend {
		double first, early, late;
	} trend;
	/* evaluations */
	double best; /* of the metric, NaN: none yet */
	uint64_t best_step, best_epoch;
	uint64_t stale; /* evaluations since the best one */
	double plateau; /* the best metric that the plateau schedule has seen, NaN: none */
	uint64_t plateau_stale, drops;
	uint64_t done; /* 1: patience ended it */
};

#endif
