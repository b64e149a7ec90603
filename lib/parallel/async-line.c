/*
 * What the server and computing ranks of async say to each other: messages, and what is longer
 * through memory that both see.
 */
#include <string.h>

#include "base/clock.h"
#include "parallel/async.h"
#include "parallel/tables.h"
#include "parallel/sync-group.h"

double nn_async_rate(const struct nn_worker *w, double lr, uint64_t staleness)
{
	return w->layout->options->staleness_lr ? lr / (double)(1 + staleness) : lr;
}

int nn_async_exchange(struct nn_worker *w, struct nn_async_line *line, int peer, bool sends,
		      const struct nn_message *messages, size_t n, struct nn_error *err)
{
	struct nn_message to[4];
	double start = nn_now_s();
	int status;

	for (size_t i = 0; i < n; i++) {
		to[i] = messages[i];
		to[i].peer = peer;
	}
	status = sends ? nn_comm_exchange(w->layout->comm, to, n, NULL, 0, err)
		       : nn_comm_exchange(w->layout->comm, NULL, 0, to, n, err);
	line->lost |= status < 0;
	line->comm_s += nn_now_s() - start;
	return status;
}

static size_t block_bytes(const struct nn_worker *w)
{
	return nn_graph_block(nn_step_graph(w->step)) * nn_dtype_size(w->task->device->dtype);
}

static size_t parameter_bytes(const struct nn_worker *w)
{
	return nn_graph_trained(nn_step_graph(w->step)) * nn_dtype_size(w->task->device->dtype);
}

/*
 * What a computing rank and the server see together: its parameters from when they are sent until
 * the rank has read them, then its gradient. Small messages tell the other side.
 */
static char *room_of(const struct nn_worker *w, const struct nn_async_line *line, int peer)
{
	int worker = w->layout->comm->rank == NN_ASYNC_SERVER ? peer : w->layout->comm->rank;

	return (char *)nn_shared_memory(line->window) + (size_t)(worker - 1) * parameter_bytes(w);
}

static void pass(struct nn_worker *w, struct nn_async_line *line, void *to, const void *from,
		 size_t bytes)
{
	double start = nn_now_s();

	memcpy(to, from, bytes);
	nn_comm_count(w->layout->comm, bytes);
	line->comm_s += nn_now_s() - start;
}

int nn_async_send_task(struct nn_worker *w, struct nn_async_line *line, int peer,
		       struct nn_async_task *task, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t bytes = parameter_bytes(w);
	void *weights =
		nn_mirror_read(&line->block, nn_graph_queue(graph), nn_graph_weights(graph), bytes);
	struct nn_message reports = { 0, task, sizeof *task }, parameters = { 0, weights, bytes };

	if (line->window)
		pass(w, line, room_of(w, line, peer), weights, bytes);
	if (nn_async_exchange(w, line, peer, true, &reports, 1, err) < 0)
		return -1;
	return line->window ? 0 : nn_async_exchange(w, line, peer, true, &parameters, 1, err);
}

int nn_async_receive_parameters(struct nn_worker *w, struct nn_async_line *line,
				struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	struct nn_queue *queue = nn_graph_queue(graph);
	void *weights = nn_mirror_move(&line->block, queue, nn_graph_weights(graph));
	struct nn_message parameters = { 0, weights, parameter_bytes(w) };

	if (line->window)
		pass(w, line, weights, room_of(w, line, NN_ASYNC_SERVER), parameters.bytes);
	else if (nn_async_exchange(w, line, NN_ASYNC_SERVER, false, &parameters, 1, err) < 0)
		return -1;
	nn_mirror_send(&line->block, queue, 0, parameters.bytes);
	return 0;
}

int nn_async_send_answer(struct nn_worker *w, struct nn_async_line *line,
			 struct nn_async_answer *answer, struct nn_error *err)
{
	struct nn_message reports = { 0, answer, sizeof *answer };
	struct nn_graph *graph = nn_step_graph(w->step);

	if (line->window && answer->finite)
		pass(w, line, room_of(w, line, NN_ASYNC_SERVER),
		     nn_mirror_read(&line->block, nn_graph_queue(graph), nn_graph_gradients(graph),
				    block_bytes(w)),
		     block_bytes(w));
	return nn_async_exchange(w, line, NN_ASYNC_SERVER, true, &reports, 1, err);
}

int nn_async_exchange_gradient(struct nn_worker *w, struct nn_async_line *line, int peer,
			       bool sends, const struct nn_step_tables *tables,
			       struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	struct nn_queue *queue = nn_graph_queue(graph);
	size_t groups = tables->statistics ? tables->cut->group_of_leaf[tables->cut->n_leaves] : 0,
	       bytes = block_bytes(w);
	void *there = nn_graph_gradients(graph),
	     *gradients = sends && !line->window ? nn_mirror_read(&line->block, queue, there, bytes)
						 : nn_mirror_move(&line->block, queue, there);
	const struct nn_message m[] = {
		{ 0, gradients, line->window ? 0 : bytes },
		{ 0, tables->figures,
		  tables->cut->n_leaves * tables->n_figures * sizeof *tables->figures },
		{ 0, tables->statistics, groups * tables->statistics_bytes },
	};

	if (line->window && !sends)
		pass(w, line, gradients, room_of(w, line, peer), bytes);
	if (nn_async_exchange(w, line, peer, sends, m, sizeof m / sizeof *m, err) < 0 ||
	    nn_tables_pass(graph, w->layout->comm, peer, sends, w->task->device->dtype, err) < 0) {
		line->lost = true;
		return -1;
	}
	if (!sends)
		nn_mirror_send(&line->block, queue, 0, bytes);
	return 0;
}

void nn_async_line_close(struct nn_worker *w, struct nn_async_line *line)
{
	nn_shared_close(line->window);
	nn_mirror_free(&line->block, nn_graph_queue(nn_step_graph(w->step)));
}

int nn_async_line_open(struct nn_worker *w, struct nn_async_line *line, struct nn_error *err)
{
	size_t workers = (size_t)w->layout->comm->size - 1;

	if (workers == 0)
		return 0;
	if (nn_mirror_of(&line->block, nn_graph_queue(nn_step_graph(w->step)), NULL,
			 parameter_bytes(w), err) < 0)
		return -1;
	if (!nn_sync_shared_copies(parameter_bytes(w)))
		return 0;
	return nn_shared_open(&line->window, w->layout->comm, workers * parameter_bytes(w), err);
}
