/* From a graph to a model: inputs, nodes in their order, outputs. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/module.h"
#include "onnx/ops.h"

/* The shape of a row: all dimensions but the first, which must be numbers. */
static int input_shape(const Onnx__Value *input, bool index, struct nn_shape *shape,
		       struct nn_error *err)
{
	const Onnx__TensorType *type = input->type ? input->type->tensor_type : NULL;
	size_t bytes, n = type && type->shape ? type->shape->n_dim : 0;
	char quoted[NN_QUOTED];
	int dtype;

	if (n == 0 || n > NN_MAX_RANK + 1)
		return nn_fail(err, NN_EFORMAT,
			       "has %zu dimensions, expected rows and 1 to %d more", n,
			       NN_MAX_RANK);
	dtype = nn_onnx_dtype(type->elem_type);
	if (dtype != NN_F32 && dtype != NN_F64 && dtype != NN_F16 && dtype != NN_U8 &&
	    !(index && (dtype == NN_I32 || dtype == NN_I64)))
		return nn_fail(err, NN_EFORMAT,
			       "has element type %d, supported are numbers as float, double, "
			       "float16 and uint8, and int32 and int64 for rows of a table",
			       type->elem_type);
	shape->rank = (int)n - 1;
	for (size_t i = 1; i < n; i++) {
		const Onnx__Dimension *d = type->shape->dim[i];
		const char *name = d->param ? d->param : "?";

		if (!d->has_value || d->value < 1)
			return nn_fail(err, NN_EFORMAT,
				       "dimension %zu (%s) has no size; only the first one, the "
				       "rows, may be open",
				       i + 1, nn_quote(quoted, name, strlen(name)));
		shape->dim[i - 1] = (size_t)d->value;
	}
	if (!nn_shape_check(shape, sizeof(double), &bytes))
		return nn_fail(err, NN_EFORMAT, "the product of its dimensions overflows");
	return 0;
}

/* Those that something is computed of; a constant, which an initializer may be, is none. */
static int import_inputs(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;
	char quoted[NN_QUOTED];
	size_t n = 0;
	int number = 0;

	for (size_t i = 0; i < graph->n_input; i++) {
		const struct nn_onnx_value *v =
			&g->values[nn_names_find(g->names, graph->input[i]->name)];

		n += !v->constant && v->uses > 0;
	}
	for (size_t i = 0; i < graph->n_input; i++) {
		const char *name = graph->input[i]->name;
		struct nn_onnx_value *v = &g->values[nn_names_find(g->names, name)];

		if (v->constant || v->uses == 0)
			continue;
		if (input_shape(graph->input[i], nn_onnx_is_index(g, v), &v->shape, err) < 0)
			return nn_fail_at(err, "input '%s'", nn_quote(quoted, name, strlen(name)));
		if (nn_onnx_add_input(g, number++, v, n == 1, err) < 0)
			return -1;
	}
	return n > 0 ? 0 : nn_fail(err, NN_EFORMAT, "the graph computes nothing from an input");
}

/* What follows a recurrent layer may have its rows elsewhere, which few ops take. */
static int check_rows(const struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	for (size_t i = 0; i < node->proto->n_input; i++) {
		const struct nn_onnx_value *v = nn_onnx_in(g, node, i);

		if (v && v->rows > 0 && (node->match.layer || !nn_onnx_op_moves(node->proto)))
			return nn_fail(err, NN_EFORMAT,
				       "takes rows that are dimension %d, expected the first one "
				       "(a Transpose, or batch_first=True in PyTorch)",
				       v->rows + 1);
	}
	return 0;
}

static int import_node(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	const char *op = node->proto->op_type ? node->proto->op_type : "";
	char quoted[NN_QUOTED];
	nn_onnx_import_op *import =
		node->match.layer ? nn_onnx_matched : nn_onnx_op_find(node->proto);
	bool done = false;
	int status = 0;

	if (node->proto->n_output == 0 || (node->out[0] < 0 && import != nn_onnx_recurrent))
		return nn_fail(err, NN_EFORMAT, "has no first output");
	if (!node->proto->op_type)
		return nn_fail(err, NN_EFORMAT, "has no op_type");
	nn_quote(quoted, op, strlen(op));
	if (!node->match.layer)
		status = nn_onnx_fold(g, node, &done, err);
	if (status == 0 && !done && !import)
		return nn_fail(err, NN_EFORMAT, "op %s is not supported", quoted);
	if (status == 0 && !done)
		status = nn_onnx_attributes_check(node->proto, err);
	if (status == 0 && !done)
		status = check_rows(g, node, err);
	if (status == 0 && !done)
		status = import(g, node, err);
	return status < 0 ? nn_fail_at(err, "%s", quoted) : 0;
}

/* Constants come first, for patterns have them (match.c). */
static int import_constants(struct nn_onnx_graph *g, struct nn_error *err)
{
	for (int i = 0; i < g->n_nodes; i++) {
		struct nn_onnx_node *node = &g->nodes[i];
		bool done;

		if (!node->live || !node->proto->op_type || node->out[0] < 0 ||
		    strcmp(node->proto->op_type, "Constant") != 0)
			continue;
		if (nn_onnx_fold(g, node, &done, err) < 0)
			return nn_fail_at(err, "node %d: Constant", i + 1);
		node->live = false;
	}
	nn_onnx_match(g);
	return 0;
}

static int import_nodes(struct nn_onnx_graph *g, struct nn_error *err)
{
	for (int i = 0; i < g->n_nodes; i++) {
		const struct nn_onnx_node *node = &g->nodes[i];
		const char *name = node->proto->name ? node->proto->name : "";
		char quoted[NN_QUOTED];

		if (!node->live || node->inside || import_node(g, node, err) == 0)
			continue;
		nn_quote(quoted, name, strlen(name));
		return *name ? nn_fail_at(err, "node %d (%s)", i + 1, quoted)
			     : nn_fail_at(err, "node %d", i + 1);
	}
	return 0;
}

/*
 * Output i as the line that gives it. An input of the graph, an output already taken, and one that
 * is not the last line of a net with one output, go through a line of their own.
 */
static int import_output(struct nn_onnx_graph *g, size_t i, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;
	struct nn_onnx_value *v = &g->values[nn_names_find(g->names, graph->output[i]->name)];
	bool same, several = graph->n_output > 1;
	int line;

	if (v->constant)
		return nn_fail(err, NN_EFORMAT, "is a constant");
	if (v->rows > 0)
		return nn_fail(err, NN_EFORMAT, "has its rows as dimension %d, expected the first",
			       v->rows + 1);
	if (nn_onnx_output_scale(g, (int)i, v, &same, err) < 0)
		return -1;
	if (same)
		v->affine.n = 0;
	line = nn_onnx_line_of(g, v, err);
	if (line < 0)
		return -1;
	if (g->lines[line].input >= 0 || g->lines[line].output ||
	    (!several && line != g->n_lines - 1))
		line = nn_onnx_add_line(g, &line, 1, NULL, NULL, err, "identity");
	if (line < 0)
		return -1;
	g->lines[line].output = several;
	if (several && !g->lines[line].name && nn_is_name(v->name, strlen(v->name)))
		g->lines[line].name = nn_strdup(v->name, err);
	return 0;
}

static int import(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;
	char quoted[NN_QUOTED];

	if (import_constants(g, err) < 0 || import_inputs(g, err) < 0 || import_nodes(g, err) < 0)
		return -1;
	for (size_t i = 0; i < graph->n_output; i++)
		if (import_output(g, i, err) < 0)
			return nn_fail_at(err, "output '%s'",
					  nn_quote(quoted, graph->output[i]->name,
						   strlen(graph->output[i]->name)));
	return 0;
}

int nn_onnx_read(struct nn_st **st, struct nn_input *input, bool beside, bool later,
		 struct nn_error *err)
{
	struct nn_onnx_file file = { .path = nn_input_name(input), .beside = beside, .later = later };
	struct nn_onnx_graph graph = { 0 };
	int status = nn_onnx_file_read(&file, input, err);

	if (status == 0)
		status = nn_onnx_graph_open(&graph, &file, err);
	if (status == 0 &&
	    (import(&graph, err) < 0 || nn_onnx_graph_write(&graph, &file.skeleton, st, err) < 0))
		status = nn_fail_at(err, "%s", file.path);
	nn_onnx_graph_close(&graph);
	nn_onnx_file_free(&file);
	return status;
}
