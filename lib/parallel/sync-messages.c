/*
 * Ranks that have messages alone: sums go to the owner of a piece, who adds them up and updates it;
 * parameters come back.
 */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/gather.h"

struct nn_sync_messages {
	struct nn_message *sends, *receives; /* what ranks say of a step */
	size_t n_sends, n_receives;
	struct nn_bucket_sizes sizes;
	struct nn_buckets *buckets;

	struct nn_gather gather;
	struct nn_mirror block; /* the host side of what comes together on a device */
	int status;             /* of the parameters that forward waited for */
	struct nn_error err;
};

/* ---- messages ---- */

static void send(struct nn_sync_messages *messages, int peer, const void *data, size_t bytes)
{
	messages->sends[messages->n_sends++] = (struct nn_message){ peer, (void *)data, bytes };
}

static void receive(struct nn_sync_messages *messages, int peer, void *data, size_t bytes)
{
	messages->receives[messages->n_receives++] = (struct nn_message){ peer, data, bytes };
}

static int exchange(struct nn_sync_group *team, double *seconds, struct nn_error *err)
{
	struct nn_sync_messages *messages = team->messages;
	double start = nn_now_s();
	int status = nn_comm_exchange(team->comm, messages->sends, messages->n_sends,
				      messages->receives, messages->n_receives, err);

	messages->n_sends = messages->n_receives = 0;
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
		send(team->messages, r, (char *)table + mine.from * bytes,
		     (mine.to - mine.from) * bytes);
		receive(team->messages, r, (char *)table + theirs.from * bytes,
			(theirs.to - theirs.from) * bytes);
	}
}

/* ---- a block from all ranks ---- */

static int send_block(struct nn_sync_group *team, struct nn_error *err)
{
	if (!team->queue)
		return 0;
	nn_mirror_send(&team->messages->block, team->queue, 0, team->elements * team->size);
	return nn_queue_wait(team->queue, err);
}

int nn_sync_all_gather(struct nn_sync_group *team, void *there, double *seconds,
		       struct nn_error *err)
{
	double start = nn_now_s();
	char *block = nn_mirror_read(&team->messages->block, team->queue, there,
				     team->elements * team->size);

	if (nn_gather_begin(&team->messages->gather, block, err) < 0)
		return -1;
	for (size_t i = nn_buckets_n(team->messages->buckets); i-- > 0;)
		if (nn_gather_send(&team->messages->gather, block, i, err) < 0)
			return -1;
	*seconds += nn_now_s() - start;
	return nn_gather_end(&team->messages->gather, seconds, err) < 0 ? -1
									: send_block(team, err);
}

/* ---- a step ---- */

/* The graph's: forward is about to read parameters before `end`. */
static void wait_weights(void *arg, size_t end)
{
	struct nn_sync_group *team = arg;
	struct nn_sync_messages *messages = team->messages;
	double start = nn_now_s();

	if (messages->status == 0)
		messages->status = nn_gather_until(&messages->gather, end, &messages->err);
	team->coming_s += nn_now_s() - start;
}

/* All of them are there, and what others need of them has left. */
static int messages_wait_weights(struct nn_worker *w, double *seconds, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *messages = team->messages;

	nn_graph_wait_weights(nn_step_graph(w->step));
	*seconds += team->coming_s;
	team->coming_s = 0;
	if (messages->status < 0) {
		if (err)
			*err = messages->err;
		return -1;
	}
	return nn_gather_end(&team->messages->gather, seconds, err);
}

static int messages_share_weights(struct nn_worker *w, const struct nn_step_tables *tables,
				  struct nn_step_result *result, struct nn_error *err)
{
	if (tables->weighs) {
		put_rows(w->team, tables->cut, false, tables->weights,
			 tables->n_weights * sizeof *tables->weights);
		if (exchange(w->team, &result->wait_s, err) < 0)
			return -1;
	}
	return nn_buckets_begin(w, w->team->messages->buckets, err);
}

/*
 * What others say travels behind the gradients, so the time until it is here is both: waiting as
 * far as another rank computed for longer, the rest is communication.
 */
static void divide(const struct nn_sync_group *team, double seconds, struct nn_step_result *result)
{
	double longest = 0, wait;

	for (int r = 0; r < team->comm->size; r++)
		longest = fmax(longest, team->reports[r].compute_s);
	wait = fmin(longest - team->reports[team->comm->rank].compute_s, seconds);
	result->wait_s += wait;
	result->comm_s += seconds - wait;
}

static int messages_exchange_reports(struct nn_worker *w, const struct nn_step_tables *tables,
				     struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	double seconds = 0, start = nn_now_s();

	if (nn_buckets_flush(w, team->messages->buckets, err) < 0)
		return -1;
	seconds = nn_now_s() - start;
	if (messages_wait_weights(w, &seconds, err) < 0)
		return -1;
	for (int r = 0; r < team->comm->size; r++)
		if (r != team->comm->rank) {
			send(team->messages, r, &team->reports[team->comm->rank],
			     sizeof *team->reports);
			receive(team->messages, r, &team->reports[r], sizeof *team->reports);
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

static int messages_drop(struct nn_sync_group *team, struct nn_error *err)
{
	return nn_buckets_drop(team, team->messages->buckets, err);
}

/* The whole gradient on all ranks, which norms and directions are made from. */
static int measure_gradient(struct nn_worker *w, bool norm, struct nn_step_result *result,
			    struct nn_error *err)
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
	for (size_t i = 0;
	     nn_optimizer_has_direction(o) && i < nn_buckets_n(team->messages->buckets); i++) {
		struct nn_shard mine =
			nn_buckets_piece(team, team->messages->buckets, i, team->comm->rank);

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

	for (size_t i = nn_buckets_n(team->messages->buckets); i-- > 0;) {
		struct nn_shard mine =
			nn_buckets_piece(team, team->messages->buckets, i, team->comm->rank);

		nn_optimizer_apply(nn_step_optimizer(w->step), gradients + mine.from * team->size,
				   mine.from, mine.from + mine.n, w->task->pool);
		if (!team->queue &&
		    nn_gather_send(&team->messages->gather, nn_graph_weights(graph), i, err) < 0)
			return -1;
	}
	if (!team->queue) {
		nn_graph_defer_weights(graph, wait_weights, team);
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
	return w->team->queue ? 0
			      : nn_gather_begin(&w->team->messages->gather,
						nn_graph_weights(nn_step_graph(w->step)), err);
}

/*
 * Parameters are expected as soon as nothing here reads the old ones of other shards, which norms
 * and directions may: what comes earlier Open MPI has to keep.
 */
static int messages_update(struct nn_worker *w, const struct nn_strategy_update *u, bool norm,
			   struct nn_step_result *result, struct nn_error *err)
{
	struct nn_buckets *buckets = w->team->messages->buckets;
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	double start = nn_now_s(), sent = result->comm_s;
	bool whole;

	norm |= nn_optimizer_scales(o);
	whole = norm || nn_optimizer_wants_norm(o) || nn_optimizer_has_direction(o) ||
		nn_step_parts(w->step)->part_rows > 0;
	nn_optimizer_begin(o, u->number, u->lr);
	if (!whole && expect_weights(w, err) < 0)
		return -1;
	for (size_t i = 0; i < nn_buckets_n(buckets); i++)
		if (nn_buckets_add(w, buckets, i, &result->comm_s, err) < 0)
			return -1;
	if (whole && measure_gradient(w, norm, result, err) < 0)
		return -1;
	if (nn_optimizer_tables(o, err) < 0 || nn_optimizer_measure_weights(o, err) < 0 ||
	    (whole && expect_weights(w, err) < 0) || update(w, result, err) < 0)
		return -1;
	result->compute_s += nn_now_s() - start - (result->comm_s - sent);
	return 0;
}

/* The slots, of which each rank has its own shard. */
static int messages_synchronize(struct nn_worker *w, struct nn_error *err)
{
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	double seconds = 0;

	for (size_t k = 0; k < nn_optimizer_slots(o) && !nn_optimizer_shared(o); k++)
		if (nn_sync_all_gather(w->team, nn_optimizer_slot(o, k), &seconds, err) < 0)
			return -1;
	w->comm_s += seconds;
	return 0;
}

static int messages_begin(struct nn_worker *w, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *messages = team->messages;

	if (messages->buckets) /* as steps were tried with */
		return 0;
	team->queue = nn_graph_queue(nn_step_graph(w->step));
	if (nn_queue_open(&team->pins, w->task->device, err) < 0)
		return -1;
	if (nn_mirror_of(&messages->block, team->pins, NULL, team->elements * team->size, err) < 0)
		return -1;
	if (nn_buckets_open(&messages->buckets, w, &messages->sizes, err) < 0)
		return -1;
	return nn_gather_open(&messages->gather, team, messages->buckets, err);
}

static void messages_close(struct nn_sync_group *team)
{
	if (!team->messages)
		return;
	nn_gather_close(&team->messages->gather);
	nn_mirror_free(&team->messages->block, team->pins);
	nn_buckets_close(team->messages->buckets);
	nn_queue_close(team->pins);
	nn_free(team->messages->sends);
	nn_free(team->messages->receives);
	nn_free(team->messages);
	team->messages = NULL;
}

static const struct nn_sync_transport transport = {
	.open = messages_begin,
	.share_weights = messages_share_weights,
	.exchange_reports = messages_exchange_reports,
	.drop = messages_drop,
	.update = messages_update,
	.wait_weights = messages_wait_weights,
	.synchronize = messages_synchronize,
	.close = messages_close,
};

int nn_sync_messages_open(struct nn_worker *w, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_messages *messages = team->messages = nn_alloc(1, sizeof *messages, err);
	size_t most = 3 * (size_t)team->comm->size;

	if (!messages)
		return -1;
	team->transport = &transport;
	messages->sends = nn_alloc(most, sizeof *messages->sends, err);
	messages->receives = nn_alloc(most, sizeof *messages->receives, err);
	return messages->sends && messages->receives
		       ? nn_bucket_sizes(team, w->layout->options->bucket, &messages->sizes, err)
		       : -1;
}
