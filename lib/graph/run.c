/* Forward and backward: the calls prepared at bind, with the rows of a span filled in. */
#include <math.h>

#include "graph/bound.h"

static void put_span(const struct nn_graph *graph, int i, const struct nn_span *span)
{
	struct nn_call *call = &graph->calls[i];
	size_t size = nn_dtype_size(graph->bound.device->dtype);

	call->rows = span->rows;
	call->sample = span->sample;
	call->leaf = span->leaf;
	call->n_leaves = span->n_leaves;
	call->first = span->first;
	call->leaf_number = span->leaf_number;
	call->group = span->group;
	call->n_groups = span->n_groups;
	call->statistics =
		span->statistics ? (char *)span->statistics + graph->statistics[i] * size : NULL;
	call->statistics_step = graph->n_statistics;
}

static void check_span(const struct nn_graph *graph, const struct nn_span *span)
{
	if (span->rows > graph->max_rows)
		NN_BUG("%zu rows in a graph of %zu", span->rows, graph->max_rows);
}

void nn_graph_forward(struct nn_graph *graph, const struct nn_span *span)
{
	const struct nn_bound *b = &graph->bound;

	check_span(graph, span);
	for (int i = 0; i < b->n_nodes && span->rows > 0; i++) {
		put_span(graph, i, span);
		if (graph->arrive)
			nn_graph_arrive_at(graph, i);
		if (b->nodes[i].split && b->nodes[i].op == NN_OP_embedding)
			nn_rows_forward(graph, &b->nodes[i], &graph->calls[i]);
		else if (b->nodes[i].split)
			nn_split_forward(graph, &b->nodes[i], &graph->calls[i]);
		else
			b->device->kernels[b->nodes[i].op]->forward(&graph->calls[i]);
	}
	if (span->rows > 0)
		graph->arrive = NULL;
}

void nn_graph_backward(struct nn_graph *graph, const struct nn_span *span,
		       void (*ready)(void *arg, int param), void *arg)
{
	const struct nn_bound *b = &graph->bound;

	check_span(graph, span);
	for (int i = b->n_nodes; i-- > 0 && span->rows > 0;) {
		const struct nn_bound_node *node = &b->nodes[i];

		if (!node->backward)
			continue;
		put_span(graph, i, span);
		if (node->split && node->op == NN_OP_embedding)
			nn_rows_backward(graph, node, &graph->calls[i]);
		else if (node->split)
			nn_split_backward(graph, node, &graph->calls[i]);
		else
			b->device->kernels[node->op]->backward(&graph->calls[i]);
		for (int k = node->n_params; ready && k-- > 0;)
			if (b->params[node->param + k].desc.role != NN_BUFFER &&
			    b->params[node->param + k].desc.role != NN_ROW_TABLE)
				ready(arg, b->params[node->param + k].source);
	}
}

size_t nn_graph_statistics(const struct nn_graph *graph)
{
	return graph->n_statistics;
}

void nn_graph_advance(struct nn_graph *graph, const void *statistics, size_t n_groups)
{
	const struct nn_bound *b = &graph->bound;
	size_t size = nn_dtype_size(b->device->dtype);

	for (int i = 0; i < b->n_nodes; i++) {
		const struct nn_kernel *kernel = b->device->kernels[b->nodes[i].op];
		const struct nn_call *call = &graph->calls[i];

		if (kernel->advance)
			kernel->advance(&call->site, call->w,
					(const char *)statistics + graph->statistics[i] * size,
					graph->n_statistics, n_groups);
	}
}

static bool finite_f32(const float *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return false;
	return true;
}

static bool finite_f64(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return false;
	return true;
}

int nn_graph_first_bad(const struct nn_graph *graph, size_t rows)
{
	const struct nn_bound *b = &graph->bound;

	for (int i = 0; i < b->n_nodes; i++) {
		int root = nn_bound_root(b, b->nodes[i].out);
		size_t n = rows * nn_bound_count(b, root);
		const void *values = nn_graph_value_at(graph, root);

		if (!graph->plan.kept[root])
			continue;
		if (b->device->dtype == NN_F64 ? !finite_f64(values, n) : !finite_f32(values, n))
			return b->nodes[i].line;
	}
	return -1;
}
