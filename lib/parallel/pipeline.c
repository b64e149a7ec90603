/*
 * The pipeline: each stage works off its list, waits for what it needs, and passes on what it has
 * made while it goes on.
 */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/worker.h"
#include "parallel/ranks.h"
#include "parallel/pipeline.h"

/* ---- a step ---- */

/* What crosses a bound of this stage in a slot: values on their way forward, gradients back. */
static struct nn_mirror *crossing(const struct nn_pipe *p, size_t slot, enum nn_graph_side side,
				  size_t edge, bool back)
{
	return &p->crossing[((slot * 2 + side) * p->edges + edge) * 2 + back];
}

int nn_pipe_take_crossing(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t rows = nn_step_most_rows(w->step);

	if (nn_queue_open(&p->pins, w->task->device, err) < 0)
		return -1;
	for (size_t slot = 0; slot < p->slots; slot++) {
		nn_graph_use(graph, slot);
		for (int k = 0; k < 4; k++) {
			enum nn_graph_side side = k / 2;

			for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
				struct nn_graph_edge e = nn_graph_edge(graph, side, i);
				void *there = k % 2 ? e.gradient : e.value;

				if (there &&
				    nn_mirror_of(crossing(p, slot, side, i, k % 2), p->pins, there,
						 rows * e.row_bytes, err) < 0)
					return -1;
			}
		}
	}
	nn_graph_use(graph, 0);
	return 0;
}

/* What crosses with a micro-batch, by that side. The number of messages. */
static size_t messages(struct nn_worker *w, enum nn_graph_side side, struct nn_pipeline_work item,
		       size_t rows)
{
	struct nn_pipe *p = w->layout->pipe;
	struct nn_graph *graph = nn_step_graph(w->step);
	int peer = side == NN_SIDE_COMING ? p->stage - 1 : p->stage + 1;
	size_t n = 0;

	for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
		struct nn_mirror *m = crossing(p, item.micro % p->slots, side, i, item.backward);

		if (m->there)
			p->messages[n++] = (struct nn_message){
				peer, m->host, rows * nn_graph_edge(graph, side, i).row_bytes
			};
	}
	return n;
}

/* From pinned memory to the device's, or back, complete on return. */
static int move(struct nn_worker *w, enum nn_graph_side side, struct nn_pipeline_work item,
		size_t rows, bool out, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	struct nn_graph *graph = nn_step_graph(w->step);
	struct nn_queue *queue = nn_graph_queue(graph);

	for (size_t i = 0; queue && i < nn_graph_edges(graph, side); i++) {
		struct nn_mirror *m = crossing(p, item.micro % p->slots, side, i, item.backward);
		size_t bytes = rows * nn_graph_edge(graph, side, i).row_bytes;

		if (m->there && out)
			nn_mirror_fetch(m, queue, 0, bytes);
		else if (m->there)
			nn_mirror_send(m, queue, 0, bytes);
	}
	return nn_queue_wait(queue, err);
}

/* Wait until the slot is free to be used again, and for what this work needs. */
static int await(struct nn_worker *w, struct nn_pipeline_work item, size_t rows,
		 struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	double start = nn_now_s();
	struct nn_posted *posted = &p->posted[item.micro % p->slots];
	enum nn_graph_side side = item.backward ? NN_SIDE_GOING : NN_SIDE_COMING;
	size_t n = messages(w, side, item, rows);

	if (nn_comm_finish(p->line, posted, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_comm_post_receive(p->line, &p->messages[i], posted, err) < 0)
			return -1;
	if (nn_comm_finish(p->line, posted, err) < 0 || move(w, side, item, rows, false, err) < 0)
		return -1;
	result->wait_s += nn_now_s() - start;
	return 0;
}

static int pass_on(struct nn_worker *w, struct nn_pipeline_work item, size_t rows,
		   struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	enum nn_graph_side side = item.backward ? NN_SIDE_COMING : NN_SIDE_GOING;
	size_t n = messages(w, side, item, rows);

	if (move(w, side, item, rows, true, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_comm_post(p->line, &p->messages[i], &p->posted[item.micro % p->slots], err) <
		    0)
			return -1;
	return 0;
}

static int finish_all(struct nn_pipe *p, struct nn_error *err)
{
	for (size_t i = 0; i < p->slots; i++)
		if (nn_comm_finish(p->line, &p->posted[i], err) < 0)
			return -1;
	return 0;
}

/*
 * Where the loss of a micro-batch is not finite the others go on all the same: every stage has its
 * list, and nothing is updated.
 */
static int work(struct nn_worker *w, struct nn_pipeline_work item, struct nn_step_result *result,
		struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	size_t rows = nn_step_span_rows(w->step, item.micro);

	nn_graph_use(nn_step_graph(w->step), item.micro % p->slots);
	if (await(w, item, rows, result, err) < 0)
		return -1;
	if (item.backward)
		nn_step_backward(w->step, item.micro, result);
	else if (nn_step_forward(w->step, item.micro, result, err) < 0)
		return -1;
	else if (!result->finite && p->bad == SIZE_MAX)
		p->bad = item.micro;
	return pass_on(w, item, rows, err);
}

int nn_pipe_run(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	size_t n = nn_step_spans(w->step);
	double start;

	nn_step_scale(w->step, result);
	nn_pipeline_order(p->schedule, p->stage, p->stages, n, p->work);
	p->bad = SIZE_MAX;
	start = nn_now_s();
	for (size_t i = 0; i < 2 * n; i++)
		if (work(w, p->work[i], result, err) < 0)
			return -1;
	p->idle_s += result->wait_s;
	p->total_s += nn_now_s() - start;
	if (finish_all(p, err) < 0)
		return -1;
	if (nn_step_measure(w->step, err) < 0)
		return -1;
	result->finite = p->bad == SIZE_MAX;
	return 0;
}

struct found {
	double loss, weight, squares;
	uint64_t hits, counted;
	bool finite;
};

int nn_pipe_result(struct nn_worker *w, struct nn_step_result *r, struct nn_error *err)
{
	struct found f = { r->loss, r->weight, r->squares, r->hits, r->counted, r->finite };

	if (nn_comm_broadcast(w->layout->pipe->line, w->layout->pipe->stages - 1, &f, sizeof f,
			      err) < 0)
		return -1;
	r->loss = f.loss;
	r->weight = f.weight;
	r->squares = f.squares;
	r->hits = f.hits;
	r->counted = f.counted;
	r->finite = f.finite;
	return 0;
}

/* The micro-batch goes through once more, forward alone, and each stage looks at what it made. */
int nn_pipe_find_nonfinite(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	uint64_t bad = p->bad;
	int mine = -1, all[w->layout->comm->size];

	if (nn_comm_broadcast(p->line, p->stages - 1, &bad, sizeof bad, err) < 0)
		return -1;
	if (bad != SIZE_MAX) {
		if (work(w, (struct nn_pipeline_work){ false, (size_t)bad }, result, err) < 0)
			return -1;
		mine = nn_graph_first_nonfinite(nn_step_graph(w->step),
						nn_step_span_rows(w->step, (size_t)bad));
		if (finish_all(p, err) < 0)
			return -1;
	}
	if (nn_comm_all_gather(w->layout->comm, &mine, all, sizeof mine, err) < 0)
		return -1;
	result->finite = false;
	result->nonfinite_line = -1;
	for (int r = 0; r < w->layout->comm->size && result->nonfinite_line < 0; r++)
		result->nonfinite_line = all[r];
	return 0;
}

int nn_pipe_squares(void *arg, double *squares, struct nn_error *err)
{
	struct nn_worker *w = arg;
	struct nn_pipe *p = w->layout->pipe;
	size_t n = (size_t)w->task->program->n_params;
	double *all = nn_comm_scratch(p->line, n * (size_t)p->stages * sizeof *all, err);

	if (!all || nn_comm_all_gather(p->line, squares, all, n * sizeof *all, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		squares[i] = all[(size_t)p->owner[i] * n + i];
	return 0;
}

/* ---- between steps ---- */

int nn_pipe_collect(struct nn_worker *w, void *const *set, bool buffers, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	struct nn_message *list;
	size_t n = 0;
	int status;

	if (!nn_layout_gathers(w->layout))
		return 0;
	if (!(list = nn_alloc((size_t)w->task->program->n_params, sizeof *list, err)))
		return -1;
	for (int i = 0; i < w->task->program->n_params; i++) {
		const struct nn_op_param *desc = &w->task->program->params[i].desc;
		bool sends = p->stage > 0 && p->owner[i] == p->stage,
		     receives = p->stage == 0 && p->owner[i] > 0;

		if ((sends || receives) && (buffers || desc->role != NN_BUFFER))
			list[n++] = (struct nn_message){
				sends ? 0 : p->owner[i], set[i],
				nn_shape_count(&desc->shape) * nn_dtype_size(w->task->device->dtype)
			};
	}
	status = p->stage > 0 ? nn_comm_exchange(p->line, list, n, NULL, 0, err)
			      : nn_comm_exchange(p->line, NULL, 0, list, n, err);
	nn_free(list);
	return status;
}

int nn_pipe_end(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	double mine[2] = { p->idle_s, p->total_s }, all[2 * w->layout->comm->size], idle = 0,
	       total = 0;

	if (nn_comm_all_gather(w->layout->comm, mine, all, sizeof mine, err) < 0)
		return -1;
	for (int r = 0; r < w->layout->comm->size; r++) {
		idle += all[2 * r];
		total += all[2 * r + 1];
	}
	p->idle = total > 0 ? idle / total : NAN;
	p->formula = nn_pipeline_idle(p->schedule, p->stages, p->most);
	if (w->layout->comm->rank > 0 || total == 0)
		return 0;
	nn_worker_note(
		w,
		"the %d stages stood still %.1f %% of the time; %s is %.1f %%, for %s of %zu "
		"micro-batches",
		p->stages, 100 * p->idle,
		p->schedule == NN_SCHEDULE_NAIVE ? "(P-1)/P" : "(P-1)/(M+P-1)", 100 * p->formula,
		nn_pipeline_schedules[p->schedule], p->most);
	return 0;
}
