/* Rows in and out of a graph. */
#include <string.h>

#include "graph/bound.h"

void *nn_graph_input(struct nn_graph *graph, int input, size_t *size, bool *channels_last)
{
	int value = graph->bound.inputs[input];

	*size = nn_bound_count(&graph->bound, value);
	*channels_last = graph->bound.values[value].channels != 0;
	return nn_graph_value_at(graph, value);
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

	for (int o = 0; o < b->n_outputs; o++)
		if (nn_bound_root(b, b->outputs[o]) == root)
			return false;
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			if (nn_bound_root(b, b->nodes[i].in[k]) == root)
				((const void **)graph->calls[i].x)[k] = rows;
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
	size_t count = nn_shape_count(shape);

	/* Classes are the channels of C,H,W; the last dimension else. */
	*columns = shape->rank == 3  ? shape->dim[0]
		   : shape->rank > 0 ? shape->dim[shape->rank - 1]
				     : 1;
	*positions = *columns ? count / *columns : 0;
	return output_at(graph, output);
}

static void copy_host(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

void nn_graph_read(const struct nn_graph *graph, int output, size_t rows, void *values)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_value *value = &b->values[b->outputs[output]];
	size_t count = nn_shape_count(&value->shape), size = nn_dtype_size(b->device->dtype);
	const unsigned char *from = output_at(graph, output);
	unsigned char *to = values;
	void (*copy)(void *to, const void *from, size_t bytes) =
		b->device->copy_out ? b->device->copy_out : copy_host;

	if (value->channels == 0) {
		copy(to, from, rows * count * size);
		return;
	}
	for (size_t r = 0; r < rows; r++)
		for (size_t p = 0; p < value->positions; p++)
			for (size_t c = 0; c < value->channels; c++, from += size)
				copy(to + (r * count + c * value->positions + p) * size, from,
				     size);
}

void *nn_graph_output_gradient(struct nn_graph *graph, int output)
{
	return nn_graph_gradient_at(graph, graph->bound.outputs[output]);
}
