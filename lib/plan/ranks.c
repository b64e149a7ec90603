/* What ranks exchange in a step, by strategy, and how long a step of sync takes. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "plan/ranks.h"
#include "comm/link.h"
#include "parallel/pipeline.h"
#include "parallel/step-options.h"
#include "parallel/strategy.h"
#include "parallel/tensor.h"
#include "plan/plan.h"

/*
 * Numbers that every rank has: parameters that are trained, of some lines; buffers too where they
 * travel.
 */
static double numbers(const struct nn_plan *plan, int first, int last, bool buffers)
{
	double sum = 0;

	for (int p = 0; p < plan->task->program->n_params; p++) {
		const struct nn_program_param *param = &plan->task->program->params[p];

		if (param->line >= first && param->line <= last &&
		    (buffers || param->desc.role != NN_BUFFER) && param->desc.role != NN_ROW_TABLE)
			sum += (double)nn_shape_count(&param->desc.shape);
	}
	return sum * (double)nn_dtype_size(plan->task->device->dtype);
}

static double all_numbers(const struct nn_plan *plan, bool buffers)
{
	return numbers(plan, 0, INT_MAX, buffers);
}

double nn_ranks_gradient_bytes(const struct nn_plan *plan)
{
	return all_numbers(plan, false);
}

static double slots(const struct nn_plan *plan)
{
	struct nn_step_options o = nn_layout_step(plan->layout, plan->task, 1);

	return (double)nn_optimizer_count(&o.optimizer);
}

/* Sums of subtrees that rank 0 has, and the others: one each where the leaves divide evenly. */
static void sums(const struct nn_plan *plan, int ranks, double *own, double *others)
{
	struct nn_step_options o = nn_layout_step(plan->layout, plan->task, 1);

	o.rank = 0;
	o.ranks = ranks;
	*own = 1 + (double)nn_step_kept(&o, 0);
	*others = (double)nn_step_others(&o, 0);
}

/*
 * Sums of each rank's shard to it, and parameters of its shard to all; of master the shard of rank
 * 0 is all.
 */
static double summed_bytes(const struct nn_plan *plan, int ranks, double shard, double bytes)
{
	double own, others;

	sums(plan, ranks, &own, &others);
	return others * shard * bytes + own * (1 - shard) * bytes + (ranks - 1) * shard * bytes +
	       (1 - shard) * bytes;
}

/* Tables of embeddings as wholes. */
static double table_bytes(const struct nn_task *t)
{
	double sum = 0;

	for (int p = 0; p < t->program->n_params; p++)
		if (t->program->params[p].desc.role == NN_ROW_TABLE)
			sum += (double)nn_shape_count(&t->program->params[p].desc.shape);
	return sum * (double)nn_dtype_size(t->device->dtype);
}

/* Entries of the gradients of tables: a row number, a leaf and values each. */
static double list_bytes(const struct nn_task *t, double samples)
{
	const struct nn_program *p = t->program;
	double bytes = 0;

	for (int i = 0; i < p->n_nodes; i++) {
		const struct nn_node *node = &p->nodes[i];
		const struct nn_program_param *table = &p->params[node->param];

		if (node->n_params > 0 && table->desc.role == NN_ROW_TABLE)
			bytes += samples * (double)nn_shape_count(&p->values[node->in[0]].shape) *
				 ((double)table->desc.shape.dim[1] *
					  (double)nn_dtype_size(t->device->dtype) +
				  2 * sizeof(uint32_t));
	}
	return bytes;
}

/* ---- ranks that have all of the network ---- */

double nn_ranks_sync_seconds(const struct nn_plan *plan, const struct nn_rank_rate *r,
			     const struct nn_link *link, int ranks, int sharing)
{
	return nn_rank_rate_share(plan, r, ranks, sharing) +
	       nn_link_seconds(link, ranks, nn_ranks_gradient_bytes(plan));
}

/* Parameters, buffers and slots are averaged each H steps, and at the end of an epoch. */
static double local_bytes(const struct nn_plan *plan, int ranks)
{
	double bytes = all_numbers(plan, true) + slots(plan) * all_numbers(plan, false) +
		       (1 + slots(plan)) * table_bytes(plan->task);
	uint64_t epoch =
		plan->task->rows_unknown ? plan->layout->terms.every : plan->task->steps_per_epoch;

	return 4.0 * (ranks - 1) / ranks * bytes * (double)(epoch / plan->layout->terms.every) /
	       (double)epoch;
}

static double bytes_of(const struct nn_plan *plan, const struct nn_strategy *strategy, int ranks)
{
	double bytes = all_numbers(plan, false), batch = (double)plan->task->recipe->batch;

	if (strategy->whole)
		return ranks > 1
			       ? 2 * bytes + table_bytes(plan->task) + list_bytes(plan->task, batch)
			       : 0;
	if (strategy->alone)
		return local_bytes(plan, ranks);
	/* each rank's entries go to all others */
	return summed_bytes(plan, ranks, strategy->served ? 1 : 1.0 / ranks, bytes) +
	       2 * (ranks - 1) * list_bytes(plan->task, batch / ranks);
}

/* ---- ranks that have stages ---- */

static size_t micro_batches(const struct nn_plan *plan, size_t rows)
{
	size_t micro = plan->fit.micro && plan->fit.micro < rows ? plan->fit.micro : rows;

	return (rows + micro - 1) / micro;
}

/* The lines of the model between two nodes. */
static void lines(const struct nn_pipe *p, int stage, int *first, int *last)
{
	*first = INT_MAX;
	*last = -1;
	for (int i = p->bounds[stage]; i < p->bounds[stage + 1]; i++)
		if (p->nodes[i].line >= 0) {
			*first = p->nodes[i].line < *first ? p->nodes[i].line : *first;
			*last = p->nodes[i].line > *last ? p->nodes[i].line : *last;
		}
}

static void pipeline(const struct nn_plan *plan, int ranks, struct nn_ranks_estimate *e)
{
	const struct nn_pipe *p = plan->layout->pipe;
	int pipelines = ranks / p->stages > 1 ? ranks / p->stages : 1, first, last;
	double rows = (double)plan->task->recipe->batch / pipelines, all = 0, most = 0;

	for (int s = 0; s < p->stages; s++) {
		double cost = 0;

		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		all += cost;
		most = fmax(most, cost);
	}
	e->busiest = most / all;
	e->idle = nn_pipeline_idle(p->schedule, p->stages, micro_batches(plan, (size_t)ceil(rows)));
	e->bytes = 2 * rows * (double)nn_dtype_size(plan->task->device->dtype) *
		   (double)p->nodes[p->bounds[1]].elements;
	lines(p, 0, &first, &last);
	if (pipelines > 1)
		e->bytes += summed_bytes(plan, pipelines, 1.0 / pipelines,
					 numbers(plan, first, last, false));
}

/* ---- ranks that have columns ---- */

static void tensor(const struct nn_plan *plan, int ranks, struct nn_ranks_estimate *e)
{
	int columns = nn_tensor_ranks(plan->layout),
	    groups = ranks / columns > 1 ? ranks / columns : 1;
	struct nn_graph_options o = {
		.device = plan->task->device,
		.max_rows = plan->fit.micro,
		.max_leaves = plan->task->recipe->leaves,
		.training = true,
		.columns = &plan->layout->tensor->columns,
	};
	struct nn_graph_sharing s;

	if (nn_graph_sharing(plan->task->program, &o, &s, NULL) < 0)
		return;
	e->bytes = (double)plan->task->recipe->batch * nn_rank_rate_largest(plan, groups) *
			   s.row_bytes +
		   s.step_bytes;
	if (groups > 1)
		e->bytes += summed_bytes(plan, groups, 1.0 / groups,
					 all_numbers(plan, false) / columns);
}

/* ---- whatever they are ---- */

void nn_ranks_estimate(const struct nn_plan *plan, const struct nn_rank_rate *r, int ranks,
		       int sharing, struct nn_ranks_estimate *e)
{
	const struct nn_strategy *strategy = plan->layout->strategy;
	bool parts = nn_layout_in_parts(plan->layout), sync = !parts && strategy->parts;

	*e = (struct nn_ranks_estimate){ .step_s = NAN, .bytes = NAN, .busiest = NAN, .idle = NAN };
	if (plan->layout->pipe && !plan->layout->tensor)
		pipeline(plan, ranks, e);
	else if (plan->layout->tensor && !plan->layout->pipe)
		tensor(plan, ranks, e);
	else if (!parts)
		e->bytes = bytes_of(plan, strategy, ranks);
	if (sync)
		e->step_s = nn_ranks_sync_seconds(plan, r, &r->link, ranks, sharing);
	if (!sync)
		snprintf(e->basis, sizeof e->basis,
			 "the time of a step is known once this training has run here%s",
			 parts ? "" : "; --race compares strategies");
	else if (isnan(e->step_s))
		snprintf(e->basis, sizeof e->basis,
			 "how long a step of one rank takes is not known here");
	else
		snprintf(e->basis, sizeof e->basis, "a step of one rank; what ranks cost %s",
			 r->link.ranks == 0 ? "is an estimate" : "was measured here");
}
