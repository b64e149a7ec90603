/* The pipeline: each stage works off its list, waits for what it needs, and passes on what it has made while it goes on. */
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/strategy/pipeline.h"

/*
 * Micro-batches for each stage by default: more of them stand still less, but products of few rows take longer. Four dense layers of
 * 1024 with a batch of 256 on two stages: 8 of 32 rows took 1.07 s, 16 of 16 rows 1.42 s, 4 of 64 rows 1.09 s.
 */
#define SPANS 4
#define LINE_CHANNEL 8               /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 9

/* ---- the grid ---- */

int nn_pipe_open(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p;
	int stages, rank = t->comm ? t->comm->rank : 0, size = t->comm ? t->comm->size : 0, fits;
	enum nn_pipeline_schedule schedule;

	if (nn_parse_pipeline(t->options->pipeline, &stages, &schedule, err) < 0)
		return -1;
	if (stages == 1)
		return 0;
	fits = size < stages ? stages : size / stages * stages;
	if (size % stages != 0)
		return nn_fail(err, NN_EUSAGE, "--pipeline=%d: %d rank%s no whole number of pipelines; use --ranks=%d", stages, size,
			       size == 1 ? " is" : "s are", fits);
	if (!(p = t->pipe = nn_alloc(1, sizeof *p, err)))
		return -1;
	p->stages = stages;
	p->stage = rank % stages;
	p->schedule = schedule;
	if (!t->comm)
		return 0;
	if (nn_comm_part(&p->line, t->comm, rank - p->stage, 1, stages, LINE_CHANNEL, err) < 0)
		return -1;
	return nn_comm_part(&p->side, t->comm, p->stage, stages, size / stages, SIDE_CHANNEL, err);
}

void nn_pipe_free(struct nn_pipe *p)
{
	if (!p)
		return;
	nn_comm_close(p->line);
	nn_comm_close(p->side);
	for (size_t i = 0; p->posted && i < p->slots; i++)
		nn_free(p->posted[i].requests);
	nn_free(p->posted);
	nn_free(p->nodes);
	nn_free(p->bounds);
	nn_free(p->costs);
	nn_free(p->owner);
	nn_free(p->work);
	nn_free(p->messages);
	nn_free(p);
}

/* ---- stages ---- */

/* Seconds of each node with so many rows of one leaf, as rank 0 measures them, on all ranks; where memory is short, by their FLOP. */
static int measure(struct nn_train *t, size_t rows, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	size_t group = nn_program_group(t->program), bounds[] = { 0, group > rows ? group : rows };
	struct nn_graph_options o = {
		.device = t->device, .pool = t->pool, .max_rows = bounds[1], .max_leaves = 1, .training = true, .seed = t->std->seed,
	};
	struct nn_span span = { .rows = bounds[1], .leaf = bounds, .n_leaves = 1, .first = true, .group = bounds, .n_groups = group > 0 };

	nn_stages_guess(p->nodes, p->n_nodes, p->costs);
	if (!t->comm)
		return 0;
	if (t->comm->rank == 0 && nn_stages_measure(t->program, &o, &span, p->n_nodes, p->costs, NULL) < 0)
		nn_stages_guess(p->nodes, p->n_nodes, p->costs);
	return nn_comm_broadcast(t->comm, 0, p->costs, (size_t)p->n_nodes * sizeof *p->costs, err);
}

int nn_pipe_divide(struct nn_train *t, size_t micro, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph_options o = { .device = t->device };
	int most;

	if (!p || p->bounds)
		return 0;
	p->n_nodes = nn_graph_nodes(t->program, &o, &p->nodes, err);
	if (p->n_nodes < 0)
		return -1;
	most = nn_stages_most(p->nodes, p->n_nodes);
	if (p->stages > most)
		return nn_fail(err, access(t->options->model, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE,
			       "--pipeline=%d: the network has %d layer%s that can be stages; use --pipeline=%d", p->stages, most,
			       most == 1 ? "" : "s", most);
	p->costs = nn_alloc((size_t)p->n_nodes, sizeof *p->costs, err);
	p->bounds = nn_alloc((size_t)p->stages + 1, sizeof *p->bounds, err);
	if (!p->costs || !p->bounds || measure(t, micro, err) < 0)
		return -1;
	return nn_stages_divide(p->nodes, p->costs, p->n_nodes, p->stages, p->bounds, err);
}

/* The lines of the model that a stage has: the first and the last. */
static void lines_of(const struct nn_pipe *p, int stage, int *first, int *last)
{
	*first = *last = -1;
	for (int i = p->bounds[stage]; i < p->bounds[stage + 1]; i++) {
		if (p->nodes[i].line < 0)
			continue;
		*first = *first < 0 ? p->nodes[i].line : *first;
		*last = p->nodes[i].line;
	}
}

struct nn_step_part nn_pipe_part(const struct nn_pipe *p)
{
	if (!p)
		return (struct nn_step_part){0};
	return (struct nn_step_part){ p->bounds[p->stage], p->bounds[p->stage + 1], p->stage, p->stages, p->schedule };
}

size_t nn_pipe_micro(const struct nn_train *t, size_t rows)
{
	size_t spans = t->options->leaves, wanted = SPANS * (size_t)t->pipe->stages, at_once;

	while (spans / 2 >= wanted)
		spans /= 2;
	at_once = (t->options->batch + spans - 1) / spans;
	return at_once < rows ? at_once : rows;
}

/* Which stage has which parameter. */
static int find_owners(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t n = (size_t)t->program->n_params;
	char *has = nn_alloc(n * (size_t)(p->stages + 1), 1, err), *all = has + n;
	int status = -1;

	p->owner = nn_alloc(n, sizeof *p->owner, err);
	if (has && p->owner) {
		for (size_t i = 0; i < n; i++)
			has[i] = nn_graph_has(graph, (int)i);
		status = nn_comm_gather(p->line, has, all, n, err);
	}
	for (int s = 0; status == 0 && s < p->stages; s++)
		for (size_t i = 0; i < n; i++)
			if (all[(size_t)s * n + i])
				p->owner[i] = s;
	nn_free(has);
	return status;
}

int nn_pipe_attach(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t coming = nn_graph_edges(graph, NN_COMING), going = nn_graph_edges(graph, NN_GOING);

	p->most = nn_step_most_spans(t->step);
	p->slots = nn_step_slots(t->step);
	p->work = nn_alloc(2 * p->most, sizeof *p->work, err);
	p->posted = nn_alloc(p->slots, sizeof *p->posted, err);
	p->messages = nn_alloc(coming > going ? coming : going, sizeof *p->messages, err);
	if (!p->work || !p->posted || !p->messages || find_owners(t, err) < 0)
		return -1;
	if (t->comm->rank == 0)
		return 0;
	if (!(t->keeps = nn_alloc((size_t)t->program->n_params, sizeof *t->keeps, err)))
		return -1;
	for (int i = 0; i < t->program->n_params; i++)
		t->keeps[i] = nn_graph_has(graph, i);
	return 0;
}

/* ---- a step ---- */

/* What crosses a bound of this stage with a micro-batch, on its way forward or back. The number of messages. */
static size_t messages(struct nn_train *t, enum nn_graph_side side, bool back, size_t rows)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph *graph = nn_step_graph(t->step);
	int peer = side == NN_COMING ? p->stage - 1 : p->stage + 1;
	size_t n = 0;

	for (size_t i = 0; i < nn_graph_edges(graph, side); i++) {
		struct nn_graph_edge edge = nn_graph_edge(graph, side, i);

		if (!back || edge.gradient)
			p->messages[n++] = (struct nn_message){ peer, back ? edge.gradient : edge.value, rows * edge.row_bytes };
	}
	return n;
}

/* Wait until the slot is free to be used again, and for what this work needs. */
static int await(struct nn_train *t, struct nn_pipeline_work w, size_t rows, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	double start = nn_now_s();
	size_t n = messages(t, w.backward ? NN_GOING : NN_COMING, w.backward, rows);

	if (nn_comm_finish(p->line, &p->posted[w.micro % p->slots], err) < 0 ||
	    nn_comm_exchange(p->line, NULL, 0, p->messages, n, err) < 0)
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

/* Where the loss of a micro-batch is not finite the others go on all the same: every stage has its list, and nothing is updated. */
static int work(struct nn_train *t, struct nn_pipeline_work w, uint64_t sample, struct nn_step_result *result, struct nn_error *err)
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

int nn_pipe_run(struct nn_train *t, uint64_t sample, struct nn_step_result *result, struct nn_error *err)
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
int nn_pipe_blame(struct nn_train *t, uint64_t sample, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	uint64_t bad = p->bad;
	int mine = -1, all[t->comm->size];

	if (nn_comm_broadcast(p->line, p->stages - 1, &bad, sizeof bad, err) < 0)
		return -1;
	if (bad != SIZE_MAX) {
		if (work(t, (struct nn_pipeline_work){ false, (size_t)bad }, sample, result, err) < 0)
			return -1;
		mine = nn_graph_first_bad(nn_step_graph(t->step), nn_step_span_rows(t->step, (size_t)bad));
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

	if (t->comm->rank >= p->stages)
		return 0;
	if (!(list = nn_alloc((size_t)t->program->n_params, sizeof *list, err)))
		return -1;
	for (int i = 0; i < t->program->n_params; i++) {
		const struct nn_op_param *desc = &t->program->params[i].desc;
		bool sends = p->stage > 0 && p->owner[i] == p->stage, receives = p->stage == 0 && p->owner[i] > 0;

		if ((sends || receives) && (buffers || desc->role != NN_BUFFER))
			list[n++] = (struct nn_message){ sends ? 0 : p->owner[i], set[i],
							 nn_shape_count(&desc->shape) * nn_dtype_size(t->device->dtype) };
	}
	status = p->stage > 0 ? nn_comm_exchange(p->line, list, n, NULL, 0, err) : nn_comm_exchange(p->line, NULL, 0, list, n, err);
	nn_free(list);
	return status;
}

int nn_pipe_hand_out(struct nn_train *t, int param, void *values, size_t bytes, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_message message = { 0, values, bytes };

	if (t->comm->rank > 0)
		return p->owner[param] == p->stage ? nn_comm_exchange(t->comm, NULL, 0, &message, 1, err) : 0;
	for (message.peer = 1; message.peer < t->comm->size; message.peer++)
		if (message.peer % p->stages == p->owner[param] && nn_comm_exchange(t->comm, &message, 1, NULL, 0, err) < 0)
			return -1;
	return 0;
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
	nn_train_note(t, "the %d stages stood still %.1f %% of the time; %s is %.1f %%, for %s of %zu micro-batches", p->stages, 100 * p->idle,
		      p->schedule == NN_NAIVE ? "(P-1)/P" : "(P-1)/(M+P-1)", 100 * p->formula, nn_pipeline_schedules[p->schedule], p->most);
	return 0;
}

/* ---- what people are told ---- */

void nn_pipe_tell(struct nn_train *t)
{
	struct nn_pipe *p = t->pipe;
	double all = 0;

	if (t->comm->rank > 0)
		return;
	for (int i = 0; i < p->n_nodes; i++)
		all += p->costs[i];
	nn_train_note(t, "%d ranks = %d pipeline%s of %d stages (rank d x %d + s is stage s of pipeline d), %s", t->comm->size, p->side->size,
		      p->side->size == 1 ? "" : "s", p->stages, p->stages, nn_pipeline_schedules[p->schedule]);
	for (int s = 0; s < p->stages; s++) {
		int first, last;
		double cost = 0;
		size_t parameters = 0;

		lines_of(p, s, &first, &last);
		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		for (int i = 0; i < t->program->n_params; i++)
			parameters += p->owner[i] == s ? nn_shape_count(&t->program->params[i].desc.shape) : 0;
		nn_train_note(t, "stage %d: %s (%s) to %s (%s), %.0f %% of the work, %zu parameters", s, nn_net_line(t->net, first).layer,
			      nn_net_line(t->net, first).name, nn_net_line(t->net, last).layer, nn_net_line(t->net, last).name,
			      100 * cost / all, parameters);
	}
}
