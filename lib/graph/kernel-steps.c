/*
 * Plain steps: the kernels of all nodes, forward and backward, what they derive from weights, and
 * the caller's turns before, between and after them.
 */
#include "base/memory.h"
#include "graph/instance.h"

static void fill_call(struct nn_graph *graph, const struct nn_planned_step *step,
		      struct nn_graph_step *made)
{
	const struct nn_bound_node *node = &graph->bound.nodes[step->node];

	made->call = nn_graph_call(graph, step);
	made->state = nn_graph_at(graph, node->state);
	made->state_bytes = node->state_bytes;
}

/* What forward found out about groups is known when it is computed again, and is not kept twice. */
struct again_call {
	struct nn_call call;
	void (*forward)(const struct nn_call *call);
	void *statistics;
	size_t n_statistics;
};

static void forward_again(const struct nn_call *call)
{
	const struct again_call *own = (const struct again_call *)call;
	struct nn_call again = *call;

	again.statistics = own->statistics;
	again.statistics_step = own->n_statistics;
	own->forward(&again);
}

static int fill_again(struct nn_graph *graph, const struct nn_planned_step *step,
		      const struct nn_kernel *kernel, struct nn_graph_step *made,
		      struct nn_error *err)
{
	struct again_call *own = made->owned = nn_alloc(1, sizeof *own, err);

	if (!own)
		return -1;
	own->call = *nn_graph_call(graph, step);
	own->forward = kernel->forward;
	own->statistics = nn_graph_at(graph, graph->plan.scratch[NN_SCRATCH_ROOM]);
	own->n_statistics = kernel->statistics(&own->call.site);
	made->call = &own->call;
	made->run = forward_again;
	return 0;
}

static int fill_forward(struct nn_graph *graph, const struct nn_planned_step *step,
			struct nn_graph_step *made, struct nn_error *err)
{
	const struct nn_kernel *kernel =
		graph->bound.device->kernels[graph->bound.nodes[step->node].op];

	fill_call(graph, step, made);
	made->run = kernel->forward;
	if (step->again && kernel->statistics && kernel->statistics(&made->call->site) > 0)
		return fill_again(graph, step, kernel, made, err);
	return 0;
}

static int fill_backward(struct nn_graph *graph, const struct nn_planned_step *step,
			 struct nn_graph_step *made, struct nn_error *err)
{
	(void)err;
	fill_call(graph, step, made);
	made->run = graph->bound.device->kernels[graph->bound.nodes[step->node].op]->backward;
	return 0;
}

/* What a kernel derives from weights. */
struct derive_call {
	struct nn_call call;
	const struct nn_kernel *kernel;
};

static void derive(const struct nn_call *call)
{
	const struct nn_kernel *kernel = ((const struct derive_call *)call)->kernel;

	kernel->derive(&call->site, (const void *const *)call->w, (void *)(uintptr_t)call->derived,
		       call->pool);
}

static int fill_derive(struct nn_graph *graph, const struct nn_planned_step *step,
		       struct nn_graph_step *made, struct nn_error *err)
{
	struct derive_call *own = made->owned = nn_alloc(1, sizeof *own, err);

	if (!own)
		return -1;
	own->call = graph->calls[step->node];
	own->kernel = graph->bound.device->kernels[graph->bound.nodes[step->node].op];
	made->call = &own->call;
	made->run = derive;
	return 0;
}

static void use_root(struct nn_steps *s, const struct nn_bound *b, enum nn_step_block memory,
		     int value)
{
	nn_steps_use(s, memory, nn_bound_root(b, value));
}

static void add_forward(struct nn_steps *s, struct nn_bound *b, int i,
			const struct nn_graph_options *options)
{
	struct nn_bound_node *node = &b->nodes[i];
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(b, node);
	struct nn_planned_step step = {
		.fill = fill_forward, .node = i, .event = -1, .use = s->n_uses
	};

	node->state = NN_NOWHERE;
	if (options->states && kernel->state) {
		node->state_bytes = kernel->state(&site);
		step.keeps = options->states * node->state_bytes;
		step.kept = &node->state;
	}
	if (kernel->saved)
		step.saved = kernel->saved(&site, options->max_rows);
	if (kernel->work) /* the larger of forward and backward */
		step.scratch[NN_SCRATCH_WORK] =
			kernel->work(&site, options->max_rows, options->max_leaves,
				     nn_pool_threads(options->pool));
	nn_steps_add(s, &step);
	use_root(s, b, NN_STEP_VALUE, node->out);
	nn_steps_use(s, NN_STEP_SAVED, i);
	for (int k = 0; k < node->n_in; k++)
		use_root(s, b, NN_STEP_VALUE, node->in[k]);
}

static void add_backward(struct nn_steps *s, struct nn_bound *b, int i)
{
	const struct nn_bound_node *node = &b->nodes[i];
	unsigned needs = nn_bound_needs(node);

	nn_steps_add(s, &(struct nn_planned_step){ .fill = fill_backward,
						   .node = i,
						   .event = i,
						   .backward = true,
						   .use = s->n_uses });
	if (needs & NN_OP_NEEDS_Y)
		use_root(s, b, NN_STEP_VALUE, node->out);
	use_root(s, b, NN_STEP_GRADIENT, node->out);
	nn_steps_use(s, NN_STEP_SAVED, i);
	for (int k = 0; k < node->n_in; k++) {
		bool residual = nn_bound_has_residual(node) && k == node->n_in - 1;

		if ((needs & NN_OP_NEEDS_X) && !residual)
			use_root(s, b, NN_STEP_VALUE, node->in[k]);
		if (b->values[nn_bound_root(b, node->in[k])].learns)
			use_root(s, b, NN_STEP_GRADIENT, node->in[k]);
	}
}

static void add_derive(struct nn_steps *after, struct nn_bound *b, int i)
{
	struct nn_bound_node *node = &b->nodes[i];
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(b, node);
	size_t bytes = kernel->derived ? kernel->derived(&site) : 0;

	node->derived = NN_NOWHERE;
	if (bytes)
		nn_steps_add(after, &(struct nn_planned_step){ .fill = fill_derive,
							       .node = i,
							       .event = -1,
							       .keeps = bytes,
							       .kept = &node->derived });
}

/* ---- the caller's turns ---- */

static void add_turn(struct nn_steps *s)
{
	nn_steps_add(s, &(struct nn_planned_step){ .node = -1, .event = -1, .use = s->n_uses });
}

static void use_edges(struct nn_steps *s, const struct nn_bound *b, enum nn_graph_side side,
		      enum nn_step_block memory)
{
	for (int i = 0; i < b->n_edges[side]; i++) {
		int root = b->edges[side][i];

		if (memory == NN_STEP_VALUE || b->values[root].learns)
			nn_steps_use(s, memory, root);
	}
}

/* What comes from the part before is there before forward, and its gradient after backward. */
static void begin(struct nn_steps *s, const struct nn_bound *b)
{
	add_turn(s);
	use_edges(s, b, NN_SIDE_COMING, NN_STEP_VALUE);
}

/* The caller reads what goes to the part after, and brings gradients of that and of outputs. */
static void turn(struct nn_steps *s, const struct nn_bound *b)
{
	s->turn = s->n;
	add_turn(s);
	for (int i = 0; i < b->n_outputs && b->training; i++)
		use_root(s, b, NN_STEP_GRADIENT, b->outputs[i]);
	use_edges(s, b, NN_SIDE_GOING, NN_STEP_VALUE);
	use_edges(s, b, NN_SIDE_GOING, NN_STEP_GRADIENT);
}

static void end(struct nn_steps *s, const struct nn_bound *b)
{
	add_turn(s);
	for (int i = 0; i < b->n_outputs; i++)
		use_root(s, b, NN_STEP_VALUE, b->outputs[i]);
	use_edges(s, b, NN_SIDE_COMING, NN_STEP_GRADIENT);
}

int nn_steps_make(struct nn_steps *s, struct nn_steps *after, struct nn_bound *b,
		  const struct nn_graph_options *options, struct nn_error *err)
{
	begin(s, b);
	for (int i = 0; i < b->n_nodes; i++)
		add_forward(s, b, i, options);
	turn(s, b);
	for (int i = b->n_nodes; i-- > 0;)
		if (b->nodes[i].backward)
			add_backward(s, b, i);
	end(s, b);
	for (int i = 0; i < b->n_nodes; i++)
		add_derive(after, b, i);
	return nn_steps_check(s, err) || nn_steps_check(after, err) ? -1 : 0;
}
