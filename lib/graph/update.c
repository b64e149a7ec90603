/*
 * Weights that change while backward goes on: kernels that can update them behind their gradients,
 * which then need not go through memory; what is left of the block follows.
 */
#include "graph/instance.h"

/* Of elements at .. at + n - 1 of the block. */
static struct nn_update of_run(const struct nn_graph *graph, const struct nn_update *all, size_t at,
			       size_t n)
{
	size_t size = nn_dtype_size(graph->bound.device->dtype);
	struct nn_update u = *all;

	u.n = n;
	u.w = (char *)u.w + at * size;
	u.g = (char *)graph->gradients + at * size;
	for (int k = 0; k < NN_MAX_SLOTS; k++)
		u.slot[k] = u.slot[k] ? (char *)u.slot[k] + at * size : NULL;
	return u;
}

static bool is_in_block(const struct nn_bound_param *param)
{
	return param->desc.role != NN_BUFFER && param->desc.role != NN_ROW_TABLE;
}

/* Does the node's kernel update its parameters? All of them are in the block then. */
static bool updates(const struct nn_bound *b, int node)
{
	const struct nn_kernel *kernel = b->device->kernels[b->nodes[node].op];
	const struct nn_site site = nn_bound_site(b, &b->nodes[node]);

	return b->nodes[node].backward && kernel->updates && kernel->updates(&site);
}

static void update(const struct nn_graph *graph, const struct nn_update *all, size_t from,
		   size_t to)
{
	const struct nn_update u = of_run(graph, all, from, to - from);

	if (from < to)
		graph->bound.device->update(&u);
}

/* Runs of the block between parameters that kernels have updated. */
static void update_rest(const struct nn_graph *graph, const struct nn_update *all)
{
	const struct nn_bound *b = &graph->bound;
	size_t from = 0, to = 0;

	for (int p = 0; p < b->n_params; p++) {
		const struct nn_bound_param *param = &b->params[p];

		if (!is_in_block(param))
			continue;
		if (graph->calls[param->node].update) {
			update(graph, all, from, to);
			from = to = 0;
		} else {
			from = from < to ? from : param->offset;
			to = param->offset + param->packed;
		}
	}
	update(graph, all, from, to);
}

void nn_graph_backward_update(struct nn_graph *graph, const struct nn_span *span,
			      const struct nn_update *all)
{
	const struct nn_bound *b = &graph->bound;

	for (int p = 0; p < b->n_params; p++)
		if (is_in_block(&b->params[p]))
			graph->updates[p] =
				of_run(graph, all, b->params[p].offset, b->params[p].packed);
	for (int i = 0; i < b->n_nodes; i++)
		if (updates(b, i))
			graph->calls[i].update = graph->updates + b->nodes[i].param;
	nn_graph_backward(graph, span, NULL, NULL);
	update_rest(graph, all);
	for (int i = 0; i < b->n_nodes; i++)
		graph->calls[i].update = NULL;
}
