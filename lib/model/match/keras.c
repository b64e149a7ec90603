/*
 * How Keras holds parameters: kernels [in,out] and [kh,kw,in,out], and behind a flattened picture
 * channels last.
 */
#include <string.h>

#include "base/memory.h"
#include "model/match/keras.h"

/* ---- the order of vectors ---- */

static bool same_order(const struct nn_keras_order *a, const struct nn_keras_order *b)
{
	return a->channels == b->channels && a->positions == b->positions;
}

/* A product: its outputs are in an order of their own. */
static bool has_weight(const struct nn_program *program, const struct nn_node *node)
{
	enum nn_param_role role;

	if (node->n_params == 0)
		return false;
	role = program->params[node->param].desc.role;
	return role == NN_WEIGHT || role == NN_ROW_TABLE;
}

/* What a node makes of the order of its inputs. */
static struct nn_keras_order node_order(const struct nn_program *program,
					const struct nn_node *node,
					const struct nn_keras_order *orders)
{
	const struct nn_shape *in = &program->values[node->in[0]].shape;
	const struct nn_shape *out = &program->values[node->out].shape;
	struct nn_keras_order first = orders[node->in[0]], plain = { 0 };
	bool mixed = false, some = false;

	for (int i = 0; i < node->n_in; i++) {
		const struct nn_keras_order *order = &orders[node->in[i]];

		some |= order->channels > 0;
		mixed |= order->mixed || !same_order(order, &first);
	}
	if (has_weight(program, node))
		return plain;
	if (nn_shape_equal(in, out) && !mixed)
		return first;
	if (some || mixed)
		return (struct nn_keras_order){ .mixed = true };
	if (in->rank != 3 || nn_shape_count(in) != nn_shape_count(out) || in->dim[0] == 1 ||
	    in->dim[1] * in->dim[2] == 1)
		return plain;
	if (out->rank == 1)
		return (struct nn_keras_order){ .channels = in->dim[0],
						.positions = in->dim[1] * in->dim[2] };
	return (struct nn_keras_order){ .mixed = out->rank != 3 };
}

struct nn_keras_order *nn_keras_orders(const struct nn_program *program, struct nn_error *err)
{
	struct nn_keras_order *orders = nn_alloc((size_t)program->n_values, sizeof *orders, err);

	for (int i = 0; orders && i < program->n_nodes; i++)
		orders[program->nodes[i].out] = node_order(program, &program->nodes[i], orders);
	return orders;
}

/* ---- shapes ---- */

static const struct nn_shape *input_of(const struct nn_program *program, int p)
{
	return &program->values[program->nodes[program->params[p].node].in[0]].shape;
}

bool nn_keras_depthwise(const struct nn_program *program, int p)
{
	const struct nn_op_param *desc = &program->params[p].desc;
	const struct nn_shape *in = input_of(program, p);

	return desc->shape.rank == 4 && desc->shape.dim[1] == 1 && in->rank == 3 &&
	       in->dim[0] > 1 && desc->shape.dim[0] % in->dim[0] == 0;
}

struct nn_shape nn_keras_shape(const struct nn_program *program, int p, bool depthwise)
{
	const struct nn_op_param *desc = &program->params[p].desc;
	const size_t *d = desc->shape.dim;
	size_t in;

	if (desc->role == NN_WEIGHT && desc->shape.rank == 2)
		return nn_shape2(d[1], d[0]);
	if (desc->role == NN_WEIGHT && desc->shape.rank == 3)
		return nn_shape3(d[2], d[1], d[0]);
	if (desc->role != NN_WEIGHT || desc->shape.rank != 4)
		return desc->shape;
	if (!depthwise || !nn_keras_depthwise(program, p))
		return nn_shape4(d[2], d[3], d[1], d[0]);
	in = input_of(program, p)->dim[0];
	return nn_shape4(d[2], d[3], in, d[0] / in);
}

/* ---- values ---- */

/* The order that a parameter of p's node has along its input; channels 0: as it is. */
static const struct nn_keras_order *order_of(const struct nn_program *program, int p,
					     const struct nn_keras_order *orders)
{
	return &orders[program->nodes[program->params[p].node].in[0]];
}

/* Has it an element, or a column, for each element of the input? */
static bool along_input(const struct nn_program *program, int p)
{
	const struct nn_op_param *desc = &program->params[p].desc;

	return desc->role == NN_NORM || desc->role == NN_BUFFER ||
	       (desc->role == NN_WEIGHT && desc->shape.rank == 2);
}

bool nn_keras_turns(const struct nn_program *program, int p, const struct nn_keras_order *orders)
{
	const struct nn_op_param *desc = &program->params[p].desc;
	const struct nn_keras_order *order = order_of(program, p, orders);

	return (desc->role == NN_WEIGHT && desc->shape.rank >= 2) ||
	       (along_input(program, p) && (order->channels > 0 || order->mixed));
}

/* Where element i of a vector in our order lies in Keras' one. */
static size_t place(const struct nn_keras_order *order, size_t i)
{
	return order->channels ? i % order->positions * order->channels + i / order->positions : i;
}

static void copy_matrix(char *to, const char *from, const struct nn_shape *shape,
			const struct nn_keras_order *order, size_t size)
{
	size_t out = shape->dim[0], in = shape->dim[1];

	for (size_t o = 0; o < out; o++)
		for (size_t i = 0; i < in; i++)
			memcpy(to + (o * in + i) * size, from + (place(order, i) * out + o) * size,
			       size);
}

/* [kh,kw,in,out] to [out,in,kh,kw], [k,in,out] to [out,in,k]; a DepthwiseConv2D's last two are read
 * as 1 and out. */
static void copy_filters(char *to, const char *from, const struct nn_shape *shape, size_t size)
{
	size_t out = shape->dim[0], in = shape->dim[1],
	       taps = shape->dim[2] * (shape->rank == 4 ? shape->dim[3] : 1);

	for (size_t o = 0; o < out; o++)
		for (size_t i = 0; i < in; i++)
			for (size_t t = 0; t < taps; t++)
				memcpy(to + ((o * in + i) * taps + t) * size,
				       from + ((t * in + i) * out + o) * size, size);
}

int nn_keras_turn(const struct nn_program *program, int p, const struct nn_keras_order *orders,
		  struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err)
{
	const struct nn_shape *shape = &program->params[p].desc.shape;
	const struct nn_keras_order *order = order_of(program, p, orders);
	size_t size = nn_dtype_size(tensor->dtype);

	if (along_input(program, p) && order->mixed)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: its order behind joined or reshaped pictures is not known; give "
			"it as weight [out,in]",
			program->params[p].name);
	if (nn_block_reserve(block, nn_shape_count(shape) * size + 1, err) < 0)
		return -1;
	if (shape->rank == 2)
		copy_matrix(block->data, tensor->data, shape, order, size);
	else if (shape->rank >= 3)
		copy_filters(block->data, tensor->data, shape, size);
	else
		for (size_t i = 0; i < shape->dim[0]; i++)
			memcpy(nn_block_at(block, i * size),
			       (const char *)tensor->data + place(order, i) * size, size);
	tensor->shape = *shape;
	tensor->data = block->data;
	return 0;
}
