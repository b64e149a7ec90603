/* The two passes of sharing: nodes become this rank's part, and steps come in a kernel's place. */
#include <string.h>

#include "base/memory.h"
#include "graph/sharded/node.h"
#include "graph/sharded/steps.h"
#include "graph/sharded/sharded.h"

/* ---- nodes ---- */

static bool may_share(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t ranks = b->columns ? (size_t)b->columns->ranks : 1;

	if (ranks < 2 || !b->training || node->source < 0)
		return false;
	if (nn_node_frozen(b->program, &b->program->nodes[node->source]))
		return false; /* no gradient to share, and no optimizer's slots: whole at every rank */
	if (nn_op_is_table(node->op))
		return nn_rows_splits(b, node);
	return nn_op_is_product(node->op) && !(nn_ops[node->op]->flags & NN_OP_WHOLE) &&
	       nn_sharded_may_product(b, node);
}

static int make(const struct nn_bound *b, struct nn_bound_node *node, struct nn_error *err)
{
	struct nn_sharded_node *s = node->sharded = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	memcpy(&s->whole, node->attrs, nn_ops[node->op]->attrs_size);
	memcpy(s->whole_in, node->shapes, (size_t)node->n_in * sizeof *node->shapes);
	s->whole_out = node->shape;
	s->want_dx = node->want_dx;
	if (!nn_op_is_table(node->op))
		return nn_sharded_make_product(b, node, err);
	nn_rows_make(b, node);
	return 0;
}

int nn_sharded_pass(struct nn_bound *b, struct nn_error *err)
{
	for (int i = 0; i < b->n_nodes; i++)
		if (may_share(b, &b->nodes[i]) && make(b, &b->nodes[i], err) < 0)
			return -1;
	return 0;
}

/* ---- steps ---- */

struct pass {
	const struct nn_bound *b;
	const struct nn_graph_options *options;
};

static void each(void *arg, struct nn_steps *to, const struct nn_planned_step *step)
{
	const struct pass *p = arg;
	const struct nn_bound_node *node = step->node < 0 ? NULL : &p->b->nodes[step->node];

	if (!node || !node->sharded)
		nn_steps_add(to, step);
	else if (nn_op_is_table(node->op))
		nn_sharded_rows_step(to, step, p->b, p->options);
	else if (step->backward)
		nn_sharded_product_backward(to, step, p->b);
	else
		nn_sharded_product_forward(to, step, p->b, p->options);
}

int nn_sharded_steps(struct nn_steps *steps, struct nn_steps *after, struct nn_bound *b,
		     const struct nn_graph_options *options, struct nn_error *err)
{
	struct pass pass = { b, options };

	if (!b->columns)
		return 0;
	if (nn_steps_pass(steps, each, &pass, err))
		return -1;
	return nn_sharded_weights_steps(after, b, err);
}
