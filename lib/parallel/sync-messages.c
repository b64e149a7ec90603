/*
 * Ranks that have messages alone: sums go to the owner of a piece, who adds them up and updates it;
 * parameters come back.
 */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/buckets.h"

struct nn_sync_messages {
	struct nn_message *sends, *receives; /* what ranks say of a step */
	size_t n_sends, n_receives;
	struct nn_bucket_sizes sizes;
	struct nn_buckets *buckets;

	/*
	 * a block that comes together, the last bucket first: what forward needs first is there
	 * first
	 */
	struct nn_mirror block;   /* its host side, where the block is not the host's */
	struct nn_posted *coming; /* [buckets] */
	size_t left;              /* buckets that are still coming: 0 .. left - 1 */
	struct nn_posted sent;
	int status; /* of the parameters that forward waited for */
	struct nn_error err;
};

/* ---- messages ---- */

static void send(struct nn_sync_messages *far, int peer, const void *data, size_t bytes)
{
	far->sends[far->n_sends++] = (struct nn_message){ peer, (void *)data, bytes };
}

static void receive(struct nn_sync_messages *far, int peer, void *data, size_t bytes)
{
	far->receives[far->n_receives++] = (struct nn_message){ peer, data, bytes };
}

static int exchange(struct nn_sync_group *team, double *seconds, struct nn_error *err)
{
	struct nn_sync_messages *far = team->far;
	double start = nn_now_s();
	int status = nn_comm_exchange(team->comm, far->sends, far->n_sends, far->receives,
				      far->n_receives, err);

	far->n_sends = far->n_receives = 0;
	*seconds += nn_now_s() - start;
	return status;
}

/* Rows of a table by leaf, or by group of batch norm: every rank's to all. */
static void put_rows(struct nn_sync_group *team, const struct nn_cut *cut, bool groups, void *table,
		     size_t bytes)
{
	struct nn_comm *c = team->comm;

	for (int r = 0; r < c->size; r++) {
		struct nn_cut_run mine = nn_cut_share(cut->n_leaves, c->rank, c->size),
				  theirs = nn_cut_share(cut->n_leaves, r, c->size);

		if (r == c->rank)
			continue;
		if (groups) {
			mine = (struct nn_cut_run){ cut->group_of_leaf[mine.from],
						    cut->group_of_leaf[mine.to] };
			theirs = (struct nn_cut_run){ cut->group_of_leaf[theirs.from],
						      cut->group_of_leaf[theirs.to] };
		}
		send(team->far, r, (char *)table + mine.from * bytes,
		     (mine.to - mine.from) * bytes);
		receive(team->far, r, (char *)table + theirs.from * bytes,
			(theirs.to - theirs.from) * bytes);
	}
}

/* ---- a block, of which every rank has its pieces of the buckets ---- */

/* The pieces of other ranks will come into it. */
static int gather_begin(struct nn_sync_group *team, char *block, struct nn_error *err)
{
	struct nn_sync_messages *far = team->far;

	far->left = nn_buckets_n(far->buckets);
	for (size_t i = far->left; i-- > 0;)
		for (int r = 0; r < team->comm->size; r++) {
			struct nn_shard theirs = nn_buckets_piece(team, far->buckets, i, r);
			struct nn_message message = { r, block + theirs.from * team->size,
						      theirs.n * team->size };

			if (r != team->comm->rank &&
			    nn_comm_post_receive(team->comm, &message, &far->coming[i], err) < 0)
				return -1;
		}
	return 0;
}

/* This rank's piece of a bucket to all. */
static int gather_send(struct nn_sync_group *team, char *block, size_t bucket, struct nn_error *err)
{
	struct nn_sync_messages *far = team->far;
	struct nn_shard mine = nn_buckets_piece(team, far->buckets, bucket, team->comm->rank);

	for (int r = 0; r < team->comm->size; r++) {
		struct nn_message message = { r, block + mine.from * team->size,
					      mine.n * team->size };

		if (r != team->comm->rank &&
		    nn_comm_post(team->comm, &message, &far->sent, err) < 0)
			return -1;
	}
	return 0;
}

/* Elements before `end` are there. */
static int gather_until(struct nn_sync_group *team, size_t end, struct nn_error *err)
{
	struct nn_sync_messages *far = team->far;

	while (far->left > 0 && nn_buckets_cut(far->buckets, far->left - 1).from < end)
		if (nn_comm_finish(team->comm, &far->coming[--far->left], err) < 0)
			return -1;
	return 0;
}

static int gather_end(struct nn_sync_group *team, double *seconds, struct nn_error *err)
{
	double start = nn_now_s();

	if (gather_until(team, SIZE_MAX, err) < 0 ||
	    nn_comm_finish(team->comm, &team->far->sent, err) < 0)
		return -1;
	*seconds += nn_now_s() - start;
	return 0;
}

static int send_block(struct nn_sync_group *team, struct nn_error *err)
{
	if (!team->queue)
		return 0;
	nn_mirror_send(&team->far->block, team->queue, 0, team->elements * team->size);
	return nn_queue_wait(team->queue, err);
}

int nn_sync_all_gather(struct nn_sync_group *team, void *there, double *seconds,
		       struct nn_error *err)
{
	double start = nn_now_s();
	char *block =
		nn_mirror_read(&team->far->block, team->queue, there, team->elements * team->size);

	if (gather_begin(team, block, err) < 0)
		return -1;
	for (size_t i = nn_buckets_n(team->far->buckets); i-- > 0;)
		if (gather_send(team, block, i, err) < 0)
			return -1;
	*seconds += nn_now_s() - start;
	return gather_end(team, seconds, err) < 0 ? -1 : send_block(team, err);
}

/* ---- a step ---- */

/* The graph's: forward is about to read parameters before `end`. */
static void arrive(void *arg, size_t end)
{
	struct nn_sync_group *team = arg;
	struct nn_sync_messages *far = team->far;
	double start = nn_now_s();

	if (far->status == 0)
		far->status = gather_until(team, end, &far->err);
	team->coming_s += nn_now_s() - start;
}

/* All of them are there, and what others need of them has left. */
static int far_arrive(struct nn_worker *w, double *seconds, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *far = team->far;

	nn_graph_wait_weights(nn_step_graph(w->step));
	*seconds += team->coming_s;
	team->coming_s = 0;
	if (far->status < 0) {
		if (err)
			*err = far->err;
		return -1;
	}
	return gather_end(team, seconds, err);
}

static int far_weights(struct nn_worker *w, const struct nn_step_tables *tables,
		       struct nn_step_result *result, struct nn_error *err)
{
	if (tables->weighs) {
		put_rows(w->team, tables->cut, false, tables->weights,
			 tables->n_weights * sizeof *tables->weights);
		if (exchange(w->team, &result->wait_s, err) < 0)
			return -1;
	}
	return nn_buckets_begin(w, w->team->far->buckets, err);
}

/*
 * What others say travels behind the gradients, so the time until it is here is both: waiting as
 * far as another rank computed for longer, the rest is communication.
 */
static void divide(const struct nn_sync_group *team, double seconds, struct nn_step_result *result)
{
	double longest = 0, wait;

	for (int r = 0; r < team->comm->size; r++)
		longest = fmax(longest, team->said[r].compute_s);
	wait = fmin(longest - team->said[team->comm->rank].compute_s, seconds);
	result->wait_s += wait;
	result->comm_s += seconds - wait;
}

static int far_meet(struct nn_worker *w, const struct nn_step_tables *tables,
		    struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	double seconds = 0, start = nn_now_s();

	if (nn_buckets_flush(w, team->far->buckets, err) < 0)
		return -1;
	seconds = nn_now_s() - start;
	if (far_arrive(w, &seconds, err) < 0)
		return -1;
	for (int r = 0; r < team->comm->size; r++)
		if (r != team->comm->rank) {
			send(team->far, r, &team->said[team->comm->rank], sizeof *team->said);
			receive(team->far, r, &team->said[r], sizeof *team->said);
		}
	put_rows(team, tables->cut, false, tables->figures,
		 tables->n_figures * sizeof *tables->figures);
	if (tables->statistics)
		put_rows(team, tables->cut, true, tables->statistics, tables->statistics_bytes);
	if (exchange(team, &seconds, err) < 0)
		return -1;
	divide(team, seconds, result);
	return 0;
}

static int far_drop(struct nn_sync_group *team, struct nn_error *err)
{
	return nn_buckets_drop(team, team->far->buckets, err);
}

/* The whole gradient on all ranks, which norms and directions are made from. */
static int look(struct nn_worker *w, bool norm, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	char *gradients = nn_graph_gradients(nn_step_graph(w->step));

	if (nn_sync_all_gather(team, gradients, &result->comm_s, err) < 0)
		return -1;
	nn_step_noise_of(w->step, gradients, result);
	if ((norm || nn_optimizer_wants_norm(o)) &&
	    nn_optimizer_measure_gradient(o, gradients, err) < 0)
		return -1;
	if (norm && nn_queue_wait(team->queue, err) < 0)
		return -1;
	if (norm)
		result->norm = nn_optimizer_norm(o);
	for (size_t i = 0; nn_optimizer_has_direction(o) && i < nn_buckets_n(team->far->buckets);
	     i++) {
		struct nn_shard mine =
			nn_buckets_piece(team, team->far->buckets, i, team->comm->rank);

		nn_optimizer_compute_direction(o, gradients, mine.from, mine.from + mine.n);
	}
	return nn_optimizer_has_direction(o)
		       ? nn_sync_all_gather(team, nn_optimizer_direction(o), &result->comm_s, err)
		       : 0;
}

/*
 * A bucket's parameters leave while those of the next are made, first those that forward needs
 * first; it waits for what comes.
 */
static int update(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_graph *graph = nn_step_graph(w->step);
	char *gradients = nn_graph_gradients(graph);

	for (size_t i = nn_buckets_n(team->far->buckets); i-- > 0;) {
		struct nn_shard mine =
			nn_buckets_piece(team, team->far->buckets, i, team->comm->rank);

		nn_optimizer_apply(nn_step_optimizer(w->step), gradients + mine.from * team->size,
				   mine.from, mine.from + mine.n, w->task->pool);
		if (!team->queue && gather_send(team, nn_graph_weights(graph), i, err) < 0)
			return -1;
	}
	if (!team->queue) {
		nn_graph_defer_weights(graph, arrive, team);
		return 0;
	}
	if (nn_sync_all_gather(team, nn_graph_weights(graph), &result->comm_s, err) < 0)
		return -1;
	nn_graph_refresh(graph);
	return 0;
}

/* Parameters will come; those of a device come through its host side, once all are made. */
static int expect_weights(struct nn_worker *w, struct nn_error *err)
{
	return w->team->queue
		       ? 0
		       : gather_begin(w->team, nn_graph_weights(nn_step_graph(w->step)), err);
}

/*
 * Parameters are expected as soon as nothing here reads the old ones of other shards, which norms
 * and directions may: what comes earlier Open MPI has to keep.
 */
static int far_update(struct nn_worker *w, const struct nn_strategy_update *u, bool norm,
		      struct nn_step_result *result, struct nn_error *err)
{
	struct nn_buckets *buckets = w->team->far->buckets;
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	bool whole = norm || nn_optimizer_wants_norm(o) || nn_optimizer_has_direction(o) ||
		     nn_step_parts(w->step)->part_rows > 0;
	double start = nn_now_s(), sent = result->comm_s;

	nn_optimizer_begin(o, u->number, u->lr);
	if (!whole && expect_weights(w, err) < 0)
		return -1;
	for (size_t i = 0; i < nn_buckets_n(buckets); i++)
		if (nn_buckets_add(w, buckets, i, &result->comm_s, err) < 0)
			return -1;
	if (whole && look(w, norm, result, err) < 0)
		return -1;
	if (nn_optimizer_tables(o, err) < 0 || nn_optimizer_measure_weights(o, err) < 0 ||
	    (whole && expect_weights(w, err) < 0) || update(w, result, err) < 0)
		return -1;
	result->compute_s += nn_now_s() - start - (result->comm_s - sent);
	return 0;
}

/* The slots, of which each rank has its own shard. */
static int far_settle(struct nn_worker *w, struct nn_error *err)
{
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	double seconds = 0;

	for (size_t k = 0; k < nn_optimizer_slots(o) && !nn_optimizer_shared(o); k++)
		if (nn_sync_all_gather(w->team, nn_optimizer_slot(o, k), &seconds, err) < 0)
			return -1;
	w->comm_s += seconds;
	return 0;
}

static int far_begin(struct nn_worker *w, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *far = team->far;

	if (far->buckets) /* as steps were tried with */
		return 0;
	team->queue = nn_graph_queue(nn_step_graph(w->step));
	if (nn_queue_open(&team->pins, w->task->device, err) < 0)
		return -1;
	if (nn_mirror_of(&far->block, team->pins, NULL, team->elements * team->size, err) < 0)
		return -1;
	if (nn_buckets_open(&far->buckets, w, &far->sizes, err) < 0)
		return -1;
	far->coming = nn_alloc(nn_buckets_n(far->buckets), sizeof *far->coming, err);
	return far->coming ? 0 : -1;
}

static void far_close(struct nn_sync_group *team)
{
	if (!team->far)
		return;
	for (size_t i = 0; team->far->coming && i < nn_buckets_n(team->far->buckets); i++)
		nn_free(team->far->coming[i].requests);
	nn_free(team->far->coming);
	nn_free(team->far->sent.requests);
	nn_mirror_free(&team->far->block, team->pins);
	nn_buckets_close(team->far->buckets);
	nn_queue_close(team->pins);
	nn_free(team->far->sends);
	nn_free(team->far->receives);
	nn_free(team->far);
	team->far = NULL;
}

static const struct nn_sync_transport way = {
	.open = far_begin,
	.weights = far_weights,
	.meet = far_meet,
	.drop = far_drop,
	.update = far_update,
	.arrive = far_arrive,
	.settle = far_settle,
	.close = far_close,
};

int nn_sync_messages_open(struct nn_worker *w, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *far = team->far = nn_alloc(1, sizeof *far, err);
	size_t most = 3 * (size_t)team->comm->size;

	if (!far)
		return -1;
	team->way = &way;
	far->sends = nn_alloc(most, sizeof *far->sends, err);
	far->receives = nn_alloc(most, sizeof *far->receives, err);
	return far->sends && far->receives
		       ? nn_bucket_sizes(team, w->layout->options->bucket, &far->sizes, err)
		       : -1;
}
