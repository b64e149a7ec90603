/* A random network, its numbers and a batch. */
#ifndef GRAPH_TRIAL_H
#define GRAPH_TRIAL_H

#include <math.h>

#include "graph-random.h"
#include "graph/graph.h"

#ifndef FIRST_SEED
#define FIRST_SEED 0
#endif

#define ROWS 24
#define LEAVES 4
struct trial {
	struct nn_program *program;
	double **params, **inputs;
	struct dice dice;
};

static struct trial trial_new(uint64_t seed, int n, bool every_op, bool dropout, size_t group)
{
	struct trial t = { .program =
				   random_program(FIRST_SEED + seed, n, every_op, dropout, group),
			   .dice = { seed } };

	t.params = random_params(t.program, &t.dice);
	t.inputs = random_inputs(t.program, ROWS, &t.dice);
	return t;
}

static void trial_free(struct trial *t)
{
	nn_free(t->params);
	free_inputs(t->program, t->inputs);
	nn_program_free(t->program);
}

/* Rows first..first + n - 1 of the batch become the graph's input. */
static void feed(const struct trial *t, struct nn_graph *graph, size_t first, size_t n)
{
	for (int i = 0; i < t->program->n_inputs; i++) {
		const struct nn_shape *shape = &t->program->values[t->program->inputs[i]].shape;
		size_t size, pixels, channels = shape->dim[0];
		bool channels_last;
		double *to = nn_graph_input(graph, i, &size, &channels_last);
		const double *from = t->inputs[i] + first * size;

		if (!nn_graph_reads(graph, i))
			continue;
		pixels = size / channels;
		for (size_t k = 0; k < n * size; k++)
			if (channels_last)
				to[k / size * size + k % pixels * channels + k % size / pixels] =
					from[k];
			else
				to[k] = from[k];
	}
}

static double weight_of_output(size_t i)
{
	return sin((double)i + 1);
}

static void put_loss_gradient(const struct trial *t, struct nn_graph *graph, size_t first,
			      size_t rows)
{
	for (int o = 0; o < t->program->n_outputs; o++) {
		size_t positions, columns;
		double *dy = nn_graph_output_gradient(graph, o);

		nn_graph_output(graph, o, &positions, &columns);
		for (size_t i = 0; i < rows * positions * columns; i++)
			dy[i] = weight_of_output(first * positions * columns + i);
	}
}

#endif
