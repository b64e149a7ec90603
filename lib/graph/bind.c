/* Binding: lower, fuse, list the steps, plan, and take the memory. */
#include <stdio.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/sharded/node.h"
#include "graph/sharded/sharded.h"

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

/* A graph without memory. after: steps when weights have changed. */
struct binding {
	struct nn_bound bound;
	struct nn_steps steps, after;
	struct nn_memory_plan plan;
};

static int check_share(const struct nn_bound *b, const struct nn_graph_options *options)
{
	const struct nn_graph *share = options->share;

	if (share && (options->training || share->bound.device != b->device ||
		      share->bound.block != b->block || share->bound.tables != b->tables ||
		      share->bound.buffers != b->buffers))
		NN_BUG("weights shared between graphs that keep them differently");
	return 0;
}

/* Nodes and parameters. */
static int prepare(struct nn_bound *b, const struct nn_program *program,
		   const struct nn_graph_options *options, struct nn_error *err)
{
	*b = (struct nn_bound){
		.program = program,
		.device = options->device,
		.training = options->training,
		.columns = options->columns,
		.fold = options->share ? options->share->bound.fold : !options->training,
	};
	if (nn_bound_lower(b, err) || nn_bound_fuse(b, err))
		return -1;
	if (options->last && nn_bound_part(b, options->first, options->last, err))
		return -1;
	if (nn_sharded_pass(b, err) || check_kernels(b, err) || nn_bound_place(b, err))
		return -1;
	return check_share(b, options);
}

/* Everything that needs no memory of the device. */
static int plan(struct binding *n, const struct nn_program *program,
		const struct nn_graph_options *options, struct nn_error *err)
{
	*n = (struct binding){ 0 };
	if (prepare(&n->bound, program, options, err) ||
	    nn_steps_make(&n->steps, &n->after, &n->bound, options, err) ||
	    (options->recompute && nn_steps_recompute(&n->steps, &n->bound, options, err)) ||
	    (options->offload && nn_steps_offload(&n->steps, &n->bound, options, err)) ||
	    nn_sharded_steps(&n->steps, &n->after, &n->bound, options, err))
		return -1;
	return nn_memory_plan_make(&n->plan, &n->bound, options, &n->steps, &n->after, err);
}

static void binding_fini(struct binding *n)
{
	nn_memory_plan_fini(&n->plan);
	nn_steps_fini(&n->steps);
	nn_steps_fini(&n->after);
	nn_bound_fini(&n->bound);
}

int nn_graph_plan(const struct nn_program *program, const struct nn_graph_options *options,
		  struct nn_graph_memory *memory, struct nn_error *err)
{
	struct binding n;
	int result = plan(&n, program, options, err);

	for (int i = 0; i < n.bound.n_nodes && result == 0; i++) {
		const struct nn_kernel *kernel = n.bound.device->kernels[n.bound.nodes[i].op];
		struct nn_site site = nn_bound_site(&n.bound, &n.bound.nodes[i]);

		if (kernel->statistics)
			n.plan.memory.statistics +=
				kernel->statistics(&site) * nn_dtype_size(n.bound.device->dtype);
	}
	if (result == 0 && options->training)
		n.plan.memory.untouched = nn_bound_untouched(&n.bound);
	for (int i = 0; i < n.bound.n_nodes && result == 0 && n.bound.again; i++)
		if (n.bound.again[i])
			n.plan.memory.again_flops += nn_bound_flops(&n.bound.nodes[i]);
	n.plan.memory.spilled = (options->slots ? options->slots : 1) * n.bound.spilled_bytes;
	if (result == 0 && options->device->remote)
		n.plan.memory.canonical = nn_bound_canonical(&n.bound);
	*memory = n.plan.memory;
	binding_fini(&n);
	return result;
}

int nn_graph_relieved(const struct nn_program *program, const struct nn_graph_options *options,
		      struct nn_relief *lines, int n_lines, struct nn_error *err)
{
	struct binding n;
	int result = plan(&n, program, options, err);

	for (int i = 0; i < n.bound.n_nodes && n.bound.again; i++) {
		int line = n.bound.nodes[i].line;

		if (n.bound.again[i] && line >= 0 && line < n_lines)
			lines[line].recomputed = true;
	}
	for (int i = 0; i < n.bound.n_spilled; i++) {
		int line = n.bound.nodes[n.bound.spilled[i].node].line;

		if (line >= 0 && line < n_lines)
			lines[line].offloaded = true;
	}
	binding_fini(&n);
	return result;
}

int nn_graph_sharing(const struct nn_program *program, const struct nn_graph_options *options,
		     struct nn_graph_sharing *sharing, struct nn_error *err)
{
	struct nn_bound bound;
	int result = prepare(&bound, program, options, err);

	*sharing = (struct nn_graph_sharing){ 0 };
	for (int i = 0; i < bound.n_nodes && result == 0; i++)
		nn_sharded_count(&bound, &bound.nodes[i], options->max_rows, sharing);
	nn_bound_fini(&bound);
	return result;
}

static void *take(const struct nn_bound *b, size_t bytes, struct nn_error *err)
{
	return b->queue ? nn_memory_new(b->queue, bytes, err) : b->device->alloc(bytes, err);
}

static void give(const struct nn_bound *b, void *memory)
{
	if (b->queue)
		nn_memory_free(b->queue, memory);
	else if (memory)
		b->device->free(memory);
}

/*
 * Weights, gradients and the rest are three allocations, so that the flat blocks can be had alone.
 */
static int take_memory(struct nn_graph *graph, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	size_t size = nn_dtype_size(b->device->dtype);

	graph->memory = take(b, graph->plan.bytes, err);
	if (!graph->memory)
		return -1;
	if (graph->share) {
		graph->weights = graph->share->weights;
	} else if (!graph->weights) {
		graph->weights = take(b, (b->block + b->tables + b->buffers) * size, err);
		if (!graph->weights)
			return -1;
	}
	graph->buffers = (unsigned char *)graph->weights + (b->block + b->tables) * size;
	if (b->training && !graph->gradients) {
		graph->gradients = take(b, b->block * size, err);
		if (!graph->gradients)
			return -1;
	}
	return 0;
}

static int bind(struct nn_graph *g, const struct nn_program *program,
		const struct nn_graph_options *options, struct nn_error *err)
{
	struct binding n;
	int status = plan(&n, program, options, err);

	g->bound = n.bound;
	g->plan = n.plan;
	n.bound = (struct nn_bound){ 0 };
	n.plan = (struct nn_memory_plan){ 0 };
	if (status == 0 &&
	    (nn_queue_open(&g->bound.queue, options->device, err) ||
	     nn_graph_open_spill(g, options->offload_folder, err) || take_memory(g, err) ||
	     nn_graph_take_canonical(g, err) || nn_graph_take_mirrors(g, err) ||
	     nn_graph_take_lists(g, err) || nn_graph_take_calls(g, options->seed, err) ||
	     nn_graph_take_steps(g, &n.steps, &n.after, err)))
		status = -1;
	binding_fini(&n);
	return status;
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
	g->states = options->states;
	g->share = options->share;
	g->weights = options->weights;
	g->gradients = options->gradients;
	g->given = options->weights != NULL;
	g->slots = options->slots ? options->slots : 1;
	if (bind(g, program, options, err)) {
		nn_graph_free(g);
		return -1;
	}
	if (g->share) /* which are there; what is derived of them is each graph's own */
		nn_graph_refresh(g);
	*graph = g;
	return 0;
}

void nn_graph_free(struct nn_graph *graph)
{
	struct nn_queue *queue;

	if (!graph)
		return;
	queue = graph->bound.queue;
	nn_queue_wait(queue, NULL);
	nn_spill_close(graph->spill);
	give(&graph->bound, graph->memory);
	if (graph->weights && !graph->share && !graph->given)
		give(&graph->bound, graph->weights);
	if (graph->gradients && !graph->given)
		give(&graph->bound, graph->gradients);
	nn_memory_free(queue, graph->host.canonical);
	nn_graph_free_mirrors(graph);
	nn_graph_free_calls(graph);
	nn_free(graph->entries);
	nn_memory_plan_fini(&graph->plan);
	nn_bound_fini(&graph->bound);
	nn_queue_close(queue);
	nn_free(graph);
}
