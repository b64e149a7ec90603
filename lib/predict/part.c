/* Cutting a model: greedily below a bound, and the least bound that does. */
#include "base/memory.h"
#include "graph/graph.h"
#include "predict/part.h"

static size_t values_of(const struct nn_program *program, int node)
{
	size_t n = 0;

	for (int i = 0; node >= 0 && i < program->nodes[node].n_params; i++)
		n += nn_shape_count(&program->params[program->nodes[node].param + i].desc.shape);
	return n;
}

/* The nodes of a prediction: their number, -1. What is fused does not depend on the device. */
static int list(struct nn_graph_node **nodes, const struct nn_program *program,
		struct nn_error *err)
{
	struct nn_graph_options options = { .device = nn_device_open("cpu", NN_F32, err) };

	return options.device ? nn_graph_nodes(program, &options, nodes, err) : -1;
}

/*
 * Ends of parts of at most `most` each, the last at n; every part has a node. false: it takes more
 * parts.
 */
static bool divide(const size_t *costs, int n, int parts, size_t most, struct nn_part_cut *cuts)
{
	int at = 0;

	for (int p = 0; p < parts; p++) {
		size_t sum = 0;

		cuts[p].first = at;
		while (at < n - (parts - 1 - p) && (at == cuts[p].first || sum + costs[at] <= most))
			sum += costs[at++];
		cuts[p].last = at;
		if (sum > most)
			return false;
	}
	return at == n;
}

static void find_least(const size_t *costs, int n, int parts, struct nn_part_cut *cuts)
{
	size_t low = 0, high = 0, middle;

	for (int i = 0; i < n; i++)
		high += costs[i];
	while (low < high) {
		middle = low + (high - low) / 2;
		if (divide(costs, n, parts, middle, cuts))
			high = middle;
		else
			low = middle + 1;
	}
	divide(costs, n, parts, low, cuts);
}

/* Lines that are fused into a node's stand between it and the next part's first. */
static void find_lines(const struct nn_program *program, const struct nn_graph_node *nodes,
		       int parts, struct nn_part_cut *cuts)
{
	int last = 0;

	for (int i = 0; i < program->n_nodes; i++)
		last = program->nodes[i].line > last ? program->nodes[i].line : last;
	for (int p = parts; p-- > 0;) {
		cuts[p].from = last;
		for (int i = cuts[p].first; i < cuts[p].last; i++)
			if (nodes[i].line >= 0 && nodes[i].line < cuts[p].from)
				cuts[p].from = nodes[i].line;
		cuts[p].to = p + 1 < parts && cuts[p + 1].from > cuts[p].from ? cuts[p + 1].from - 1
									      : last;
	}
	cuts[0].from = 0;
}

int nn_part_cuts(struct nn_part_cut *cuts, int parts, const struct nn_program *program,
		 struct nn_error *err)
{
	struct nn_graph_node *nodes = NULL;
	int n = list(&nodes, program, err), status = -1;
	size_t *costs = n < 0 ? NULL : nn_alloc((size_t)n + 1, sizeof *costs, err);

	if (costs && n < parts) {
		nn_fail(err, NN_EFAIL,
			"%d ranks: a rank has at least one layer with what is computed in one with "
			"it, of which there %s %d",
			parts, n == 1 ? "is" : "are", n);
	} else if (costs) {
		for (int i = 0; i < n; i++) /* what has none counts little, not nothing */
			costs[i] = 1 + values_of(program, nodes[i].source) +
				   values_of(program, nodes[i].norm);
		find_least(costs, n, parts, cuts);
		find_lines(program, nodes, parts, cuts);
		for (int p = 0; p < parts; p++) {
			cuts[p].values = 0;
			for (int i = cuts[p].first; i < cuts[p].last; i++)
				cuts[p].values += costs[i] - 1;
		}
		status = 0;
	}
	nn_free(costs);
	nn_free(nodes);
	return status;
}

int nn_part_params(const struct nn_part_cut *cut, const struct nn_program *program, bool *has,
		   struct nn_error *err)
{
	struct nn_graph_node *nodes = NULL;
	int n = list(&nodes, program, err);

	for (int i = cut->first; i < cut->last && i < n; i++)
		for (int k = 0; k < 2; k++) {
			int at = k ? nodes[i].norm : nodes[i].source;

			for (int p = 0; at >= 0 && p < program->nodes[at].n_params; p++)
				has[program->nodes[at].param + p] = true;
		}
	nn_free(nodes);
	return n < 0 ? -1 : 0;
}
