/* Binding: lower, fuse, plan, take the memory, and fill in every kernel call but for its rows. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "graph/bound.h"

void nn_bound_fini(struct nn_bound *b)
{
	for (int i = 0; i < b->n_nodes; i++) {
		nn_free(b->nodes[i].attrs);
		nn_free(b->nodes[i].in);
		nn_free(b->nodes[i].shapes);
		nn_free(b->nodes[i].split);
	}
	nn_free(b->values);
	nn_free(b->nodes);
	nn_free(b->inputs);
	nn_free(b->outputs);
	nn_free(b->edges[NN_COMING]);
	nn_free(b->edges[NN_GOING]);
	nn_free(b->params);
	nn_free(b->place);
	nn_free(b->table_params);
}

/* All kernels the device lacks, in one sentence. */
static int check_kernels(const struct nn_bound *b, struct nn_error *err)
{
	char missing[400] = "";
	bool seen[NN_N_OPS] = { false };
	size_t n = 0;

	for (int i = 0; i < b->n_nodes; i++) {
		enum nn_op_id op = b->nodes[i].op;
		const struct nn_kernel *kernel = b->device->kernels[op];

		if (seen[op] ||
		    (kernel && kernel->forward && (kernel->backward || !b->nodes[i].backward)))
			continue;
		seen[op] = true;
		if (n < sizeof missing)
			n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s",
					      n ? ", " : "", nn_ops[op]->name);
	}
	if (n)
		return nn_fail(err, NN_ENODEV, "device %s cannot compute %s", b->device->name,
			       missing);
	return 0;
}

/* Everything that needs no memory of the device. */
static int prepare(struct nn_bound *b, struct nn_plan *plan, const struct nn_program *program,
		   const struct nn_graph_options *options, struct nn_error *err)
{
	const struct nn_graph *share = options->share;

	*b = (struct nn_bound){
		.program = program,
		.device = options->device,
		.training = options->training,
		.columns = options->columns,
		.fold = share ? share->bound.fold : !options->training,
	};
	*plan = (struct nn_plan){ 0 };
	if (nn_bound_lower(b, err) || nn_bound_fuse(b, err))
		return -1;
	if (options->last && nn_bound_part(b, options->first, options->last, err))
		return -1;
	if (check_kernels(b, err) || nn_bound_place(b, err))
		return -1;
	if (share && (options->training || share->bound.device != b->device ||
		      share->bound.block != b->block || share->bound.tables != b->tables ||
		      share->bound.buffers != b->buffers))
		NN_BUG("weights shared between graphs that keep them differently");
	return nn_plan_make(plan, b, options, err);
}

int nn_graph_plan(const struct nn_program *program, const struct nn_graph_options *options,
		  struct nn_graph_memory *memory, struct nn_error *err)
{
	struct nn_bound bound;
	struct nn_plan plan;
	int result = prepare(&bound, &plan, program, options, err);

	for (int i = 0; i < bound.n_nodes && result == 0; i++) {
		const struct nn_kernel *kernel = bound.device->kernels[bound.nodes[i].op];
		struct nn_site site = nn_bound_site(&bound, &bound.nodes[i]);

		if (kernel->statistics)
			plan.memory.statistics +=
				kernel->statistics(&site) * nn_dtype_size(bound.device->dtype);
	}
	*memory = plan.memory;
	nn_plan_fini(&plan);
	nn_bound_fini(&bound);
	return result;
}

int nn_graph_sharing(const struct nn_program *program, const struct nn_graph_options *options,
		     struct nn_graph_sharing *sharing, struct nn_error *err)
{
	struct nn_bound bound;
	struct nn_plan plan;
	int result = prepare(&bound, &plan, program, options, err);

	*sharing = (struct nn_graph_sharing){ 0 };
	for (int i = 0; i < bound.n_nodes && result == 0; i++)
		nn_split_count(&bound, &bound.nodes[i], sharing);
	nn_plan_fini(&plan);
	nn_bound_fini(&bound);
	return result;
}

/* Inputs and their gradients. written: roots whose gradient something has been stored in, as
 * backward goes. */
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
	for (int i = 0; i < b->n_edges[NN_GOING]; i++)
		written[b->edges[NN_GOING][i]] = true;
}

/* The calls of the slot in use. */
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
			.pool = graph->pool,
			.y = nn_graph_value_at(graph, node->out),
			.dy = nn_graph_gradient_at(graph, node->out),
			.saved = nn_graph_at(graph, graph->plan.saved[i]),
			.work = nn_graph_at(graph, graph->plan.work),
			.derived = nn_graph_at(graph, graph->plan.derived[i]),
		};
		if (node->split) /* this rank's channels, forward and then backward */
			graph->calls[i].y = graph->calls[i].dy =
				nn_graph_at(graph, graph->plan.room);
		fill_inputs(graph, i, pointers, adds, written);
		graph->calls[i].x_step =
			node->n_in ? graph->plan.copy_step[nn_bound_root(b, node->in[0])] : 0;
		fill_params(graph, i, pointers);
	}
}

static int fill_calls(struct nn_graph *graph, uint64_t seed, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	size_t n_pointers = 0, n_adds = 0;
	void **pointers;
	bool *adds, *written = nn_alloc((size_t)b->n_values, sizeof *written, err);

	for (int i = 0; i < b->n_nodes; i++) {
		n_pointers += 2 * (size_t)(b->nodes[i].n_in + b->nodes[i].n_params);
		n_adds += (size_t)b->nodes[i].n_in;
	}
	graph->all_calls = nn_alloc(graph->slots * (size_t)b->n_nodes, sizeof *graph->calls, err);
	pointers = graph->pointers = nn_alloc(graph->slots * n_pointers, sizeof *pointers, err);
	adds = graph->adds = nn_alloc(graph->slots * n_adds, sizeof *adds, err);
	graph->statistics = nn_alloc((size_t)b->n_nodes, sizeof *graph->statistics, err);
	if (!graph->statistics || !graph->all_calls || !pointers || !adds || !written) {
		nn_free(written);
		return -1;
	}
	for (size_t slot = graph->slots; slot-- > 0;) {
		nn_graph_use(graph, slot);
		fill_slot(graph, seed, &pointers, &adds, written);
	}
	nn_free(written);
	for (int i = 0; i < b->n_nodes; i++) {
		const struct nn_kernel *kernel = b->device->kernels[b->nodes[i].op];

		graph->statistics[i] = graph->n_statistics;
		if (kernel->statistics)
			graph->n_statistics += kernel->statistics(&graph->calls[i].site);
	}
	return 0;
}

void nn_graph_use(struct nn_graph *graph, size_t slot)
{
	if (slot >= graph->slots)
		NN_BUG("slot %zu of a graph with %zu", slot, graph->slots);
	graph->slot = slot;
	graph->calls = graph->all_calls + slot * (size_t)graph->bound.n_nodes;
}

/* Weights, gradients and the rest are three allocations, so that the flat blocks can be had alone.
 */
static int take_memory(struct nn_graph *graph, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	size_t size = nn_dtype_size(b->device->dtype);

	graph->memory = b->device->alloc(graph->plan.bytes, err);
	if (!graph->memory)
		return -1;
	if (graph->share) {
		graph->weights = graph->share->weights;
	} else if (!graph->weights) {
		graph->weights = b->device->alloc((b->block + b->tables + b->buffers) * size, err);
		if (!graph->weights)
			return -1;
	}
	graph->buffers = (unsigned char *)graph->weights + (b->block + b->tables) * size;
	if (b->training && !graph->gradients) {
		graph->gradients = b->device->alloc(b->block * size, err);
		if (!graph->gradients)
			return -1;
	}
	return 0;
}

int nn_graph_bind(struct nn_graph **graph, const struct nn_program *program,
		  const struct nn_graph_options *options, struct nn_error *err)
{
	struct nn_graph *g = nn_alloc(1, sizeof *g, err);

	*graph = NULL;
	if (!g)
		return -1;
	g->pool = options->pool;
	g->max_rows = options->max_rows;
	g->share = options->share;
	g->weights = options->weights;
	g->gradients = options->gradients;
	g->given = options->weights != NULL;
	g->slots = options->slots ? options->slots : 1;
	if (prepare(&g->bound, &g->plan, program, options, err) || take_memory(g, err) ||
	    nn_graph_take_lists(g, err) || fill_calls(g, options->seed, err)) {
		nn_graph_free(g);
		return -1;
	}
	*graph = g;
	return 0;
}

void nn_graph_free(struct nn_graph *graph)
{
	const struct nn_device *device;

	if (!graph)
		return;
	device = graph->bound.device;
	if (graph->memory)
		device->free(graph->memory);
	if (graph->weights && !graph->share && !graph->given)
		device->free(graph->weights);
	if (graph->gradients && !graph->given)
		device->free(graph->gradients);
	nn_free(graph->all_calls);
	nn_free(graph->pointers);
	nn_free(graph->adds);
	nn_free(graph->statistics);
	nn_free(graph->entries);
	nn_plan_fini(&graph->plan);
	nn_bound_fini(&graph->bound);
	nn_free(graph);
}
