/*
 * The pipeline: each stage works off its list, waits for what it needs, and passes on what it has
 * made while it goes on.
 */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/pipeline.h"
#include "parallel/worker.h"

/* ---- opening ---- */

/* What crosses a bound of this stage in a slot: values on their way forward, gradients back. */
static struct nn_mirror *crossing(const struct nn_pipe_flow *f, size_t slot,
				  enum nn_graph_side side, size_t edge, bool back)
{
	return &f->crossing[((slot * 2 + side) * f->edges + edge) * 2 + back];
}

static int take_crossing(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe_flow *f = w->flow;
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t rows = nn_step_most_rows(w->step);

	if (nn_queue_open(&f->pins, w->task->device, err) < 0)
		return -1;
	for (size_t slot = 0; slot < f->slots; slot++) {
		nn_graph_use(graph, slot);
		for (int k = 0; k < 4; k++) {
			enum nn_graph_side side = k / 2;

			for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
				struct nn_graph_edge e = nn_graph_edge(graph, side, i);
				void *there = k % 2 ? e.gradient : e.value;

				if (there &&
				    nn_mirror_of(crossing(f, slot, side, i, k % 2), f->pins, there,
						 rows * e.row_bytes, err) < 0)
					return -1;
			}
		}
	}
	nn_graph_use(graph, 0);
	return 0;
}

/* Which stage has which parameter. */
static int find_owners(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe *p = w->layout->pipe;
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t n = (size_t)w->task->program->n_params;
	char *has = nn_alloc(n * (size_t)(p->stages + 1), 1, err), *all = NULL;
	int status = -1;

	p->owner = nn_alloc(n, sizeof *p->owner, err);
	if (has && p->owner) {
		all = has + n;
		for (size_t i = 0; i < n; i++)
			has[i] = nn_graph_has(graph, (int)i);
		status = nn_comm_all_gather(p->line, has, all, n, err);
	}
	for (int s = 0; status == 0 && s < p->stages; s++)
		for (size_t i = 0; i < n; i++)
			if (all[(size_t)s * n + i])
				p->owner[i] = s;
	nn_free(has);
	return status;
}

int nn_pipe_attach(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe_flow *f = w->flow = nn_alloc(1, sizeof *f, err);
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t coming = nn_graph_edges(graph, NN_SIDE_COMING),
	       going = nn_graph_edges(graph, NN_SIDE_GOING);

	if (!f)
		return -1;
	f->most = nn_step_most_spans(w->step);
	f->slots = nn_step_slots(w->step);
	f->work = nn_alloc(2 * f->most, sizeof *f->work, err);
	f->posted = nn_alloc(f->slots, sizeof *f->posted, err);
	f->edges = coming > going ? coming : going;
	f->messages = nn_alloc(f->edges, sizeof *f->messages, err);
	f->crossing = nn_alloc(4 * f->slots * f->edges, sizeof *f->crossing, err);
	if (!f->work || !f->posted || !f->messages || !f->crossing)
		return -1;
	return take_crossing(w, err) < 0 ? -1 : find_owners(w, err);
}

void nn_pipe_detach(struct nn_worker *w)
{
	struct nn_pipe_flow *f = w->flow;

	if (!f)
		return;
	for (size_t i = 0; f->posted && i < f->slots; i++)
		nn_free(f->posted[i].requests);
	for (size_t i = 0; f->crossing && i < 4 * f->slots * f->edges; i++)
		nn_mirror_free(&f->crossing[i], f->pins);
	nn_queue_close(f->pins);
	nn_free(f->crossing);
	nn_free(f->posted);
	nn_free(f->work);
	nn_free(f->messages);
	nn_free(f);
	w->flow = NULL;
}

/* ---- a step ---- */

/* What crosses with a micro-batch, by that side. The number of messages. */
static size_t messages(struct nn_worker *w, enum nn_graph_side side, struct nn_pipeline_work item,
		       size_t rows)
{
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	struct nn_graph *graph = nn_step_graph(w->step);
	int peer = side == NN_SIDE_COMING ? p->stage - 1 : p->stage + 1;
	size_t n = 0;

	for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
		struct nn_mirror *m = crossing(f, item.micro % f->slots, side, i, item.backward);

		if (m->there)
			f->messages[n++] = (struct nn_message){
				peer, m->host, rows * nn_graph_edge(graph, side, i).row_bytes
			};
	}
	return n;
}

/* From pinned memory to the device's, or back, complete on return. */
static int move(struct nn_worker *w, enum nn_graph_side side, struct nn_pipeline_work item,
		size_t rows, bool out, struct nn_error *err)
{
	struct nn_pipe_flow *f = w->flow;
	struct nn_graph *graph = nn_step_graph(w->step);
	struct nn_queue *queue = nn_graph_queue(graph);

	for (size_t i = 0; queue && i < nn_graph_edges(graph, side); i++) {
		struct nn_mirror *m = crossing(f, item.micro % f->slots, side, i, item.backward);
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
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	double start = nn_now_s();
	struct nn_posted *posted = &f->posted[item.micro % f->slots];
	enum nn_graph_side side = item.backward ? NN_SIDE_GOING : NN_SIDE_COMING;
	size_t n = messages(w, side, item, rows);

	if (nn_comm_finish(p->line, posted, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_comm_post_receive(p->line, &f->messages[i], posted, err) < 0)
			return -1;
	if (nn_comm_finish(p->line, posted, err) < 0 || move(w, side, item, rows, false, err) < 0)
		return -1;
	result->wait_s += nn_now_s() - start;
	return 0;
}

static int pass_on(struct nn_worker *w, struct nn_pipeline_work item, size_t rows,
		   struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	enum nn_graph_side side = item.backward ? NN_SIDE_COMING : NN_SIDE_GOING;
	size_t n = messages(w, side, item, rows);
	double start = nn_now_s();

	if (move(w, side, item, rows, true, err) < 0)
		return -1;
	result->compute_s += nn_now_s() - start; /* a device was asked before, and waited for now */
	for (size_t i = 0; i < n; i++)
		if (nn_comm_post(p->line, &f->messages[i], &f->posted[item.micro % f->slots], err) <
		    0)
			return -1;
	return 0;
}

static int finish_all(struct nn_worker *w, struct nn_error *err)
{
	struct nn_pipe_flow *f = w->flow;

	for (size_t i = 0; i < f->slots; i++)
		if (nn_comm_finish(w->layout->pipe->line, &f->posted[i], err) < 0)
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
	struct nn_pipe_flow *f = w->flow;
	size_t rows = nn_step_span_rows(w->step, item.micro);

	nn_graph_use(nn_step_graph(w->step), item.micro % f->slots);
	if (await(w, item, rows, result, err) < 0)
		return -1;
	if ((item.backward ? nn_step_backward(w->step, item.micro, result, err)
			   : nn_step_forward(w->step, item.micro, result, err)) < 0)
		return -1;
	if (!item.backward && !result->finite && f->bad == SIZE_MAX)
		f->bad = item.micro;
	return pass_on(w, item, rows, result, err);
}

int nn_pipe_run(struct nn_worker *w, struct nn_step_result *result, struct nn_error *err)
{
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	size_t n = nn_step_spans(w->step);
	double start;

	nn_step_scale(w->step, result);
	nn_pipeline_order(p->schedule, p->stage, p->stages, n, f->work);
	f->bad = SIZE_MAX;
	start = nn_now_s();
	for (size_t i = 0; i < 2 * n; i++)
		if (work(w, f->work[i], result, err) < 0)
			return -1;
	f->idle_s += result->wait_s;
	f->total_s += nn_now_s() - start;
	if (finish_all(w, err) < 0)
		return -1;
	if (nn_step_measure(w->step, result, err) < 0)
		return -1;
	result->finite = f->bad == SIZE_MAX;
	return 0;
}

struct found {
	double loss, weight, squares, hits, counted;
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
	const struct nn_pipe *p = w->layout->pipe;
	struct nn_pipe_flow *f = w->flow;
	uint64_t bad = f->bad;
	int mine = -1, all[w->layout->comm->size];

	if (nn_comm_broadcast(p->line, p->stages - 1, &bad, sizeof bad, err) < 0)
		return -1;
	if (bad != SIZE_MAX) {
		if (work(w, (struct nn_pipeline_work){ false, (size_t)bad }, result, err) < 0)
			return -1;
		mine = nn_graph_first_nonfinite(nn_step_graph(w->step),
						nn_step_span_rows(w->step, (size_t)bad));
		if (finish_all(w, err) < 0)
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
	const struct nn_pipe *p = w->layout->pipe;
	size_t n = (size_t)w->task->program->n_params;
	double *all = nn_comm_scratch(p->line, n * (size_t)p->stages * sizeof *all, err);

	if (!all || nn_comm_all_gather(p->line, squares, all, n * sizeof *all, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		squares[i] = all[(size_t)p->owner[i] * n + i];
	return 0;
}

/* ---- between steps ---- */

int nn_pipe_gather(struct nn_worker *w, void *const *set, bool buffers, struct nn_error *err)
{
	const struct nn_pipe *p = w->layout->pipe;
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
