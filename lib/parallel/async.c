/*
 * async: a parameter server on rank 0 (Dean et al. 2012, "Large scale distributed deep networks"),
 * with bounded staleness (Ho et al. 2013, "More effective distributed ML via a stale synchronous
 * parallel parameter server"). A rank is given the parameters and the number of a batch, and sends
 * the gradient of the whole batch; rank 0 makes one update of each gradient, in the order in which
 * they come as far as the bound allows. So a step is a batch, as with sync, and one computing rank
 * trains to the bytes of one process.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "parallel/ranks.h"
#include "parallel/async.h"

#define SERVER NN_ASYNC_SERVER

struct nn_async {
	struct nn_async_line line;
	/* of the server */
	size_t n;                     /* computing ranks: 1 .. n */
	struct nn_staleness *flights; /* [n], of rank i + 1, as the next two */
	struct nn_async_answer *answers;
	struct nn_request *requests;
	uint64_t next;       /* batch to be given out */
	uint64_t *histogram; /* [staleness]: updates */
	size_t n_histogram;
	struct nn_output *record; /* NULL: no --record */
	struct nn_replay *replay; /* NULL: no --replay-run */
};

/* ---- a computing rank ---- */

/* What is to be done next; waiting for it does not count as communication. */
static int await_task(struct nn_worker *w, struct nn_async_task *task, struct nn_error *err)
{
	const struct nn_message reports = { 0, task, sizeof *task };
	struct nn_async_line *line = &w->async->line;
	double before = line->comm_s;

	if (nn_async_exchange(w, line, SERVER, false, &reports, 1, err) < 0)
		return -1;
	w->wait_s += line->comm_s - before;
	line->comm_s = before;
	if (w->at)
		w->at(w->arg, task->step);
	return 0;
}

/*
 * A gradient has as many bytes as the parameters: what took longer than they did, since comm_s was
 * `sent`, was waiting for its turn.
 */
static void count_turn(struct nn_worker *w, double parameters_s, double sent)
{
	double more = w->async->line.comm_s - sent - parameters_s;

	if (more <= 0)
		return;
	w->wait_s += more;
	w->async->line.comm_s -= more;
}

static int work(struct nn_worker *w, int *stopped, struct nn_error *err)
{
	struct nn_async *a = w->async;

	for (;;) {
		struct nn_async_task task;
		struct nn_async_answer answer = { 0 };
		struct nn_step_tables tables;
		struct nn_step_result result;
		struct nn_batch batch;
		double sent, parameters_s;

		if (await_task(w, &task, err) < 0)
			return -1;
		*stopped = task.signal;
		if (task.end)
			return 0;
		sent = a->line.comm_s;
		if (nn_async_receive_parameters(w, &a->line, err) < 0)
			return -1;
		parameters_s = a->line.comm_s - sent;
		nn_graph_refresh(nn_step_graph(w->step));
		if (nn_loader_draw(w->loader, task.batch, &batch, err) < 0 ||
		    nn_step_begin(w->step, &batch, &tables, err) < 0 ||
		    nn_step_run(w->step, &result, err) < 0)
			return -1;
		answer.finite = result.finite;
		answer.nonfinite_line = result.nonfinite_line;
		w->compute_s += result.compute_s;
		w->input_s += result.input_s;
		sent = a->line.comm_s;
		answer.compute_s = w->compute_s;
		answer.comm_s = sent;
		answer.wait_s = w->wait_s;
		if (nn_async_send_answer(w, &a->line, &answer, err) < 0)
			return -1;
		if (answer.finite &&
		    nn_async_exchange_gradient(w, &a->line, SERVER, true, &tables, err) < 0)
			return -1;
		count_turn(w, parameters_s, sent);
	}
}

/* ---- the server ---- */

/* Batches to all ranks that have none, as many as the bound allows. */
static int give_out(struct nn_worker *w, struct nn_error *err)
{
	struct nn_async *a = w->async;

	for (size_t i = 0; i < a->n; i++) {
		struct nn_staleness *f = &a->flights[i];
		struct nn_async_task task = { .batch = a->next, .step = w->counters->step };
		struct nn_message answer = { (int)i + 1, &a->answers[i], sizeof *a->answers };

		if (f->out || a->next >= w->task->planned ||
		    !nn_staleness_may_dispatch(a->flights, a->n, w->counters->step,
					       w->layout->terms.staleness))
			continue;
		if (nn_comm_expect(w->layout->comm, &answer, &a->requests[i], err) < 0 ||
		    nn_async_send_task(w, &a->line, (int)i + 1, &task, err) < 0)
			return -1;
		*f = (struct nn_staleness){ .out = true,
					    .batch = a->next++,
					    .version = w->counters->step };
	}
	return 0;
}

/* A rank's gradient is there. */
static void take_answer(struct nn_worker *w, size_t which)
{
	const struct nn_async_answer *answer = &w->async->answers[which];
	struct nn_rank_times *times = &w->ranks[which + 1];

	w->async->flights[which].there = true;
	times->compute_s = answer->compute_s;
	times->comm_s = answer->comm_s;
	times->wait_s = answer->wait_s;
	times->steps++;
}

/* Of the gradients that wait the oldest that may be applied; waits for more until there is one. */
static int choose(struct nn_worker *w, size_t *which, double *waited, struct nn_error *err)
{
	struct nn_async *a = w->async;
	double start = nn_now_s();

	for (;;) {
		size_t came;

		*which = a->n;
		for (size_t i = 0; i < a->n; i++)
			if (a->flights[i].there &&
			    (*which == a->n ||
			     a->flights[i].version < a->flights[*which].version) &&
			    nn_staleness_may_apply(a->flights, a->n, i, w->counters->step,
						   w->layout->terms.staleness))
				*which = i;
		*waited = nn_now_s() - start;
		if (*which < a->n)
			return 0;
		if (nn_comm_any(w->layout->comm, a->requests, a->n, &came, err) < 0) {
			a->line.lost = true;
			return -1;
		}
		take_answer(w, came);
	}
}

static int record(struct nn_worker *w, size_t which, const struct nn_staleness *f,
		  struct nn_error *err)
{
	if (!w->async->record)
		return 0;
	return nn_output_printf(w->async->record, err,
				"%" PRIu64 "\t%zu\t%" PRIu64 "\t%" PRIu64 "\n",
				w->counters->step + 1, which + 1, f->batch + 1, f->version);
}

/* The gradient of a rank, applied. */
static int land(struct nn_worker *w, size_t which, const struct nn_strategy_update *u, bool norm,
		struct nn_step_result *result, struct nn_error *err)
{
	struct nn_async *a = w->async;
	struct nn_staleness f = a->flights[which];
	const struct nn_async_answer *answer = &a->answers[which];
	uint64_t staleness = w->counters->step - f.version;
	struct nn_batch batch;
	struct nn_step_tables tables;

	a->flights[which] = (struct nn_staleness){ 0 };
	if (nn_loader_draw(w->loader, f.batch, &batch, err) < 0 ||
	    nn_step_begin(w->step, &batch, &tables, err) < 0)
		return -1;
	nn_step_scale(w->step, result);
	result->nonfinite_line = answer->nonfinite_line;
	result->finite = answer->finite;
	if (!answer->finite)
		return 0;
	if (nn_async_exchange_gradient(w, &a->line, (int)which + 1, false, &tables, err) < 0)
		return -1;
	if (!nn_step_finish(w->step, result))
		return 0;
	if (nn_step_update(w->step, u->number, nn_async_rate(w, u->lr, staleness), norm, result,
			   err) < 0)
		return -1;
	a->histogram[staleness < a->n_histogram ? staleness : a->n_histogram - 1]++;
	return record(w, which, &f, err);
}

/* One rank alone is server and worker in turn: nothing is ever stale. */
static int alone(struct nn_worker *w, const struct nn_strategy_update *u, bool norm,
		 struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_staleness f = { .batch = w->counters->step, .version = w->counters->step };
	const struct nn_step_terms terms = { u->number, u->lr, norm };
	struct nn_batch batch;

	if (nn_loader_draw(w->loader, u->number - 1, &batch, err) < 0 ||
	    nn_step_whole(w->step, &batch, &terms, NULL, result, err) < 0)
		return -1;
	if (!result->finite)
		return 0;
	w->async->histogram[0]++;
	return record(w, 0, &f, err);
}

static int async_step(struct nn_worker *w, const struct nn_strategy_update *u,
		      struct nn_control *control, struct nn_step_result *result,
		      struct nn_error *err)
{
	struct nn_async *a = w->async;
	double waited, sent = a->line.comm_s;
	size_t which;

	if (a->replay)
		return nn_replay_step(w, a->replay, u, control->norm, result, err);
	if (a->n == 0)
		return alone(w, u, control->norm, result, err);
	if (give_out(w, err) < 0 || choose(w, &which, &waited, err) < 0 ||
	    land(w, which, u, control->norm, result, err) < 0)
		return -1;
	result->wait_s = waited;
	result->comm_s = a->line.comm_s - sent;
	return 0;
}

/* Batches under way are finished and dropped; then all ranks are informed. */
static void dismiss(struct nn_worker *w, int signal)
{
	struct nn_async *a = w->async;
	struct nn_async_task task = { .step = w->counters->step, .end = 1, .signal = signal };

	for (size_t i = 0; i < a->n && !a->line.lost; i++) {
		struct nn_staleness *f = &a->flights[i];
		struct nn_message reports = { 0, &task, sizeof task };
		struct nn_step_tables tables;
		struct nn_batch batch;
		size_t came;

		while (f->out && !f->there && !a->line.lost) {
			a->line.lost |=
				nn_comm_any(w->layout->comm, a->requests, a->n, &came, NULL) < 0;
			if (!a->line.lost)
				take_answer(w, came);
		}
		if (f->out && !a->line.lost && a->answers[i].finite) {
			a->line.lost |= nn_loader_draw(w->loader, f->batch, &batch, NULL) < 0 ||
					nn_step_begin(w->step, &batch, &tables, NULL) < 0 ||
					nn_async_exchange_gradient(w, &a->line, (int)i + 1, false,
								   &tables, NULL) < 0;
		}
		if (!a->line.lost)
			nn_async_exchange(w, &a->line, (int)i + 1, true, &reports, 1, NULL);
	}
}

/* "staleness: 0 in 57 % of 1200 updates, 1 in 43 %; at most 1, --staleness=4". */
static void report(struct nn_worker *w)
{
	const struct nn_async *a = w->async;
	struct nn_text text = { 0 };
	uint64_t updates = 0;
	size_t most = 0;

	for (size_t s = 0; s < a->n_histogram; s++) {
		updates += a->histogram[s];
		most = a->histogram[s] ? s : most;
	}
	if (updates == 0)
		return;
	nn_text_addf(&text, "staleness of %" PRIu64 " update%s:", updates, nn_s(updates));
	for (size_t s = 0; s <= most; s++)
		if (a->histogram[s])
			nn_text_addf(&text, " %zu: %" PRIu64 " (%.1f %%)%s", s, a->histogram[s],
				     100 * (double)a->histogram[s] / (double)updates,
				     s < most ? "," : "");
	nn_text_addf(&text, "; --staleness=%" PRIu64, w->layout->terms.staleness);
	if (!text.failed)
		nn_worker_note(w, "%s", text.data);
	nn_text_free(&text);
}

/* ---- the hooks ---- */

static int open_server(struct nn_worker *w, struct nn_error *err)
{
	struct nn_async *a = w->async;

	a->n = (size_t)w->layout->comm->size - 1;
	a->next = w->counters->step;
	a->n_histogram =
		w->layout->terms.staleness < 4096 ? (size_t)w->layout->terms.staleness + 1 : 4097;
	a->flights = nn_alloc(a->n + 1, sizeof *a->flights, err);
	a->answers = nn_alloc(a->n + 1, sizeof *a->answers, err);
	a->requests = nn_alloc(a->n + 1, sizeof *a->requests, err);
	a->histogram = nn_alloc(a->n_histogram, sizeof *a->histogram, err);
	if (!a->flights || !a->answers || !a->requests || !a->histogram)
		return -1;
	if (w->layout->options->replay_run &&
	    nn_replay_open(&a->replay, w->layout->options->replay_run, &w->origin, err) < 0)
		return -1;
	if (!w->layout->options->record)
		return 0;
	if (nn_output_open(&a->record, w->layout->options->record, false, err) < 0)
		return -1;
	return nn_output_printf(a->record, err, "# %s\nstep\trank\tbatch\tversion\n",
				w->origin.text.data);
}

static int async_open(struct nn_worker *w, struct nn_error *err)
{
	if (!(w->async = nn_alloc(1, sizeof *w->async, err)))
		return -1;
	if (w->layout->terms.staleness == UINT64_MAX)
		w->layout->terms.staleness =
			2 * (uint64_t)(w->layout->comm->size > 1 ? w->layout->comm->size - 1 : 1);
	if (nn_async_line_open(w, &w->async->line, err) < 0)
		return -1;
	return w->layout->comm->rank == SERVER ? open_server(w, err) : 0;
}

static void async_close(struct nn_worker *w)
{
	struct nn_async *a = w->async;

	if (!a)
		return;
	nn_async_line_close(w, &a->line);
	nn_output_abort(a->record);
	nn_replay_free(a->replay);
	nn_free(a->flights);
	nn_free(a->answers);
	nn_free(a->requests);
	nn_free(a->histogram);
	nn_free(a);
	w->async = NULL;
}

static int async_run(struct nn_worker *w, const struct nn_strategy_loop *loop, int *stopped,
		     struct nn_error *err)
{
	struct nn_async *a = w->async;
	int status;

	if (nn_worker_share_times(w, err) < 0)
		return -1;
	if (w->layout->comm->rank != SERVER)
		return work(w, stopped, err);
	status = loop->run(loop->arg, stopped, err);
	dismiss(w, *stopped);
	if (status == 0)
		report(w);
	if (status == 0 && a->record) {
		status = nn_output_commit(a->record, err);
		a->record = NULL;
	}
	return status;
}

const struct nn_strategy nn_strategy_async = {
	.name = "async",
	.whole = true,
	.stale = true,
	.messages = true,
	.open = async_open,
	.close = async_close,
	.run = async_run,
	.step = async_step,
};
