/*
 * From program to nodes over memory: how each value is held, views for reshapes, permutes where
 * orders must change.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/bound.h"

struct held {
	size_t channels, positions;
};

static const struct held plain = { 0, 0 };

/* Channels last and language order are the same where one of the two is 1. */
static struct held held_as_image(const struct nn_shape *shape)
{
	struct held held = { shape->dim[0], shape->dim[1] * shape->dim[2] };

	return held.channels > 1 && held.positions > 1 ? held : plain;
}

static bool same_held(struct held a, struct held b)
{
	return a.channels == b.channels && (a.channels == 0 || a.positions == b.positions);
}

static struct held held_of(const struct nn_bound *b, int value)
{
	return (struct held){ b->values[value].channels, b->values[value].positions };
}

static int new_value(struct nn_bound *b, const struct nn_shape *shape, struct held held, int root)
{
	int value = b->n_values++;

	b->values[value] = (struct nn_bound_value){
		.shape = *shape,
		.channels = held.channels,
		.positions = held.positions,
		.root = root < 0 ? value : root,
		.permuted = -1,
	};
	return value;
}

/* A node with room for a residual; its output value is new. */
static struct nn_bound_node *new_node(struct nn_bound *b, enum nn_op_id op, const void *attrs,
				      int n_in, struct nn_error *err)
{
	struct nn_bound_node *node = &b->nodes[b->n_nodes++];
	size_t size = nn_ops[op]->attrs_size;

	*node = (struct nn_bound_node){
		.op = op, .n_in = n_in, .source = -1, .line = -1, .norm = -1
	};
	node->attrs = nn_alloc(1, size, err);
	node->in = nn_alloc((size_t)n_in + 1, sizeof *node->in, err);
	node->shapes = nn_alloc((size_t)n_in + 1, sizeof *node->shapes, err);
	if (!node->attrs || !node->in || !node->shapes)
		return NULL;
	if (size)
		memcpy(node->attrs, attrs, size);
	return node;
}

/* Insert a permute of `value` from the order it is held in; -1 on failure. */
static int permute(struct nn_bound *b, int value, const struct nn_permute *attrs, struct held held,
		   int line, struct nn_error *err)
{
	struct nn_shape shape = b->values[value].shape;
	struct nn_bound_node *node = new_node(b, nn_op_of(NN_ROLE_PERMUTE), attrs, 1, err);

	if (!node)
		return -1;
	node->line = line;
	node->in[0] = value;
	node->out = new_value(b, &shape, held, -1);
	node->permuted = b->values[nn_bound_root(b, value)].permuted;
	b->values[nn_bound_root(b, value)].permuted = (int)(node - b->nodes);
	return node->out;
}

/* The value as an earlier permute left it in the wanted order, or -1. */
static int permuted_before(struct nn_bound *b, int value, struct held want)
{
	struct nn_shape shape = b->values[value].shape;
	int i = b->values[nn_bound_root(b, value)].permuted;

	while (i >= 0 && !same_held(held_of(b, b->nodes[i].out), want))
		i = b->nodes[i].permuted;
	return i < 0 ? -1 : new_value(b, &shape, want, nn_bound_root(b, b->nodes[i].out));
}

/*
 * The value in the wanted order: itself, or behind one or two permutes (through language order). -1
 * on failure.
 */
static int in_order(struct nn_bound *b, int value, struct held want, int line, struct nn_error *err)
{
	struct held have = held_of(b, value);
	int before;

	if (same_held(have, want))
		return value;
	before = permuted_before(b, value, want);
	if (before >= 0)
		return before;
	if (have.channels) {
		struct nn_permute attrs = { have.channels, have.positions, false };

		if (want.channels) {
			value = in_order(b, value, plain, line, err);
			return value < 0 ? -1 : in_order(b, value, want, line, err);
		}
		return permute(b, value, &attrs, plain, line, err);
	}
	return permute(b, value, &(struct nn_permute){ want.channels, want.positions, true }, want,
		       line, err);
}

/*
 * How an op with inputs that must be alike wants them: images where they are C,H,W; else as all
 * are, or plain.
 */
static struct held alike(const struct nn_bound *b, const int *in, int n_in)
{
	struct held first = held_of(b, in[0]);

	if (n_in == 1)
		return first;
	if (b->values[in[0]].shape.rank == 3)
		return held_as_image(&b->values[in[0]].shape);
	for (int i = 1; i < n_in; i++)
		if (!same_held(held_of(b, in[i]), first))
			return plain;
	return first;
}

/* The order in which op wants its input number i; in: the inputs as they are held. */
static struct held wanted(const struct nn_bound *b, enum nn_op_id op, const int *in, int n_in,
			  int i)
{
	const struct nn_shape *shape = &b->values[in[i]].shape;

	switch (nn_ops[op]->layout) {
	case NN_LAYOUT_IMAGE:
		return shape->rank == 3 ? held_as_image(shape) : plain;
	case NN_LAYOUT_DENSE:
		return shape->rank == 1 ? held_of(b, in[i]) : plain;
	case NN_LAYOUT_ANY:
		return alike(b, in, n_in);
	default:
		return plain;
	}
}

/* The order in which op leaves its output. */
static struct held produced(const struct nn_bound *b, const struct nn_bound_node *node,
			    const struct nn_shape *shape)
{
	if (nn_ops[node->op]->layout == NN_LAYOUT_IMAGE)
		return shape->rank == 3 ? held_as_image(shape) : plain;
	return nn_ops[node->op]->layout == NN_LAYOUT_ANY ? held_of(b, node->in[0]) : plain;
}

/* Ops that leave values as they are: the output is a view of the input. Else -1. */
static int as_view(struct nn_bound *b, const struct nn_node *node, int in)
{
	const struct nn_shape *shape = &b->program->values[node->out].shape;

	if (nn_op_is_view(node->op, node->attrs, b->training))
		return new_value(b, shape, held_of(b, in), nn_bound_root(b, in));
	return -1;
}

static int lower_node(struct nn_bound *b, int source, int *map, int *in, struct nn_error *err)
{
	const struct nn_node *from = &b->program->nodes[source];
	const struct nn_shape *shape = &b->program->values[from->out].shape;
	struct nn_bound_node *node;

	for (int i = 0; i < from->n_in; i++)
		in[i] = map[from->in[i]];
	map[from->out] = as_view(b, from, in[0]);
	if (map[from->out] >= 0)
		return 0;
	for (int i = 0, n = from->n_in; i < n; i++) {
		struct held want = wanted(b, from->op, in, n, i);

		in[i] = in_order(b, in[i], want, from->line, err);
		if (in[i] < 0)
			return -1;
	}
	node = new_node(b, from->op, from->attrs, from->n_in, err);
	if (!node)
		return -1;
	memcpy(node->in, in, (size_t)from->n_in * sizeof *in);
	node->source = source;
	node->line = from->line;
	if (nn_ops[node->op]->flattened)
		nn_ops[node->op]->flattened(node->attrs, held_of(b, in[0]).channels,
					    held_of(b, in[0]).positions);
	node->out = new_value(b, shape, produced(b, node, shape), -1);
	map[from->out] = node->out;
	return 0;
}

/*
 * Which values of the program some op takes as an image, directly or through ops that keep the
 * order?
 */
static void mark_images(const struct nn_program *program, bool *image)
{
	for (int i = 0; i < program->n_outputs; i++)
		image[program->outputs[i].value] =
			program->values[program->outputs[i].value].shape.rank == 3;
	for (int i = program->n_nodes; i-- > 0;) {
		const struct nn_node *node = &program->nodes[i];
		enum nn_op_layout layout = nn_ops[node->op]->layout;

		for (int k = 0; k < node->n_in; k++)
			if (layout == NN_LAYOUT_IMAGE)
				image[node->in[k]] |= program->values[node->in[k]].shape.rank == 3;
			else if (layout == NN_LAYOUT_ANY || layout == NN_LAYOUT_VIEW)
				image[node->in[k]] |= image[node->out];
	}
}

static int lower_inputs(struct nn_bound *b, int *map, struct nn_error *err)
{
	const struct nn_program *program = b->program;
	bool *image = nn_alloc((size_t)program->n_values, sizeof *image, err);

	if (!image)
		return -1;
	mark_images(program, image);
	for (int i = 0; i < program->n_inputs; i++) {
		int value = program->inputs[i];
		const struct nn_shape *shape = &program->values[value].shape;
		bool last = image[value] && shape->rank == 3;

		map[value] = b->inputs[i] =
			new_value(b, shape, last ? held_as_image(shape) : plain, -1);
	}
	nn_free(image);
	return 0;
}

/* Outputs are held channels last or plain; no two of them are one memory. */
static int lower_outputs(struct nn_bound *b, const int *map, struct nn_error *err)
{
	const struct nn_program *program = b->program;

	b->n_outputs = program->n_outputs;
	for (int i = 0; i < program->n_outputs; i++) {
		int value = map[program->outputs[i].value];
		const struct nn_shape *shape = &b->values[value].shape;
		struct held want = shape->rank == 3 ? held_as_image(shape) : plain;
		size_t count = nn_shape_count(shape);
		bool taken = false;

		value = in_order(b, value, want, -1, err);
		for (int k = 0; value >= 0 && k < i; k++)
			taken |= nn_bound_root(b, b->outputs[k]) == nn_bound_root(b, value);
		if (taken)
			value = permute(b, value, &(struct nn_permute){ 1, count, true }, want, -1,
					err);
		if (value < 0)
			return -1;
		b->outputs[i] = value;
	}
	return 0;
}

/* Every value must be of use, else its gradient would never be written. */
static int check_uses(const struct nn_bound *b, struct nn_error *err)
{
	bool *used = nn_alloc((size_t)b->n_values, sizeof *used, err);
	int result = 0;

	if (!used)
		return -1;
	for (int i = 0; i < b->program->n_outputs; i++)
		used[nn_bound_root(b, b->outputs[i])] = true;
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->nodes[i].n_in; k++)
			used[nn_bound_root(b, b->nodes[i].in[k])] = true;
	for (int i = 0; i < b->n_nodes && result == 0; i++)
		if (!used[nn_bound_root(b, b->nodes[i].out)])
			result = nn_fail(err, NN_EFAIL, "layer %d: %s: nobody uses its output",
					 b->nodes[i].line, nn_ops[b->nodes[i].op]->name);
	nn_free(used);
	return result;
}

/* Room for the most there can be: up to two permutes per input and output, a view per node. */
static int take_room(struct nn_bound *b, int **map, int **in, struct nn_error *err)
{
	const struct nn_program *program = b->program;
	size_t n_in = (size_t)program->n_outputs * 2, nodes, values, widest = 1;

	for (int i = 0; i < program->n_nodes; i++) {
		n_in += (size_t)program->nodes[i].n_in;
		if ((size_t)program->nodes[i].n_in > widest)
			widest = (size_t)program->nodes[i].n_in;
	}
	nodes = (size_t)program->n_nodes + 2 * n_in;
	values = (size_t)program->n_values + 2 * n_in;
	b->values = nn_alloc(values, sizeof *b->values, err);
	b->nodes = nn_alloc(nodes, sizeof *b->nodes, err);
	b->inputs = nn_alloc((size_t)program->n_inputs, sizeof *b->inputs, err);
	b->outputs = nn_alloc((size_t)program->n_outputs, sizeof *b->outputs, err);
	*map = nn_alloc((size_t)program->n_values, sizeof **map, err);
	*in = nn_alloc(widest, sizeof **in, err);
	return b->values && b->nodes && b->inputs && b->outputs && *map && *in ? 0 : -1;
}

int nn_bound_lower(struct nn_bound *b, struct nn_error *err)
{
	int *map = NULL, *in = NULL, result = -1;

	if (take_room(b, &map, &in, err) || lower_inputs(b, map, err))
		goto out;
	for (int i = 0; i < b->program->n_nodes; i++)
		if (lower_node(b, i, map, in, err))
			goto out;
	result = lower_outputs(b, map, err) || check_uses(b, err) ? -1 : 0;
out:
	nn_free(map);
	nn_free(in);
	return result;
}
