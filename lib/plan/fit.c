/* Memory planned before any of it is taken. */
#include "base/memory.h"
#include "plan/fit-inside.h"
#include "parallel/grid.h"
#include "parallel/step-options.h"
#include "predict/score/auc.h"
#include "step/output.h"

#define LATER_BYTES ((size_t)1 << 20) /* code that has not run yet, stacks, lists of the plan */
#define EVALUATED_ROWS 256            /* of a call of the evaluator */
#define AT(item) offsetof(struct nn_fit, item)

const struct nn_fit_name nn_fit_items[NN_FIT_ITEMS] = {
	{ "parameters", "as the kernels keep them", AT(parameters) },
	{ "gradients", "and partial sums that wait in the tree of leaves", AT(gradients) },
	{ "optimizer", "its state", AT(optimizer) },
	{ "activations_per_sample", "", AT(activations_per_sample) },
	{ "activations", "of the samples that are at work at once", AT(activations) },
	{ "workspace", "scratch of the kernels", AT(workspace) },
	{ "input", "the data in memory, and the samples of a step", AT(input) },
	{ "other", "the program, parameters for files, evaluation", AT(other) },
	{ "total", "the peak to expect", AT(total) },
	{ "limit", "--memory, or what the machine has for it", AT(limit) },
	{ "device", "of the items, on the device: not of the total", AT(device) },
	{ "device_limit", "what the device has", AT(device_limit) },
	{ "device_parameters", "of those on the device", AT(there.parameters) },
	{ "device_gradients", "", AT(there.gradients) },
	{ "device_optimizer", "", AT(there.optimizer) },
	{ "device_activations", "and targets, losses", AT(there.activations) },
	{ "device_workspace", "", AT(there.workspace) },
	{ "device_input", "the data set, or samples of two steps on their way", AT(there.input) },
	{ "device_evaluation", "its own parameters and activations", AT(there.evaluation) },
	{ "pinned", "of other: the host's side of copies to and from the device", AT(pinned) },
};

/* ---- what stands beside the step ---- */

/*
 * The rank that has all parameters for files, and evaluates: where ranks have parts of the network
 * the first.
 */
static bool is_first(const struct nn_plan *plan)
{
	if (!nn_layout_in_parts(plan->layout) || plan->layout->comm)
		return !nn_layout_in_parts(plan->layout) || plan->layout->comm->rank == 0;
	return (!plan->layout->pipe || plan->layout->pipe->stage == 0) &&
	       (!plan->layout->tensor || plan->layout->tensor->columns.rank == 0);
}

/* One that only evaluates, the first of another pipeline or group. */
static bool evaluates(const struct nn_plan *plan)
{
	return plan->layout->comm && !is_first(plan) &&
	       nn_layout_evaluates(plan->layout, plan->task->n_valid);
}

static size_t all_parameters(const struct nn_plan *plan)
{
	return nn_program_parameters(plan->task->program, false) *
	       nn_dtype_size(plan->task->device->dtype);
}

/*
 * Canonical parameters: those of the model and the best so far; of a state that will be written a
 * copy of both, and the slots.
 */
static size_t copies(const struct nn_plan *plan, const struct nn_step_options *step,
		     size_t parameters)
{
	size_t slots = nn_optimizer_count(&step->optimizer), live = 1 + (plan->budget->keeps_best);

	if (nn_layout_in_parts(plan->layout) && is_first(plan))
		parameters = all_parameters(plan);
	else if (plan->layout->pipe && plan->layout->tensor &&
		 plan->layout->tensor->columns.rank == 0) /* in which its stage comes together */
		parameters *= (size_t)nn_tensor_ranks(plan->layout);
	return parameters * (live + (plan->budget->keeps_state ? live + slots : 0)) +
	       (evaluates(plan) ? all_parameters(plan) : 0);
}

/* Rows of a call of the evaluator; 0: this rank has none. */
static size_t evaluated_rows(const struct nn_plan *plan)
{
	size_t n = (size_t)plan->task->n_valid;

	return is_first(plan) || evaluates(plan) ? (n < EVALUATED_ROWS ? n : EVALUATED_ROWS) : 0;
}

/* Scores of held-out rows of two classes, which are kept until they are all there. */
static size_t scores_bytes(const struct nn_plan *plan)
{
	const struct nn_task *task = plan->task;
	size_t bytes = 0;

	for (int i = 0; task->dataset && i < task->program->n_outputs; i++) {
		int value = task->program->outputs[i].value;

		if (nn_augment_classes(task->augment, task->dataset, (size_t)i) &&
		    nn_shape_count(&task->program->values[value].shape) == 2)
			bytes += nn_auc_bytes((size_t)task->n_valid);
	}
	return bytes;
}

/*
 * The evaluator's graph: parameters of its own, and rows without what backward would need; and what
 * its metrics keep.
 */
static int evaluator_bytes(const struct nn_plan *plan, size_t *bytes, struct nn_error *err)
{
	struct nn_graph_options g = { .device = plan->task->device, .pool = plan->task->pool };
	struct nn_graph_memory m;

	*bytes = 0;
	g.max_rows = evaluated_rows(plan);
	if (g.max_rows == 0)
		return 0;
	if (nn_graph_plan(plan->task->program, &g, &m, err) < 0)
		return -1;
	*bytes = m.parameters + m.activations + m.workspace + m.input + m.derived + m.canonical +
		 scores_bytes(plan);
	return 0;
}

/* Targets and losses of a batch, which the last stage has; of these the targets. */
static size_t outputs_bytes(const struct nn_plan *plan, const struct nn_step_part *part,
			    size_t *targets)
{
	size_t bytes = 0, batch = plan->task->recipe->batch, real, values;
	int n = part->stage < part->stages - 1 ? 0 : plan->task->program->n_outputs;

	*targets = 0;
	for (int i = 0; i < n; i++) {
		struct nn_train_output_size size = { plan->task->device->dtype, 0, false };

		values = nn_shape_count(
			&plan->task->program->values[plan->task->program->outputs[i].value].shape);
		real = nn_dtype_size(size.dtype);
		size.target_size = values;
		if (plan->task->dataset) {
			size.target_size = nn_augment_target_size(plan->task->augment,
								  plan->task->dataset, (size_t)i);
			size.classes = nn_augment_classes(plan->task->augment, plan->task->dataset,
							  (size_t)i);
		}
		*targets += batch * size.target_size * (size.classes ? sizeof(int32_t) : real);
		bytes += nn_train_output_bytes(&size, batch, plan->task->recipe->leaves);
	}
	return bytes;
}

/* batch 0: without batches that are read ahead of the steps. */
static size_t data_bytes(const struct nn_plan *plan, enum nn_dtype dtype, size_t batch)
{
	const struct nn_task *task = plan->task;
	size_t bytes = 0, all = task->n_rows + (task->held_out ? 0 : task->n_valid);

	if (task->dataset)
		bytes = nn_dataset_bytes(task->dataset,
					 task->rows_unknown ? nn_dataset_rows(task->dataset) : all,
					 batch, dtype);
	if (task->held_out)
		bytes += nn_dataset_bytes(task->held_out, task->n_valid, 0, dtype);
	return bytes + 8 * (size_t)((task->window ? 2 : 1) * task->n_rows + task->n_valid);
}

size_t nn_fit_data_bytes(const struct nn_plan *plan, enum nn_dtype dtype)
{
	return data_bytes(plan, dtype, plan->task->recipe->batch);
}

/*
 * What the process has besides its samples, before the step: of a training it is known once they
 * are there, when nothing is read ahead yet.
 */
static size_t program_bytes(const struct nn_plan *plan)
{
	size_t data = data_bytes(plan, plan->budget->loaded_dtype, 0);

	return LATER_BYTES + nn_fit_mpi_bytes(plan) +
	       (plan->budget->partly || !plan->task->dataset ? plan->budget->start_bytes
		: plan->budget->loaded_bytes > data          ? plan->budget->loaded_bytes - data
							     : 0);
}

/* ---- the plan ---- */

/* The scratch for norms is touched only where norms are asked for, */
static bool wants_norms(const struct nn_plan *plan, enum nn_optimizer_kind kind)
{
	bool logs = plan->task->logs && !plan->task->unmeasured &&
		    (!plan->layout->strategy->alone ||
		     (plan->layout->as.ranks ? plan->layout->as.rank == 0
					     : nn_layout_first(plan->layout)));

	return nn_optimizers[kind].ratio || plan->task->recipe->clip_norm > 0 || logs;
}

/* and the whole gradient lies in memory for them and for the noise in it. */
static bool wants_sum(const struct nn_plan *plan, enum nn_optimizer_kind kind)
{
	return wants_norms(plan, kind) ||
	       (!nn_layout_in_parts(plan->layout) && nn_layout_measures(plan->layout, plan->task));
}

static int plan_rank(const struct nn_plan *plan, size_t micro, struct nn_fit *fit,
		     struct nn_error *err)
{
	struct nn_step_options step = nn_layout_step(plan->layout, plan->task, micro);
	struct nn_step_memory m;
	struct nn_fit_beside beside = { .evaluated = evaluated_rows(plan) };
	size_t size = nn_dtype_size(plan->task->device->dtype);
	bool remote = plan->task->device->remote != NULL,
	     norms = remote || wants_norms(plan, step.optimizer.kind),
	     sum = remote || wants_sum(plan, step.optimizer.kind);

	if (nn_step_plan(&step, &m, err) < 0 || evaluator_bytes(plan, &beside.evaluator, err) < 0)
		return -1;
	beside.outputs = outputs_bytes(plan, &step.part, &beside.targets);
	fit->device = fit->device_limit = fit->pinned = 0;
	fit->micro = micro;
	fit->least = nn_step_least_rows(&step);
	fit->recompute = step.recompute;
	fit->offload = step.offload;
	fit->spilled = m.graph.spilled;
	fit->again_flops = m.graph.again_flops;
	fit->parameters = m.graph.parameters;
	fit->gradients = m.graph.gradients + m.partial;
	if (!sum && plan->layout->strategy->alike)
		fit->gradients -= m.untouched;
	fit->optimizer = m.optimizer - (sum ? 0 : m.graph.block * size);
	fit->activations_per_sample = m.graph.activations_per_row;
	fit->activations = m.graph.activations + beside.outputs;
	fit->workspace = m.graph.workspace + m.graph.derived;
	fit->input = m.graph.input + nn_fit_data_bytes(plan, plan->task->device->dtype);
	fit->other =
		program_bytes(plan) + copies(plan, &step, m.graph.parameters) + beside.evaluator;
	if (nn_fit_share(plan, &step, sum, norms, fit, err) < 0)
		return -1;
	fit->resident = 0;
	if (remote)
		nn_fit_device(plan, &step, &m, &beside, fit);
	fit->total = 0;
	for (size_t i = 0; nn_fit_items[i].offset < AT(total); i++)
		if (nn_fit_items[i].offset != AT(activations_per_sample) &&
		    !nn_add(fit->total, nn_fit_item(fit, i), &fit->total))
			return nn_fail(err, NN_ENOMEM, "the plan is larger than memory can be");
	fit->total -= fit->device;
	fit->limit = plan->budget->memory ? plan->budget->memory : plan->budget->machine;
	return 0;
}

size_t nn_fit_need(const struct nn_plan *plan, const struct nn_fit *fit)
{
	return plan->budget->memory ? fit->total : fit->host;
}

bool nn_fit_has_room(const struct nn_plan *plan, const struct nn_fit *fit)
{
	return nn_fit_need(plan, fit) <= fit->limit && fit->device <= fit->device_limit;
}

size_t nn_fit_peak(const struct nn_plan *plan)
{
	return plan->fit.total > plan->budget->highest_bytes ? plan->fit.total
							     : plan->budget->highest_bytes;
}

/*
 * The plan of a rank beside that of rank 0, which writes, and of the last, which has no fewer
 * leaves than any other.
 */
static int plan_host(const struct nn_plan *plan, size_t micro, struct nn_fit *fit,
		     struct nn_error *err)
{
	struct nn_layout layout = *plan->layout;
	struct nn_budget budget = *plan->budget;
	struct nn_plan other = { .task = plan->task, .layout = &layout, .budget = &budget };
	struct nn_fit first, last;

	fit->host = fit->total;
	if (layout.on_host < 2)
		return 0;
	layout.as.ranks = nn_layout_n_sharers(plan->layout);
	budget.keeps_state = is_first(plan) && budget.a_state;
	layout.as.rank = 0;
	if (plan_rank(&other, micro, &first, err) < 0)
		return -1;
	budget.keeps_state = false;
	layout.as.rank = layout.as.ranks - 1;
	if (plan_rank(&other, micro, &last, err) < 0)
		return -1;
	if (!plan->layout->comm)
		*fit = first.total > last.total ? first : last;
	nn_fit_host(plan, &first, &last, fit);
	return 0;
}

/* Of a plan for ranks that have parts of the network that of the one that takes most. */
int nn_fit_plan(const struct nn_plan *plan, size_t micro, struct nn_fit *fit, struct nn_error *err)
{
	struct nn_fit other;
	int parts = plan->layout->comm ? 1 : nn_layout_parts(plan->layout),
	    columns = nn_tensor_ranks(plan->layout);
	size_t host = 0, device = 0;
	uint64_t again = 0;
	size_t spilled = 0;

	for (int i = 0; i < parts; i++) {
		struct nn_fit *to = i == 0 ? fit : &other;

		if (parts > columns)
			plan->layout->pipe->stage = i / columns;
		if (parts > 1 && columns > 1)
			plan->layout->tensor->columns.rank = i % columns;
		if (plan_rank(plan, micro, to, err) < 0 || plan_host(plan, micro, to, err) < 0)
			return -1;
		host += to->host;
		device += to->device;
		again += to->again_flops;
		spilled += to->spilled;
		if (i > 0 && other.total > fit->total)
			*fit = other;
	}
	fit->host = host + (plan->layout->on_host > 1 ? fit->files : 0);
	fit->device = device;
	fit->again_flops = again;
	fit->spilled = spilled;
	fit->fits = nn_fit_has_room(plan, fit);
	return 0;
}
