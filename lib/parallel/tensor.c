/*
 * --tensor: groups of ranks that share the columns of products and the rows of tables. What graphs
 * ask to be exchanged goes through memory that the group sees together, piece by piece, or by
 * messages where its ranks are on several hosts.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/pipeline.h"
#include "parallel/tensor.h"
#include "parallel/worker.h"

#define LINE_CHANNEL 10 /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 11
/* bytes of a rank that go through the window at once: read while they are in a shared cache */
#define PIECE ((size_t)512 << 10)

/* ---- the group ---- */

int nn_tensor_ranks(const struct nn_layout *l)
{
	return l->tensor ? l->tensor->columns.ranks : 1;
}

static struct nn_message *messages(struct nn_tensor_parallel *g, size_t bytes, void **room)
{
	size_t head = 2 * (size_t)g->columns.ranks * sizeof(struct nn_message);
	struct nn_message *list = nn_comm_scratch(g->line, head + bytes, &g->why);

	if (!list)
		g->failed = true;
	else if (room)
		*room = (char *)list + head;
	return list;
}

/* What each rank has of `lines` lines of n columns, into whole lines. */
struct lines {
	size_t n, size;
	int ranks;
};

static size_t first_of(const struct lines *l, int r)
{
	return l->n * (size_t)r / (size_t)l->ranks;
}

static size_t width_of(const struct lines *l, int r)
{
	return (first_of(l, r + 1) - first_of(l, r)) * l->size;
}

static void put_columns(const struct lines *l, int r, const char *part, char *whole, size_t lines)
{
	size_t from = first_of(l, r) * l->size, width = width_of(l, r), row = l->n * l->size;

	for (size_t i = 0; i < lines; i++)
		memcpy(whole + i * row + from, part + i * width, width);
}

static void count(struct nn_tensor_parallel *g, size_t bytes, bool by_messages)
{
	g->bytes += bytes;
	if (!by_messages)
		nn_comm_count(g->line, bytes);
}

/* Pieces take turns in two rooms: who has passed a barrier has read the piece before. */
static void gather_near(struct nn_tensor_parallel *g, const struct lines *l, const char *part,
			char *whole, size_t lines, size_t piece)
{
	int mine = g->columns.rank;

	for (size_t at = 0; at < lines; at += piece) {
		size_t k = lines - at < piece ? lines - at : piece;
		char *rooms = (char *)nn_shared_memory(g->window) +
			      g->turn++ % 2 * (size_t)l->ranks * PIECE;

		memcpy(rooms + (size_t)mine * PIECE, part + at * width_of(l, mine),
		       k * width_of(l, mine));
		nn_shared_barrier(g->window);
		for (int r = 0; r < l->ranks; r++)
			if (r != mine)
				put_columns(l, r, rooms + (size_t)r * PIECE,
					    whole + at * l->n * l->size, k);
	}
}

static void gather_far(struct nn_tensor_parallel *g, const struct lines *l, const char *part,
		       char *whole, size_t lines)
{
	size_t ranks = (size_t)l->ranks, n = 0;
	int mine = g->columns.rank;
	void *room;
	struct nn_message *sends = messages(g, lines * l->n * l->size, &room), *receives;

	if (!sends)
		return;
	receives = sends + ranks;
	for (int r = 0; r < l->ranks; r++) {
		if (r == mine)
			continue;
		sends[n] = (struct nn_message){ r, (void *)(uintptr_t)part,
						lines * width_of(l, mine) };
		receives[n++] =
			(struct nn_message){ r, (char *)room + first_of(l, r) * l->size * lines,
					     lines * width_of(l, r) };
	}
	if (nn_comm_exchange(g->line, sends, n, receives, n, &g->why) < 0) {
		g->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_columns(l, receives[i].peer, receives[i].data, whole, lines);
}

static void gather(void *arg, const void *part, void *whole, size_t lines, size_t n, size_t size)
{
	struct nn_tensor_parallel *g = arg;
	struct lines l = { n, size, g->columns.ranks };
	size_t row = (n + (size_t)l.ranks - 1) / (size_t)l.ranks * size,
	       mine = lines * width_of(&l, g->columns.rank);
	bool near = g->window && row <= PIECE;
	double start = nn_now_s();

	if (g->failed)
		return;
	put_columns(&l, g->columns.rank, part, whole, lines);
	if (near)
		gather_near(g, &l, part, whole, lines, PIECE / row);
	else
		gather_far(g, &l, part, whole, lines);
	count(g, lines * n * size - mine + mine * (size_t)(l.ranks - 1), !near);
	g->seconds += nn_now_s() - start;
}

static void exchange(void *arg, void *const *send, const size_t *send_bytes, void *const *receive,
		     const size_t *receive_bytes)
{
	struct nn_tensor_parallel *g = arg;
	size_t ranks = (size_t)g->columns.ranks, n = 0, bytes = 0;
	struct nn_message *sends = g->failed ? NULL : messages(g, 0, NULL), *receives;
	double start = nn_now_s();

	if (!sends)
		return;
	receives = sends + ranks;
	for (size_t r = 0; r < ranks; r++) {
		if ((int)r == g->columns.rank)
			continue;
		sends[n] = (struct nn_message){ (int)r, send[r], send_bytes[r] };
		receives[n++] = (struct nn_message){ (int)r, receive[r], receive_bytes[r] };
		bytes += send_bytes[r] + receive_bytes[r];
	}
	g->failed = nn_comm_exchange(g->line, sends, n, receives, n, &g->why) < 0;
	count(g, bytes, true);
	g->seconds += nn_now_s() - start;
}

int nn_tensor_settle(struct nn_worker *w, double *seconds, struct nn_error *err)
{
	struct nn_tensor_parallel *g = w->layout->tensor;

	*seconds = g->seconds - g->told;
	g->told = g->seconds;
	if (g->failed && err)
		*err = g->why;
	return g->failed ? -1 : 0;
}

int nn_tensor_begin(struct nn_worker *w, struct nn_error *err)
{
	double unused;
	int status = nn_tensor_settle(w, &unused, err);

	w->layout->tensor->seconds = w->layout->tensor->told = 0;
	w->layout->tensor->bytes = 0;
	return status;
}

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
	g->columns = (struct nn_column_shard){ rank % ranks, ranks, g, gather, exchange };
	if (!l->comm)
		return 0;
	if (nn_comm_part(&g->line, l->comm, rank - g->columns.rank, 1, ranks, LINE_CHANNEL, err) <
	    0)
		return -1;
	if (nn_comm_part(&g->side, l->comm, g->columns.rank, ranks, size / ranks, SIDE_CHANNEL,
			 err) < 0)
		return -1;
	return nn_shared_open(&g->window, g->line, 2 * (size_t)ranks * PIECE, err);
}

void nn_tensor_free(struct nn_tensor_parallel *g)
{
	if (!g)
		return;
	nn_shared_close(g->window);
	nn_comm_close(g->line);
	nn_comm_close(g->side);
	nn_free(g->channels);
	nn_free(g->squares);
	nn_free(g->squares_at);
	nn_free(g->bounds);
	nn_free(g);
}

/* Out-channels of a node that ranks may share, or groups; else 0. */
static size_t width_of_node(const struct nn_program *program, const struct nn_node *node)
{
	struct nn_op_product p;

	if (!nn_op_is_product(node->op))
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
	size_t n = (size_t)w->task->program->n_params,
	       stages = w->layout->pipe ? (size_t)w->layout->pipe->stages : 1,
	       ranks = (size_t)g->columns.ranks;
	size_t *all = nn_alloc(n * (stages + 1), sizeof *all, err), *mine;
	int status = 0;

	nn_free(g->channels);
	nn_free(g->bounds);
	nn_free(g->squares_at);
	g->channels = nn_alloc(n, sizeof *g->channels, err);
	g->bounds = nn_alloc(n * (2 * ranks + 1), sizeof *g->bounds, err);
	g->squares_at = nn_alloc((n + 1) * ranks, sizeof *g->squares_at, err);
	if (!all || !g->channels || !g->bounds || !g->squares_at) {
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

/* ---- what people are told ---- */

void nn_tensor_tell(struct nn_worker *w)
{
	const struct nn_tensor_parallel *g = w->layout->tensor;
	size_t shared = 0, whole = 0;
	int groups = w->layout->comm->size / g->columns.ranks;

	for (int i = 0; i < w->task->program->n_params; i++)
		*(g->channels[i] ? &shared : &whole) +=
			nn_shape_count(&w->task->program->params[i].desc.shape);
	if (w->layout->pipe) /* which tells its own grid */
		nn_worker_note(w, "columns are shared by %s; of %zu parameters %zu are",
			       g->window ? "memory" : "messages", shared + whole, shared);
	else
		nn_worker_note(
			w,
			"%d ranks = %d group%s of %d that share columns (rank g x %d + t has "
			"the t-th part), by %s; of %zu parameters %zu are "
			"shared",
			w->layout->comm->size, groups, groups == 1 ? "" : "s", g->columns.ranks,
			g->columns.ranks, g->window ? "memory" : "messages", shared + whole,
			shared);
}

void nn_tensor_end(struct nn_worker *w)
{
	const struct nn_tensor_parallel *g = w->layout->tensor;
	uint64_t steps = w->counters->step - w->started_step;

	if (steps > 0)
		nn_worker_note(
			w,
			"in a step rank 0 exchanged %.3g MB of columns with its group, which "
			"took %.0f %% of its time",
			(double)g->bytes / 1e6 / (double)steps,
			100 * g->told / (w->compute_s + w->comm_s + w->wait_s + w->input_s));
}
