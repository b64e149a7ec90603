/*
 * sync: every rank computes its leaves of each batch, and the sum along the tree of leaves is the
 * same on all: the bytes of one rank.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/pipeline.h"
#include "parallel/ranks.h"
#include "parallel/tables.h"
#include "parallel/sync-group.h"
#include "parallel/tensor.h"

void nn_sync_release(struct nn_worker *w)
{
	struct nn_sync_group *team = w->team;

	if (!team)
		return;
	if (team->transport)
		team->transport->close(team);
	nn_free(team->reports);
	nn_free(team->sums);
	nn_free(team);
	w->team = NULL;
}

int nn_sync_prepare(struct nn_worker *w, struct nn_step_options *options, struct nn_error *err)
{
	struct nn_comm *comm = nn_layout_sharers(w->layout);
	struct nn_sync_group *team;
	struct nn_step_sizes sizes;

	if (comm->size == 1)
		return 0;
	if (nn_step_sizes(options, &sizes, err) < 0 ||
	    !(team = w->team = nn_alloc(1, sizeof *team, err)))
		return -1;
	team->comm = comm;
	team->master = w->layout->strategy->served;
	team->sharded = w->layout->options->shard_optimizer;
	team->elements = sizes.elements;
	team->own = nn_step_kept(options, comm->rank) + 1;
	team->others = nn_step_others(options, comm->rank);
	team->size = nn_dtype_size(w->task->device->dtype);
	team->mine = nn_sync_shard(team, comm->rank);
	team->reports = nn_alloc((size_t)comm->size, sizeof *team->reports, err);
	team->sums = nn_alloc((size_t)comm->size * NN_CUT_NODES, sizeof *team->sums, err);
	if (!team->reports || !team->sums ||
	    (w->layout->strategy->alike && !w->layout->strategy->messages &&
	     nn_sync_shared_open(w, options, err) < 0))
		return -1;
	options->place = &team->place;
	return team->shared ? 0 : nn_sync_messages_open(w, err);
}

static int sync_open(struct nn_worker *w, struct nn_error *err)
{
	return w->team && w->team->transport->open ? w->team->transport->open(w, err) : 0;
}

int nn_sync_wait_weights(struct nn_worker *w, struct nn_error *err)
{
	return w->team && w->team->transport->wait_weights
		       ? w->team->transport->wait_weights(w, &w->comm_s, err)
		       : 0;
}

/* Each step has exchanged controls. */
static int sync_synchronize(struct nn_worker *w, struct nn_control *control, struct nn_error *err)
{
	(void)control;
	if (nn_sync_wait_weights(w, err) < 0)
		return -1;
	return w->team && w->team->transport->synchronize ? w->team->transport->synchronize(w, err)
							  : 0;
}

/* The sums of all ranks, in order of leaves. */
static void list_sums(struct nn_sync_group *team, const struct nn_cut *cut)
{
	struct nn_cut_node nodes[NN_CUT_NODES];

	team->n_sums = 0;
	for (int r = 0; r < team->comm->size; r++) {
		size_t n = nn_cut_nodes(nn_cut_share(cut->n_leaves, r, team->comm->size), nodes);

		for (size_t i = 0; i < n; i++)
			team->sums[team->n_sums++] = (struct nn_sync_sum){ nodes[i], r, i };
	}
}

/*
 * Reports of all ranks joined: controls, parts of the noise, and whether the loss of each is
 * finite; else where it went wrong first.
 */
static void join_reports(const struct nn_rank_report *reports, int n, struct nn_noise_sums *noise,
			 struct nn_control *control, struct nn_step_result *result)
{
	memset(control, 0, sizeof *control);
	result->finite = true;
	result->nonfinite_line = -1;
	nn_noise_clear(noise);
	for (int r = n; r-- > 0;) {
		struct nn_control joined = reports[r].control;

		nn_noise_join(noise, &reports[r].noise);
		nn_control_merge(&joined, control);
		*control = joined;
		if (reports[r].finite)
			continue;
		result->finite = false;
		result->nonfinite_line = reports[r].nonfinite_line;
	}
}

/*
 * Ranks that sum gradients exchange reports as a team; those that have parts of the network, which
 * are of several teams, before that with all.
 */
static int exchange_reports(struct nn_worker *w, const struct nn_step_tables *tables,
			    struct nn_control *control, struct nn_step_result *result,
			    struct nn_error *err)
{
	struct nn_rank_report mine, all[nn_layout_in_parts(w->layout) ? w->layout->comm->size : 1];
	struct nn_sync_group *team = w->team;
	double start = nn_now_s();

	memset(&mine, 0, sizeof mine);
	mine.control = *control;
	mine.finite = result->finite;
	mine.nonfinite_line = result->nonfinite_line;
	mine.compute_s = result->compute_s + result->input_s;
	mine.noise = *nn_step_parts(w->step);
	if (nn_layout_in_parts(w->layout)) {
		if (nn_comm_all_gather(w->layout->comm, &mine, all, sizeof mine, err) < 0)
			return -1;
		result->wait_s += nn_now_s() - start;
	}
	if (team) {
		team->reports[team->comm->rank] = mine;
		if (team->transport->exchange_reports(w, tables, result, err) < 0)
			return -1;
	}
	join_reports(nn_layout_in_parts(w->layout) ? all : team->reports, w->layout->comm->size,
		     nn_step_parts(w->step), control, result);
	return 0;
}

/* What columns exchanged was counted as computing. */
static int count_exchanges(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	double seconds;
	int status = nn_tensor_exchanged(w, &seconds, err);

	result->comm_s += seconds;
	result->compute_s -= seconds;
	return status;
}

static int run(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	double waited = result->wait_s;
	int status = 0;

	if (w->layout->pipe)
		status = nn_pipe_run(w, result, err);
	else
		status = nn_step_run(w->step, result, err);
	result->wait_s += waited;
	if (w->team) {
		result->comm_s += w->team->coming_s;
		result->compute_s -= w->team->coming_s;
		w->team->coming_s = 0;
	}
	return status == 0 && w->layout->tensor ? count_exchanges(w, result, err) : status;
}

static int update(struct nn_worker *w, const struct nn_strategy_update *u,
		  const struct nn_step_tables *tables, bool norm, struct nn_step_result *result,
		  struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	int status;

	if (team && nn_tables_share(nn_step_graph(w->step), team->comm, tables->cut->n_leaves,
				    w->task->device->dtype, err) < 0)
		return -1;
	status = team ? team->transport->update(w, u, norm, result, err)
		      : nn_step_update(w->step, u->number, u->lr, norm, result, err);
	return status == 0 && w->layout->tensor ? count_exchanges(w, result, err) : status;
}

static int drop(struct nn_sync_group *team, struct nn_error *err)
{
	return team && team->transport->drop ? team->transport->drop(team, err) : 0;
}

static int ranks_step(struct nn_worker *w, const struct nn_strategy_update *u,
		      struct nn_control *control, struct nn_step_result *result,
		      struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_step_tables tables;
	struct nn_batch batch;

	*result = (struct nn_step_result){ 0 };
	if (nn_loader_draw(w->loader, u->number - 1, &batch, err) < 0 ||
	    nn_step_begin(w->step, &batch, &tables, err) < 0)
		return -1;
	if (team)
		list_sums(team, tables.cut);
	if (team && team->transport->share_weights(w, &tables, result, err) < 0)
		return -1;
	if (run(w, result, err) < 0 || exchange_reports(w, &tables, control, result, err) < 0)
		return -1;
	if (!result->finite)
		return drop(team, err) < 0 ? -1
		       : w->layout->pipe   ? nn_pipe_find_nonfinite(w, result, err)
					   : 0;
	nn_step_finish(w->step, result);
	if (w->layout->pipe && nn_pipe_result(w, result, err) < 0)
		return -1;
	if (!result->finite)
		return drop(team, err);
	return update(w, u, &tables, control->norm, result, err);
}

static int sync_step(struct nn_worker *w, const struct nn_strategy_update *u,
		     struct nn_control *control, struct nn_step_result *result,
		     struct nn_error *err)
{
	const struct nn_step_terms terms = { u->number, u->lr, control->norm };
	struct nn_batch batch;

	if (w->layout->comm->size > 1)
		return ranks_step(w, u, control, result, err);
	if (nn_loader_draw(w->loader, u->number - 1, &batch, err) < 0)
		return -1;
	return nn_step_whole(w->step, &batch, &terms, u->next, result, err);
}

const struct nn_strategy nn_strategy_sync = {
	.name = "sync",
	.parts = true,
	.alike = true,
	.measures = true,
	.prepare = nn_sync_prepare,
	.open = sync_open,
	.release = nn_sync_release,
	.step = sync_step,
	.synchronize = sync_synchronize,
};
