/*
 * async: a parameter server on rank 0 (Dean et al. 2012, "Large scale distributed deep networks"), with bounded staleness (Ho et al.
 * 2013, "More effective distributed ML via a stale synchronous parallel parameter server"). A rank is given the parameters and the number of a
 * batch, and sends the gradient of the whole batch; rank 0 makes one update of each gradient, in the order in which they come as far as
 * the bound allows. So a step is a batch, as with sync, and one computing rank trains to the bytes of one process.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/strategy/async.h"
#include "train/strategy/tables.h"

#define SERVER 0

/* From the server: a batch to compute, or the end. Parameters follow a batch. */
struct task {
	uint64_t batch;
	int32_t end;                 /* 1: the training is over */
	int32_t signal;              /* that ended it, or 0 */
};

/* To the server: what came of it. If finite, gradient, figures and statistics follow. */
struct answer {
	double compute_s, input_s;
	int32_t finite, bad_line;
};

struct nn_async {
	struct nn_order order;
	/* of the server */
	size_t n;                    /* computing ranks: 1 .. n */
	struct nn_flight *flights;   /* [n], of rank i + 1, as the next two */
	struct answer *answers;
	struct nn_request *requests;
	uint64_t next;               /* batch to be given out */
	uint64_t *histogram;         /* [staleness]: updates */
	size_t n_histogram;
	struct nn_output *record;    /* NULL: no --record */
	struct nn_replay *replay;    /* NULL: no --replay-run */
	bool lost;                   /* a message failed: nothing can be said to the others any more */
};

double nn_async_rate(const struct nn_train *t, double lr, uint64_t staleness)
{
	return t->options->staleness_lr ? lr / (double)(1 + staleness) : lr;
}

/* ---- messages: the same list on both sides ---- */

static int exchange(struct nn_train *t, int peer, bool sends, const struct nn_message *messages, size_t n, struct nn_error *err)
{
	struct nn_message to[4];
	int status;

	for (size_t i = 0; i < n; i++) {
		to[i] = messages[i];
		to[i].peer = peer;
	}
	status = sends ? nn_comm_exchange(t->comm, to, n, NULL, 0, err) : nn_comm_exchange(t->comm, NULL, 0, to, n, err);
	t->async->lost |= status < 0;
	return status;
}

static int exchange_parameters(struct nn_train *t, int peer, bool sends, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(t->step);
	const struct nn_message m = { 0, nn_graph_weights(graph), nn_graph_trained(graph) * nn_dtype_size(t->device->dtype) };

	return exchange(t, peer, sends, &m, 1, err);
}

static int exchange_gradient(struct nn_train *t, int peer, bool sends, const struct nn_step_tables *tables, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t groups = tables->statistics ? tables->cut->group_of_leaf[tables->cut->n_leaves] : 0;
	const struct nn_message m[] = {
		{ 0, nn_graph_gradients(graph), nn_graph_block(graph) * nn_dtype_size(t->device->dtype) },
		{ 0, tables->figures, tables->cut->n_leaves * tables->n_figures * sizeof *tables->figures },
		{ 0, tables->statistics, groups * tables->statistics_bytes },
	};

	if (exchange(t, peer, sends, m, sizeof m / sizeof *m, err) == 0 &&
	    nn_tables_pass(graph, t->comm, peer, sends, t->device->dtype, err) == 0)
		return 0;
	t->async->lost = true;
	return -1;
}

/* ---- a computing rank ---- */

static int work(struct nn_train *t, int *stopped, struct nn_error *err)
{
	struct nn_async *a = t->async;

	for (;;) {
		struct task task;
		struct answer answer = {0};
		struct nn_step_tables tables;
		struct nn_step_result result;
		struct nn_strategy_batch b;
		struct nn_message said = { 0, &task, sizeof task };

		if (exchange(t, SERVER, false, &said, 1, err) < 0)
			return -1;
		*stopped = task.signal;
		if (task.end)
			return 0;
		if (exchange_parameters(t, SERVER, false, err) < 0)
			return -1;
		nn_graph_refresh(nn_step_graph(t->step));
		b = nn_train_batch(t, &a->order, task.batch);
		nn_step_begin(t->step, b.rows, b.n, &tables);
		answer.finite = nn_step_run(t->step, b.sample, &result);
		answer.bad_line = result.bad_line;
		answer.compute_s = result.compute_s;
		answer.input_s = result.input_s;
		t->compute_s += result.compute_s;
		t->input_s += result.input_s;
		said = (struct nn_message){ 0, &answer, sizeof answer };
		if (exchange(t, SERVER, true, &said, 1, err) < 0)
			return -1;
		if (answer.finite && exchange_gradient(t, SERVER, true, &tables, err) < 0)
			return -1;
	}
}

/* ---- the server ---- */

/* Batches to all ranks that have none, as many as the bound allows. */
static int give_out(struct nn_train *t, struct nn_error *err)
{
	struct nn_async *a = t->async;

	for (size_t i = 0; i < a->n; i++) {
		struct nn_flight *f = &a->flights[i];
		struct task task = { .batch = a->next };
		struct nn_message said = { 0, &task, sizeof task }, answer = { (int)i + 1, &a->answers[i], sizeof *a->answers };

		if (f->out || a->next >= t->planned || !nn_flight_may_leave(a->flights, a->n, t->counters.step, t->options->staleness))
			continue;
		if (nn_comm_expect(t->comm, &answer, &a->requests[i], err) < 0 || exchange(t, (int)i + 1, true, &said, 1, err) < 0 ||
		    exchange_parameters(t, (int)i + 1, true, err) < 0)
			return -1;
		*f = (struct nn_flight){ .out = true, .batch = a->next++, .version = t->counters.step };
	}
	return 0;
}

/* Of the gradients that wait the oldest that may be applied; waits for more until there is one. */
static int choose(struct nn_train *t, size_t *which, double *waited, struct nn_error *err)
{
	struct nn_async *a = t->async;
	double start = nn_now_s();

	for (;;) {
		size_t came;

		*which = a->n;
		for (size_t i = 0; i < a->n; i++)
			if (a->flights[i].there && (*which == a->n || a->flights[i].version < a->flights[*which].version) &&
			    nn_flight_may_land(a->flights, a->n, i, t->counters.step, t->options->staleness))
				*which = i;
		*waited = nn_now_s() - start;
		if (*which < a->n)
			return 0;
		if (nn_comm_any(t->comm, a->requests, a->n, &came, err) < 0) {
			a->lost = true;
			return -1;
		}
		a->flights[came].there = true;
	}
}

static int record(struct nn_train *t, size_t which, const struct nn_flight *f, struct nn_error *err)
{
	if (!t->async->record)
		return 0;
	return nn_output_printf(t->async->record, err, "%" PRIu64 "\t%zu\t%" PRIu64 "\t%" PRIu64 "\n", t->counters.step + 1, which + 1,
				f->batch + 1, f->version);
}

/* The gradient of a rank, applied. */
static int land(struct nn_train *t, size_t which, const struct nn_strategy_batch *b, bool norm, struct nn_step_result *result,
		struct nn_error *err)
{
	struct nn_async *a = t->async;
	struct nn_flight f = a->flights[which];
	const struct answer *answer = &a->answers[which];
	uint64_t staleness = t->counters.step - f.version;
	struct nn_strategy_batch theirs = nn_train_batch(t, &a->order, f.batch);
	struct nn_step_tables tables;

	a->flights[which] = (struct nn_flight){0};
	nn_step_begin(t->step, theirs.rows, theirs.n, &tables);
	nn_step_scale(t->step, result);
	result->bad_line = answer->bad_line;
	if (!answer->finite)
		return 0;
	if (exchange_gradient(t, (int)which + 1, false, &tables, err) < 0)
		return -1;
	if (!nn_step_finish(t->step, result))
		return 0;
	if (nn_step_update(t->step, b->number, nn_async_rate(t, b->lr, staleness), norm, result, err) < 0)
		return -1;
	a->histogram[staleness < a->n_histogram ? staleness : a->n_histogram - 1]++;
	return record(t, which, &f, err);
}

/* One rank alone is server and worker in turn: nothing is ever stale. */
static int alone(struct nn_train *t, const struct nn_strategy_batch *b, bool norm, struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_flight f = { .batch = t->counters.step, .version = t->counters.step };

	if (!nn_step_gradient(t->step, b->rows, b->n, b->sample, result))
		return 0;
	if (nn_step_update(t->step, b->number, b->lr, norm, result, err) < 0)
		return -1;
	t->async->histogram[0]++;
	return record(t, 0, &f, err);
}

static int async_step(struct nn_train *t, const struct nn_strategy_batch *b, struct nn_wish *wish, struct nn_step_result *result,
		      struct nn_error *err)
{
	struct nn_async *a = t->async;
	double waited;
	size_t which;

	if (a->replay)
		return nn_replay_step(t, a->replay, b, wish->norm, result, err);
	if (a->n == 0)
		return alone(t, b, wish->norm, result, err);
	if (give_out(t, err) < 0 || choose(t, &which, &waited, err) < 0 || land(t, which, b, wish->norm, result, err) < 0)
		return -1;
	result->wait_s = waited;
	return 0;
}

/* What is under way comes to its end and is left out; then all ranks are told. */
static void dismiss(struct nn_train *t, int signal)
{
	struct nn_async *a = t->async;
	struct task task = { .end = 1, .signal = signal };

	for (size_t i = 0; i < a->n && !a->lost; i++) {
		struct nn_flight *f = &a->flights[i];
		struct nn_message said = { 0, &task, sizeof task };
		struct nn_step_tables tables;
		size_t came;

		while (f->out && !f->there && !a->lost) {
			a->lost |= nn_comm_any(t->comm, a->requests, a->n, &came, NULL) < 0;
			if (!a->lost)
				a->flights[came].there = true;
		}
		if (f->out && !a->lost && a->answers[i].finite) {
			struct nn_strategy_batch theirs = nn_train_batch(t, &a->order, f->batch);

			nn_step_begin(t->step, theirs.rows, theirs.n, &tables);
			exchange_gradient(t, (int)i + 1, false, &tables, NULL);
		}
		if (!a->lost)
			exchange(t, (int)i + 1, true, &said, 1, NULL);
	}
}

/* "staleness: 0 in 57 % of 1200 updates, 1 in 43 %; at most 1, --staleness=4". */
static void report(struct nn_train *t)
{
	const struct nn_async *a = t->async;
	struct nn_text text = {0};
	uint64_t updates = 0;
	size_t most = 0;

	for (size_t s = 0; s < a->n_histogram; s++) {
		updates += a->histogram[s];
		most = a->histogram[s] ? s : most;
	}
	if (updates == 0)
		return;
	nn_text_addf(&text, "staleness of %" PRIu64 " updates:", updates);
	for (size_t s = 0; s <= most; s++)
		if (a->histogram[s])
			nn_text_addf(&text, " %zu: %" PRIu64 " (%.1f %%)%s", s, a->histogram[s], 100 * (double)a->histogram[s] / (double)updates,
				     s < most ? "," : "");
	nn_text_addf(&text, "; --staleness=%" PRIu64, t->options->staleness);
	if (!text.failed)
		nn_train_note(t, "%s", text.data);
	nn_text_free(&text);
}

/* ---- the hooks ---- */

static int open_server(struct nn_train *t, struct nn_error *err)
{
	struct nn_async *a = t->async;

	a->n = (size_t)t->comm->size - 1;
	a->next = t->counters.step;
	a->n_histogram = t->options->staleness < 4096 ? (size_t)t->options->staleness + 1 : 4097;
	a->flights = nn_alloc(a->n + 1, sizeof *a->flights, err);
	a->answers = nn_alloc(a->n + 1, sizeof *a->answers, err);
	a->requests = nn_alloc(a->n + 1, sizeof *a->requests, err);
	a->histogram = nn_alloc(a->n_histogram, sizeof *a->histogram, err);
	if (!a->flights || !a->answers || !a->requests || !a->histogram)
		return -1;
	if (t->options->replay_run && nn_replay_open(&a->replay, t->options->replay_run, err) < 0)
		return -1;
	if (!t->options->record)
		return 0;
	if (nn_output_open(&a->record, t->options->record, false, err) < 0)
		return -1;
	return nn_output_printf(a->record, err, "step\trank\tbatch\tversion\n");
}

static int async_open(struct nn_train *t, struct nn_error *err)
{
	if (!(t->async = nn_alloc(1, sizeof *t->async, err)) || !(t->async->order.rows = nn_alloc(t->n_rows, sizeof *t->order.rows, err)))
		return -1;
	if (!nn_opt_given(t->setup.list, "staleness"))
		t->options->staleness = 2 * (uint64_t)(t->comm->size > 1 ? t->comm->size - 1 : 1);
	return t->comm->rank == SERVER ? open_server(t, err) : 0;
}

static void async_close(struct nn_train *t)
{
	struct nn_async *a = t->async;

	if (!a)
		return;
	nn_output_abort(a->record);
	nn_replay_free(a->replay);
	nn_free(a->order.rows);
	nn_free(a->flights);
	nn_free(a->answers);
	nn_free(a->requests);
	nn_free(a->histogram);
	nn_free(a);
	t->async = NULL;
}

static int async_run(struct nn_train *t, int *stopped, struct nn_error *err)
{
	struct nn_async *a = t->async;
	int status;

	if (t->comm->rank != SERVER)
		return work(t, stopped, err);
	status = nn_train_loop(t, stopped, err);
	dismiss(t, *stopped);
	if (status == 0)
		report(t);
	if (status == 0 && a->record) {
		status = nn_output_commit(a->record, err);
		a->record = NULL;
	}
	return status;
}

const struct nn_strategy nn_strategy_async = {
	.name = "async", .whole = true, .open = async_open, .close = async_close, .run = async_run, .step = async_step,
};
