/*
 * master: sync as it was done before all-reduce, to compare with: the sums of all ranks go to rank
 * 0, which alone has the optimizer's state, makes the update and sends the parameters back to each.
 * The same bytes of the model; all traffic goes through one rank.
 */
#include <inttypes.h>

#include "train/checkpoint.h"
#include "train/strategy/team.h"

static int master_prepare(struct nn_train *t, struct nn_step_options *options, struct nn_error *err)
{
	return nn_sync_prepare(t, options, err);
}

static int master_open(struct nn_train *t, struct nn_error *err)
{
	return nn_strategy_sync.open(t, err);
}

static int master_step(struct nn_train *t, const struct nn_strategy_batch *b, struct nn_wish *wish,
		       struct nn_step_result *result, struct nn_error *err)
{
	return nn_strategy_sync.step(t, b, wish, result, err);
}

static int master_settle(struct nn_train *t, struct nn_error *err)
{
	return nn_strategy_sync.settle(t, err);
}

/* What went through rank 0, beside what goes through each rank where all of them add up a shard. */
static void master_close(struct nn_train *t)
{
	uint64_t steps = t->counters.step - t->started_step, ranks = (uint64_t)t->comm->size;
	uint64_t block = nn_graph_block(nn_step_graph(t->step)) * nn_dtype_size(t->device->dtype);

	if (!t->team || t->comm->rank > 0 || steps == 0)
		return;
	nn_train_note(t,
		      "%" PRIu64 " bytes a step went through rank 0; with sync about %" PRIu64
		      " go through each of %" PRIu64 " ranks",
		      nn_comm_moved(t->comm) / steps, 4 * (ranks - 1) * block / ranks, ranks);
}

const struct nn_strategy nn_strategy_master = {
	.name = "master",
	.prepare = master_prepare,
	.open = master_open,
	.close = master_close,
	.release = nn_sync_release,
	.step = master_step,
	.settle = master_settle,
};
