/* Forward and backward: the steps made at bind, with the rows of a span filled in. */
#include <math.h>

#include "base/real.h"
#include "graph/instance.h"

static void put_span(const struct nn_graph *graph, const struct nn_graph_step *step,
		     const struct nn_span *span)
{
	struct nn_call *call = step->call;
	size_t size = nn_dtype_size(graph->bound.device->dtype);

	call->rows = span->rows;
	call->sample = span->sample;
	call->lengths = span->lengths;
	call->state = step->state ? step->state + span->sample * step->state_bytes : NULL;
	call->step = span->step;
	call->leaf = span->leaf;
	call->n_leaves = span->n_leaves;
	call->first = span->first;
	call->leaf_number = span->leaf_number;
	call->group = span->group;
	call->n_groups = span->n_groups;
	call->statistics =
		span->statistics ? (char *)span->statistics + step->statistics * size : NULL;
}

/* Parameters of a node whose gradients are final, the last first; buffers and tables have none. */
static void tell(const struct nn_bound *b, const struct nn_bound_node *node,
		 void (*ready)(void *arg, int param), void *arg)
{
	for (int k = node->n_params; k-- > 0;) {
		const struct nn_bound_param *param = &b->params[node->param + k];

		if (param->desc.role != NN_BUFFER && param->desc.role != NN_ROW_TABLE)
			ready(arg, param->source);
	}
}

void nn_graph_run_step(struct nn_graph *graph, const struct nn_graph_step *step,
		       const struct nn_span *span)
{
	put_span(graph, step, span);
	step->run(step->call);
}

void nn_graph_run(struct nn_graph *graph, const struct nn_step_list *list,
		  const struct nn_span *span, void (*ready)(void *arg, int param), void *arg)
{
	for (const struct nn_graph_step *step = list->step, *end = step + list->n; step < end;
	     step++) {
		if (graph->spill && nn_spill_failed(graph->spill))
			return;
		nn_graph_run_step(graph, step, span);
		if (ready && step->event >= 0)
			tell(&graph->bound, &graph->bound.nodes[step->event], ready, arg);
	}
}

static void check_span(const struct nn_graph *graph, const struct nn_span *span)
{
	if (span->rows > graph->max_rows)
		NN_BUG("%zu rows in a graph of %zu", span->rows, graph->max_rows);
}

void nn_graph_forward(struct nn_graph *graph, const struct nn_span *span)
{
	const struct nn_slot_steps *steps = graph->steps;

	check_span(graph, span);
	if (span->rows == 0)
		return;
	if (graph->share && graph->share->bound.training) /* weights of the moment */
		nn_graph_refresh(graph);
	nn_graph_run(graph, graph->pending.arrive ? &steps->arriving : &steps->forward, span, NULL,
		     NULL);
	graph->pending.arrive = NULL;
}

void nn_graph_backward(struct nn_graph *graph, const struct nn_span *span,
		       void (*ready)(void *arg, int param), void *arg)
{
	check_span(graph, span);
	if (span->rows > 0)
		nn_graph_run(graph, &graph->steps->backward, span, ready, arg);
}

int nn_graph_check(const struct nn_graph *graph, struct nn_error *err)
{
	if (!graph->spill || !nn_spill_failed(graph->spill))
		return 0;
	nn_queue_wait(graph->bound.queue, NULL); /* what was asked for uses memory of the step's */
	return nn_spill_check(graph->spill, err);
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

		if (kernel->advance && kernel->statistics(&call->site) > 0)
			kernel->advance(&call->site, call->w,
					(const char *)statistics + graph->statistics[i] * size,
					graph->n_statistics, n_groups);
	}
}

#define PIECE 4096 /* values looked at together */

static bool all_finite(enum nn_dtype dtype, const void *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(nn_real_at(dtype, values, i)))
			return false;
	return true;
}

/* Of values in device memory, read piece by piece. */
static bool finite_there(const struct nn_bound *b, const char *values, size_t n)
{
	double piece[PIECE];
	size_t size = nn_dtype_size(b->device->dtype);

	if (!b->queue)
		return all_finite(b->device->dtype, values, n);
	for (size_t at = 0; at < n; at += PIECE) {
		size_t m = n - at < PIECE ? n - at : PIECE;

		nn_queue_read(b->queue, piece, values + at * size, m * size);
		if (!all_finite(b->device->dtype, piece, m))
			return false;
	}
	return true;
}

int nn_graph_first_nonfinite(const struct nn_graph *graph, size_t rows)
{
	const struct nn_bound *b = &graph->bound;

	for (int i = 0; i < b->n_nodes; i++) {
		int root = nn_bound_root(b, b->nodes[i].out);
		size_t n = rows * nn_bound_count(b, root);

		if (graph->plan.kept[root] && !finite_there(b, nn_graph_value_at(graph, root), n))
			return b->nodes[i].line;
	}
	return -1;
}
