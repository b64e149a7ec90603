/* The pipeline: each stage works off its list, waits for what it needs, and passes on what it has
 * made while it goes on. */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/ranks.h"
#include "train/strategy/pipeline.h"

/* ---- a step ---- */

/* What crosses a bound of this stage with a micro-batch, on its way forward or back. The number of
 * messages. */
static size_t messages(struct nn_train *t, enum nn_graph_side side, bool back, size_t rows)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph *graph = nn_step_graph(t->step);
	int peer = side == NN_COMING ? p->stage - 1 : p->stage + 1;
	size_t n = 0;

	for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
		struct nn_graph_edge edge = nn_graph_edge(graph, side, i);

		if (!back || edge.gradient)
			p->messages[n++] =
				(struct nn_message){ peer, back ? edge.gradient : edge.value,
						     rows * edge.row_bytes };
	}
	return n;
}

/* Wait until the slot is free to be used again, and for what this work needs. */
static int await(struct nn_train *t, struct nn_pipeline_work w, size_t rows,
		 struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	double start = nn_now_s();
	struct nn_posted *posted = &p->posted[w.micro % p->slots];
	size_t n = messages(t, w.backward ? NN_GOING : NN_COMING, w.backward, rows);

	if (nn_comm_finish(p->line, posted, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_comm_post_receive(p->line, &p->messages[i], posted, err) < 0)
			return -1;
	if (nn_comm_finish(p->line, posted, err) < 0)
		return -1;
	result->wait_s += nn_now_s() - start;
	return 0;
}

static int pass_on(struct nn_train *t, struct nn_pipeline_work w, size_t rows, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	size_t n = messages(t, w.backward ? NN_COMING : NN_GOING, w.backward, rows);

	for (size_t i = 0; i < n; i++)
		if (nn_comm_post(p->line, &p->messages[i], &p->posted[w.micro % p->slots], err) < 0)
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

/* Where the loss of a micro-batch is not finite the others go on all the same: every stage has its
 * list, and nothing is updated. */
static int work(struct nn_train *t, struct nn_pipeline_work w, uint64_t sample,
		struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	size_t rows = nn_step_span_rows(t->step, w.micro);

	nn_graph_use(nn_step_graph(t->step), w.micro % p->slots);
	if (await(t, w, rows, result, err) < 0)
		return -1;
	if (w.backward)
		nn_step_backward(t->step, w.micro, sample, result);
	else if (!nn_step_forward(t->step, w.micro, sample, result) && p->bad == SIZE_MAX)
		p->bad = w.micro;
	return pass_on(t, w, rows, err);
}

int nn_pipe_run(struct nn_train *t, uint64_t sample, struct nn_step_result *result,
		struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	size_t n = nn_step_spans(t->step);
	double start;

	nn_step_scale(t->step, result);
	nn_pipeline_order(p->schedule, p->stage, p->stages, n, p->work);
	p->bad = SIZE_MAX;
	start = nn_now_s();
	for (size_t i = 0; i < 2 * n; i++)
		if (work(t, p->work[i], sample, result, err) < 0)
			return -1;
	p->idle_s += result->wait_s;
	p->total_s += nn_now_s() - start;
	if (finish_all(p, err) < 0)
		return -1;
	nn_step_measure(t->step);
	result->finite = p->bad == SIZE_MAX;
	return 0;
}

struct found {
	double loss, weight, squares;
	uint64_t hits, counted;
	bool finite;
};

int nn_pipe_result(struct nn_train *t, struct nn_step_result *r, struct nn_error *err)
{
	struct found f = { r->loss, r->weight, r->squares, r->hits, r->counted, r->finite };

	if (nn_comm_broadcast(t->pipe->line, t->pipe->stages - 1, &f, sizeof f, err) < 0)
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
int nn_pipe_blame(struct nn_train *t, uint64_t sample, struct nn_step_result *result,
		  struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	uint64_t bad = p->bad;
	int mine = -1, all[t->comm->size];

	if (nn_comm_broadcast(p->line, p->stages - 1, &bad, sizeof bad, err) < 0)
		return -1;
	if (bad != SIZE_MAX) {
		if (work(t, (struct nn_pipeline_work){ false, (size_t)bad }, sample, result, err) <
		    0)
			return -1;
		mine = nn_graph_first_bad(nn_step_graph(t->step),
					  nn_step_span_rows(t->step, (size_t)bad));
		if (finish_all(p, err) < 0)
			return -1;
	}
	if (nn_comm_gather(t->comm, &mine, all, sizeof mine, err) < 0)
		return -1;
	result->bad_line = -1;
	for (int r = 0; r < t->comm->size && result->bad_line < 0; r++)
		result->bad_line = all[r];
	return 0;
}

int nn_pipe_squares(void *train, double *squares, struct nn_error *err)
{
	struct nn_train *t = train;
	struct nn_pipe *p = t->pipe;
	size_t n = (size_t)t->program->n_params;
	double *all = nn_comm_scratch(p->line, n * (size_t)p->stages * sizeof *all, err);

	if (!all || nn_comm_gather(p->line, squares, all, n * sizeof *all, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		squares[i] = all[(size_t)p->owner[i] * n + i];
	return 0;
}

/* ---- between steps ---- */

int nn_pipe_collect(struct nn_train *t, void *const *set, bool buffers, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_message *list;
	size_t n = 0;
	int status;

	if (!nn_train_gathers(t))
		return 0;
	if (!(list = nn_alloc((size_t)t->program->n_params, sizeof *list, err)))
		return -1;
	for (int i = 0; i < t->program->n_params; i++) {
		const struct nn_op_param *desc = &t->program->params[i].desc;
		bool sends = p->stage > 0 && p->owner[i] == p->stage,
		     receives = p->stage == 0 && p->owner[i] > 0;

		if ((sends || receives) && (buffers || desc->role != NN_BUFFER))
			list[n++] = (struct nn_message){ sends ? 0 : p->owner[i], set[i],
							 nn_shape_count(&desc->shape) *
								 nn_dtype_size(t->device->dtype) };
	}
	status = p->stage > 0 ? nn_comm_exchange(p->line, list, n, NULL, 0, err)
			      : nn_comm_exchange(p->line, NULL, 0, list, n, err);
	nn_free(list);
	return status;
}

int nn_pipe_end(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	double mine[2] = { p->idle_s, p->total_s }, all[2 * t->comm->size], idle = 0, total = 0;

	if (nn_comm_gather(t->comm, mine, all, sizeof mine, err) < 0)
		return -1;
	for (int r = 0; r < t->comm->size; r++) {
		idle += all[2 * r];
		total += all[2 * r + 1];
	}
	p->idle = total > 0 ? idle / total : NAN;
	p->formula = nn_pipeline_idle(p->schedule, p->stages, p->most);
	if (t->comm->rank > 0 || total == 0)
		return 0;
	nn_train_note(t,
		      "the %d stages stood still %.1f %% of the time; %s is %.1f %%, for %s of %zu "
		      "micro-batches",
		      p->stages, 100 * p->idle,
		      p->schedule == NN_NAIVE ? "(P-1)/P" : "(P-1)/(M+P-1)", 100 * p->formula,
		      nn_pipeline_schedules[p->schedule], p->most);
	return 0;
}
