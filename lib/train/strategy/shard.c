/* --shard-optimizer: a rank keeps the slots of its shard alone; for states they come together.
 * Ranks of one host share them anyway. */
#include "train/ranks.h"
#include "train/strategy/team.h"

int nn_shard_ranks(const struct nn_train *t)
{
	const struct nn_comm *comm = nn_train_sharers(t);
	uint64_t ranks = t->setup.ranks / (t->pipe ? (uint64_t)t->pipe->stages : 1) /
			 (uint64_t)nn_tensor_ranks(t);

	if (comm)
		return comm->size;
	return ranks > 1 ? (int)ranks : 1;
}

static int gather(void *train, void *block, struct nn_error *err)
{
	struct nn_train *t = train;

	return nn_far_gather(t->team, block, &t->comm_s, err);
}

int nn_shard_attach(struct nn_train *t, struct nn_error *err)
{
	struct nn_optimizer_ranks ranks = { .arg = t,
					    .squares = t->pipe ? nn_pipe_squares : NULL,
					    .cut = t->tensor ? nn_tensor_squares : NULL };

	if (t->options->shard_optimizer && t->team && !nn_near(t)) {
		ranks.gather = gather;
		ranks.from = t->team->mine.from;
		ranks.to = ranks.from + t->team->mine.n;
	}
	return ranks.squares || ranks.cut || ranks.gather
		       ? nn_optimizer_join(nn_step_optimizer(t->step), &ranks, err)
		       : 0;
}
