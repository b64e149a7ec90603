/* What several ranks exchange in a step, counted before they have run. */
#ifndef NN_PLAN_RANKS_H
#define NN_PLAN_RANKS_H

#include "plan/plan.h"

/*
 * Bytes of a step of so many ranks, sent and received by rank 0, shared memory included; NaN: not
 * known. A pipeline needs to be divided.
 */
double nn_ranks_bytes(const struct nn_plan *plan, int ranks);
/* Bytes of gradients that ranks of sync add; embeddings send the rows that occurred, which are few.
 */
double nn_ranks_gradient_bytes(const struct nn_plan *plan);
/* What is said of a step that was not tried. */
const char *nn_ranks_unknown(const struct nn_plan *plan);
/* The share of the leaves that the rank with most of them has. */
double nn_ranks_largest(const struct nn_plan *plan, int ranks);

#endif
