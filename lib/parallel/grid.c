/* The grid of ranks: pipelines of stages, where the network is cut, and which stage has what. */
#include <stdio.h>

#include "base/memory.h"
#include "model/model.h"
#include "parallel/worker.h"
#include "parallel/tensor.h"
#include "parallel/pipeline.h"

/*
 * Micro-batches for each stage by default: more of them stand still less, but products of few rows
 * take longer. Four dense layers of 1024 with a batch of 256 on two stages: 8 of 32 rows took 1.07
 * s, 16 of 16 rows 1.42 s, 4 of 64 rows 1.09 s.
 */
#define SPANS 4
/* of a micro-batch forward: a plan measures it in some tenths of a second at most */
#define MEASURED_NODES 1000
#define PLAN_FLOPS 1e9
#define LINE_CHANNEL 8 /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 9

/* ---- the grid ---- */

int nn_pipe_open(struct nn_layout *l, struct nn_error *err)
{
	struct nn_pipe *p;
	int stages, rank = l->comm ? l->comm->rank : 0, size = l->comm ? l->comm->size : 0,
		    columns = nn_tensor_ranks(l), all, fits;
	char tensor[40] = "";
	enum nn_pipeline_schedule schedule;

	if (nn_parse_pipeline(l->options->pipeline, &stages, &schedule, err) < 0)
		return -1;
	if (stages == 1)
		return 0;
	all = stages * columns;
	fits = size < all ? all : size / all * all;
	if (columns > 1)
		snprintf(tensor, sizeof tensor, " --tensor=%d", columns);
	if (size % all != 0)
		return nn_fail(
			err, NN_EUSAGE,
			"--pipeline=%d%s: %d rank%s no whole number of pipelines; use --ranks=%d",
			stages, tensor, size, size == 1 ? " is" : "s are", fits);
	if (!(p = l->pipe = nn_alloc(1, sizeof *p, err)))
		return -1;
	p->stages = stages;
	p->stage = rank / columns % stages;
	p->schedule = schedule;
	if (!l->comm)
		return 0;
	if (nn_comm_part(&p->line, l->comm, rank - p->stage * columns, columns, stages,
			 LINE_CHANNEL, err) < 0)
		return -1;
	return nn_comm_part(&p->side, l->comm, rank % all, all, size / all, SIDE_CHANNEL, err);
}

void nn_pipe_free(struct nn_pipe *p)
{
	if (!p)
		return;
	nn_comm_close(p->line);
	nn_comm_close(p->side);
	for (size_t i = 0; p->posted && i < p->slots; i++)
		nn_free(p->posted[i].requests);
	for (size_t i = 0; p->crossing && i < 4 * p->slots * p->edges; i++)
		nn_mirror_free(&p->crossing[i], p->pins);
	nn_queue_close(p->pins);
	nn_free(p->crossing);
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

/* Nodes are those of the graphs whose columns ranks share; here each is whole. */
static const struct nn_column_shard alone = { .ranks = 1 };

/*
 * Seconds of each node with so many rows of one leaf, as rank 0 measures them, on all ranks; where
 * memory or a plan's time is short, or nodes are many, by their FLOP: each is bound alone, in time
 * as there are nodes.
 */
static int measure(const struct nn_layout *l, const struct nn_task *task, size_t rows,
		   struct nn_error *err)
{
	struct nn_pipe *p = l->pipe;
	size_t group = nn_program_group(task->program),
	       bounds[] = { 0, group > rows ? group : rows };
	struct nn_graph_options o = {
		.device = task->device,
		.pool = task->pool,
		.max_rows = bounds[1],
		.max_leaves = 1,
		.training = true,
		.seed = task->seed,
		.columns = l->tensor ? &alone : NULL,
	};
	struct nn_span span = { .rows = bounds[1],
				.leaf = bounds,
				.n_leaves = 1,
				.first = true,
				.group = bounds,
				.n_groups = group > 0 };
	double flops = 0;

	nn_stages_guess(p->nodes, p->n_nodes, p->costs);
	for (int i = 0; i < p->n_nodes; i++)
		flops += p->costs[i] * (double)rows;
	if (p->n_nodes > MEASURED_NODES || (!l->comm && flops > PLAN_FLOPS))
		return 0;
	if ((!l->comm || l->comm->rank == 0) &&
	    nn_stages_measure(task->program, &o, &span, p->n_nodes, p->costs, NULL) < 0)
		nn_stages_guess(p->nodes, p->n_nodes, p->costs);
	else if (!l->comm || l->comm->rank == 0)
		p->threads = nn_pool_threads(task->pool);
	if (!l->comm)
		return 0;
	return nn_comm_broadcast(l->comm, 0, p->costs, (size_t)p->n_nodes * sizeof *p->costs, err);
}

int nn_pipe_divide(const struct nn_layout *l, const struct nn_task *task, size_t micro,
		   struct nn_error *err)
{
	struct nn_pipe *p = l->pipe;
	struct nn_graph_options o = { .device = task->device,
				      .columns = l->tensor ? &alone : NULL };
	int most;

	if (!p || p->bounds)
		return 0;
	p->n_nodes = nn_graph_nodes(task->program, &o, &p->nodes, err);
	if (p->n_nodes < 0)
		return -1;
	most = nn_stages_most(p->nodes, p->n_nodes);
	if (p->stages > most)
		return nn_fail(err, task->from_file ? NN_EFAIL : NN_EUSAGE,
			       "--pipeline=%d: the network has %d layer%s that can be stages; use "
			       "--pipeline=%d",
			       p->stages, most, most == 1 ? "" : "s", most);
	p->costs = nn_alloc((size_t)p->n_nodes, sizeof *p->costs, err);
	p->bounds = nn_alloc((size_t)p->stages + 1, sizeof *p->bounds, err);
	if (!p->costs || !p->bounds || measure(l, task, micro, err) < 0)
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
		return (struct nn_step_part){ 0 };
	return (struct nn_step_part){ p->bounds[p->stage], p->bounds[p->stage + 1], p->stage,
				      p->stages, p->schedule };
}

size_t nn_pipe_micro(const struct nn_layout *l, const struct nn_task *task, size_t rows)
{
	size_t spans = task->recipe->leaves, wanted = SPANS * (size_t)l->pipe->stages, at_once;

	while (spans / 2 >= wanted)
		spans /= 2;
	at_once = (task->recipe->batch + spans - 1) / spans;
	return at_once < rows ? at_once : rows;
}

int nn_pipe_agree(const struct nn_layout *l, size_t *micro, struct nn_error *err)
{
	uint64_t least = *micro, all[l->comm->size];

	if (nn_comm_all_gather(l->comm, &least, all, sizeof least, err) < 0)
		return -1;
	for (int r = 0; r < l->comm->size; r++)
		least = all[r] < least ? all[r] : least;
	*micro = (size_t)least;
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
	struct nn_pipe *p = w->layout->pipe;
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t coming = nn_graph_edges(graph, NN_SIDE_COMING),
	       going = nn_graph_edges(graph, NN_SIDE_GOING);

	p->most = nn_step_most_spans(w->step);
	p->slots = nn_step_slots(w->step);
	p->work = nn_alloc(2 * p->most, sizeof *p->work, err);
	p->posted = nn_alloc(p->slots, sizeof *p->posted, err);
	p->edges = coming > going ? coming : going;
	p->messages = nn_alloc(p->edges, sizeof *p->messages, err);
	p->crossing = nn_alloc(4 * p->slots * p->edges, sizeof *p->crossing, err);
	if (!p->work || !p->posted || !p->messages || !p->crossing)
		return -1;
	return nn_pipe_take_crossing(w, err) < 0 ? -1 : find_owners(w, err);
}

/* ---- what people are told ---- */

void nn_pipe_tell(struct nn_worker *w)
{
	struct nn_pipe *p = w->layout->pipe;
	double all = 0;

	if (w->layout->comm->rank > 0)
		return;
	for (int i = 0; i < p->n_nodes; i++)
		all += p->costs[i];
	if (w->layout->tensor)
		nn_worker_note(w,
			       "%d ranks = %d pipeline%s of %d stages of %d that share columns "
			       "(rank (d x %d + s) x %d + t has the t-th part of "
			       "stage s in pipeline d), %s",
			       w->layout->comm->size, p->side->size, p->side->size == 1 ? "" : "s",
			       p->stages, nn_tensor_ranks(w->layout), p->stages,
			       nn_tensor_ranks(w->layout), nn_pipeline_schedules[p->schedule]);
	else
		nn_worker_note(w,
			       "%d ranks = %d pipeline%s of %d stages (rank d x %d + s is stage s "
			       "of pipeline d), %s",
			       w->layout->comm->size, p->side->size, p->side->size == 1 ? "" : "s",
			       p->stages, p->stages, nn_pipeline_schedules[p->schedule]);
	for (int s = 0; s < p->stages; s++) {
		int first, last;
		double cost = 0;
		size_t parameters = 0;

		lines_of(p, s, &first, &last);
		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		for (int i = 0; i < w->task->program->n_params; i++)
			parameters +=
				p->owner[i] == s
					? nn_shape_count(&w->task->program->params[i].desc.shape)
					: 0;
		nn_worker_note(w,
			       "stage %d: %s (%s) to %s (%s), %.0f %% of the work, %zu parameters",
			       s, nn_net_line(w->task->net, first).layer,
			       nn_net_line(w->task->net, first).name,
			       nn_net_line(w->task->net, last).layer,
			       nn_net_line(w->task->net, last).name, 100 * cost / all, parameters);
	}
}
