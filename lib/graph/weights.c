/* Weights that changed: what is made of them for backward, at once or as they arrive. */
#include "base/memory.h"
#include "graph/instance.h"

/* A step that waits for weights of the block before `end`. */
struct wait_call {
	struct nn_call call;
	const struct nn_graph *graph;
	size_t end;
};

static void wait(const struct nn_call *call)
{
	const struct wait_call *own = (const struct wait_call *)call;

	own->graph->pending.arrive(own->graph->pending.arg, own->end);
}

/* Where the node's weights in the block end; 0: it has none there. */
static size_t end_of(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t end = 0;

	for (int k = 0; k < node->n_params; k++) {
		const struct nn_bound_param *param = &b->params[node->param + k];

		if (param->desc.role != NN_BUFFER && param->desc.role != NN_ROW_TABLE &&
		    param->offset + param->packed > end)
			end = param->offset + param->packed;
	}
	return end;
}

static int fill_wait(struct nn_graph *graph, const struct nn_planned_step *step,
		     struct nn_graph_step *made, struct nn_error *err)
{
	struct wait_call *own = made->owned = nn_alloc(1, sizeof *own, err);

	if (!own)
		return -1;
	own->graph = graph;
	own->end = end_of(&graph->bound, &graph->bound.nodes[step->node]);
	made->call = &own->call;
	made->run = wait;
	return 0;
}

int nn_steps_arrive(struct nn_steps *to, const struct nn_steps *forward,
		    const struct nn_steps *after, const struct nn_bound *b, struct nn_error *err)
{
	int k = 0, t = 0;

	for (int i = 0; i < b->n_nodes; i++) {
		if (end_of(b, &b->nodes[i]) > 0)
			nn_steps_add(to, &(struct nn_planned_step){
						 .fill = fill_wait, .node = i, .event = -1 });
		for (; k < after->n && after->step[k].node == i; k++)
			nn_steps_add(to, &after->step[k]);
		for (; forward && t < forward->turn && forward->step[t].node <= i; t++)
			nn_steps_add(to, &forward->step[t]);
	}
	return nn_steps_check(to, err);
}

void nn_graph_refresh(struct nn_graph *graph)
{
	nn_graph_run(graph, &graph->refresh, &(struct nn_span){ 0 }, NULL, NULL);
}

void nn_graph_defer_weights(struct nn_graph *graph, void (*arrive)(void *arg, size_t end),
			    void *arg)
{
	graph->pending.arrive = arrive;
	graph->pending.arg = arg;
}

void nn_graph_wait_weights(struct nn_graph *graph)
{
	if (graph->pending.arrive)
		nn_graph_run(graph, &graph->arrival, &(struct nn_span){ 0 }, NULL, NULL);
	graph->pending.arrive = NULL;
}
