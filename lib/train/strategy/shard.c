/* Shards of the optimizer: whole blocks of 4096 elements of the flat block; after an update everyone gets the others' parameters. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "train/strategy/team.h"

static struct nn_comm *sharers(const struct nn_train *t)
{
	return t->pipe ? t->pipe->side : t->comm;
}

int nn_shard_ranks(const struct nn_train *t)
{
	const struct nn_comm *comm = sharers(t);
	char text[32];
	uint64_t ranks = 1;

	if (comm)
		return comm->size;
	if (!t->setup.list || !nn_opt_text(t->setup.list, "ranks", text, sizeof text) || !nn_parse_u64(text, strlen(text), &ranks))
		ranks = 1;
	ranks /= t->pipe ? (uint64_t)t->pipe->stages : 1;
	return ranks > 1 ? (int)ranks : 1;
}

/* Each rank's shard of a block to all others. */
static int gather(void *train, void *block, struct nn_error *err)
{
	struct nn_train *t = train;
	struct nn_comm *c = sharers(t);
	size_t size = nn_dtype_size(t->device->dtype), n = nn_graph_block(nn_step_graph(t->step)), k = 0;
	struct nn_optimizer_shard mine = nn_optimizer_shard(n, c->rank, c->size);
	struct nn_message *sends = nn_comm_scratch(c, 2 * (size_t)c->size * sizeof *sends, err), *receives;

	if (!sends)
		return -1;
	receives = sends + c->size;
	for (int r = 0; r < c->size; r++) {
		struct nn_optimizer_shard theirs = nn_optimizer_shard(n, r, c->size);

		if (r == c->rank)
			continue;
		sends[k] = (struct nn_message){ r, (char *)block + mine.from * size, (mine.to - mine.from) * size };
		receives[k++] = (struct nn_message){ r, (char *)block + theirs.from * size, (theirs.to - theirs.from) * size };
	}
	return nn_comm_exchange(c, sends, k, receives, k, err);
}

int nn_shard_attach(struct nn_train *t, struct nn_error *err)
{
	struct nn_optimizer_ranks ranks = { .arg = t, .squares = t->pipe ? nn_pipe_squares : NULL };
	const struct nn_comm *c = sharers(t);

	if (t->options->shard_optimizer && c && c->size > 1 && !nn_near(t)) {
		struct nn_optimizer_shard mine = nn_optimizer_shard(nn_graph_block(nn_step_graph(t->step)), c->rank, c->size);

		ranks.gather = gather;
		ranks.from = mine.from;
		ranks.to = mine.to;
	}
	return ranks.squares || ranks.gather ? nn_optimizer_join(nn_step_optimizer(t->step), &ranks, err) : 0;
}
