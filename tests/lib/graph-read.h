/* Outputs of a graph in language order, for tests that compare them with plain loops. */
#ifndef NN_TESTS_GRAPH_READ_H
#define NN_TESTS_GRAPH_READ_H

#include <string.h>

#include "graph/graph.h"

/* Rows of output o, elements of `size` bytes; a graph has images channels last. */
static void read_output(struct nn_graph *graph, const struct nn_program *program, int o,
			size_t rows, size_t size, void *values)
{
	const struct nn_shape *shape = &program->values[program->outputs[o].value].shape;
	size_t count = nn_shape_count(shape), positions = 1, columns = count;
	const char *from = nn_graph_fetch(graph, o, rows);

	if (shape->rank == 3)
		nn_graph_output(graph, o, &positions, &columns);
	for (size_t r = 0; r < rows; r++)
		for (size_t p = 0; p < positions; p++)
			for (size_t c = 0; c < columns; c++, from += size)
				memcpy((char *)values + (r * count + c * positions + p) * size,
				       from, size);
}

#endif
