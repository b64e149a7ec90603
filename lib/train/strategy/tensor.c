/*
 * --tensor: groups of ranks that share the columns of products and the rows of tables. What graphs
 * ask to be exchanged goes through memory that the group sees together, piece by piece, or by
 * messages where its ranks are on several hosts.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/job.h"

#define LINE_CHANNEL 10 /* numbers of our channels (nn_comm_channel) */
#define SIDE_CHANNEL 11
#define PIECE \
	((size_t)512 << 10) /* bytes of a rank that go through the window at once: read while they \
			       are in a cache that cores share */

/* ---- the group ---- */

int nn_tensor_ranks(const struct nn_train *t)
{
	return t->tensor ? t->tensor->columns.ranks : 1;
}

static struct nn_message *messages(struct nn_tensor_group *g, size_t bytes, void **room)
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

static void count(struct nn_tensor_group *g, size_t bytes, bool by_messages)
{
	g->bytes += bytes;
	if (!by_messages)
		nn_comm_count(g->line, bytes);
}

/* Pieces take turns in two rooms: who has passed a barrier has read the piece before. */
static void gather_near(struct nn_tensor_group *g, const struct lines *l, const char *part,
			char *whole, size_t lines, size_t piece)
{
	int mine = g->columns.rank;

	for (size_t at = 0; at < lines; at += piece) {
		size_t k = lines - at < piece ? lines - at : piece;
		char *rooms = (char *)nn_window_memory(g->window) +
			      g->turn++ % 2 * (size_t)l->ranks * PIECE;

		memcpy(rooms + (size_t)mine * PIECE, part + at * width_of(l, mine),
		       k * width_of(l, mine));
		nn_window_barrier(g->window);
		for (int r = 0; r < l->ranks; r++)
			if (r != mine)
				put_columns(l, r, rooms + (size_t)r * PIECE,
					    whole + at * l->n * l->size, k);
	}
}

static void gather_far(struct nn_tensor_group *g, const struct lines *l, const char *part,
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
	struct nn_tensor_group *g = arg;
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
	struct nn_tensor_group *g = arg;
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

int nn_tensor_settle(struct nn_train *t, double *seconds, struct nn_error *err)
{
	struct nn_tensor_group *g = t->tensor;

	*seconds = g->seconds - g->told;
	g->told = g->seconds;
	if (g->failed && err)
		*err = g->why;
	return g->failed ? -1 : 0;
}

int nn_tensor_begin(struct nn_train *t, struct nn_error *err)
{
	double unused;
	int status = nn_tensor_settle(t, &unused, err);

	t->tensor->seconds = t->tensor->told = 0;
	t->tensor->bytes = 0;
	return status;
}

/* ---- opening ---- */

int nn_tensor_open(struct nn_train *t, struct nn_error *err)
{
	int ranks = (int)t->options->tensor, rank = t->comm ? t->comm->rank : 0,
	    size = t->comm ? t->comm->size : 0;
	struct nn_tensor_group *g;

	if (ranks <= 1)
		return 0;
	if (size % ranks != 0)
		return nn_fail(err, NN_EUSAGE,
			       "--tensor=%d: %d rank%s no whole number of groups; use --ranks=%d",
			       ranks, size, size == 1 ? " is" : "s are",
			       size < ranks ? ranks : size / ranks * ranks);
	if (!(g = t->tensor = nn_alloc(1, sizeof *g, err)))
		return -1;
	g->columns = (struct nn_columns){ rank % ranks, ranks, g, gather, exchange };
	if (!t->comm)
		return 0;
	if (nn_comm_part(&g->line, t->comm, rank - g->columns.rank, 1, ranks, LINE_CHANNEL, err) <
	    0)
		return -1;
	if (nn_comm_part(&g->side, t->comm, g->columns.rank, ranks, size / ranks, SIDE_CHANNEL,
			 err) < 0)
		return -1;
	return nn_window_open(&g->window, g->line, 2 * (size_t)ranks * PIECE, err);
}

void nn_tensor_free(struct nn_tensor_group *g)
{
	if (!g)
		return;
	nn_window_close(g->window);
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
	const struct nn_conv2d *conv = node->attrs;

	if (node->op == NN_OP_dense)
		return ((const struct nn_dense *)node->attrs)->out;
	if (node->op != NN_OP_conv2d)
		return 0;
	if (conv->groups == 1)
		return conv->out;
	return conv->groups < program->values[node->in[0]].shape.dim[0] ? conv->groups : 0;
}

static size_t rows_of_node(const struct nn_node *node)
{
	return node->op == NN_OP_embedding ? ((const struct nn_embedding *)node->attrs)->rows : 0;
}

/* The network is the command's, or a file's. */
static enum nn_code code_of(const struct nn_train *t)
{
	return access(t->options->model, F_OK) == 0 ? NN_EFAIL : NN_EUSAGE;
}

int nn_tensor_check(const struct nn_train *t, struct nn_error *err)
{
	size_t widest = 0, longest = 0, ranks = (size_t)nn_tensor_ranks(t);

	if (t->device->copy_in)
		return nn_fail(err, NN_EUSAGE,
			       "--tensor=%d: not on %s, whose memory ranks do not see",
			       nn_tensor_ranks(t), t->device->name);
	for (int i = 0; i < t->program->n_nodes; i++) {
		size_t width = width_of_node(t->program, &t->program->nodes[i]),
		       rows = rows_of_node(&t->program->nodes[i]);

		widest = width > widest ? width : widest;
		longest = rows > longest ? rows : longest;
	}
	if (widest >= ranks || longest >= ranks)
		return 0;
	if (longest > widest && longest > 1)
		return nn_fail(err, code_of(t),
			       "--tensor=%zu: the longest table that ranks could share has %zu "
			       "rows; use at most --tensor=%zu",
			       ranks, longest, longest);
	return nn_fail(err, code_of(t),
		       widest < 2 ? "--tensor=%zu: the network has no dense layer, convolution or "
				    "table whose columns or rows ranks could share"
				  : "--tensor=%zu: the widest layer that ranks could share has %zu "
				    "columns; use at most --tensor=%zu",
		       ranks, widest, widest);
}

int nn_tensor_attach(struct nn_train *t, struct nn_error *err)
{
	struct nn_tensor_group *g = t->tensor;
	size_t n = (size_t)t->program->n_params, stages = t->pipe ? (size_t)t->pipe->stages : 1,
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
		mine[i] = nn_graph_channels(nn_step_graph(t->step), (int)i);
	if (t->pipe)
		status = nn_comm_gather(t->pipe->line, mine, all, n * sizeof *all, err);
	for (size_t i = 0; i < n; i++)
		g->channels[i] = t->pipe ? all[(size_t)t->pipe->owner[i] * n + i] : mine[i];
	nn_free(all);
	return status;
}

bool nn_tensor_shares(const struct nn_train *t, int param)
{
	return t->tensor->channels[param] > 0 &&
	       (!t->pipe || t->pipe->owner[param] == t->pipe->stage);
}

size_t nn_tensor_slice(const struct nn_train *t, int param, int r, size_t *from)
{
	return nn_columns_slice(nn_shape_count(&t->program->params[param].desc.shape),
				t->tensor->channels[param], r, nn_tensor_ranks(t), from);
}

/* ---- what people are told ---- */

void nn_tensor_tell(struct nn_train *t)
{
	const struct nn_tensor_group *g = t->tensor;
	size_t shared = 0, whole = 0;
	int groups = t->comm->size / g->columns.ranks;

	for (int i = 0; i < t->program->n_params; i++)
		*(g->channels[i] ? &shared : &whole) +=
			nn_shape_count(&t->program->params[i].desc.shape);
	if (t->pipe) /* which tells its own grid */
		nn_train_note(t, "columns are shared by %s; of %zu parameters %zu are",
			      g->window ? "memory" : "messages", shared + whole, shared);
	else
		nn_train_note(t,
			      "%d ranks = %d group%s of %d that share columns (rank g x %d + t has "
			      "the t-th part), by %s; of %zu parameters %zu are "
			      "shared",
			      t->comm->size, groups, groups == 1 ? "" : "s", g->columns.ranks,
			      g->columns.ranks, g->window ? "memory" : "messages", shared + whole,
			      shared);
}

void nn_tensor_end(struct nn_train *t)
{
	const struct nn_tensor_group *g = t->tensor;
	uint64_t steps = t->counters.step - t->started_step;

	if (steps > 0)
		nn_train_note(t,
			      "in a step rank 0 exchanged %.3g MB of columns with its group, which "
			      "took %.0f %% of its time",
			      (double)g->bytes / 1e6 / (double)steps,
			      100 * g->told / (t->compute_s + t->comm_s + t->wait_s + t->input_s));
}
