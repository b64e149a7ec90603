/* --tensor: groups of ranks that share the columns of products and the rows of tables. */
#include "base/memory.h"
#include "base/text.h"
#include "parallel/tensor.h"
#include "parallel/worker.h"

#define LINE_CHANNEL 10 /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 11

/* ---- opening ---- */

int nn_tensor_open(struct nn_layout *l, struct nn_error *err)
{
	int ranks = (int)l->options->tensor, rank = l->comm ? l->comm->rank : 0,
	    size = l->comm ? l->comm->size : 0;
	struct nn_tensor_parallel *g;

	if (ranks <= 1)
		return 0;
	if (size % ranks != 0)
		return nn_fail(err, NN_EUSAGE,
			       "--tensor=%d: %d rank%s no whole number of groups; use --ranks=%d",
			       ranks, size, size == 1 ? " is" : "s are",
			       size < ranks ? ranks : size / ranks * ranks);
	if (!(g = l->tensor = nn_alloc(1, sizeof *g, err)))
		return -1;
	g->columns = (struct nn_column_shard){ .rank = rank % ranks, .ranks = ranks };
	if (!l->comm)
		return 0;
	if (nn_comm_part(&g->line, l->comm, rank - g->columns.rank, 1, ranks, LINE_CHANNEL, err) <
	    0)
		return -1;
	if (nn_comm_part(&g->side, l->comm, g->columns.rank, ranks, size / ranks, SIDE_CHANNEL,
			 err) < 0)
		return -1;
	return nn_tensor_exchange_open(g, err);
}

void nn_tensor_free(struct nn_tensor_parallel *g)
{
	if (!g)
		return;
	nn_tensor_exchange_close(g->exchange);
	nn_comm_close(g->line);
	nn_comm_close(g->side);
	nn_free(g->channels);
	nn_free(g);
}

/* Out-channels of a node that ranks may share, or groups; else 0. */
static size_t width_of_node(const struct nn_program *program, const struct nn_node *node)
{
	struct nn_op_product p;

	if (!nn_op_is_product(node->op) || nn_ops[node->op]->flags & NN_OP_WHOLE)
		return 0;
	p = nn_ops[node->op]->product(node->attrs, &program->values[node->in[0]].shape);
	if (p.groups == 1)
		return p.out;
	return p.groups < p.in ? p.groups : 0;
}

static size_t rows_of_node(const struct nn_program *program, const struct nn_node *node)
{
	return nn_op_is_table(node->op) ? program->params[node->param].desc.shape.dim[0] : 0;
}

/* The network is the command's, or a file's. */
static enum nn_code code_of(const struct nn_task *task)
{
	return task->from_file ? NN_EFAIL : NN_EUSAGE;
}

int nn_tensor_check(const struct nn_layout *l, const struct nn_task *task, struct nn_error *err)
{
	size_t widest = 0, longest = 0, ranks = (size_t)nn_tensor_ranks(l);

	for (int i = 0; i < task->program->n_nodes; i++) {
		size_t width = width_of_node(task->program, &task->program->nodes[i]),
		       rows = rows_of_node(task->program, &task->program->nodes[i]);

		widest = width > widest ? width : widest;
		longest = rows > longest ? rows : longest;
	}
	if (widest >= ranks || longest >= ranks)
		return 0;
	if (longest > widest && longest > 1)
		return nn_fail(err, code_of(task),
			       "--tensor=%zu: the longest table that ranks could share has %zu "
			       "rows; use at most --tensor=%zu",
			       ranks, longest, longest);
	return nn_fail(err, code_of(task),
		       widest < 2 ? "--tensor=%zu: the network has no dense layer, convolution or "
				    "table whose columns or rows ranks could share"
				  : "--tensor=%zu: the widest layer that ranks could share has %zu "
				    "columns; use at most --tensor=%zu",
		       ranks, widest, widest);
}

int nn_tensor_attach(struct nn_worker *w, struct nn_error *err)
{
	struct nn_tensor_parallel *g = w->layout->tensor;
	struct nn_tensor_exchange *e = g->exchange;
	size_t n = (size_t)w->task->program->n_params,
	       stages = w->layout->pipe ? (size_t)w->layout->pipe->stages : 1,
	       ranks = (size_t)g->columns.ranks;
	size_t *all = nn_alloc(n * (stages + 1), sizeof *all, err), *mine;
	int status = 0;

	nn_free(g->channels);
	nn_free(e->bounds);
	nn_free(e->squares_at);
	g->channels = nn_alloc(n, sizeof *g->channels, err);
	e->bounds = nn_alloc(n * (2 * ranks + 1), sizeof *e->bounds, err);
	e->squares_at = nn_alloc((n + 1) * ranks, sizeof *e->squares_at, err);
	if (!all || !g->channels || !e->bounds || !e->squares_at) {
		nn_free(all);
		return -1;
	}
	mine = all + n * stages;
	for (size_t i = 0; i < n; i++)
		mine[i] = nn_graph_channels(nn_step_graph(w->step), (int)i);
	if (w->layout->pipe)
		status = nn_comm_all_gather(w->layout->pipe->line, mine, all, n * sizeof *all, err);
	for (size_t i = 0; i < n; i++)
		g->channels[i] =
			w->layout->pipe ? all[(size_t)w->layout->pipe->owner[i] * n + i] : mine[i];
	nn_free(all);
	return status;
}

bool nn_tensor_shares(const struct nn_worker *w, int param)
{
	return w->layout->tensor->channels[param] > 0 &&
	       (!w->layout->pipe || w->layout->pipe->owner[param] == w->layout->pipe->stage);
}

size_t nn_tensor_slice(const struct nn_worker *w, int param, int r, size_t *from)
{
	return nn_column_shard_slice(nn_shape_count(&w->task->program->params[param].desc.shape),
				     w->layout->tensor->channels[param], r,
				     nn_tensor_ranks(w->layout), from);
}

/* ---- notes ---- */

void nn_tensor_note(struct nn_worker *w)
{
	const struct nn_tensor_parallel *g = w->layout->tensor;
	const struct nn_tensor_exchange *e = g->exchange;
	size_t shared = 0, whole = 0;
	int groups = w->layout->comm->size / g->columns.ranks;

	for (int i = 0; i < w->task->program->n_params; i++)
		*(g->channels[i] ? &shared : &whole) +=
			nn_shape_count(&w->task->program->params[i].desc.shape);
	if (w->layout->pipe) /* which tells its own grid */
		nn_worker_note(w, "columns are shared by %s; of %zu parameters %zu are",
			       e->window ? "memory" : "messages", shared + whole, shared);
	else
		nn_worker_note(
			w,
			"%d ranks = %d group%s of %d that share columns (rank g x %d + t has "
			"the t-th part), by %s; of %zu parameters %zu are "
			"shared",
			w->layout->comm->size, groups, nn_s(groups), g->columns.ranks,
			g->columns.ranks, e->window ? "memory" : "messages", shared + whole,
			shared);
}

void nn_tensor_end(struct nn_worker *w)
{
	const struct nn_tensor_exchange *e = w->layout->tensor->exchange;
	uint64_t steps = w->counters->step - w->started_step;

	if (steps > 0)
		nn_worker_note(
			w,
			"in a step rank 0 exchanged %.3g MB of columns with its group, which "
			"took %.0f %% of its time",
			(double)e->bytes / 1e6 / (double)steps,
			100 * e->counted_s / (w->compute_s + w->comm_s + w->wait_s + w->input_s));
}
