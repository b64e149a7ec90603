/*
 * --shard-optimizer: a rank keeps the slots of its shard alone; for states they come together.
 * Ranks of one host share them anyway.
 */
#include "parallel/pipeline.h"
#include "parallel/shard.h"
#include "parallel/sync-group.h"
#include "parallel/tensor.h"

int nn_shard_ranks(const struct nn_layout *l)
{
	const struct nn_comm *comm = nn_layout_sharers(l);
	uint64_t ranks = l->asked / (uint64_t)nn_layout_parts(l);

	if (comm)
		return comm->size;
	return ranks > 1 ? (int)ranks : 1;
}

static int gather(void *arg, void *block, struct nn_error *err)
{
	struct nn_worker *w = arg;

	return nn_sync_all_gather(w->team, block, &w->comm_s, err);
}

void nn_shard_attach(struct nn_worker *w)
{
	struct nn_optimizer_ranks ranks = { .arg = w,
					    .squares = w->layout->pipe ? nn_pipe_squares : NULL,
					    .cut = w->layout->tensor ? nn_tensor_squares : NULL };

	if (w->layout->options->shard_optimizer && w->team && !nn_sync_is_shared(w)) {
		ranks.gather = gather;
		ranks.from = w->team->mine.from;
		ranks.to = ranks.from + w->team->mine.n;
	}
	nn_optimizer_join(nn_step_optimizer(w->step), &ranks);
}
