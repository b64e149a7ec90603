/* What ranks exchange in a step, by layout and strategy. */
#include <limits.h>
#include <math.h>

#include "parallel/grid.h"
#include "parallel/step-options.h"
#include "plan/ranks.h"

static size_t param_bytes(const struct nn_plan *plan, const struct nn_program_param *param)
{
	return nn_shape_count(&param->desc.shape) * nn_dtype_size(plan->task->device->dtype);
}

/* Parameters of some lines that are trained, without tables; buffers too where they travel. */
static double bytes_of_lines(const struct nn_plan *plan, int first, int last, bool buffers)
{
	double sum = 0;

	for (int p = 0; p < plan->task->program->n_params; p++) {
		const struct nn_program_param *param = &plan->task->program->params[p];

		if (param->line >= first && param->line <= last &&
		    (buffers || param->desc.role != NN_BUFFER) && param->desc.role != NN_ROW_TABLE)
			sum += (double)param_bytes(plan, param);
	}
	return sum;
}

double nn_ranks_gradient_bytes(const struct nn_plan *plan)
{
	return bytes_of_lines(plan, 0, INT_MAX, false);
}

double nn_ranks_largest(const struct nn_plan *plan, int ranks)
{
	double leaves = (double)plan->task->recipe->leaves;

	return ceil(leaves / ranks) / leaves;
}

const char *nn_ranks_unknown(const struct nn_plan *plan)
{
	return nn_layout_in_parts(plan->layout)
		       ? "the time of a step is known once this training has run here"
		       : "the time of a step is known once this training has run here; --race "
			 "compares strategies";
}

/*
 * Sums of each rank's shard to it, and parameters of its shard to all; with a server the shard of
 * rank 0 is all. Sums are of subtrees: one a rank where the leaves divide evenly.
 */
static double summed_bytes(const struct nn_plan *plan, int ranks, double shard, double bytes)
{
	struct nn_step_options o = nn_layout_step(plan->layout, plan->task, 1);
	double own, others;

	o.rank = 0;
	o.ranks = ranks;
	own = 1 + (double)nn_step_kept(&o, 0);
	others = (double)nn_step_others(&o, 0);
	return bytes * ((others + ranks - 1) * shard + (own + 1) * (1 - shard));
}

/* Tables of embeddings as wholes. */
static double table_bytes(const struct nn_plan *plan)
{
	double sum = 0;

	for (int p = 0; p < plan->task->program->n_params; p++)
		if (plan->task->program->params[p].desc.role == NN_ROW_TABLE)
			sum += (double)param_bytes(plan, &plan->task->program->params[p]);
	return sum;
}

/* Entries of the gradients of tables: a row number, a leaf and values each. */
static double list_bytes(const struct nn_plan *plan, double samples)
{
	const struct nn_program *p = plan->task->program;
	double bytes = 0;

	for (int i = 0; i < p->n_nodes; i++) {
		const struct nn_node *node = &p->nodes[i];
		const struct nn_program_param *table = &p->params[node->param];

		if (node->n_params > 0 && table->desc.role == NN_ROW_TABLE)
			bytes += samples * (double)nn_shape_count(&p->values[node->in[0]].shape) *
				 ((double)table->desc.shape.dim[1] *
					  (double)nn_dtype_size(plan->task->device->dtype) +
				  2 * sizeof(uint32_t));
	}
	return bytes;
}

static double averages_in(uint64_t steps, uint64_t every)
{
	return (double)(steps / every + (steps % every > 0));
}

/*
 * Parameters and buffers are averaged each H steps and where an epoch or the training ends, slots
 * at these ends alone.
 */
static double averaged_bytes(const struct nn_plan *plan, int ranks)
{
	struct nn_step_options o = nn_layout_step(plan->layout, plan->task, 1);
	bool endless = plan->task->planned == UINT64_MAX || plan->task->planned == 0;
	uint64_t every = plan->layout->terms.every,
		 epoch = plan->task->rows_unknown ? UINT64_MAX : plan->task->steps_per_epoch,
		 steps = !endless              ? plan->task->planned
			 : epoch == UINT64_MAX ? every
					       : epoch,
		 rest = steps % epoch;
	double whole = (double)(steps / epoch),
	       averages = averages_in(rest, every) +
			  (whole > 0 ? whole * averages_in(epoch, every) : 0),
	       ends = endless && epoch == UINT64_MAX ? 0 : whole + (rest > 0);

	return 4.0 * (ranks - 1) / ranks *
	       (averages * (bytes_of_lines(plan, 0, INT_MAX, true) + table_bytes(plan)) +
		ends * (double)nn_optimizer_count(&o.optimizer) *
			(nn_ranks_gradient_bytes(plan) + table_bytes(plan))) /
	       (double)steps;
}

/* Ranks that have all of the network. */
static double whole_bytes(const struct nn_plan *plan, int ranks)
{
	const struct nn_strategy *strategy = plan->layout->strategy;
	double bytes = nn_ranks_gradient_bytes(plan), batch = (double)plan->task->recipe->batch;

	if (strategy->whole)
		return 2 * bytes + table_bytes(plan) + list_bytes(plan, batch);
	if (strategy->alone)
		return averaged_bytes(plan, ranks);
	/* each rank's entries go to all others */
	return summed_bytes(plan, ranks, strategy->served ? 1 : 1.0 / ranks, bytes) +
	       2 * (ranks - 1) * list_bytes(plan, batch / ranks);
}

/* Pipelines, or groups that have columns: they share a batch. */
static int sharers(int ranks, int parts)
{
	return ranks / parts > 1 ? ranks / parts : 1;
}

/* Activations to the second stage and gradients from there; what the first one sums. */
static double stage_bytes(const struct nn_plan *plan, int ranks)
{
	const struct nn_pipe *p = plan->layout->pipe;
	int pipelines = sharers(ranks, p->stages), first = INT_MAX, last = -1;
	double rows = (double)plan->task->recipe->batch / pipelines;
	double bytes = 2 * rows * (double)nn_dtype_size(plan->task->device->dtype) *
		       (double)p->nodes[p->bounds[1]].elements;

	for (int i = 0; i < p->bounds[1]; i++)
		if (p->nodes[i].line >= 0) {
			first = p->nodes[i].line < first ? p->nodes[i].line : first;
			last = p->nodes[i].line > last ? p->nodes[i].line : last;
		}
	return pipelines == 1 ? bytes
			      : bytes + summed_bytes(plan, pipelines, 1.0 / pipelines,
						     bytes_of_lines(plan, first, last, false));
}

static double column_bytes(const struct nn_plan *plan, int ranks)
{
	int columns = nn_tensor_ranks(plan->layout), groups = sharers(ranks, columns);
	struct nn_graph_options o = {
		.device = plan->task->device,
		.max_rows = plan->fit.micro,
		.max_leaves = plan->task->recipe->leaves,
		.training = true,
		.columns = &plan->layout->tensor->columns,
	};
	struct nn_graph_sharing s;
	double bytes;

	if (nn_graph_sharing(plan->task->program, &o, &s, NULL) < 0)
		return NAN;
	bytes = (double)plan->task->recipe->batch * nn_ranks_largest(plan, groups) * s.row_bytes +
		s.step_bytes;
	return groups == 1 ? bytes
			   : bytes + summed_bytes(plan, groups, 1.0 / groups,
						  nn_ranks_gradient_bytes(plan) / columns);
}

double nn_ranks_bytes(const struct nn_plan *plan, int ranks)
{
	if (ranks < 2 || (plan->layout->pipe && plan->layout->tensor))
		return NAN;
	return plan->layout->pipe     ? stage_bytes(plan, ranks)
	       : plan->layout->tensor ? column_bytes(plan, ranks)
				      : whole_bytes(plan, ranks);
}
