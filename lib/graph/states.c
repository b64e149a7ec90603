/* States carried between calls: forgotten, read and written, layer after layer. */
#include "graph/instance.h"
#include "graph/states.h"

static char *state_of(const struct nn_graph *graph, int node)
{
	return nn_graph_at(graph, graph->bound.nodes[node].state);
}

void nn_graph_forget(struct nn_graph *graph)
{
	for (int i = 0; i < graph->bound.n_nodes; i++)
		if (state_of(graph, i))
			nn_queue_clear(graph->bound.queue, state_of(graph, i),
				       graph->states * graph->bound.nodes[i].state_bytes);
}

size_t nn_graph_state_bytes(const struct nn_graph *graph)
{
	size_t bytes = 0;

	for (int i = 0; i < graph->bound.n_nodes; i++)
		bytes += graph->bound.nodes[i].state_bytes;
	return bytes;
}

void nn_graph_read_states(const struct nn_graph *graph, size_t from, size_t to, void *rows)
{
	char *at = rows;

	for (size_t r = from; r < to; r++)
		for (int i = 0; i < graph->bound.n_nodes; i++) {
			size_t bytes = graph->bound.nodes[i].state_bytes;

			if (bytes)
				nn_queue_read(graph->bound.queue, at,
					      state_of(graph, i) + r * bytes, bytes);
			at += bytes;
		}
}

void nn_graph_write_states(struct nn_graph *graph, size_t from, size_t to, const void *rows)
{
	const char *at = rows;

	for (size_t r = from; r < to; r++)
		for (int i = 0; i < graph->bound.n_nodes; i++) {
			size_t bytes = graph->bound.nodes[i].state_bytes;

			if (bytes)
				nn_queue_write(graph->bound.queue, state_of(graph, i) + r * bytes,
					       at, bytes);
			at += bytes;
		}
}
