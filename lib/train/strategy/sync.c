/* sync: every rank computes its leaves of each batch, and the sum along the tree of leaves is the
 * same on all: the bytes of one rank. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/ranks.h"
#include "train/strategy/tables.h"
#include "train/strategy/team.h"

struct nn_shard nn_team_shard(const struct nn_team *team, int r)
{
	if (team->master)
		return (struct nn_shard){ r == 0 ? 0 : team->elements,
					  r == 0 ? team->elements : 0 };
	return nn_shard_of(team->elements, r, team->comm->size);
}

void nn_sync_release(struct nn_train *t)
{
	struct nn_team *team = t->team;

	if (!team)
		return;
	if (team->way)
		team->way->close(team);
	nn_free(team->said);
	nn_free(team->sums);
	nn_free(team);
	t->team = NULL;
}

int nn_sync_prepare(struct nn_train *t, struct nn_step_options *options, struct nn_error *err)
{
	struct nn_comm *comm = nn_train_sharers(t);
	struct nn_team *team;
	struct nn_step_sizes sizes;

	if (comm->size == 1)
		return 0;
	if (nn_step_sizes(options, &sizes, err) < 0 ||
	    !(team = t->team = nn_alloc(1, sizeof *team, err)))
		return -1;
	team->comm = comm;
	team->master = t->strategy == &nn_strategy_master;
	team->sharded = t->options->shard_optimizer;
	team->elements = sizes.elements;
	team->size = nn_dtype_size(t->device->dtype);
	team->mine = nn_team_shard(team, comm->rank);
	team->said = nn_alloc((size_t)comm->size, sizeof *team->said, err);
	team->sums = nn_alloc((size_t)comm->size * NN_CUT_NODES, sizeof *team->sums, err);
	if (!team->said || !team->sums ||
	    (t->strategy == &nn_strategy_sync && nn_near_open(t, options, err) < 0))
		return -1;
	options->place = &team->place;
	return team->near ? 0 : nn_far_open(t, err);
}

static int sync_open(struct nn_train *t, struct nn_error *err)
{
	return t->team && t->team->way->open ? t->team->way->open(t, err) : 0;
}

int nn_sync_arrive(struct nn_train *t, struct nn_error *err)
{
	return t->team && t->team->way->arrive ? t->team->way->arrive(t, &t->comm_s, err) : 0;
}

static int sync_settle(struct nn_train *t, struct nn_error *err)
{
	if (nn_sync_arrive(t, err) < 0)
		return -1;
	return t->team && t->team->way->settle ? t->team->way->settle(t, err) : 0;
}

/* The sums of all ranks, in order of leaves. */
static void list_sums(struct nn_team *team, const struct nn_cut *cut)
{
	struct nn_cut_node nodes[NN_CUT_NODES];

	team->n_sums = 0;
	for (int r = 0; r < team->comm->size; r++) {
		size_t n = nn_cut_nodes(nn_cut_share(cut->n_leaves, r, team->comm->size), nodes);

		for (size_t i = 0; i < n; i++)
			team->sums[team->n_sums++] = (struct nn_team_sum){ nodes[i], r, i };
	}
}

/* What all said: wishes, parts of the noise, and whether the loss of each is finite; else where it
 * went wrong first. */
static void hear(const struct nn_said *said, int n, struct nn_noise_sums *noise,
		 struct nn_wish *wish, struct nn_step_result *result)
{
	memset(wish, 0, sizeof *wish);
	result->finite = true;
	result->bad_line = -1;
	nn_noise_clear(noise);
	for (int r = n; r-- > 0;) {
		struct nn_wish joined = said[r].wish;

		nn_noise_join(noise, &said[r].noise);
		nn_wish_join(&joined, wish);
		*wish = joined;
		if (said[r].finite)
			continue;
		result->finite = false;
		result->bad_line = said[r].bad_line;
	}
}

/* Ranks that sum gradients meet as a team; those that have parts of the network, which are of
 * several teams, hear of each other before. */
static int meet(struct nn_train *t, const struct nn_step_tables *tables, struct nn_wish *wish,
		struct nn_step_result *result, struct nn_error *err)
{
	struct nn_said mine, all[nn_train_in_parts(t) ? t->comm->size : 1];
	struct nn_team *team = t->team;
	double start = nn_now_s();

	memset(&mine, 0, sizeof mine);
	mine.wish = *wish;
	mine.finite = result->finite;
	mine.bad_line = result->bad_line;
	mine.compute_s = result->compute_s + result->input_s;
	mine.noise = *nn_step_parts(t->step);
	if (nn_train_in_parts(t)) {
		if (nn_comm_gather(t->comm, &mine, all, sizeof mine, err) < 0)
			return -1;
		result->wait_s += nn_now_s() - start;
	}
	if (team) {
		team->said[team->comm->rank] = mine;
		if (team->way->meet(t, tables, result, err) < 0)
			return -1;
	}
	hear(nn_train_in_parts(t) ? all : team->said, t->comm->size, nn_step_parts(t->step), wish,
	     result);
	return 0;
}

/* What columns exchanged was counted as computing. */
static int count_exchanges(struct nn_train *t, struct nn_step_result *result, struct nn_error *err)
{
	double seconds;
	int status = nn_tensor_settle(t, &seconds, err);

	result->comm_s += seconds;
	result->compute_s -= seconds;
	return status;
}

static int run(struct nn_train *t, uint64_t sample, struct nn_step_result *result,
	       struct nn_error *err)
{
	double waited = result->wait_s;
	int status = 0;

	if (t->pipe)
		status = nn_pipe_run(t, sample, result, err);
	else
		result->finite = nn_step_run(t->step, sample, result);
	result->wait_s += waited;
	if (t->team) {
		result->comm_s += t->team->coming_s;
		result->compute_s -= t->team->coming_s;
		t->team->coming_s = 0;
	}
	return status == 0 && t->tensor ? count_exchanges(t, result, err) : status;
}

static int update(struct nn_train *t, const struct nn_strategy_batch *b,
		  const struct nn_step_tables *tables, bool norm, struct nn_step_result *result,
		  struct nn_error *err)
{
	struct nn_team *team = t->team;
	int status;

	if (team && nn_tables_share(nn_step_graph(t->step), team->comm, tables->cut->n_leaves,
				    t->device->dtype, err) < 0)
		return -1;
	status = team ? team->way->update(t, b, norm, result, err)
		      : nn_step_update(t->step, b->number, b->lr, norm, result, err);
	return status == 0 && t->tensor ? count_exchanges(t, result, err) : status;
}

static int drop(struct nn_team *team, struct nn_error *err)
{
	return team && team->way->drop ? team->way->drop(team, err) : 0;
}

static int ranks_step(struct nn_train *t, const struct nn_strategy_batch *b, struct nn_wish *wish,
		      struct nn_step_result *result, struct nn_error *err)
{
	struct nn_team *team = t->team;
	struct nn_step_tables tables;

	*result = (struct nn_step_result){ 0 };
	nn_step_begin(t->step, b->rows, b->n, &tables);
	if (team)
		list_sums(team, tables.cut);
	if (team && team->way->weights(t, &tables, result, err) < 0)
		return -1;
	if (run(t, b->sample, result, err) < 0 || meet(t, &tables, wish, result, err) < 0)
		return -1;
	if (!result->finite)
		return drop(team, err) < 0 ? -1
		       : t->pipe           ? nn_pipe_blame(t, b->sample, result, err)
					   : 0;
	nn_step_finish(t->step, result);
	if (t->pipe && nn_pipe_result(t, result, err) < 0)
		return -1;
	if (!result->finite)
		return drop(team, err);
	return update(t, b, &tables, wish->norm, result, err);
}

static int sync_step(struct nn_train *t, const struct nn_strategy_batch *b, struct nn_wish *wish,
		     struct nn_step_result *result, struct nn_error *err)
{
	if (t->comm->size > 1)
		return ranks_step(t, b, wish, result, err);
	if (nn_step_gradient(t->step, b->rows, b->n, b->sample, result))
		return nn_step_update(t->step, b->number, b->lr, wish->norm, result, err);
	return 0;
}

const struct nn_strategy nn_strategy_sync = {
	.name = "sync",
	.prepare = nn_sync_prepare,
	.open = sync_open,
	.release = nn_sync_release,
	.step = sync_step,
	.settle = sync_settle,
};
