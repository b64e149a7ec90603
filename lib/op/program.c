/*
 * A network as a list of nodes over values, grown one node at a time in an order that can be run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "op/program.h"

struct nn_program *nn_program_new(struct nn_error *err)
{
	return nn_alloc(1, sizeof(struct nn_program), err);
}

void nn_program_free(struct nn_program *program)
{
	if (!program)
		return;
	for (int i = 0; i < program->n_nodes; i++) {
		nn_free(program->nodes[i].attrs);
		nn_free(program->nodes[i].in);
	}
	for (int i = 0; i < program->n_params; i++)
		nn_free(program->params[i].name);
	for (int i = 0; i < program->n_outputs; i++)
		nn_free(program->outputs[i].name);
	nn_free(program->values);
	nn_free(program->nodes);
	nn_free(program->params);
	nn_free(program->inputs);
	nn_free(program->outputs);
	nn_free(program);
}

/* Room for one more element of `size` bytes behind the n there are; lists grow to powers of two. */
static int grow(void *list, int n, size_t size, struct nn_error *err)
{
	void **place = list;
	void *grown;

	if (n > 0 && (n & (n - 1)) != 0)
		return 0;
	grown = nn_realloc(*place, (size_t)n * size, (n > 0 ? 2 * (size_t)n : 1) * size, err);
	if (!grown)
		return -1;
	*place = grown;
	return 0;
}

static int add_value(struct nn_program *program, const struct nn_shape *shape, struct nn_error *err)
{
	if (grow(&program->values, program->n_values, sizeof *program->values, err))
		return -1;
	program->values[program->n_values] = (struct nn_value){ .shape = *shape };
	return program->n_values++;
}

int nn_program_input(struct nn_program *program, const struct nn_shape *shape, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];
	size_t bytes;
	int value;

	if (!nn_shape_check(shape, sizeof(double), &bytes))
		return nn_fail(err, NN_EFAIL, "input %s is larger than memory can be",
			       nn_shape_text(text, shape));
	if (grow(&program->inputs, program->n_inputs, sizeof *program->inputs, err))
		return -1;
	value = add_value(program, shape, err);
	if (value >= 0)
		program->inputs[program->n_inputs++] = value;
	return value;
}

int nn_program_lengths(const struct nn_program *program)
{
	for (int i = 0; i < program->n_inputs; i++)
		if (program->values[program->inputs[i]].lengths)
			return i;
	return -1;
}

/* What comes of rows of different length; *kept: the output has their lengths. */
static int follow_lengths(const struct nn_program *program, const struct nn_node *node,
			  const struct nn_shape *in, bool *kept, struct nn_error *err)
{
	const struct nn_op *op = nn_ops[node->op];
	enum nn_lengths lengths;
	int n = 0;

	*kept = false;
	for (int i = 0; i < node->n_in; i++)
		n += program->values[node->in[i]].lengths;
	if (n == 0)
		return op->flags & NN_OP_READS_LENGTHS && nn_program_lengths(program) >= 0
			       ? nn_fail(err, NN_EFAIL,
					 "its input is of one length, beside an input of rows of "
					 "different length (?); one net has one of these")
			       : 0;
	lengths =
		n == node->n_in && op->lengths ? op->lengths(node->attrs, in) : NN_LENGTHS_REFUSED;
	*kept = lengths == NN_LENGTHS_KEPT;
	if (lengths != NN_LENGTHS_REFUSED)
		return 0;
	return nn_fail(err, NN_EFAIL,
		       n < node->n_in
			       ? "joins rows of different length (?) with some of one length"
			       : "cannot take rows of different length (?); rnn, lstm, gru and "
				 "attention can, and what takes each step by itself, and 'last' makes "
				 "vectors of them");
}

static char *param_name(const char *prefix, const char *name, struct nn_error *err)
{
	size_t size = strlen(prefix) + 1 + strlen(name) + 1;
	char *text = nn_alloc(size, 1, err);

	if (text)
		snprintf(text, size, "%s.%s", prefix, name);
	return text;
}

/* Describe the parameters of node number n_nodes, which is not yet counted. */
static int add_params(struct nn_program *program, struct nn_node *node, const struct nn_shape *in,
		      const char *prefix, struct nn_error *err)
{
	const struct nn_op *op = nn_ops[node->op];
	struct nn_op_param desc[NN_MAX_PARAMS];
	int n = op->params ? op->params(node->attrs, in, node->n_in, desc) : 0;
	char text[NN_SHAPE_TEXT];
	size_t bytes;

	node->param = program->n_params;
	for (int i = 0; i < n; i++) {
		struct nn_program_param *param;

		if (!nn_shape_check(&desc[i].shape, sizeof(double), &bytes))
			return nn_fail(err, NN_EFAIL, "%s %s is larger than memory can be",
				       desc[i].name, nn_shape_text(text, &desc[i].shape));
		if (grow(&program->params, program->n_params, sizeof *program->params, err))
			return -1;
		param = &program->params[program->n_params];
		*param = (struct nn_program_param){ .desc = desc[i],
						    .node = program->n_nodes,
						    .line = node->line };
		param->name = param_name(prefix, desc[i].name, err);
		if (!param->name)
			return -1;
		program->n_params++;
		node->n_params++;
	}
	return 0;
}

/* Copy what the node says of itself; what is there on failure is freed by the caller. */
static int fill_node(struct nn_program *program, struct nn_node *node, const void *attrs,
		     const int *in, struct nn_shape *shapes, struct nn_error *err)
{
	const struct nn_op *op = nn_ops[node->op];

	node->attrs = nn_alloc(1, op->attrs_size, err);
	node->in = nn_alloc((size_t)node->n_in, sizeof *node->in, err);
	if (!node->attrs || !node->in)
		return -1;
	if (op->attrs_size)
		memcpy(node->attrs, attrs, op->attrs_size);
	for (int i = 0; i < node->n_in; i++) {
		if (in[i] < 0 || in[i] >= program->n_values)
			NN_BUG("%s: value %d of %d", op->name, in[i], program->n_values);
		node->in[i] = in[i];
		shapes[i] = program->values[in[i]].shape;
	}
	return 0;
}

int nn_program_add(struct nn_program *program, enum nn_op_id op, const void *attrs, const int *in,
		   int n_in, const char *prefix, int line, struct nn_error *err)
{
	struct nn_node node = { .op = op, .n_in = n_in, .line = line, .out = -1 };
	struct nn_shape *shapes = nn_alloc((size_t)n_in, sizeof *shapes, err), out;
	int first_param = program->n_params;
	bool lengths;

	if (!shapes || grow(&program->nodes, program->n_nodes, sizeof *program->nodes, err) ||
	    fill_node(program, &node, attrs, in, shapes, err) ||
	    follow_lengths(program, &node, shapes, &lengths, err) ||
	    nn_ops[op]->infer(node.attrs, shapes, n_in, &out, err) ||
	    add_params(program, &node, shapes, prefix, err))
		goto fail;
	node.flops = nn_op_flops(op, node.attrs, shapes, n_in, &out);
	node.out = add_value(program, &out, err);
	if (node.out < 0)
		goto fail;
	program->values[node.out].lengths = lengths;
	nn_free(shapes);
	program->nodes[program->n_nodes++] = node;
	return node.out;
fail:
	while (program->n_params > first_param)
		nn_free(program->params[--program->n_params].name);
	nn_free(shapes);
	nn_free(node.attrs);
	nn_free(node.in);
	return -1;
}

int nn_program_name(struct nn_program *program, int param, const char *infix, struct nn_error *err)
{
	struct nn_program_param *p = &program->params[param];
	size_t prefix = strlen(p->name) - strlen(p->desc.name),
	       size = strlen(p->name) + strlen(infix) + 1;
	char *name = nn_alloc(size, 1, err);

	if (!name)
		return -1;
	snprintf(name, size, "%.*s%s%s", (int)prefix, p->name, infix, p->desc.name);
	nn_free(p->name);
	p->name = name;
	return 0;
}

int nn_program_output(struct nn_program *program, int value, const char *name, struct nn_error *err)
{
	struct nn_program_output output = { .value = value };

	if (grow(&program->outputs, program->n_outputs, sizeof *program->outputs, err))
		return -1;
	if (name) {
		output.name = nn_strdup(name, err);
		if (!output.name)
			return -1;
	}
	program->outputs[program->n_outputs++] = output;
	return 0;
}

size_t nn_program_group(const struct nn_program *program)
{
	for (int i = 0; i < program->n_nodes; i++)
		if (nn_ops[program->nodes[i].op]->role == NN_ROLE_NORM)
			return ((const struct nn_batchnorm *)program->nodes[i].attrs)->group;
	return 0;
}

size_t nn_program_categories(const struct nn_program *program, int input)
{
	size_t rows = 0;

	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		size_t of = node->n_params ? program->params[node->param].desc.shape.dim[0] : 0;

		if (nn_op_is_table(node->op) && node->in[0] == program->inputs[input] &&
		    (rows == 0 || of < rows))
			rows = of;
	}
	return rows;
}

size_t nn_program_parameters(const struct nn_program *program, bool trained)
{
	size_t n = 0;

	for (int i = 0; i < program->n_params; i++)
		if (!trained || program->params[i].desc.role != NN_BUFFER)
			n += nn_shape_count(&program->params[i].desc.shape);
	return n;
}

bool nn_node_trains(const struct nn_program *program, const struct nn_node *node)
{
	for (int p = node->param; p < node->param + node->n_params; p++)
		if (program->params[p].desc.role != NN_BUFFER)
			return true;
	return false;
}

bool nn_node_frozen(const struct nn_program *program, const struct nn_node *node)
{
	return node->n_params > 0 && program->params[node->param].frozen;
}
