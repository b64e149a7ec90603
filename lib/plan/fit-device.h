/* What a training has on a device with memory of its own. */
#ifndef NN_PLAN_FIT_DEVICE_H
#define NN_PLAN_FIT_DEVICE_H

#include "plan/fit.h"
#include "step/step.h"

/* Bytes that stand beside the step's: of outputs, targets among them, and of the evaluator. */
struct nn_fit_beside {
	size_t outputs, targets, evaluator;
	size_t evaluated; /* rows of a call of it */
};

/*
 * Of a plan whose items are filled: adds to them what only such a device takes, and the
 * memory through which ranks exchange what lies there; device, of this rank, and device_limit.
 */
void nn_fit_device(const struct nn_plan *plan, const struct nn_step_options *step,
		   const struct nn_step_memory *memory, const struct nn_fit_beside *beside,
		   struct nn_fit *fit);

#endif
