/* A network that goes through its sequence step by step: the same nodes, of one step each. */
#include <string.h>

#include "base/memory.h"
#include "op/program.h"

/* Attributes of node n for one step; false: it needs the sequence as a whole. */
static bool step_attrs(const struct nn_program *from, int n, size_t steps, union nn_op_attrs *attrs,
		       size_t *most)
{
	const struct nn_node *node = &from->nodes[n];
	const struct nn_op *op = nn_ops[node->op];
	enum nn_stepping stepping = op->step ? NN_STEPS_ANY : NN_STEPS_AT_ONCE;

	if (op->attrs_size)
		memcpy(attrs, node->attrs, op->attrs_size);
	for (int k = 0; k < node->n_in && stepping != NN_STEPS_AT_ONCE; k++) {
		const struct nn_shape *in = &from->values[node->in[k]].shape;

		stepping = in->rank > 0 && in->dim[0] == steps ? op->step(attrs, in)
							       : NN_STEPS_AT_ONCE;
	}
	if (stepping == NN_STEPS_COUNTED)
		*most = steps;
	return stepping != NN_STEPS_AT_ONCE;
}

/* Parameters are held as those of the whole network are. */
static void copy_roles(const struct nn_program *from, struct nn_program *to)
{
	for (int i = 0; i < from->n_params; i++) {
		to->params[i].desc.role = from->params[i].desc.role;
		to->params[i].frozen = from->params[i].frozen;
		to->params[i].was = from->params[i].was;
	}
}

/* 1: all nodes are there; 0: one needs the sequence as a whole; -1: it failed. */
static int add_nodes(const struct nn_program *from, struct nn_program *to, size_t *most,
		     struct nn_error *err)
{
	struct nn_shape step = from->values[from->inputs[0]].shape;
	const size_t steps = step.dim[0];
	union nn_op_attrs attrs;

	step.dim[0] = 1;
	if (from->inputs[0] != 0 || nn_program_input(to, &step, err) < 0)
		return from->inputs[0] != 0 ? 0 : -1;
	for (int i = 0; i < from->n_nodes; i++) {
		const struct nn_node *node = &from->nodes[i];

		if (!step_attrs(from, i, steps, &attrs, most) || node->out != i + 1)
			return 0;
		if (nn_program_add(to, node->op, &attrs, node->in, node->n_in, "", node->line,
				   err) < 0)
			return -1;
	}
	copy_roles(from, to);
	return nn_program_output(to, from->outputs[0].value, NULL, err) < 0 ? -1 : 1;
}

struct nn_program *nn_program_step(const struct nn_program *program, size_t *most,
				   struct nn_error *err)
{
	struct nn_program *step;

	*most = 0;
	if (program->n_inputs != 1 || program->n_outputs != 1 ||
	    program->values[program->inputs[0]].shape.rank == 0)
		return NULL;
	step = nn_program_new(err);
	if (step && add_nodes(program, step, most, err) <= 0) {
		nn_program_free(step);
		step = NULL;
	}
	return step;
}
