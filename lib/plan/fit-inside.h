/* Inside the plan of memory: what ranks of a host have in common, and what a device has. */
#ifndef NN_PLAN_FIT_INSIDE_H
#define NN_PLAN_FIT_INSIDE_H

#include "plan/fit.h"
#include "step/step.h"

/* What a rank has besides, where a plan is made by a process that is none. */
size_t nn_fit_mpi_bytes(const struct nn_plan *plan);
/*
 * Of a rank's plan, whose items are those of a process alone: what lies in memory that ranks of the
 * host have in common, and what it sees of that of others. sum: the whole gradient is asked for;
 * norms: its norm is, too.
 */
int nn_fit_share(const struct nn_plan *plan, const struct nn_step_options *options, bool sum,
		 bool norms, struct nn_fit *fit, struct nn_error *err);
/* host, but for pages of files, and device of all ranks, from the plans of rank 0 and of another.
 */
void nn_fit_host(const struct nn_plan *plan, const struct nn_fit *first, const struct nn_fit *other,
		 struct nn_fit *fit);

/* Bytes that stand beside the step's: of outputs, targets among them, and of the evaluator. */
struct nn_fit_beside {
	size_t outputs, targets, evaluator;
	size_t evaluated; /* rows of a call of it */
};

/*
 * Of a plan whose items are filled: adds to them what only a device with memory of its own takes,
 * and the memory through which ranks exchange what lies there; device, of this rank, and
 * device_limit.
 */
void nn_fit_device(const struct nn_plan *plan, const struct nn_step_options *step,
		   const struct nn_step_memory *memory, const struct nn_fit_beside *beside,
		   struct nn_fit *fit);

#endif
