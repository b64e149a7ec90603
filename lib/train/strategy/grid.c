/* The grid of ranks: pipelines of stages, where the network is cut, and which stage has what. */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/job.h"
#include "train/strategy/pipeline.h"

/*
 * Micro-batches for each stage by default: more of them stand still less, but products of few rows
 * take longer. Four dense layers of 1024 with a batch of 256 on two stages: 8 of 32 rows took 1.07
 * s, 16 of 16 rows 1.42 s, 4 of 64 rows 1.09 s.
 */
#define SPANS 4
#define PLAN_FLOPS \
	1e9 /* of a micro-batch forward: a plan measures it in some tenths of a second at most */
#define LINE_CHANNEL 8 /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 9

/* ---- the grid ---- */

int nn_pipe_open(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p;
	int stages, rank = t->comm ? t->comm->rank : 0, size = t->comm ? t->comm->size : 0,
		    columns = nn_tensor_ranks(t), all, fits;
	char tensor[40] = "";
	enum nn_pipeline_schedule schedule;

	if (nn_parse_pipeline(t->options->pipeline, &stages, &schedule, err) < 0)
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
	if (!(p = t->pipe = nn_alloc(1, sizeof *p, err)))
		return -1;
	p->stages = stages;
	p->stage = rank / columns % stages;
	p->schedule = schedule;
	if (!t->comm)
		return 0;
	if (nn_comm_part(&p->line, t->comm, rank - p->stage * columns, columns, stages,
			 LINE_CHANNEL, err) < 0)
		return -1;
	return nn_comm_part(&p->side, t->comm, rank % all, all, size / all, SIDE_CHANNEL, err);
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

/* Nodes are those of the graphs whose columns ranks share; here each is whole. */
static const struct nn_columns alone = { .ranks = 1 };

/* Seconds of each node with so many rows of one leaf, as rank 0 measures them, on all ranks; where
 * memory or a plan's time is short, by their FLOP. */
static int measure(struct nn_train *t, size_t rows, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	size_t group = nn_program_group(t->program), bounds[] = { 0, group > rows ? group : rows };
	struct nn_graph_options o = {
		.device = t->device,
		.pool = t->pool,
		.max_rows = bounds[1],
		.max_leaves = 1,
		.training = true,
		.seed = t->std->seed,
		.columns = t->tensor ? &alone : NULL,
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
	if (!t->comm && flops > PLAN_FLOPS)
		return 0;
	if ((!t->comm || t->comm->rank == 0) &&
	    nn_stages_measure(t->program, &o, &span, p->n_nodes, p->costs, NULL) < 0)
		nn_stages_guess(p->nodes, p->n_nodes, p->costs);
	else if (!t->comm || t->comm->rank == 0)
		p->threads = nn_pool_threads(t->pool);
	if (!t->comm)
		return 0;
	return nn_comm_broadcast(t->comm, 0, p->costs, (size_t)p->n_nodes * sizeof *p->costs, err);
}

int nn_pipe_divide(struct nn_train *t, size_t micro, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph_options o = { .device = t->device, .columns = t->tensor ? &alone : NULL };
	int most;

	if (!p || p->bounds)
		return 0;
	p->n_nodes = nn_graph_nodes(t->program, &o, &p->nodes, err);
	if (p->n_nodes < 0)
		return -1;
	most = nn_stages_most(p->nodes, p->n_nodes);
	if (p->stages > most)
		return nn_fail(err, access(t->options->model, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE,
			       "--pipeline=%d: the network has %d layer%s that can be stages; use "
			       "--pipeline=%d",
			       p->stages, most, most == 1 ? "" : "s", most);
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
		return (struct nn_step_part){ 0 };
	return (struct nn_step_part){ p->bounds[p->stage], p->bounds[p->stage + 1], p->stage,
				      p->stages, p->schedule };
}

size_t nn_pipe_micro(const struct nn_train *t, size_t rows)
{
	size_t spans = t->options->leaves, wanted = SPANS * (size_t)t->pipe->stages, at_once;

	while (spans / 2 >= wanted)
		spans /= 2;
	at_once = (t->options->batch + spans - 1) / spans;
	return at_once < rows ? at_once : rows;
}

int nn_pipe_agree(struct nn_train *t, struct nn_error *err)
{
	uint64_t least = t->fit.micro, all[t->comm->size];

	if (nn_comm_gather(t->comm, &least, all, sizeof least, err) < 0)
		return -1;
	for (int r = 0; r < t->comm->size; r++)
		least = all[r] < least ? all[r] : least;
	return least < t->fit.micro ? nn_fit_plan(t, (size_t)least, &t->fit, err) : 0;
}

/* Which stage has which parameter. */
static int find_owners(struct nn_train *t, struct nn_error *err)
{
	struct nn_pipe *p = t->pipe;
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t n = (size_t)t->program->n_params;
	char *has = nn_alloc(n * (size_t)(p->stages + 1), 1, err), *all = NULL;
	int status = -1;

	p->owner = nn_alloc(n, sizeof *p->owner, err);
	if (has && p->owner) {
		all = has + n;
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
	return p->work && p->posted && p->messages ? find_owners(t, err) : -1;
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
	if (t->tensor)
		nn_train_note(t,
			      "%d ranks = %d pipeline%s of %d stages of %d that share columns "
			      "(rank (d x %d + s) x %d + t has the t-th part of "
			      "stage s in pipeline d), %s",
			      t->comm->size, p->side->size, p->side->size == 1 ? "" : "s",
			      p->stages, nn_tensor_ranks(t), p->stages, nn_tensor_ranks(t),
			      nn_pipeline_schedules[p->schedule]);
	else
		nn_train_note(t,
			      "%d ranks = %d pipeline%s of %d stages (rank d x %d + s is stage s "
			      "of pipeline d), %s",
			      t->comm->size, p->side->size, p->side->size == 1 ? "" : "s",
			      p->stages, p->stages, nn_pipeline_schedules[p->schedule]);
	for (int s = 0; s < p->stages; s++) {
		int first, last;
		double cost = 0;
		size_t parameters = 0;

		lines_of(p, s, &first, &last);
		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		for (int i = 0; i < t->program->n_params; i++)
			parameters += p->owner[i] == s
					      ? nn_shape_count(&t->program->params[i].desc.shape)
					      : 0;
		nn_train_note(t,
			      "stage %d: %s (%s) to %s (%s), %.0f %% of the work, %zu parameters",
			      s, nn_net_line(t->net, first).layer, nn_net_line(t->net, first).name,
			      nn_net_line(t->net, last).layer, nn_net_line(t->net, last).name,
			      100 * cost / all, parameters);
	}
}
