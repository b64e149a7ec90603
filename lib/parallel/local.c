/*
 * local:H[@STEP]: each rank trains on its share of every batch as if it were alone, and after H
 * steps parameters and buffers are averaged over the ranks, each weighted by what it trained on
 * (Stich 2019, "Local SGD converges fast and communicates little"; from a step on:
 * Lin et al. 2020, "Don't use large mini-batches, use local SGD"). Up to STEP it is sync.
 *
 * Between averages ranks say nothing to each other: signals, clocks and losses that are not finite
 * wait for the next one, at the end of the epoch at the latest.
 *
 * Optimizer slots stay each rank's own, so that what is sent does not depend on the optimizer. They
 * are averaged, too, where an epoch ends, held-out rows are evaluated or a state is written: a
 * state then holds all there is, for any number of ranks, and who goes on from it makes the bytes
 * of who wrote a state there and never stopped. So a state that a signal or a clock asks for within
 * an epoch shows in the bytes; those of epochs do not. The weight of a rank is that of the targets
 * it trained on since the last average; the loss shown between averages is that of rank 0's share.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "comm/shared.h"
#include "parallel/sync-group.h"

/*
 * Figures of rows as they passed, as sums: loss and weight, hits and how many were counted,
 * squares.
 */
enum { LOSS, WEIGHT, HITS, COUNTED, SQUARES, SUMS };

/* What each rank says at an average. */
struct local_report {
	double weight;                /* of the targets it trained on since the last one */
	double past[SUMS], now[SUMS]; /* of the steps before, and of the step under way */
	struct nn_control control;
	bool diverged;
};

struct nn_local {
	uint64_t since; /* local steps since the last average */
	bool own_slots; /* slots of ranks differ, although parameters do not */
	struct local_report report;
	struct nn_counters base;  /* when all ranks knew the same */
	struct local_report *all; /* [ranks] */
	struct nn_shared *window; /* through which averages go; NULL: messages */
	struct nn_mirror block;   /* the host's side of what is averaged in device memory */
};

/* ---- averages ---- */

static int average_block(struct nn_worker *w, void *block, size_t n, double share,
			 struct nn_error *err)
{
	bool equal = share < 0;
	const struct nn_reduce reduce = { w->task->device->dtype,
					  equal ? NN_REDUCE_MEAN : NN_REDUCE_SUM,
					  (size_t)w->layout->comm->size };

	if (!equal && w->task->device->dtype == NN_F64)
		for (size_t i = 0; i < n; i++)
			((double *)block)[i] *= share;
	else if (!equal)
		for (size_t i = 0; i < n; i++)
			((float *)block)[i] = (float)(((float *)block)[i] * share);
	if (w->local->window) {
		nn_shared_allreduce(w->local->window, w->layout->comm, &reduce, block, block, n);
		return 0;
	}
	return n > 0 ? nn_comm_allreduce(w->layout->comm, &reduce, NN_ALGORITHM_AUTO, block, block,
					 n, NULL, err)
		     : 0;
}

/* The same of memory of the step's device. */
static int average_there(struct nn_worker *w, void *there, size_t n, double share,
			 struct nn_error *err)
{
	struct nn_queue *queue = nn_graph_queue(nn_step_graph(w->step));
	size_t bytes = n * nn_dtype_size(w->task->device->dtype);
	void *block = nn_mirror_read(&w->local->block, queue, there, bytes);

	if (average_block(w, block, n, share, err) < 0)
		return -1;
	nn_mirror_send(&w->local->block, queue, 0, bytes);
	return 0;
}

static bool is_trained(struct nn_worker *w, int param)
{
	return nn_graph_trains(nn_step_graph(w->step), param);
}

/* Those of one kind, trained or buffers, among canonical parameters. */
static int average_params(struct nn_worker *w, bool trained, double share, struct nn_error *err)
{
	for (int p = 0; p < w->task->program->n_params; p++)
		if (is_trained(w, p) == trained && !w->task->program->params[p].frozen &&
		    average_block(w, w->params[p],
				  nn_shape_count(&w->task->program->params[p].desc.shape), share,
				  err) < 0)
			return -1;
	return 0;
}

/*
 * Slots lie as parameters do; where tables have some besides, they are averaged in the form that
 * files have.
 */
static int average_slots(struct nn_worker *w, double share, struct nn_error *err)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(w->step);
	struct nn_graph *graph = nn_step_graph(w->step);
	bool whole = nn_graph_tables(graph) == 0;

	for (size_t i = 0; i < nn_optimizer_slots(optimizer); i++) {
		if (whole && average_there(w, nn_optimizer_slot(optimizer, i),
					   nn_graph_block(graph), share, err) < 0)
			return -1;
		if (whole)
			continue;
		if (nn_optimizer_save(optimizer, i, w->params, err) < 0 ||
		    average_params(w, true, share, err) < 0)
			return -1;
		nn_optimizer_load(optimizer, i, (const void *const *)w->params);
	}
	return 0;
}

static int average_buffers(struct nn_worker *w, double share, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	bool any = false;

	for (int p = 0; p < w->task->program->n_params; p++)
		any |= !is_trained(w, p) && !w->task->program->params[p].frozen;
	if (!any)
		return 0;
	nn_graph_save(graph, w->params);
	if (average_params(w, false, share, err) < 0)
		return -1;
	return nn_graph_load(graph, (const void *const *)w->params, err);
}

/* share: of this rank in the mean; negative: all have the same. */
static int average_all(struct nn_worker *w, double share, bool slots, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);

	if (average_there(w, nn_graph_weights(graph), nn_graph_trained(graph), share, err) < 0)
		return -1;
	if ((slots && average_slots(w, share, err) < 0) || average_buffers(w, share, err) < 0)
		return -1;
	nn_graph_refresh(graph);
	return 0;
}

static void take_past(struct nn_local *l, const struct nn_counters *c)
{
	double *past = l->report.past;

	past[LOSS] = c->loss - l->base.loss;
	past[WEIGHT] = c->weight - l->base.weight;
	past[HITS] = c->hits - l->base.hits;
	past[COUNTED] = c->counted - l->base.counted;
	past[SQUARES] = c->squares - l->base.squares;
}

/* The same counters on all ranks: of the steps before this one, in order of ranks. */
static void join_past(struct nn_worker *w)
{
	struct nn_counters *c = w->counters;
	const struct nn_local *l = w->local;
	const struct nn_trend trend = c->trend; /* of this rank's own steps */
	uint64_t step = c->step, rows = c->rows;

	*c = l->base;
	c->trend = trend;
	c->step = step;
	c->rows = rows;
	for (int r = 0; r < w->layout->comm->size; r++) {
		const double *past = l->all[r].past;

		c->loss += past[LOSS];
		c->weight += past[WEIGHT];
		c->hits += past[HITS];
		c->counted += past[COUNTED];
		c->squares += past[SQUARES];
	}
}

/* The result of the step under way over all ranks. */
static void join_now(const struct nn_worker *w, struct nn_step_result *result)
{
	double sums[SUMS] = { 0 };

	for (int r = 0; r < w->layout->comm->size; r++)
		for (int i = 0; i < SUMS; i++)
			sums[i] += w->local->all[r].now[i];
	result->weight = sums[WEIGHT];
	result->loss = sums[WEIGHT] > 0 ? sums[LOSS] / sums[WEIGHT] : 0;
	result->hits = sums[HITS];
	result->counted = sums[COUNTED];
	result->squares = sums[SQUARES];
}

/* Of this rank in the mean, by the reports of the last average; negative: all have the same. */
static double share(const struct nn_worker *w)
{
	const struct nn_local *l = w->local;
	double total = 0;
	bool equal = true;

	for (int r = 0; r < w->layout->comm->size; r++) {
		total += l->all[r].weight;
		equal &= l->all[r].weight == l->all[0].weight;
	}
	return equal ? -1 : l->report.weight / total;
}

/*
 * All ranks the same again, but for slots that stay their own. The loss of a step that was not
 * finite on one of them ends the training on all; what any of them asked for is added to control.
 */
static int average(struct nn_worker *w, bool slots, struct nn_control *control,
		   struct nn_error *err)
{
	struct nn_local *l = w->local;

	take_past(l, w->counters);
	if (nn_comm_all_gather(w->layout->comm, &l->report, l->all, sizeof l->report, err) < 0)
		return -1;
	for (int r = 0; r < w->layout->comm->size; r++)
		if (l->all[r].diverged)
			return nn_fail(
				err, NN_EDIVERGED,
				"the loss of rank %d was not finite in the %llu local step%s "
				"up to step %llu; a lower --lr "
				"than %g or --clip-norm may help",
				r, (unsigned long long)l->since, nn_s(l->since),
				(unsigned long long)w->counters->step + 1, w->task->recipe->lr);
	if (average_all(w, share(w), slots, err) < 0)
		return -1;
	for (int r = 0; r < w->layout->comm->size; r++)
		nn_control_merge(control, &l->all[r].control);
	l->own_slots = !slots;
	join_past(w);
	l->since = 0;
	return 0;
}

/* ---- the hooks ---- */

static int local_parse(struct nn_strategy_terms *terms, const char *text, struct nn_error *err)
{
	const char *at = strchr(text, '@');
	size_t length = at ? (size_t)(at - text) : strlen(text);

	if (length > 1 && nn_parse_u64(text + 1, length - 1, &terms->every) && terms->every > 0 &&
	    (!at || nn_parse_u64(at + 1, strlen(at + 1), &terms->from)))
		return 0;
	return nn_fail(
		err, NN_EUSAGE,
		"expected local:H, steps between averages, or local:H@STEP, sync up to that step");
}

static int local_open(struct nn_worker *w, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t size = nn_dtype_size(w->task->device->dtype);

	if (nn_strategy_sync.open(w, err) < 0 || !(w->local = nn_alloc(1, sizeof *w->local, err)))
		return -1;
	w->local->all = nn_alloc((size_t)w->layout->comm->size, sizeof *w->local->all, err);
	if (!w->local->all)
		return -1;
	if (w->layout->comm->size == 1)
		return 0;
	if (nn_mirror_of(&w->local->block, nn_graph_queue(graph), NULL,
			 nn_graph_trained(graph) * size, err) < 0)
		return -1;
	return nn_shared_open(
		&w->local->window, w->layout->comm,
		nn_shared_sum_bytes(w->layout->comm->size, nn_graph_block(graph) * size), err);
}

static void local_close(struct nn_worker *w)
{
	if (!w->local)
		return;
	nn_shared_close(w->local->window);
	nn_mirror_free(&w->local->block, nn_graph_queue(nn_step_graph(w->step)));
	nn_free(w->local->all);
	nn_free(w->local);
	w->local = NULL;
}

/* Of sync each rank has a part of the slots; after that all have all. */
static int synchronize(struct nn_worker *w, struct nn_control *control, struct nn_error *err)
{
	uint64_t from = w->layout->terms.from;

	return from > 0 && w->counters->step <= from ? nn_strategy_sync.synchronize(w, control, err)
						     : 0;
}

static int local_synchronize(struct nn_worker *w, struct nn_control *control, struct nn_error *err)
{
	struct nn_local *l = w->local;

	if (l->since > 0) {
		memset(l->report.now, 0, sizeof l->report.now);
		return average(w, true, control, err);
	}
	if (!l->own_slots)
		return synchronize(w, control, err);
	l->own_slots = false;
	return average_slots(w, share(w), err);
}

/* This rank's share of the batch, alone. A small last batch may have no leaf for it. */
static int own_step(struct nn_worker *w, const struct nn_strategy_update *u, bool norm,
		    struct nn_step_result *result, struct nn_error *err)
{
	struct nn_step_tables tables;
	struct nn_local *l = w->local;
	struct nn_batch batch;
	bool finite;
	int status = 0;

	nn_step_set_local(w->step, true);
	if (nn_loader_draw(w->loader, u->number - 1, &batch, err) < 0 ||
	    nn_step_begin(w->step, &batch, &tables, err) < 0 ||
	    nn_step_run(w->step, result, err) < 0)
		return -1;
	finite = result->finite;
	if (result->weight > 0) {
		finite = finite && nn_step_finish(w->step, result);
		if (finite) {
			nn_step_join(w->step);
			status = nn_step_update(w->step, u->number, u->lr, norm, result, err);
		}
		l->report.diverged |= !finite;
	}
	nn_step_set_local(w->step, false);
	if (result->weight == 0 || !finite)
		result->loss = result->weight = 0;
	result->finite = true; /* a rank that is not reports it at the next average */
	return status;
}

static int local_step(struct nn_worker *w, const struct nn_strategy_update *u,
		      struct nn_control *control, struct nn_step_result *result,
		      struct nn_error *err)
{
	struct nn_local *l = w->local;
	struct nn_control own = *control;
	double start, *now = l->report.now;

	if (w->layout->comm->size == 1 || u->number <= w->layout->terms.from)
		return nn_strategy_sync.step(w, u, control, result, err);
	if (l->since++ == 0) {
		if (synchronize(w, control, err) < 0)
			return -1;
		memset(&l->report, 0, sizeof l->report);
		l->base = *w->counters;
	}
	if (own_step(w, u, own.norm, result, err) < 0)
		return -1;
	l->report.weight += result->weight;
	nn_control_merge(&l->report.control, &own);
	*control = (struct nn_control){ .norm = own.norm };
	if (l->since < w->layout->terms.every)
		return 0;
	now[LOSS] = result->loss * result->weight;
	now[WEIGHT] = result->weight;
	now[HITS] = result->hits;
	now[COUNTED] = result->counted;
	now[SQUARES] = result->squares;
	start = nn_now_s();
	if (average(w, false, control, err) < 0)
		return -1;
	join_now(w, result);
	result->comm_s = nn_now_s() - start;
	return 0;
}

const struct nn_strategy nn_strategy_local = {
	.name = "local",
	.alone = true,
	.parse = local_parse,
	.prepare = nn_sync_prepare,
	.release = nn_sync_release,
	.open = local_open,
	.close = local_close,
	.step = local_step,
	.synchronize = local_synchronize,
};
