/* The memory of ranks of one host, some of which they have in common. */
#ifndef NN_PLAN_FIT_RANKS_H
#define NN_PLAN_FIT_RANKS_H

#include "plan/plan.h"
#include "step/step.h"

/* What a rank has besides, where a plan is made by a process that is none. */
size_t nn_fit_mpi_bytes(const struct nn_plan *plan);
/*
 * Of a rank's plan, whose items are those of a process alone: what lies in memory that ranks of the
 * host have in common, and what it sees of that of others. norms: of gradients are asked for.
 */
int nn_fit_share(const struct nn_plan *plan, const struct nn_step_options *options, bool norms,
		 struct nn_fit *fit, struct nn_error *err);
/*
 * fit->host of ranks that hold parts of the network, each of which has planned its own; collective.
 */
int nn_fit_gather(struct nn_plan *plan, struct nn_error *err);
/* fit->host but for pages of files, from the plans of rank 0 and of another. */
void nn_fit_host(const struct nn_plan *plan, const struct nn_fit *first, const struct nn_fit *other,
		 struct nn_fit *fit);

#endif
