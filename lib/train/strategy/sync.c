/* sync: every rank computes its leaves of each batch, and the sum along the tree of leaves is the same on all: the bytes of one rank. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/job.h"
#include "train/strategy/tables.h"

#define BLOCK 4096                   /* elements: shards are whole blocks */

struct nn_team {
	struct nn_comm *comm;
	struct nn_message *sends, *receives;
	size_t n_sends, n_receives;
	char *room;                  /* pieces of other ranks' sums */
	size_t most;                 /* messages there is room for */
};

/* ---- pieces of a block ---- */

struct piece {
	size_t from, n;              /* elements */
};

/* The shard of the flat block that rank r of n adds up. */
static struct piece shard(size_t block, int r, int n)
{
	size_t blocks = (block + BLOCK - 1) / BLOCK, from = blocks * (size_t)r / (size_t)n * BLOCK;
	size_t to = blocks * ((size_t)r + 1) / (size_t)n * BLOCK;

	to = to < block ? to : block;
	return (struct piece){ from < to ? from : to, to > from ? to - from : 0 };
}

/* ---- small tables ---- */

static void begin(struct nn_team *team)
{
	team->n_sends = team->n_receives = 0;
}

static void send(struct nn_team *team, int peer, void *data, size_t bytes)
{
	team->sends[team->n_sends++] = (struct nn_message){ peer, data, bytes };
}

static void receive(struct nn_team *team, int peer, void *data, size_t bytes)
{
	team->receives[team->n_receives++] = (struct nn_message){ peer, data, bytes };
}

static int exchange(struct nn_team *team, struct nn_error *err)
{
	return nn_comm_exchange(team->comm, team->sends, team->n_sends, team->receives, team->n_receives, err);
}

/* A table by leaf, or by group of batch norm: every rank's rows to all; first[r] is the first of rank r. */
static int share_rows(struct nn_team *team, const struct nn_cut *cut, bool groups, void *table, size_t bytes, struct nn_error *err)
{
	struct nn_comm *c = team->comm;

	begin(team);
	for (int r = 0; r < c->size; r++) {
		struct nn_cut_run mine = nn_cut_share(cut->n_leaves, c->rank, c->size), theirs = nn_cut_share(cut->n_leaves, r, c->size);

		if (r == c->rank)
			continue;
		if (groups) {
			mine = (struct nn_cut_run){ cut->group_of_leaf[mine.from], cut->group_of_leaf[mine.to] };
			theirs = (struct nn_cut_run){ cut->group_of_leaf[theirs.from], cut->group_of_leaf[theirs.to] };
		}
		send(team, r, (char *)table + mine.from * bytes, (mine.to - mine.from) * bytes);
		receive(team, r, (char *)table + theirs.from * bytes, (theirs.to - theirs.from) * bytes);
	}
	return exchange(team, err);
}

/* ---- the sum of the gradients ---- */

/* Every rank's sums of this rank's shard; where[k] is that of the k-th subtree. */
static int collect(struct nn_train *t, const struct nn_cut *cut, const struct nn_cut_node *nodes, char **where, struct nn_error *err)
{
	struct nn_team *team = t->team;
	struct nn_comm *c = team->comm;
	size_t block = nn_graph_block(nn_step_graph(t->step)), size = nn_dtype_size(t->device->dtype), k = 0;
	struct piece mine = shard(block, c->rank, c->size);
	char *room = team->room;

	begin(team);
	for (int r = 0; r < c->size; r++) {
		size_t n = nn_cut_nodes(nn_cut_share(cut->n_leaves, r, c->size), (struct nn_cut_node *)nodes + k);

		for (size_t i = 0; i < n; i++, k++) {
			if (r == c->rank) {
				where[k] = (char *)nn_step_sum(t->step, i) + mine.from * size;
				for (int to = 0; to < c->size; to++) {
					struct piece p = shard(block, to, c->size);

					if (to != c->rank)
						send(team, to, (char *)nn_step_sum(t->step, i) + p.from * size, p.n * size);
				}
			} else {
				where[k] = room;
				receive(team, r, room, mine.n * size);
				room += mine.n * size;
			}
		}
	}
	return exchange(team, err);
}

/* The shards back to all. */
static int gather(struct nn_train *t, char *block, struct nn_error *err)
{
	struct nn_team *team = t->team;
	struct nn_comm *c = team->comm;
	size_t n = nn_graph_block(nn_step_graph(t->step)), size = nn_dtype_size(t->device->dtype);
	struct piece mine = shard(n, c->rank, c->size);

	begin(team);
	for (int r = 0; r < c->size; r++) {
		struct piece theirs = shard(n, r, c->size);

		if (r == c->rank)
			continue;
		send(team, r, block + mine.from * size, mine.n * size);
		receive(team, r, block + theirs.from * size, theirs.n * size);
	}
	return exchange(team, err);
}

static int sum_gradients(struct nn_train *t, const struct nn_cut *cut, struct nn_error *err)
{
	struct nn_comm *c = t->team->comm;
	size_t size = nn_dtype_size(t->device->dtype), n_nodes = 0, depth = 0;
	struct nn_cut_node nodes[NN_CUT_NODES];
	struct piece mine = shard(nn_graph_block(nn_step_graph(t->step)), c->rank, c->size);
	char *gradients = nn_graph_gradients(nn_step_graph(t->step)), *where[NN_CUT_NODES], *stack[NN_CUT_NODES];

	for (int r = 0; r < c->size; r++)
		n_nodes += nn_cut_nodes(nn_cut_share(cut->n_leaves, r, c->size), nodes + n_nodes);
	if (collect(t, cut, nodes, where, err) < 0)
		return -1;
	/* the right half goes to where it was computed, the left one is added: as one rank does */
	for (size_t k = 0; k < n_nodes; k++) {
		char *sum = where[k];

		for (size_t node = nodes[k].node; node & 1; node >>= 1)
			t->device->add(sum, stack[--depth], mine.n, t->pool);
		stack[depth++] = sum;
	}
	if (stack[0] != gradients + mine.from * size)
		memcpy(gradients + mine.from * size, stack[0], mine.n * size);
	if (gather(t, gradients, err) < 0)
		return -1;
	return nn_tables_share(nn_step_graph(t->step), c, cut->n_leaves, t->device->dtype, err);
}

/* ---- the hooks ---- */

static void sync_close(struct nn_train *t)
{
	if (!t->team)
		return;
	nn_free(t->team->sends);
	nn_free(t->team->receives);
	nn_free(t->team->room);
	nn_free(t->team);
	t->team = NULL;
}

static int sync_open(struct nn_train *t, struct nn_error *err)
{
	struct nn_comm *c = t->pipe ? t->pipe->side : t->comm;
	struct nn_team *team;
	struct piece mine;

	if (t->comm->size == 1)
		return 0;
	team = t->team = nn_alloc(1, sizeof *team, err);
	if (!team)
		return -1;
	mine = shard(nn_graph_block(nn_step_graph(t->step)), c->rank, c->size);
	team->comm = c;
	team->most = (size_t)c->size * NN_CUT_NODES;
	team->sends = nn_alloc(team->most, sizeof *team->sends, err);
	team->receives = nn_alloc(team->most, sizeof *team->receives, err);
	team->room = nn_alloc(NN_CUT_NODES * mine.n, nn_dtype_size(t->device->dtype), err);
	return team->sends && team->receives && team->room ? 0 : -1;
}

/* What each rank says of its step. */
struct said {
	struct nn_wish wish;
	bool finite;
	int bad_line;
	struct nn_noise_sums noise;
};

static int agree(struct nn_train *t, struct nn_wish *wish, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_comm *c = t->comm;
	struct said mine = { *wish, result->finite, result->bad_line, *nn_step_parts(t->step) }, all[c->size];

	memset(wish, 0, sizeof *wish);
	if (nn_comm_gather(c, &mine, all, sizeof mine, err) < 0)
		return -1;
	result->finite = true;
	nn_noise_clear(nn_step_parts(t->step));
	for (int r = c->size; r-- > 0;) {
		struct nn_wish joined = all[r].wish;

		nn_noise_join(nn_step_parts(t->step), &all[r].noise);
		nn_wish_join(&joined, wish);
		*wish = joined;
		if (all[r].finite)
			continue;
		result->finite = false;
		result->bad_line = all[r].bad_line;
	}
	return 0;
}

static int sync_step(struct nn_train *t, const struct nn_strategy_batch *b, struct nn_wish *wish, struct nn_step_result *result,
		     struct nn_error *err)
{
	struct nn_step_tables tables;
	double start;

	if (t->comm->size == 1) {
		if (nn_step_gradient(t->step, b->rows, b->n, b->sample, result))
			return nn_step_update(t->step, b->number, b->lr, wish->norm, result, err);
		return 0;
	}
	nn_step_begin(t->step, b->rows, b->n, &tables);
	if (tables.weighs && share_rows(t->team, tables.cut, false, tables.weights, tables.n_weights * sizeof(double), err) < 0)
		return -1;
	if (!t->pipe)
		result->finite = nn_step_run(t->step, b->sample, result);
	else if (nn_pipe_run(t, b->sample, result, err) < 0)
		return -1;
	start = nn_now_s();
	if (agree(t, wish, result, err) < 0)
		return -1;
	result->wait_s += nn_now_s() - start;
	if (!result->finite)
		return t->pipe ? nn_pipe_blame(t, b->sample, result, err) : 0;
	if (share_rows(t->team, tables.cut, false, tables.figures, tables.n_figures * sizeof(double), err) < 0 ||
	    (tables.statistics && share_rows(t->team, tables.cut, true, tables.statistics, tables.statistics_bytes, err) < 0))
		return -1;
	nn_step_finish(t->step, result);
	if (t->pipe && nn_pipe_result(t, result, err) < 0)
		return -1;
	if (!result->finite)
		return 0;
	start = nn_now_s();
	if (sum_gradients(t, tables.cut, err) < 0)
		return -1;
	result->comm_s = nn_now_s() - start;
	return nn_step_update(t->step, b->number, b->lr, wish->norm, result, err);
}

const struct nn_strategy nn_strategy_sync = { .name = "sync", .open = sync_open, .close = sync_close, .step = sync_step };
