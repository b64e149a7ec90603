/* What the server and computing ranks of async say to each other: messages, and what is longer
 * through memory that both see. */
#include <string.h>

#include "base/clock.h"
#include "train/strategy/async.h"
#include "train/strategy/tables.h"
#include "train/strategy/team.h"

int nn_async_exchange(struct nn_train *t, struct nn_async_line *line, int peer, bool sends,
		      const struct nn_message *messages, size_t n, struct nn_error *err)
{
	struct nn_message to[4];
	double start = nn_now_s();
	int status;

	for (size_t i = 0; i < n; i++) {
		to[i] = messages[i];
		to[i].peer = peer;
	}
	status = sends ? nn_comm_exchange(t->comm, to, n, NULL, 0, err)
		       : nn_comm_exchange(t->comm, NULL, 0, to, n, err);
	line->lost |= status < 0;
	line->comm_s += nn_now_s() - start;
	return status;
}

static size_t block_bytes(const struct nn_train *t)
{
	return nn_graph_block(nn_step_graph(t->step)) * nn_dtype_size(t->device->dtype);
}

static size_t parameter_bytes(const struct nn_train *t)
{
	return nn_graph_trained(nn_step_graph(t->step)) * nn_dtype_size(t->device->dtype);
}

/*
 * What a computing rank and the server see together: its parameters from when they are sent until
 * the rank has read them, then its gradient. Small messages tell the other side.
 */
static char *room_of(const struct nn_train *t, const struct nn_async_line *line, int peer)
{
	int worker = t->comm->rank == NN_ASYNC_SERVER ? peer : t->comm->rank;

	return (char *)nn_window_memory(line->window) + (size_t)(worker - 1) * parameter_bytes(t);
}

static void pass(struct nn_train *t, struct nn_async_line *line, void *to, const void *from,
		 size_t bytes)
{
	double start = nn_now_s();

	memcpy(to, from, bytes);
	nn_comm_count(t->comm, bytes);
	line->comm_s += nn_now_s() - start;
}

int nn_async_send_task(struct nn_train *t, struct nn_async_line *line, int peer,
		       struct nn_async_task *task, struct nn_error *err)
{
	void *weights = nn_graph_weights(nn_step_graph(t->step));
	struct nn_message said = { 0, task, sizeof *task },
			  parameters = { 0, weights, parameter_bytes(t) };

	if (line->window)
		pass(t, line, room_of(t, line, peer), weights, parameter_bytes(t));
	if (nn_async_exchange(t, line, peer, true, &said, 1, err) < 0)
		return -1;
	return line->window ? 0 : nn_async_exchange(t, line, peer, true, &parameters, 1, err);
}

int nn_async_receive_parameters(struct nn_train *t, struct nn_async_line *line,
				struct nn_error *err)
{
	void *weights = nn_graph_weights(nn_step_graph(t->step));
	struct nn_message parameters = { 0, weights, parameter_bytes(t) };

	if (!line->window)
		return nn_async_exchange(t, line, NN_ASYNC_SERVER, false, &parameters, 1, err);
	pass(t, line, weights, room_of(t, line, NN_ASYNC_SERVER), parameters.bytes);
	return 0;
}

int nn_async_send_answer(struct nn_train *t, struct nn_async_line *line,
			 struct nn_async_answer *answer, struct nn_error *err)
{
	struct nn_message said = { 0, answer, sizeof *answer };

	if (line->window && answer->finite)
		pass(t, line, room_of(t, line, NN_ASYNC_SERVER),
		     nn_graph_gradients(nn_step_graph(t->step)), block_bytes(t));
	return nn_async_exchange(t, line, NN_ASYNC_SERVER, true, &said, 1, err);
}

int nn_async_exchange_gradient(struct nn_train *t, struct nn_async_line *line, int peer, bool sends,
			       const struct nn_step_tables *tables, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t groups = tables->statistics ? tables->cut->group_of_leaf[tables->cut->n_leaves] : 0;
	const struct nn_message m[] = {
		{ 0, nn_graph_gradients(graph), line->window ? 0 : block_bytes(t) },
		{ 0, tables->figures,
		  tables->cut->n_leaves * tables->n_figures * sizeof *tables->figures },
		{ 0, tables->statistics, groups * tables->statistics_bytes },
	};

	if (line->window && !sends)
		pass(t, line, nn_graph_gradients(graph), room_of(t, line, peer), block_bytes(t));
	if (nn_async_exchange(t, line, peer, sends, m, sizeof m / sizeof *m, err) == 0 &&
	    nn_tables_pass(graph, t->comm, peer, sends, t->device->dtype, err) == 0)
		return 0;
	line->lost = true;
	return -1;
}

int nn_async_line_open(struct nn_train *t, struct nn_async_line *line, struct nn_error *err)
{
	size_t workers = (size_t)t->comm->size - 1;

	if (workers == 0 || t->device->copy_in || !nn_near_copies(parameter_bytes(t)))
		return 0;
	return nn_window_open(&line->window, t->comm, workers * parameter_bytes(t), err);
}
