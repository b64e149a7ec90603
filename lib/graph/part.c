/*
 * Parts: a program is lowered and fused as a whole, and each part keeps a run of the nodes. So all
 * of them together do what one graph does, in the same order; what crosses their bounds goes from
 * part to part, also where a part in between has no use for it.
 */
#include "base/memory.h"
#include "graph/instance.h"

/*
 * The nodes among which roots are made and read: [n_values] the node that makes it, -1: an input;
 * the last that reads it.
 */
struct span_of_life {
	int *maker, *last;
};

static void life_free(struct span_of_life *life)
{
	nn_free(life->maker);
	nn_free(life->last);
}

static int life_init(struct span_of_life *life, const struct nn_bound *b, struct nn_error *err)
{
	life->maker = nn_alloc((size_t)b->n_values, sizeof *life->maker, err);
	life->last = nn_alloc((size_t)b->n_values, sizeof *life->last, err);
	if (!life->maker || !life->last) {
		life_free(life);
		return -1;
	}
	for (int i = 0; i < b->n_values; i++)
		life->maker[i] = life->last[i] = -1;
	for (int i = 0; i < b->n_nodes; i++) {
		life->maker[nn_bound_root(b, b->nodes[i].out)] = i;
		for (int k = 0; k < b->nodes[i].n_in; k++)
			life->last[nn_bound_root(b, b->nodes[i].in[k])] = i;
	}
	for (int i = 0; i < b->n_outputs; i++)
		life->last[nn_bound_root(b, b->outputs[i])] = b->n_nodes;
	return 0;
}

/* Made before node `at` and read from there on? Inputs of a training are not: parts read them. */
static bool crosses(const struct nn_bound *b, const struct span_of_life *life, int root, int at)
{
	return at > 0 && (life->maker[root] >= 0 || !b->training) && life->maker[root] < at &&
	       life->last[root] >= at;
}

static int note_edges(struct nn_bound *b, const struct span_of_life *life, enum nn_graph_side side,
		      int at, struct nn_error *err)
{
	b->edges[side] = nn_alloc((size_t)b->n_values, sizeof *b->edges[side], err);
	if (!b->edges[side])
		return -1;
	for (int root = 0; root < b->n_values; root++)
		if (crosses(b, life, root, at))
			b->edges[side][b->n_edges[side]++] = root;
	return 0;
}

static void keep_nodes(struct nn_bound *b, int first, int last)
{
	for (int i = 0; i < b->n_nodes; i++) {
		if (i < first || i >= last)
			nn_bound_node_fini(&b->nodes[i]);
	}
	for (int i = first; i < last; i++)
		b->nodes[i - first] = b->nodes[i];
	b->n_nodes = last - first;
}

int nn_bound_part(struct nn_bound *b, int first, int last, struct nn_error *err)
{
	struct span_of_life life;
	int status;

	if (first < 0 || first >= last || last > b->n_nodes)
		NN_BUG("nodes %d to %d of %d cannot be a part", first, last, b->n_nodes);
	if (life_init(&life, b, err) < 0)
		return -1;
	status = note_edges(b, &life, NN_SIDE_COMING, first, err) < 0 ||
				 note_edges(b, &life, NN_SIDE_GOING, last, err) < 0
			 ? -1
			 : 0;
	life_free(&life);
	if (status < 0)
		return -1;
	/*
	 * Outputs made earlier come along to the last part, which knows all losses; what nothing
	 * follows goes nowhere.
	 */
	if (last == b->n_nodes)
		b->n_edges[NN_SIDE_GOING] = 0;
	else
		b->n_outputs = 0;
	keep_nodes(b, first, last);
	return 0;
}

/* Elements of all roots that cross the beginning of each node: they begin to, and end. */
static void count_crossing(const struct nn_bound *b, const struct span_of_life *life,
			   struct nn_graph_node *nodes)
{
	for (int root = 0; root < b->n_values; root++) {
		int first = life->maker[root] + 1, behind = life->last[root] + 1;

		if (first == 0 || first >= b->n_nodes || behind <= first)
			continue;
		nodes[first].elements += nn_bound_count(b, root);
		if (behind < b->n_nodes)
			nodes[behind].elements -= nn_bound_count(b, root);
	}
	for (int i = 1; i < b->n_nodes; i++)
		nodes[i].elements += nodes[i - 1].elements;
}

int nn_graph_nodes(const struct nn_program *program, const struct nn_graph_options *options,
		   struct nn_graph_node **nodes, struct nn_error *err)
{
	struct nn_bound b = { .program = program,
			      .device = options->device,
			      .training = options->training,
			      .fold = !options->training };
	struct span_of_life life = { NULL, NULL };
	int n = -1;

	*nodes = NULL;
	if (nn_bound_lower(&b, err) || nn_bound_fuse(&b, err) || life_init(&life, &b, err))
		goto out;
	*nodes = nn_alloc((size_t)b.n_nodes, sizeof **nodes, err);
	if (!*nodes)
		goto out;
	n = b.n_nodes;
	for (int i = 0; i < n; i++)
		(*nodes)[i] = (struct nn_graph_node){ .line = b.nodes[i].line,
						      .flops = nn_bound_flops(&b.nodes[i]),
						      .source = b.nodes[i].source,
						      .norm = b.nodes[i].norm };
	count_crossing(&b, &life, *nodes);
out:
	life_free(&life);
	nn_bound_fini(&b);
	return n;
}

bool nn_graph_reads(const struct nn_graph *graph, int input)
{
	const struct nn_bound *b = &graph->bound;
	int root = nn_bound_root(b, b->inputs[input]);

	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			if (nn_bound_root(b, b->nodes[i].in[k]) == root)
				return true;
	for (int i = 0; i < b->n_edges[NN_SIDE_GOING]; i++)
		if (b->edges[NN_SIDE_GOING][i] == root)
			return true;
	for (int i = 0; i < b->n_outputs; i++)
		if (nn_bound_root(b, b->outputs[i]) == root)
			return true;
	return false;
}

size_t nn_graph_edges(const struct nn_graph *graph, enum nn_graph_side side)
{
	return (size_t)graph->bound.n_edges[side];
}

struct nn_graph_edge nn_graph_edge(struct nn_graph *graph, enum nn_graph_side side, size_t edge)
{
	const struct nn_bound *b = &graph->bound;
	int root = b->edges[side][edge];

	return (struct nn_graph_edge){
		.value = nn_graph_value_at(graph, root),
		.gradient = b->values[root].learns ? nn_graph_gradient_at(graph, root) : NULL,
		.row_bytes = nn_bound_count(b, root) * nn_dtype_size(b->device->dtype),
	};
}
