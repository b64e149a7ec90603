/*
 * Memory of a training on a device with memory of its own: what of the items lies there, and the
 * pinned memory that the host has for it.
 */
#include "base/memory.h"
#include "parallel/pipeline.h"
#include "parallel/strategy.h"
#include "plan/fit-inside.h"
#include "step/output.h"

#define BOUNCE_BYTES ((size_t)1 << 20) /* of a queue, for what is read and written now and then */

static size_t of_value(const struct nn_plan *plan, int value)
{
	return nn_shape_count(&plan->task->program->values[value].shape) *
	       nn_dtype_size(plan->task->device->dtype);
}

/* A pipeline's slots: values on their way to the next stage, gradients on theirs back. */
static size_t crossing_bytes(const struct nn_plan *plan, const struct nn_step_memory *m)
{
	const struct nn_pipe *p = plan->layout->pipe;
	size_t elements = 0;

	if (p->stage > 0)
		elements += p->nodes[p->bounds[p->stage]].elements;
	if (p->stage < p->stages - 1)
		elements += p->nodes[p->bounds[p->stage + 1]].elements;
	return m->slots * m->rows * 2 * elements * nn_dtype_size(plan->task->device->dtype);
}

/* Gathers of ranks that share columns, and a parameter whose squares are summed. */
static size_t column_bytes(const struct nn_plan *plan, const struct nn_step_options *o,
			   const struct nn_step_memory *m)
{
	struct nn_graph_options g = { .device = o->device,
				      .max_rows = m->rows,
				      .training = true,
				      .columns = o->columns,
				      .first = o->part.first,
				      .last = o->part.last };
	struct nn_graph_sharing sharing;

	return nn_graph_sharing(plan->task->program, &g, &sharing, NULL) < 0
		       ? 0
		       : sharing.host + m->graph.canonical;
}

/* Host memory through which goes what ranks exchange. */
static size_t exchanged_bytes(const struct nn_plan *plan, const struct nn_step_options *o,
			      const struct nn_step_memory *m)
{
	const struct nn_strategy *strategy = plan->layout->strategy;
	size_t size = nn_dtype_size(plan->task->device->dtype), bytes = 0;

	if (plan->layout->pipe)
		bytes += crossing_bytes(plan, m);
	if (o->columns)
		bytes += column_bytes(plan, o, m);
	if (nn_layout_n_sharers(plan->layout) < 2)
		return bytes;
	if (!strategy->whole) /* a block, and each of its sums (sync-messages.c, buckets.c) */
		bytes += (2 + nn_step_kept(o, o->rank)) * m->graph.block * size;
	if (strategy->whole || strategy->alone)
		bytes += m->graph.trained * size;
	return bytes;
}

/*
 * The data set stays there where it fits beside all else, and more than one epoch reads it; ranks
 * that share a device have rows sent. evaluated: rows of a call of the evaluator, which are read
 * there, too.
 */
static void keep_rows(const struct nn_plan *plan, const struct nn_step_options *step, size_t sent,
		      size_t evaluated, struct nn_fit *fit)
{
	const struct nn_task *task = plan->task;
	const size_t numbers = (2 * task->recipe->batch + evaluated) * sizeof(uint32_t),
		     bytes = nn_layout_ranks(plan->layout) > 1 || plan->layout->asked > 1 ||
					     task->rows_unknown || task->recipe->replay ||
					     task->planned <= task->steps_per_epoch
				     ? 0
				     : nn_step_resident_bytes(step);
	size_t there;

	if (bytes == 0 || !nn_add(fit->device - sent + numbers, bytes, &there) ||
	    there > fit->device_limit)
		return;
	fit->resident = bytes;
	fit->input += bytes + numbers - sent;
	fit->there.input += bytes + numbers - sent;
	fit->pinned += numbers - sent;
	fit->other += numbers - sent;
	fit->device = there;
}

void nn_fit_device(const struct nn_plan *plan, const struct nn_step_options *step,
		   const struct nn_step_memory *m, const struct nn_fit_beside *beside,
		   struct nn_fit *fit)
{
	const struct nn_program *p = plan->task->program;
	size_t batch = plan->task->recipe->batch, in = 0, out = 0, cargo;

	for (int i = 0; i < p->n_inputs; i++)
		in += of_value(plan, p->inputs[i]);
	for (int i = 0; i < p->n_outputs; i++)
		out += of_value(plan, p->outputs[i].value);
	/* two batches on their way (step-transfer.c), of which the items have the targets of one */
	cargo = 2 * ((m->graph.input ? batch * in : 0) + beside->targets);
	fit->pinned = cargo + m->rows * (in + (beside->targets ? out : 0)) +
		      beside->evaluated * (in + out) + BOUNCE_BYTES * (beside->evaluated ? 2 : 1) +
		      (m->graph.spilled ? NN_SPILL_PIECE : 0) + exchanged_bytes(plan, step, m);

	fit->input += cargo - beside->targets;
	fit->workspace += m->graph.canonical;
	fit->other += fit->pinned;
	fit->there.parameters = m->graph.parameters;
	fit->there.gradients = m->graph.gradients + m->partial;
	fit->there.optimizer = m->optimizer;
	fit->there.activations = m->graph.activations + beside->outputs;
	fit->there.workspace = m->graph.workspace + m->graph.derived + m->graph.canonical;
	fit->there.input = m->graph.input + cargo - beside->targets;
	fit->there.evaluation = beside->evaluator;
	fit->device = m->total + beside->outputs + beside->evaluator + cargo - beside->targets +
		      m->graph.canonical;
	fit->device_limit = plan->budget->device;
	keep_rows(plan, step, m->graph.input ? 2 * batch * in : 0, beside->evaluated, fit);
}
