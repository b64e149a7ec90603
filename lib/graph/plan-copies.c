/*
 * Copies of an input for threads: where one kernel alone reads it, and would rather have one for
 * each.
 */
#include "graph/plan.h"

/*
 * The one node that reads an input, as its first; NULL: there is none, there are more, or somebody
 * else does.
 */
static const struct nn_bound_node *only_reader(const struct nn_bound *b, int value)
{
	const struct nn_bound_node *reader = NULL;
	int n = 0;

	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			if (nn_bound_root(b, b->nodes[i].in[k]) == value) {
				reader = k == 0 ? &b->nodes[i] : NULL;
				n++;
			}
	for (int i = 0; i < b->n_outputs; i++)
		n += nn_bound_root(b, b->outputs[i]) == value;
	return n == 1 ? reader : NULL;
}

size_t nn_memory_plan_copies(const struct nn_bound *b, const struct nn_graph_options *options,
			     int input)
{
	bool whole = !options->last && !options->columns;
	const struct nn_bound_node *reader =
		options->copies && whole ? only_reader(b, input) : NULL;
	const struct nn_kernel *kernel = reader ? b->device->kernels[reader->op] : NULL;
	struct nn_site site;

	if (!kernel || !kernel->copies)
		return 1;
	site = nn_bound_site(b, reader);
	return kernel->copies(&site, options->max_rows, nn_pool_threads(options->pool));
}
