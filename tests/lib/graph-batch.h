/*
 * A batch of a trial through a graph, and how far its outputs are from those of the network
 * evaluated alone.
 */
#ifndef GRAPH_BATCH_H
#define GRAPH_BATCH_H

#include "graph-read.h"
#include "graph-reference.h"
#include "graph-trial.h"
#include "tap.h"

static const size_t leaves[LEAVES + 1] = { 0, 6, 12, 18, 24 };
static const size_t whole_groups[LEAVES + 1] = { 0, 6, 12, 18, 24 };

static inline struct nn_graph *bind_with(const struct trial *t, const struct nn_device *device,
					 bool training, size_t max_rows, struct nn_pool *pool,
					 const struct nn_graph *share)
{
	struct nn_graph_options options = {
		.device = device,
		.pool = pool,
		.max_rows = max_rows,
		.max_leaves = LEAVES,
		.training = training,
		.seed = 7,
		.share = share,
	};
	struct nn_error err = { 0 };
	struct nn_graph *graph;

	if (nn_graph_bind(&graph, t->program, &options, &err) ||
	    (!share && nn_graph_load(graph, (const void *const *)t->params, &err))) {
		note("bind: %s", err.text);
		exit(1);
	}
	return graph;
}

static inline struct nn_span span_of(size_t rows)
{
	return (struct nn_span){ .rows = rows,
				 .leaf = leaves,
				 .n_leaves = LEAVES,
				 .first = true,
				 .group = whole_groups,
				 .n_groups = LEAVES };
}

static inline void forward_all(const struct trial *t, struct nn_graph *graph)
{
	struct nn_span span = span_of(ROWS);

	feed(t, graph, 0, ROWS);
	nn_graph_forward(graph, &span);
}

static inline double difference(double a, double b)
{
	return fabs(a - b) / (1 + fabs(b));
}

/* The larger; what is not a number is the largest. */
static inline double worse(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static inline double forward_error(const struct trial *t, struct nn_graph *graph, bool training)
{
	struct reference r = { .program = t->program,
			       .params = (const double *const *)t->params,
			       .rows = ROWS,
			       .training = training,
			       .group = whole_groups,
			       .n_groups = LEAVES };
	double worst = 0;

	reference_run(&r, (const double *const *)t->inputs);
	forward_all(t, graph);
	for (int o = 0; o < t->program->n_outputs; o++) {
		int value = t->program->outputs[o].value;
		size_t n = ROWS * nn_shape_count(&t->program->values[value].shape);
		double *y = calloc(n, sizeof *y);

		read_output(graph, t->program, o, ROWS, sizeof *y, y);
		for (size_t i = 0; i < n; i++) {
			worst = worse(worst, difference(y[i], r.values[value][i]));
		}
		free(y);
	}
	reference_fini(&r);
	return worst;
}

#endif
