/* A network as ops: what layers expand into and what a graph is bound from. */
#ifndef NN_OP_PROGRAM_H
#define NN_OP_PROGRAM_H

#include "op/op.h"

struct nn_value {
	struct nn_shape shape; /* of one row, language order */
	bool lengths; /* each row has a length, steps of the first dimension; shape: the longest */
};

struct nn_program_param {
	char *name; /* "0.weight", "enc1.weight" */
	struct nn_op_param desc;
	int node;    /* whose it is */
	int line;    /* canonical line number, for random streams */
	bool frozen; /* kept as it is: its role is that of a buffer, before it was `was` */
	enum nn_param_role was;
};

struct nn_node {
	enum nn_op_id op;
	void *attrs; /* the op's struct; owned by the program */
	int n_in;
	int *in;             /* values */
	int out;             /* value */
	uint64_t flops;      /* of one row forward */
	int n_params, param; /* program.params[param .. param + n_params - 1] */
	int line;            /* canonical line number (layers only), for messages and streams */
};

struct nn_program_output {
	int value;
	char *name; /* NULL: the only one */
};

struct nn_program {
	struct nn_value *values;
	int n_values;
	struct nn_node *nodes; /* in an order that can be run */
	int n_nodes;
	struct nn_program_param *params;
	int n_params;
	int *inputs, n_inputs; /* values */
	struct nn_program_output *outputs;
	int n_outputs;
};

struct nn_program *nn_program_new(struct nn_error *err);
void nn_program_free(struct nn_program *program);
/* A new input value; its number, or -1. */
int nn_program_input(struct nn_program *program, const struct nn_shape *shape,
		     struct nn_error *err);
/* The input whose rows have lengths of their own, all others are of one shape; -1: there is none. */
int nn_program_lengths(const struct nn_program *program);
/*
 * Append a node: attrs is copied, the shape inferred, parameters described as "PREFIX.weight". The
 * output value, or -1.
 */
int nn_program_add(struct nn_program *program, enum nn_op_id op, const void *attrs, const int *in,
		   int n_in, const char *prefix, int line, struct nn_error *err);
/* Of a layer of several nodes: infix goes in front of a parameter's "weight". */
int nn_program_name(struct nn_program *program, int param, const char *infix, struct nn_error *err);
int nn_program_output(struct nn_program *program, int value, const char *name,
		      struct nn_error *err);
/*
 * The same network for one step a call of the sequence that is its only input, with the same
 * parameters: its answers are those of the whole sequence, step by step. *most: steps there can be,
 * 0: any number. NULL and nothing in err: it needs the sequence as a whole.
 */
struct nn_program *nn_program_step(const struct nn_program *program, size_t *most,
				   struct nn_error *err);
/* Does the node have parameters that are trained? And are some kept as they are? */
bool nn_node_trains(const struct nn_program *program, const struct nn_node *node);
bool nn_node_frozen(const struct nn_program *program, const struct nn_node *node);
/* Rows of the smallest table whose numbers input i holds; 0: it holds no such numbers. */
size_t nn_program_categories(const struct nn_program *program, int input);
/* The size of batch-norm groups, 0 if there is none. */
size_t nn_program_group(const struct nn_program *program);

/* Elements of all parameters; trained: without buffers. */
size_t nn_program_parameters(const struct nn_program *program, bool trained);

#endif
