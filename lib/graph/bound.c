/* What all passes ask of a bound program. */
#include "base/memory.h"
#include "graph/bound.h"

/* Statistics of a frozen layer are kept: it computes as in prediction. */
static bool as_trained(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return b->training && !(node->source >= 0 && (nn_bound_needs(node) & NN_OP_ROWS_COUPLED) &&
				nn_node_frozen(b->program, &b->program->nodes[node->source]));
}

struct nn_site nn_bound_site(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return (struct nn_site){
		.attrs = node->attrs,
		.in = node->shapes,
		.n_in = node->n_in,
		.out = node->shape,
		.training = as_trained(b, node),
		.want_dx = node->want_dx,
		.queue = b->queue,
	};
}

struct nn_epilogue *nn_bound_epilogue(const struct nn_bound_node *node)
{
	return nn_op_epilogue(node->op, node->attrs);
}

bool nn_bound_has_residual(const struct nn_bound_node *node)
{
	return nn_op_has_residual(node->op, node->attrs);
}

unsigned nn_bound_needs(const struct nn_bound_node *node)
{
	return nn_op_needs(node->op, node->attrs);
}

int nn_bound_table(const struct nn_bound *b, int param)
{
	for (int i = 0; i < b->n_tables; i++)
		if (b->table_params[i] == param)
			return i;
	NN_BUG("parameter %d is not a table", param);
}

void nn_bound_node_fini(struct nn_bound_node *node)
{
	nn_free(node->attrs);
	nn_free(node->in);
	nn_free(node->shapes);
	nn_free(node->sharded);
}

void nn_bound_fini(struct nn_bound *b)
{
	for (int i = 0; i < b->n_nodes; i++)
		nn_bound_node_fini(&b->nodes[i]);
	nn_free(b->values);
	nn_free(b->nodes);
	nn_free(b->inputs);
	nn_free(b->outputs);
	nn_free(b->edges[NN_SIDE_COMING]);
	nn_free(b->edges[NN_SIDE_GOING]);
	nn_free(b->params);
	nn_free(b->place);
	nn_free(b->table_params);
	nn_free(b->again);
	nn_free(b->spilled);
}
