/* The step of a task on a layout: which leaves, stage, columns and shard are this rank's. */
#include "parallel/grid.h"
#include "parallel/shard.h"
#include "parallel/step-options.h"

bool nn_layout_measures(const struct nn_layout *l, const struct nn_task *t)
{
	return (t->logs || t->notes) && !t->unmeasured && l->strategy->measures;
}

struct nn_step_options nn_layout_step(const struct nn_layout *l, const struct nn_task *t,
				      size_t micro)
{
	const struct nn_recipe *r = t->recipe;
	bool whole = l->strategy->whole;
	const struct nn_comm *comm = whole || l->as.ranks > 0 ? NULL : nn_layout_sharers(l);
	int rank = comm    ? comm->rank
		   : whole ? 0
			   : l->as.rank,
	    ranks = comm                        ? comm->size
		    : !whole && l->as.ranks > 0 ? l->as.ranks
						: 1;

	return (struct nn_step_options){
		.device = t->device,
		.pool = t->pool,
		.program = t->program,
		.dataset = t->dataset,
		.augment = t->augment,
		.rows = t->n_rows ? t->n_rows : r->batch,
		.batch = r->batch,
		.leaves = r->leaves,
		.micro = micro,
		.losses = t->losses,
		.weights = t->shares,
		.optimizer = nn_recipe_optimizer(r),
		.rank = rank,
		.ranks = ranks,
		.statistics = whole,
		.part = nn_pipe_part(l->pipe),
		.columns = l->tensor ? &l->tensor->columns : NULL,
		.shard = rank,
		.shards = l->options->shard_optimizer ? nn_shard_ranks(l) : 0,
		.seed = t->seed,
		.goes_on = r->stateful,
		.recompute = r->recompute,
		.offload = r->offload,
		.offload_folder = r->offload_folder,
		.noise = nn_layout_measures(l, t),
		.count = t->n_valid == 0 && !nn_augment_mixes(t->augment),
		.target = t->schema ? &t->schema->targets[0] : NULL,
	};
}
