/* What can be done in one kernel: epilogues, a pooling behind a convolution, batchnorm folded into
 * a product. */
#include <string.h>

#include "base/memory.h"
#include "graph/bound.h"

struct nn_epilogue *nn_bound_epilogue(const struct nn_bound_node *node)
{
	switch (node->op) {
	case NN_OP_dense:
		return &((struct nn_dense *)node->attrs)->epilogue;
	case NN_OP_conv2d:
		return &((struct nn_conv2d *)node->attrs)->epilogue;
	case NN_OP_batchnorm:
		return &((struct nn_batchnorm *)node->attrs)->epilogue;
	default:
		return NULL;
	}
}

unsigned nn_bound_needs(const struct nn_bound_node *node)
{
	const struct nn_op *op = nn_ops[node->op];

	return op->needs ? op->needs(node->attrs) : op->flags;
}

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

/* The node that makes `value`, if nobody else uses it and nothing but bias stands behind its
 * arithmetic; else NULL. */
static struct nn_bound_node *bare_maker(struct nn_bound *b, const struct uses *uses, int value)
{
	int root = nn_bound_root(b, value), maker = uses->maker[root];
	const struct nn_epilogue *epilogue;

	if (maker < 0 || uses->users[root] != 1)
		return NULL;
	epilogue = nn_bound_epilogue(&b->nodes[maker]);
	if (!epilogue || epilogue->activation != NN_ACT_NONE)
		return NULL;
	if (b->nodes[maker].op == NN_OP_conv2d &&
	    ((struct nn_conv2d *)b->nodes[maker].attrs)->pooled)
		return NULL;
	return &b->nodes[maker];
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

static bool *bias_of(struct nn_bound_node *node)
{
	switch (node->op) {
	case NN_OP_dense:
		return &((struct nn_dense *)node->attrs)->bias;
	case NN_OP_conv2d:
		return &((struct nn_conv2d *)node->attrs)->bias;
	default:
		return NULL;
	}
}

/* Behind a product, per out-channel, batchnorm of running values is another weight and bias. */
static void fuse_batchnorm(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	struct nn_bound_node *maker = bare_maker(b, uses, node->in[0]);

	if (!b->fold || !maker || !bias_of(maker) || maker->norm >= 0 ||
	    !same_image(b, maker, node->in[0]) ||
	    b->values[node->in[0]].shape.rank != (maker->op == NN_OP_conv2d ? 3 : 1))
		return;
	maker->norm = node->source;
	*bias_of(maker) = true;
	absorb(b, uses, maker, node, maker);
}

/*
 * a + b where one is bare: the other becomes its residual. Of two bare ones the later takes it, and
 * moves here, since the other may be made after it. In training a product never writes both
 * gradients of one value.
 */
static void fuse_add(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	struct nn_bound_node *maker = NULL;
	int residual = -1;

	if (node->n_in != 2 || nn_bound_root(b, node->in[0]) == nn_bound_root(b, node->in[1]))
		return;
	for (int k = 0; k < 2; k++) {
		struct nn_bound_node *bare = bare_maker(b, uses, node->in[k]);

		if (bare && (!maker || bare > maker) && !nn_bound_epilogue(bare)->residual &&
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

/* In training the product's value before the activation is gone, so the derivative must come from
 * y. */
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

static void fuse_maxpool2d(struct nn_bound *b, struct uses *uses, struct nn_bound_node *node)
{
	int root = nn_bound_root(b, node->in[0]), maker = uses->maker[root];
	struct nn_bound_node *conv = maker < 0 ? NULL : &b->nodes[maker];
	struct nn_conv2d *attrs;

	if (!conv || conv->op != NN_OP_conv2d || uses->users[root] != 1 ||
	    nn_bound_epilogue(conv)->residual || !same_image(b, conv, node->in[0]))
		return;
	attrs = conv->attrs;
	if (attrs->pooled)
		return;
	attrs->pooled = true;
	attrs->pool = ((const struct nn_pool2d *)node->attrs)->window;
	absorb(b, uses, conv, node, conv);
}

struct fusion {
	enum nn_op_id op;
	void (*fuse)(struct nn_bound *bound, struct uses *uses, struct nn_bound_node *node);
};

/* In this order: y = act(norm(product) + residual), then the pooling. */
static const struct fusion fusions[] = {
	{ NN_OP_batchnorm, fuse_batchnorm },
	{ NN_OP_add, fuse_add },
	{ NN_OP_activation, fuse_activation },
	{ NN_OP_maxpool2d, fuse_maxpool2d },
};

static void drop_removed(struct nn_bound *b)
{
	int n = 0;

	for (int i = 0; i < b->n_nodes; i++) {
		struct nn_bound_node *node = &b->nodes[i];

		if (node->removed) {
			nn_free(node->attrs);
			nn_free(node->in);
			nn_free(node->shapes);
		} else {
			b->nodes[n++] = *node;
		}
	}
	b->n_nodes = n;
}

/* Concatenation along one axis in memory, whatever the order: [outer][inner of input i], along
 * dim 1. */
static void flatten_concat(const struct nn_bound *b, struct nn_bound_node *node)
{
	struct nn_concat *concat = node->attrs;
	static const int in_image[] = { 2, 0, 1 }; /* C,H,W as axes of H,W,C */
	static const int axis_dim[] = { 1, 2, 0 };
	bool image = b->values[node->in[0]].shape.rank == 3; /* lower.c brings them channels last */
	int axis = image ? in_image[concat->dim] : concat->dim;

	for (int i = 0; i < node->n_in; i++) {
		const struct nn_shape *from = &b->values[node->in[i]].shape;

		node->shapes[i] = nn_shape2(1, 1);
		for (int k = 0; k < from->rank; k++)
			node->shapes[i].dim[k < axis ? 0 : 1] *= from->dim[image ? axis_dim[k] : k];
	}
	concat->dim = 1;
}

/* C,H,W held in language order: its last dimension is what the op works on, the others are
 * positions. */
static struct nn_shape positions_by_last(const struct nn_shape *shape)
{
	size_t last = shape->dim[shape->rank - 1], positions = 1;

	for (int i = 0; i + 1 < shape->rank; i++)
		positions *= shape->dim[i];
	return nn_shape2(positions, last);
}

/* Kernels are told shapes from which the order in memory is clear; the output's follows from
 * attributes and inputs. */
static int tell_shapes(const struct nn_bound *b, struct nn_bound_node *node, struct nn_error *err)
{
	enum nn_op_layout layout = nn_ops[node->op]->layout;
	bool by_last = layout == NN_LAYOUT_DENSE || layout == NN_LAYOUT_PLAIN;
	const struct nn_epilogue *epilogue = nn_bound_epilogue(node);

	for (int i = 0; i < node->n_in; i++) {
		const struct nn_shape *shape = &b->values[node->in[i]].shape;

		node->shapes[i] = by_last && shape->rank > 2 ? positions_by_last(shape) : *shape;
	}
	if (node->op == NN_OP_concat)
		flatten_concat(b, node);
	if (nn_ops[node->op]->infer(node->attrs, node->shapes, node->n_in, &node->shape, err))
		return -1;
	if (epilogue && epilogue->residual)
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
		learns |= node->source >= 0 && b->program->nodes[node->source].n_params > 0;
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
			if (b->nodes[i].op == fusions[f].op && !b->nodes[i].removed)
				fusions[f].fuse(b, &uses, &b->nodes[i]);
	drop_removed(b);
	mark_learning(b);
	for (int i = 0; i < b->n_nodes; i++)
		if (tell_shapes(b, &b->nodes[i], err) ||
		    (nn_bound_splits(b, &b->nodes[i]) && nn_split_make(b, &b->nodes[i], err) < 0))
			goto out;
	result = 0;
out:
	nn_free(uses.maker);
	nn_free(uses.users);
	return result;
}
