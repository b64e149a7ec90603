/* The grid of ranks: pipelines of stages, where the network is cut, and which stage has what. */
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "parallel/grid.h"
#include "step/task.h"

/*
 * Micro-batches for each stage by default: more of them leave less idle time, but products of few
 * rows take longer. Four dense layers of 1024 with a batch of 256 on two stages: 8 of 32 rows
 * took 1.07 s, 16 of 16 rows 1.42 s, 4 of 64 rows 1.09 s.
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
	nn_free(p->nodes);
	nn_free(p->bounds);
	nn_free(p->costs);
	nn_free(p->owner);
	nn_free(p);
}

/* ---- stages ---- */

/* Nodes are those of the graphs whose columns ranks share; here each is whole. */
static const struct nn_column_shard alone = { .ranks = 1 };

/*
 * Seconds of each node for `rows` rows of one leaf, as rank 0 measures them, on all ranks; where
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
				      .training = true,
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
			       p->stages, most, nn_s(most), most);
	p->costs = nn_alloc((size_t)p->n_nodes, sizeof *p->costs, err);
	p->bounds = nn_alloc((size_t)p->stages + 1, sizeof *p->bounds, err);
	if (!p->costs || !p->bounds || measure(l, task, micro, err) < 0)
		return -1;
	return nn_stages_divide(p->nodes, p->costs, p->n_nodes, p->stages, p->bounds, err);
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
