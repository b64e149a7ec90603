/*
 * Weights that change while backward goes on: kernels that can update them behind their gradients,
 * which then need not go through memory; what is left of the block follows.
 */
#include <stdlib.h>

#include "base/memory.h"
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

	return b->nodes[node].backward && kernel->updates && kernel->updates(&site) &&
	       is_in_block(&b->params[b->nodes[node].param]);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Of the nodes that update, which are listed in order. */
static bool is_updated(const struct nn_graph_updates *updated, int node)
{
	return bsearch(&node, updated->node, (size_t)updated->n, sizeof node, by_number) != NULL;
}

/*
 * The next run of the block between parameters that kernels update, from parameter *p on; false:
 * there is none.
 */
static bool next_run(const struct nn_graph *graph, int *p, size_t *from, size_t *to)
{
	const struct nn_bound *b = &graph->bound;

	for (*from = *to = 0; *p < b->n_params; ++*p) {
		const struct nn_bound_param *param = &b->params[*p];
		const bool updated = is_updated(&graph->updated, param->node);

		if (!is_in_block(param) || (updated && *from == *to))
			continue;
		if (updated)
			return true;
		*from = *from < *to ? *from : param->offset;
		*to = param->offset + param->packed;
	}
	return *from < *to;
}

/* On a device a run is a launch of its own: not more than the one for the whole block. */
static bool pays(const struct nn_graph *graph)
{
	size_t from, to;
	int p = 0;

	return !graph->bound.queue || !next_run(graph, &p, &from, &to) ||
	       !next_run(graph, &p, &from, &to);
}

int nn_graph_take_updates(struct nn_graph *graph, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	struct nn_graph_updates *updated = &graph->updated;

	updated->param = nn_alloc((size_t)b->n_params, sizeof *updated->param, err);
	updated->node = nn_alloc((size_t)b->n_nodes, sizeof *updated->node, err);
	if (!updated->param || !updated->node)
		return -1;
	for (int i = 0; i < b->n_nodes; i++)
		if (updates(b, i))
			updated->node[updated->n++] = i;
	if (!pays(graph))
		updated->n = 0;
	return 0;
}

void nn_graph_free_updates(struct nn_graph *graph)
{
	nn_free(graph->updated.param);
	nn_free(graph->updated.node);
}

/* Pages that lie in from .. to - 1 alone. */
static size_t whole_pages(size_t from, size_t to, size_t page)
{
	from = (from + page - 1) / page * page;
	to = to / page * page;
	return from < to ? to - from : 0;
}

/* Bytes of whole pages in from..to of a block of `bytes`, whose tail fills no large page. */
static size_t untouched_between(size_t from, size_t to, size_t bytes)
{
	size_t page = nn_memory_page(bytes), rest = bytes / page * page, small = nn_memory_page(0);

	return to <= rest     ? whole_pages(from, to, page)
	       : from >= rest ? whole_pages(from, to, small)
			      : whole_pages(from, rest, page) + whole_pages(rest, to, small);
}

/* What lies between gradients that are kept: those of weights that kernels update. */
size_t nn_bound_untouched(const struct nn_bound *b)
{
	size_t size = nn_dtype_size(b->device->dtype), bytes = b->block * size, from = 0,
	       untouched = 0;

	for (int p = 0; p < b->n_params; p++) {
		const struct nn_bound_param *param = &b->params[p];

		if (!is_in_block(param) ||
		    (param->desc.role == NN_WEIGHT && updates(b, param->node)))
			continue;
		untouched += untouched_between(from, param->offset * size, bytes);
		from = (param->offset + param->packed) * size;
	}
	return untouched + untouched_between(from, bytes, bytes);
}

static void update_rest(const struct nn_graph *graph, const struct nn_update *all)
{
	size_t from, to;

	for (int p = 0; next_run(graph, &p, &from, &to);) {
		const struct nn_update u = of_run(graph, all, from, to - from);

		graph->bound.device->update(&u);
	}
}

/* The calls of these nodes update, or no longer do. */
static void let_update(struct nn_graph *graph, const struct nn_update *all)
{
	const struct nn_graph_updates *updated = &graph->updated;

	for (int i = 0; i < updated->n; i++) {
		const struct nn_bound_node *node = &graph->bound.nodes[updated->node[i]];
		const struct nn_bound_param *param = &graph->bound.params[node->param];
		struct nn_update *u = updated->param + node->param;

		graph->calls[updated->node[i]].update = all ? u : NULL;
		if (graph->all.again) /* a graph that updates has one slot */
			graph->all.again[updated->node[i]].update = all ? u : NULL;
		for (int k = 0; all && k < node->n_params; k++)
			u[k] = of_run(graph, all, param[k].offset, param[k].packed);
	}
}

void nn_graph_backward_update(struct nn_graph *graph, const struct nn_span *span,
			      const struct nn_update *all)
{
	let_update(graph, all);
	nn_graph_backward(graph, span, NULL, NULL);
	update_rest(graph, all);
	let_update(graph, NULL);
}
