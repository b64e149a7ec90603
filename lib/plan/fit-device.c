/*
 * Memory of a training on a device with memory of its own: what of the items lies there, and the
 * pinned memory that the host has for it.
 */
#include "plan/fit-device.h"
#include "step/output.h"

#define BOUNCE_BYTES ((size_t)1 << 20) /* of a queue, for what is read and written now and then */

static size_t of_value(const struct nn_plan *plan, int value)
{
	return nn_shape_count(&plan->task->program->values[value].shape) *
	       nn_dtype_size(plan->task->device->dtype);
}

/* Bytes of a row of all inputs, of all outputs. */
static size_t row_inputs(const struct nn_plan *plan)
{
	size_t bytes = 0;

	for (int i = 0; i < plan->task->program->n_inputs; i++)
		bytes += of_value(plan, plan->task->program->inputs[i]);
	return bytes;
}

static size_t row_outputs(const struct nn_plan *plan)
{
	size_t bytes = 0;

	for (int i = 0; i < plan->task->program->n_outputs; i++)
		bytes += of_value(plan, plan->task->program->outputs[i].value);
	return bytes;
}

/* The largest parameter, in the order that files have: each graph keeps room for it. */
static size_t largest_parameter(const struct nn_plan *plan)
{
	size_t most = 0;

	for (int p = 0; p < plan->task->program->n_params; p++) {
		size_t n = nn_shape_count(&plan->task->program->params[p].desc.shape);

		most = n > most ? n : most;
	}
	return most * nn_dtype_size(plan->task->device->dtype);
}

void nn_fit_device(const struct nn_plan *plan, const struct nn_step_memory *m,
		   const struct nn_fit_beside *beside, struct nn_fit *fit)
{
	size_t batch = plan->task->recipe->batch, in = row_inputs(plan), out = row_outputs(plan),
	       ranks = plan->layout->on_host > 1 ? (size_t)plan->layout->on_host : 1;
	/* two batches on their way (step-transfer.c), of which the items have the targets of one */
	size_t canonical = largest_parameter(plan) * (beside->evaluator ? 2 : 1),
	       cargo = 2 * (batch * in + beside->targets),
	       pinned = cargo + fit->micro * (in + out) + beside->evaluated * (in + out) +
			2 * BOUNCE_BYTES;

	fit->input += cargo - beside->targets;
	fit->workspace += canonical;
	fit->other += pinned;
	fit->device = ranks * (m->total + beside->outputs + beside->evaluator + cargo -
			       beside->targets + canonical);
	fit->device_limit = plan->budget->device;
}
