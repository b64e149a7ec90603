/* Ranks that have messages alone: sums of a shard go to its owner, who adds them up and updates it; parameters come back. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/strategy/team.h"

struct nn_far {
	struct nn_message *sends, *receives;
	size_t n_sends, n_receives;
	char *room;                  /* sums of other ranks, of the own shard */
};

/* ---- messages ---- */

static void send(struct nn_far *far, int peer, const void *data, size_t bytes)
{
	far->sends[far->n_sends++] = (struct nn_message){ peer, (void *)data, bytes };
}

static void receive(struct nn_far *far, int peer, void *data, size_t bytes)
{
	far->receives[far->n_receives++] = (struct nn_message){ peer, data, bytes };
}

static int exchange(struct nn_team *team, double *seconds, struct nn_error *err)
{
	struct nn_far *far = team->far;
	double start = nn_now_s();
	int status = nn_comm_exchange(team->comm, far->sends, far->n_sends, far->receives, far->n_receives, err);

	far->n_sends = far->n_receives = 0;
	*seconds += nn_now_s() - start;
	return status;
}

/* Rows of a table by leaf, or by group of batch norm: every rank's to all. */
static void put_rows(struct nn_team *team, const struct nn_cut *cut, bool groups, void *table, size_t bytes)
{
	struct nn_comm *c = team->comm;

	for (int r = 0; r < c->size; r++) {
		struct nn_cut_run mine = nn_cut_share(cut->n_leaves, c->rank, c->size), theirs = nn_cut_share(cut->n_leaves, r, c->size);

		if (r == c->rank)
			continue;
		if (groups) {
			mine = (struct nn_cut_run){ cut->group_of_leaf[mine.from], cut->group_of_leaf[mine.to] };
			theirs = (struct nn_cut_run){ cut->group_of_leaf[theirs.from], cut->group_of_leaf[theirs.to] };
		}
		send(team->far, r, (char *)table + mine.from * bytes, (mine.to - mine.from) * bytes);
		receive(team->far, r, (char *)table + theirs.from * bytes, (theirs.to - theirs.from) * bytes);
	}
}

int nn_far_gather(struct nn_team *team, void *block, double *seconds, struct nn_error *err)
{
	for (int r = 0; r < team->comm->size; r++) {
		struct nn_shard theirs = nn_team_shard(team, r);

		if (r == team->comm->rank)
			continue;
		send(team->far, r, (char *)block + team->mine.from * team->size, team->mine.n * team->size);
		receive(team->far, r, (char *)block + theirs.from * team->size, theirs.n * team->size);
	}
	return exchange(team, seconds, err);
}

/* ---- a step ---- */

static int far_weights(struct nn_train *t, const struct nn_step_tables *tables, struct nn_step_result *result, struct nn_error *err)
{
	if (!tables->weighs)
		return 0;
	put_rows(t->team, tables->cut, false, tables->weights, tables->n_weights * sizeof *tables->weights);
	return exchange(t->team, &result->wait_s, err);
}

static int far_meet(struct nn_train *t, const struct nn_step_tables *tables, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_team *team = t->team;

	for (int r = 0; r < team->comm->size; r++)
		if (r != team->comm->rank) {
			send(team->far, r, &team->said[team->comm->rank], sizeof *team->said);
			receive(team->far, r, &team->said[r], sizeof *team->said);
		}
	put_rows(team, tables->cut, false, tables->figures, tables->n_figures * sizeof *tables->figures);
	if (tables->statistics)
		put_rows(team, tables->cut, true, tables->statistics, tables->statistics_bytes);
	return exchange(team, &result->wait_s, err);
}

/* Every rank's sums of this rank's shard; at[k] is the k-th. */
static int collect(struct nn_train *t, char **at, double *seconds, struct nn_error *err)
{
	struct nn_team *team = t->team;
	char *room = team->far->room;

	for (size_t k = 0; k < team->n_sums; k++) {
		const struct nn_team_sum *s = &team->sums[k];

		if (s->rank != team->comm->rank) {
			at[k] = room;
			receive(team->far, s->rank, room, team->mine.n * team->size);
			room += team->mine.n * team->size;
			continue;
		}
		at[k] = (char *)nn_step_sum(t->step, s->index) + team->mine.from * team->size;
		for (int to = 0; to < team->comm->size; to++) {
			struct nn_shard p = nn_team_shard(team, to);

			if (to != team->comm->rank)
				send(team->far, to, (char *)nn_step_sum(t->step, s->index) + p.from * team->size, p.n * team->size);
		}
	}
	return exchange(team, seconds, err);
}

/* This rank's shard of the gradient, along the tree of leaves, into the step's gradients. */
static int add_up(struct nn_train *t, double *seconds, struct nn_error *err)
{
	struct nn_team *team = t->team;
	char *at[NN_CUT_NODES], *stack[NN_CUT_NODES], *mine = nn_graph_gradients(nn_step_graph(t->step));
	size_t depth = 0;

	mine += team->mine.from * team->size;
	if (collect(t, at, seconds, err) < 0)
		return -1;
	for (size_t k = 0; k < team->n_sums; k++) {
		for (size_t node = team->sums[k].node.node; node & 1; node >>= 1)
			t->device->add(at[k], stack[--depth], team->mine.n, t->pool);
		stack[depth++] = at[k];
	}
	if (stack[0] != mine)
		memcpy(mine, stack[0], team->mine.n * team->size);
	return 0;
}

static int far_update(struct nn_train *t, const struct nn_strategy_batch *b, bool norm, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_team *team = t->team;
	struct nn_graph *graph = nn_step_graph(t->step);
	struct nn_optimizer *o = nn_step_optimizer(t->step);
	size_t from = team->mine.from, to = from + team->mine.n;
	char *gradients = nn_graph_gradients(graph);
	bool looks = norm || nn_optimizer_wants_norm(o), directs = nn_optimizer_directs(o);
	bool whole = looks || directs || nn_step_parts(t->step)->part_rows > 0;
	double start = nn_now_s(), sent = result->comm_s;

	nn_optimizer_begin(o, b->number, b->lr);
	if (add_up(t, &result->comm_s, err) < 0 || (whole && nn_far_gather(team, gradients, &result->comm_s, err) < 0))
		return -1;
	nn_step_noise_of(t->step, gradients, result);
	if (looks && nn_optimizer_look(o, gradients, norm ? &result->norm : NULL, err) < 0)
		return -1;
	nn_optimizer_tables(o);
	if (directs) {
		nn_optimizer_direct(o, gradients, from, to);
		if (nn_far_gather(team, nn_optimizer_direction(o), &result->comm_s, err) < 0)
			return -1;
	}
	if (nn_optimizer_weigh(o, err) < 0)
		return -1;
	nn_optimizer_apply(o, gradients + from * team->size, from, to, t->pool);
	if (nn_far_gather(team, nn_graph_weights(graph), &result->comm_s, err) < 0)
		return -1;
	nn_graph_refresh(graph);
	result->compute_s += nn_now_s() - start - (result->comm_s - sent);
	return 0;
}

/* The slots, of which each rank has its own shard. */
static int far_settle(struct nn_train *t, struct nn_error *err)
{
	struct nn_optimizer *o = nn_step_optimizer(t->step);
	double seconds = 0;

	for (size_t k = 0; k < nn_optimizer_slots(o) && !nn_optimizer_shared(o); k++)
		if (nn_far_gather(t->team, nn_optimizer_slot(o, k), &seconds, err) < 0)
			return -1;
	t->comm_s += seconds;
	return 0;
}

static void far_close(struct nn_team *team)
{
	if (!team->far)
		return;
	nn_free(team->far->sends);
	nn_free(team->far->receives);
	nn_free(team->far->room);
	nn_free(team->far);
	team->far = NULL;
}

static const struct nn_way way = {
	.weights = far_weights, .meet = far_meet, .update = far_update, .settle = far_settle, .close = far_close,
};

int nn_far_open(struct nn_train *t, const struct nn_step_options *o, struct nn_error *err)
{
	struct nn_team *team = t->team;
	struct nn_far *far = team->far = nn_alloc(1, sizeof *far, err);
	size_t most = (size_t)team->comm->size * NN_CUT_NODES, others = 0;

	if (!far)
		return -1;
	team->way = &way;
	for (int r = 0; r < team->comm->size; r++)
		others += r == team->comm->rank ? 0 : nn_step_kept(o, r) + 1;
	far->sends = nn_alloc(most, sizeof *far->sends, err);
	far->receives = nn_alloc(most, sizeof *far->receives, err);
	far->room = nn_alloc(others * team->mine.n, team->size, err);
	return far->sends && far->receives && far->room ? 0 : -1;
}
