/*
 * master: sync as it was done before all-reduce, to compare with: the sums of all ranks go to rank
 * 0, which alone has the optimizer's state, makes the update and sends the parameters back to each.
 * The same bytes of the model; all traffic goes through one rank.
 */
#include <inttypes.h>

#include "parallel/sync-group.h"

static int master_prepare(struct nn_worker *w, struct nn_step_options *options,
			  struct nn_error *err)
{
	return nn_sync_prepare(w, options, err);
}

static int master_open(struct nn_worker *w, struct nn_error *err)
{
	return nn_strategy_sync.open(w, err);
}

static int master_step(struct nn_worker *w, const struct nn_strategy_update *u,
		       struct nn_control *control, struct nn_step_result *result,
		       struct nn_error *err)
{
	return nn_strategy_sync.step(w, u, control, result, err);
}

static int master_synchronize(struct nn_worker *w, struct nn_control *control, struct nn_error *err)
{
	return nn_strategy_sync.synchronize(w, control, err);
}

/* What went through rank 0, beside what goes through each rank where all of them add up a shard. */
static void master_close(struct nn_worker *w)
{
	uint64_t steps = w->counters->step - w->started_step,
		 ranks = (uint64_t)w->layout->comm->size;
	uint64_t block =
		nn_graph_block(nn_step_graph(w->step)) * nn_dtype_size(w->task->device->dtype);

	if (!w->team || w->layout->comm->rank > 0 || steps == 0)
		return;
	nn_worker_note(w,
		       "%" PRIu64 " bytes a step went through rank 0; with sync about %" PRIu64
		       " go through each of %" PRIu64 " ranks",
		       nn_comm_moved(w->layout->comm) / steps, 4 * (ranks - 1) * block / ranks,
		       ranks);
}

const struct nn_strategy nn_strategy_master = {
	.name = "master",
	.alike = true,
	.served = true,
	.messages = true,
	.prepare = master_prepare,
	.open = master_open,
	.close = master_close,
	.release = nn_sync_release,
	.step = master_step,
	.synchronize = master_synchronize,
};
