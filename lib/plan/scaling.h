/* The time of a step for each number of ranks, and whether more of them pay. */
#ifndef NN_PLAN_SCALING_H
#define NN_PLAN_SCALING_H

#include "base/text.h"
#include "plan/plan.h"

#define NN_SCALING_ROWS 64

struct nn_scaling {
	struct nn_scaling_row {
		int ranks;
		double step_s, speedup; /* NaN: not known, or not possible */
		bool possible;          /* each of them has a leaf */
	} rows[NN_SCALING_ROWS];        /* the last is of the ranks that were asked for */
	size_t n;
	struct nn_text why; /* one sentence: to stay on one rank, or what more of them bring */
	char basis[120];    /* source of the cost of the all-reduce, "" with one row */
	int threads;        /* of each rank in the last row */
};

/*
 * Of a plan whose rate is known: a step of n ranks of sync is the one of a process with as many
 * threads as all of them have, longer by the largest share of the leaves; and the all-reduce of
 * the gradients, nothing of which is hidden, by the link between ranks that trainings measured.
 * The other strategies have to be tried. ranks: as many as were asked for, 0: up to the cores.
 * fixed: each has as many threads as the plan, however many there are. Free it with
 * nn_text_free(&scaling->why).
 */
void nn_scaling_make(const struct nn_plan *plan, int ranks, bool fixed, struct nn_scaling *scaling);

#endif
