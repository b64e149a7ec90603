/* Kernel calls with everything but their rows, and the steps that run them. */
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"

void nn_graph_use(struct nn_graph *graph, size_t slot)
{
	if (slot >= graph->slots)
		NN_BUG("slot %zu of a graph with %zu", slot, graph->slots);
	graph->slot = slot;
	graph->steps = &graph->all.steps[slot];
	graph->calls = graph->all.calls + slot * (size_t)graph->bound.n_nodes;
}

/*
 * Inputs and their gradients. written: roots whose gradient something has been stored in, as
 * backward goes.
 */
static void fill_inputs(struct nn_graph *graph, int n, void ***pointers, bool **adds, bool *written)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_node *node = &b->nodes[n];
	struct nn_call *call = &graph->calls[n];
	void **x = *pointers, **dx = x + node->n_in;

	for (int k = 0; k < node->n_in; k++) {
		int root = nn_bound_root(b, node->in[k]);

		x[k] = nn_graph_value_at(graph, root);
		if (!node->backward || !b->values[root].learns)
			continue;
		dx[k] = nn_graph_gradient_at(graph, root);
		(*adds)[k] = written[root];
		written[root] = true;
	}
	call->x = (const void *const *)x;
	call->dx = dx;
	call->dx_add = *adds;
	*pointers += 2 * node->n_in;
	*adds += node->n_in;
}

/* The same for a step that has values where backward has them. */
static void fill_again(const struct nn_graph *graph, int n, void ***pointers)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_memory_plan *plan = &graph->plan;
	const struct nn_bound_node *node = &b->nodes[n];
	struct nn_call *call = graph->all.again + graph->slot * (size_t)b->n_nodes + n;
	void **x = *pointers;
	size_t at = plan->again[nn_bound_root(b, node->out)];

	*call = graph->calls[n];
	if (at != NN_NOWHERE)
		call->y = nn_graph_at(graph, at);
	if (plan->saved[b->n_nodes + n] != NN_NOWHERE)
		call->saved = nn_graph_at(graph, plan->saved[b->n_nodes + n]);
	for (int k = 0; k < node->n_in; k++) {
		at = plan->again[nn_bound_root(b, node->in[k])];
		x[k] = at != NN_NOWHERE ? nn_graph_at(graph, at) : (void *)(uintptr_t)call->x[k];
	}
	call->x = (const void *const *)x;
	*pointers += node->n_in;
}

static void fill_params(struct nn_graph *graph, int n, void ***pointers)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_node *node = &b->nodes[n];
	size_t size = nn_dtype_size(b->device->dtype);
	void **w = *pointers, **dw = w + node->n_params;

	for (int k = 0; k < node->n_params; k++) {
		const struct nn_bound_param *param = &b->params[node->param + k];
		bool buffer = param->desc.role == NN_BUFFER;

		w[k] = (unsigned char *)(buffer ? graph->buffers : graph->weights) +
		       param->offset * size;
		if (node->backward && param->desc.role == NN_ROW_TABLE)
			dw[k] = nn_graph_table_entries(graph, nn_bound_table(b, node->param + k));
		else if (node->backward && !buffer)
			dw[k] = (unsigned char *)graph->gradients + param->offset * size;
	}
	graph->calls[n].w = w;
	graph->calls[n].dw = dw;
	*pointers += 2 * node->n_params;
}

/* Roots whose gradient the caller writes: outputs, and what the part after sends back. */
static void mark_written(const struct nn_bound *b, bool *written)
{
	memset(written, 0, (size_t)b->n_values * sizeof *written);
	for (int i = 0; i < b->n_outputs; i++)
		written[nn_bound_root(b, b->outputs[i])] = true;
	for (int i = 0; i < b->n_edges[NN_SIDE_GOING]; i++)
		written[b->edges[NN_SIDE_GOING][i]] = true;
}

/* The calls of the slot in use. A node's forward and backward have one. */
static void fill_slot(struct nn_graph *graph, uint64_t seed, void ***pointers, bool **adds,
		      bool *written)
{
	const struct nn_bound *b = &graph->bound;

	mark_written(b, written);
	for (int i = b->n_nodes; i-- > 0;) {
		const struct nn_bound_node *node = &b->nodes[i];

		graph->calls[i] = (struct nn_call){
			.site = nn_bound_site(b, node),
			.seed = seed,
			.now = nn_graph_now_there(graph, 0),
			.statistics_step = graph->n_statistics,
			.pool = graph->pool,
			.y = nn_graph_value_at(graph, node->out),
			.dy = nn_graph_gradient_at(graph, node->out),
			.saved = nn_graph_at(graph, graph->plan.saved[i]),
			.work = nn_graph_at(graph, graph->plan.scratch[NN_SCRATCH_WORK]),
			.derived = nn_graph_at(graph, node->derived),
		};
		fill_inputs(graph, i, pointers, adds, written);
		graph->calls[i].x_step =
			node->n_in ? graph->plan.copy_step[nn_bound_root(b, node->in[0])] : 0;
		fill_params(graph, i, pointers);
		if (b->again)
			fill_again(graph, i, pointers);
	}
}

/* Where each node's begin among those of a group. */
static void count_statistics(struct nn_graph *graph)
{
	const struct nn_bound *b = &graph->bound;

	for (int i = 0; i < b->n_nodes; i++) {
		const struct nn_kernel *kernel = b->device->kernels[b->nodes[i].op];
		struct nn_site site = nn_bound_site(b, &b->nodes[i]);

		graph->statistics[i] = graph->n_statistics;
		if (kernel->statistics)
			graph->n_statistics += kernel->statistics(&site);
	}
}

int nn_graph_take_calls(struct nn_graph *graph, uint64_t seed, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	size_t n_pointers = 0, n_adds = 0;
	void **pointers;
	bool *adds, *written = nn_alloc((size_t)b->n_values, sizeof *written, err);

	for (int i = 0; i < b->n_nodes; i++) {
		n_pointers += 2 * (size_t)(b->nodes[i].n_in + b->nodes[i].n_params) +
			      (b->again ? (size_t)b->nodes[i].n_in : 0);
		n_adds += (size_t)b->nodes[i].n_in;
	}
	graph->all.calls = nn_alloc(graph->slots * (size_t)b->n_nodes, sizeof *graph->calls, err);
	if (b->again && !(graph->all.again = nn_alloc(graph->slots * (size_t)b->n_nodes,
						      sizeof *graph->calls, err))) {
		nn_free(written);
		return -1;
	}
	pointers = graph->all.pointers = nn_alloc(graph->slots * n_pointers, sizeof *pointers, err);
	adds = graph->all.adds = nn_alloc(graph->slots * n_adds, sizeof *adds, err);
	graph->all.steps = nn_alloc(graph->slots, sizeof *graph->all.steps, err);
	graph->statistics = nn_alloc((size_t)b->n_nodes, sizeof *graph->statistics, err);
	if (!graph->statistics || !graph->all.steps || !graph->all.calls || !pointers || !adds ||
	    !written || nn_graph_take_updates(graph, err)) {
		nn_free(written);
		return -1;
	}
	count_statistics(graph);
	for (size_t slot = graph->slots; slot-- > 0;) {
		nn_graph_use(graph, slot);
		fill_slot(graph, seed, &pointers, &adds, written);
	}
	nn_free(written);
	return 0;
}

/* ---- steps ---- */

/* Steps from .. to - 1 of a list, for the slot in use. */
static int take_list(struct nn_graph *graph, const struct nn_steps *steps, int from, int to,
		     struct nn_step_list *list, struct nn_error *err)
{
	list->step = nn_alloc((size_t)(to - from), sizeof *list->step, err);
	if (!list->step)
		return -1;
	for (int t = from; t < to; t++) {
		const struct nn_planned_step *step = &steps->step[t];
		struct nn_graph_step *made = &list->step[list->n];

		if (!step->fill)
			continue;
		made->event = step->event;
		made->statistics = step->node < 0 ? 0 : graph->statistics[step->node];
		list->n += 1;
		if (step->fill(graph, step, made, err))
			return -1;
		list->n -= made->run == NULL;
	}
	return 0;
}

static int take_slot(struct nn_graph *graph, const struct nn_steps *steps,
		     const struct nn_steps *arriving, struct nn_error *err)
{
	struct nn_slot_steps *slot = graph->steps;

	if (take_list(graph, steps, 0, steps->turn, &slot->forward, err) ||
	    take_list(graph, steps, steps->turn, steps->n, &slot->backward, err))
		return -1;
	return take_list(graph, arriving, 0, arriving->n, &slot->arriving, err);
}

int nn_graph_take_steps(struct nn_graph *graph, const struct nn_steps *steps,
			const struct nn_steps *after, struct nn_error *err)
{
	struct nn_steps arrival = { 0 }, arriving = { 0 };
	int status = -1;

	if (graph->bound.training && (nn_steps_arrive(&arrival, NULL, after, &graph->bound, err) ||
				      nn_steps_arrive(&arriving, steps, after, &graph->bound, err)))
		goto out;
	if (take_list(graph, after, 0, after->n, &graph->refresh, err) ||
	    take_list(graph, &arrival, 0, arrival.n, &graph->arrival, err))
		goto out;
	for (size_t slot = graph->slots; slot-- > 0;) {
		nn_graph_use(graph, slot);
		if (take_slot(graph, steps, &arriving, err))
			goto out;
	}
	status = 0;
out:
	nn_steps_fini(&arrival);
	nn_steps_fini(&arriving);
	return status;
}

static void free_list(struct nn_step_list *list)
{
	for (int i = 0; i < list->n; i++)
		nn_free(list->step[i].owned);
	nn_free(list->step);
}

void nn_graph_free_calls(struct nn_graph *graph)
{
	for (size_t slot = 0; graph->all.steps && slot < graph->slots; slot++) {
		free_list(&graph->all.steps[slot].forward);
		free_list(&graph->all.steps[slot].backward);
		free_list(&graph->all.steps[slot].arriving);
	}
	free_list(&graph->refresh);
	free_list(&graph->arrival);
	nn_free(graph->all.steps);
	nn_free(graph->all.calls);
	nn_free(graph->all.again);
	nn_free(graph->all.pointers);
	nn_free(graph->all.adds);
	nn_free(graph->statistics);
	nn_graph_free_updates(graph);
}
