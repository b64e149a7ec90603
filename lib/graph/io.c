/* Rows in and out of a graph. */
#include "base/memory.h"
#include "graph/instance.h"

struct nn_queue *nn_graph_queue(const struct nn_graph *graph)
{
	return graph->bound.queue;
}

static size_t now_bytes(const struct nn_graph *graph)
{
	return (1 + (size_t)graph->bound.program->n_outputs) * sizeof(struct nn_now);
}

/* The graph's comes last, so that its last member can stay as it is. */
static int now_at(const struct nn_graph *graph, int which)
{
	return which > 0 ? which - 1 : graph->bound.program->n_outputs;
}

struct nn_now *nn_graph_now(struct nn_graph *graph, int which)
{
	return (struct nn_now *)nn_mirror_write(&graph->host.now, graph->bound.queue) +
	       now_at(graph, which);
}

void nn_graph_send_now(struct nn_graph *graph)
{
	const size_t hold = sizeof(struct nn_now) - offsetof(struct nn_now, hold);

	nn_mirror_send(&graph->host.now, graph->bound.queue, 0,
		       now_bytes(graph) - (graph->host.follows ? hold : 0));
}

struct nn_now *nn_graph_now_there(const struct nn_graph *graph, int which)
{
	return (struct nn_now *)graph->host.now.there + now_at(graph, which);
}

void nn_graph_use_now(struct nn_graph *graph, int side, bool follows)
{
	nn_mirror_use(&graph->host.now, side);
	graph->host.follows = follows;
}

/* ---- host memory for rows on their way, where the graph's is not the host's ---- */

static int take_mirror(struct nn_graph *graph, struct nn_mirror *mirror, int value,
		       struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;

	return nn_mirror_of(
		mirror, b->queue, nn_graph_value_at(graph, value),
		graph->max_rows * nn_bound_count(b, value) * nn_dtype_size(b->device->dtype), err);
}

int nn_graph_take_mirrors(struct nn_graph *graph, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	int n = b->program->n_inputs;

	graph->host.in = nn_alloc((size_t)(n + b->n_outputs), sizeof *graph->host.in, err);
	if (!graph->host.in ||
	    nn_mirror_new(&graph->host.now, b->queue, now_bytes(graph), err) < 0 ||
	    nn_mirror_double(&graph->host.now, b->queue, now_bytes(graph), err) < 0)
		return -1;
	graph->host.out = graph->host.in + n;
	for (int i = 0; i < n && b->queue; i++)
		if (take_mirror(graph, &graph->host.in[i], b->inputs[i], err) < 0)
			return -1;
	for (int o = 0; o < b->n_outputs && b->queue; o++)
		if (take_mirror(graph, &graph->host.out[o], b->outputs[o], err) < 0)
			return -1;
	return 0;
}

void nn_graph_free_mirrors(struct nn_graph *graph)
{
	const struct nn_bound *b = &graph->bound;

	nn_mirror_free(&graph->host.now, b->queue);
	for (int i = 0; b->queue && graph->host.in && i < b->program->n_inputs + b->n_outputs; i++)
		nn_mirror_free(&graph->host.in[i], b->queue);
	nn_free(graph->host.in);
}

/* ---- inputs ---- */

void *nn_graph_input(struct nn_graph *graph, int input, size_t *size, bool *channels_last)
{
	int value = graph->bound.inputs[input];

	*size = nn_bound_count(&graph->bound, value);
	*channels_last = graph->bound.values[value].channels != 0;
	return graph->bound.queue ? nn_mirror_write(&graph->host.in[input], graph->bound.queue)
				  : nn_graph_value_at(graph, value);
}

void nn_graph_send(struct nn_graph *graph, int input, size_t rows)
{
	const struct nn_bound *b = &graph->bound;
	int value = b->inputs[input];

	if (!b->queue)
		return;
	graph->host.in[input].there = nn_graph_value_at(graph, value);
	nn_mirror_send(&graph->host.in[input], b->queue, 0,
		       rows * nn_bound_count(b, value) * nn_dtype_size(b->device->dtype));
}

void nn_graph_put(struct nn_graph *graph, int input, const void *there, size_t rows)
{
	const struct nn_bound *b = &graph->bound;
	int value = b->inputs[input];

	nn_queue_copy(b->queue, nn_graph_value_at(graph, value), there,
		      rows * nn_bound_count(b, value) * nn_dtype_size(b->device->dtype));
}

void nn_graph_gather(struct nn_graph *graph, int input, const void *there, const uint32_t *numbers,
		     size_t rows)
{
	const struct nn_bound *b = &graph->bound;
	int value = b->inputs[input];

	b->queue->remote->gather(b->queue, nn_graph_value_at(graph, value), there, numbers,
				 nn_bound_count(b, value) * nn_dtype_size(b->device->dtype), rows);
}

size_t nn_graph_copies(const struct nn_graph *graph, int input, size_t *step)
{
	int value = graph->bound.inputs[input];

	*step = graph->plan.copy_step[value];
	return *step ? (size_t)nn_pool_threads(graph->pool) : 1;
}

bool nn_graph_borrow(struct nn_graph *graph, int input, const void *rows)
{
	const struct nn_bound *b = &graph->bound;
	int root = nn_bound_root(b, b->inputs[input]);

	if (b->queue)
		return false;
	for (int i = 0; i < b->n_edges[NN_SIDE_GOING]; i++)
		if (b->edges[NN_SIDE_GOING][i] == root)
			return false;
	for (int o = 0; o < b->n_outputs; o++)
		if (nn_bound_root(b, b->outputs[o]) == root)
			return false;
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			if (nn_bound_root(b, b->nodes[i].in[k]) == root)
				((const void **)graph->calls[i].x)[k] = rows;
	return true;
}

bool nn_graph_only_multiplies(const struct nn_graph *graph, int input)
{
	const struct nn_bound *b = &graph->bound;
	int root = nn_bound_root(b, b->inputs[input]);

	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			if (nn_bound_root(b, b->nodes[i].in[k]) == root &&
			    !nn_op_is_product(b->nodes[i].op))
				return false;
	return true;
}

static const void *output_at(const struct nn_graph *graph, int output)
{
	return nn_graph_value_at(graph, graph->bound.outputs[output]);
}

const void *nn_graph_output(const struct nn_graph *graph, int output, size_t *positions,
			    size_t *columns)
{
	const struct nn_shape *shape = &graph->bound.values[graph->bound.outputs[output]].shape;

	*columns = nn_shape_columns(shape);
	*positions = nn_shape_positions(shape);
	return output_at(graph, output);
}

const void *nn_graph_fetch(struct nn_graph *graph, int output, size_t rows)
{
	const struct nn_bound *b = &graph->bound;
	int value = b->outputs[output];

	if (!b->queue)
		return output_at(graph, output);
	graph->host.out[output].there = nn_graph_value_at(graph, value);
	nn_mirror_fetch(&graph->host.out[output], b->queue, 0,
			rows * nn_bound_count(b, value) * nn_dtype_size(b->device->dtype));
	return graph->host.out[output].host;
}

void *nn_graph_output_gradient(struct nn_graph *graph, int output)
{
	return nn_graph_gradient_at(graph, graph->bound.outputs[output]);
}
