/*
 * What can be done in one kernel: epilogues, a pooling behind a convolution, batchnorm folded into
 * a product.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/bound.h"

/* Who makes and how many use each root. */
struct uses {
	int *maker; /* node, or -1 */
	int *users;
};

static void count_uses(const struct nn_bound *b, struct uses *uses)
{
	for (int i = 0; i < b->n_values; i++) {
		uses->maker[i] = -1;
		uses->users[i] = 0;
	}
	for (int i = 0; i < b->program->n_outputs; i++)
		uses->users[nn_bound_root(b, b->outputs[i])]++;
	for (int i = 0; i < b->n_nodes; i++) {
		const struct nn_bound_node *node = &b->nodes[i];

		if (node->removed)
			continue;
		uses->maker[nn_bound_root(b, node->out)] = i;
		for (int k = 0; k < node->n_in; k++)
			uses->users[nn_bound_root(b, node->in[k])]++;
	}
}

/*
 * The node that makes `value`, if nobody else uses it and nothing but bias stands behind its
 * arithmetic; else NULL.
 */
static struct nn_bound_node *bare_maker(struct nn_bound *b, const struct uses *uses, int value)
{
	int root = nn_bound_root(b, value), maker = uses->maker[root];
	const struct nn_epilogue *epilogue;

	if (maker < 0 || uses->users[root] != 1)
		return NULL;
	epilogue = nn_bound_epilogue(&b->nodes[maker]);
	if (!epilogue || epilogue->activation != NN_ACT_NONE)
		return NULL;
	return nn_op_is_pooled(b->nodes[maker].op, b->nodes[maker].attrs) ? NULL : &b->nodes[maker];
}

/* Is value `in` the node's output in the shape that the node itself gives it, and not a view? */
static bool same_image(const struct nn_bound *b, const struct nn_bound_node *node, int in)
{
	struct nn_shape x = b->values[node->in[0]].shape, own;

	return nn_ops[node->op]->infer(node->attrs, &x, 1, &own, NULL) == 0 &&
	       nn_shape_equal(&own, &b->values[in].shape);
}

/* node's work is done by maker from now on, at the place of `here`, which is one of the two. */
static void absorb(struct nn_bound *b, struct uses *uses, struct nn_bound_node *maker,
		   struct nn_bound_node *node, struct nn_bound_node *here)
{
	int between = nn_bound_root(b, maker->out);
	struct nn_bound_node other;

	uses->users[between]--;
	uses->maker[between] = -1;
	uses->maker[nn_bound_root(b, node->out)] = (int)(here - b->nodes);
	maker->out = node->out;
	node->removed = true;
	if (here != maker) {
		other = *here;
		*here = *maker;
		*maker = other;
	}
}

/* Behind a product, per out-channel, batchnorm of running values is another weight and bias. */
static void fuse_norm(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	struct nn_bound_node *maker = bare_maker(b, uses, node->in[0]);
	bool *bias = maker ? nn_op_bias(maker->op, maker->attrs) : NULL;

	if (!b->fold || !bias || maker->norm >= 0 || !same_image(b, maker, node->in[0]) ||
	    b->values[node->in[0]].shape.rank !=
		    (nn_ops[maker->op]->layout == NN_LAYOUT_IMAGE ? 3 : 1))
		return;
	maker->norm = node->source;
	*bias = true;
	absorb(b, uses, maker, node, maker);
}

/*
 * a + b where one is bare: the other becomes its residual. Of two bare ones the later takes it, and
 * moves here, since the other may be made after it. In training a product never writes both
 * gradients of one value.
 */
static void fuse_sum(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	struct nn_bound_node *maker = NULL;
	int residual = -1;

	if (node->n_in != 2 || nn_bound_root(b, node->in[0]) == nn_bound_root(b, node->in[1]))
		return;
	for (int k = 0; k < 2; k++) {
		struct nn_bound_node *bare = bare_maker(b, uses, node->in[k]);

		if (bare && (!maker || bare > maker) && !nn_bound_has_residual(bare) &&
		    !(b->training &&
		      nn_bound_root(b, bare->in[0]) == nn_bound_root(b, node->in[1 - k]))) {
			maker = bare;
			residual = node->in[1 - k];
		}
	}
	if (!maker)
		return;
	nn_bound_epilogue(maker)->residual = true;
	maker->in[maker->n_in++] = residual;
	absorb(b, uses, maker, node, node);
}

/*
 * In training the product's value before the activation is gone, so the derivative must come from
 * y.
 */
static void fuse_activation(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	const struct nn_activation_attrs *activation = node->attrs;
	struct nn_bound_node *maker = bare_maker(b, uses, node->in[0]);

	if (!maker || (b->training && !nn_activation_from_y(activation->kind, activation->slope)))
		return;
	nn_bound_epilogue(maker)->activation = activation->kind;
	nn_bound_epilogue(maker)->slope = activation->slope;
	absorb(b, uses, maker, node, maker);
}

static void fuse_maxpool(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	int root = nn_bound_root(b, node->in[0]), maker = uses->maker[root];
	struct nn_bound_node *from = maker < 0 ? NULL : &b->nodes[maker];
	struct nn_pooled *pooling = from ? nn_op_pooling(from->op, from->attrs) : NULL;

	if (!pooling || pooling->on || uses->users[root] != 1 || nn_bound_has_residual(from) ||
	    !same_image(b, from, node->in[0]))
		return;
	pooling->on = true;
	pooling->window = ((const struct nn_pool2d *)node->attrs)->window;
	absorb(b, uses, from, node, from);
}

struct fusion {
	enum nn_op_role role;
	void (*fuse)(struct nn_bound *bound, struct uses *uses, struct nn_bound_node *node);
};

/* In this order: y = act(norm(product) + residual), then the pooling. */
static const struct fusion fusions[] = {
	{ NN_ROLE_NORM, fuse_norm },
	{ NN_ROLE_SUM, fuse_sum },
	{ NN_ROLE_ACTIVATION, fuse_activation },
	{ NN_ROLE_MAXPOOL, fuse_maxpool },
};

static void drop_removed(struct nn_bound *b)
{
	int n = 0;

	for (int i = 0; i < b->n_nodes; i++) {
		struct nn_bound_node *node = &b->nodes[i];

		if (node->removed) {
			nn_bound_node_fini(node);
		} else {
			b->nodes[n++] = *node;
		}
	}
	b->n_nodes = n;
}

/*
 * C,H,W held in language order: its last dimension is what the op works on, the others are
 * positions.
 */
static struct nn_shape positions_by_last(const struct nn_shape *shape)
{
	size_t last = shape->dim[shape->rank - 1], positions = 1;

	for (int i = 0; i + 1 < shape->rank; i++)
		positions *= shape->dim[i];
	return nn_shape2(positions, last);
}

/*
 * Kernels are told shapes from which the order in memory is clear; the output's follows from
 * attributes and inputs.
 */
static int tell_shapes(const struct nn_bound *b, struct nn_bound_node *node, struct nn_error *err)
{
	const struct nn_op *op = nn_ops[node->op];
	bool by_last = op->layout == NN_LAYOUT_DENSE || op->layout == NN_LAYOUT_PLAIN;

	for (int i = 0; i < node->n_in; i++) {
		const struct nn_shape *shape = &b->values[node->in[i]].shape;

		node->shapes[i] = by_last && shape->rank > 2 ? positions_by_last(shape) : *shape;
	}
	if (op->lay_out) /* images are held channels last (lower.c) */
		op->lay_out(node->attrs, node->shapes, node->n_in);
	if (op->infer(node->attrs, node->shapes, node->n_in, &node->shape, err))
		return -1;
	if (nn_bound_has_residual(node))
		node->shapes[node->n_in - 1] = node->shape;
	return 0;
}

/* Values upstream of which something learns, and the nodes that run backward. */
static void mark_learning(struct nn_bound *b)
{
	for (int i = 0; i < b->n_nodes; i++) {
		struct nn_bound_node *node = &b->nodes[i];
		bool learns = false;

		for (int k = 0; k < node->n_in; k++)
			learns |= b->values[nn_bound_root(b, node->in[k])].learns;
		node->want_dx = b->training && b->values[nn_bound_root(b, node->in[0])].learns;
		learns |= node->source >= 0 &&
			  nn_node_trains(b->program, &b->program->nodes[node->source]);
		node->backward = b->training && learns;
		b->values[nn_bound_root(b, node->out)].learns = node->backward;
	}
}

int nn_bound_fuse(struct nn_bound *b, struct nn_error *err)
{
	struct uses uses = {
		.maker = nn_alloc((size_t)b->n_values, sizeof *uses.maker, err),
		.users = nn_alloc((size_t)b->n_values, sizeof *uses.users, err),
	};
	int result = -1;

	if (!uses.maker || !uses.users)
		goto out;
	count_uses(b, &uses);
	for (size_t f = 0; f < sizeof fusions / sizeof *fusions; f++)
		for (int i = 0; i < b->n_nodes; i++)
			if (!b->nodes[i].removed && nn_ops[b->nodes[i].op]->role == fusions[f].role)
				fusions[f].fuse(b, &uses, &b->nodes[i]);
	drop_removed(b);
	mark_learning(b);
	for (int i = 0; i < b->n_nodes; i++)
		if (tell_shapes(b, &b->nodes[i], err))
			goto out;
	result = 0;
out:
	nn_free(uses.maker);
	nn_free(uses.users);
	return result;
}
