/* Tables: Gather of a constant's rows is an embedding, the sum over them one with mode=sum. */
#include <string.h>

#include "base/memory.h"
#include "onnx/ops.h"

static bool is_gather(const struct nn_onnx_graph *g, const struct nn_onnx_node *node)
{
	return node->proto->op_type && strcmp(node->proto->op_type, "Gather") == 0 &&
	       node->proto->n_input == 2 && node->in[0] >= 0 &&
	       g->values[node->in[0]].constant != NULL;
}

bool nn_onnx_is_index(const struct nn_onnx_graph *g, const struct nn_onnx_value *v)
{
	int uses = 0;

	for (int i = v->first_use; i >= 0 && i <= v->last_use; i++)
		if (g->nodes[i].live && is_gather(g, &g->nodes[i]) &&
		    nn_onnx_in(g, &g->nodes[i], 1) == v)
			uses++;
	return uses > 0 && uses == v->uses;
}

/* Where its rows are without dimension `dim`. */
static int moved(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		 const struct nn_onnx_value *x, int dim)
{
	g->values[node->out[0]].rows = x->rows - (dim < x->rows);
	return 0;
}

/* One place of a dimension: of steps the last one is a layer of its own. */
static int select_place(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			struct nn_onnx_value *x, const struct nn_onnx_constant *at,
			struct nn_error *err)
{
	struct nn_shape shape = x->shape, held;
	int64_t place, size;
	int dim, from, line;

	if (at->count != 1 || at->shape.rank != 0 || !nn_onnx_is_whole(at))
		return nn_fail(err, NN_EFORMAT, "of several places is not supported");
	if (nn_onnx_axis_of(x, nn_onnx_int(node->proto, "axis", 0), &dim, err) < 0)
		return -1;
	size = (int64_t)shape.dim[dim];
	place = nn_onnx_whole(at, 0);
	place += place < 0 ? size : 0;
	if (place < 0 || place >= size)
		return nn_fail(err, NN_EFORMAT, "place %lld of %lld", (long long)place,
			       (long long)size);
	held = shape;
	held.dim[dim] = 1;
	for (int d = dim; d + 1 < shape.rank; d++)
		shape.dim[d] = shape.dim[d + 1];
	shape.rank--;
	if (size == 1)
		return nn_onnx_pass(g, node, x, &shape, err) < 0 ? -1 : moved(g, node, x, dim);
	from = nn_onnx_line_of(g, x, err);
	if (from < 0)
		return -1;
	if (dim == 0 && shape.rank == 1 && place == size - 1) {
		held = shape;
		line = nn_onnx_add_line(g, &from, 1, NULL, node->proto, err, "last");
	} else {
		line = nn_onnx_add_line(g, &from, 1, NULL, node->proto, err,
					"slice %lld %lld dim=%d", (long long)place,
					(long long)place + 1, dim);
	}
	if (line < 0)
		return -1;
	nn_onnx_give_held(g, node, 0, line, &shape, &held);
	return moved(g, node, x, dim);
}

int nn_onnx_gather(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	const struct nn_onnx_constant *table;
	struct nn_onnx_value *x, *v;
	struct nn_shape shape;
	char text[NN_SHAPE_TEXT];
	int from, line;

	x = nn_onnx_in(g, node, 0);
	if (x && !x->constant && nn_onnx_in_constant(g, node, 1, &table, err) == 0)
		return select_place(g, node, x, table, err);
	if (nn_onnx_in_constant(g, node, 0, &table, err) < 0 ||
	    nn_onnx_in_rows(g, node, 1, &x, err) < 0)
		return -1;
	if (table->shape.rank != 2 || !nn_dtype_float(table->dtype) || table->count == 0 ||
	    table->shape.dim[0] > NN_MOST_ROWS || nn_onnx_int(node->proto, "axis", 0) != 0)
		return nn_fail(err, NN_EFORMAT,
			       "of %s (%s) is not supported, only of the rows of a table of up to "
			       "%zu",
			       nn_shape_text(text, &table->shape), nn_dtype_name(table->dtype),
			       NN_MOST_ROWS);
	if (x->shape.rank >= NN_MAX_RANK || g->lines[x->line].input < 0 || x->rows > 0)
		return nn_fail(err, NN_EFORMAT,
			       "the numbers of rows must be an input of the graph");
	from = x->line;
	line = nn_onnx_add_line(g, &from, 1, g->values[node->in[0]].name, node->proto, err,
				"embedding %zu rows=%zu", table->shape.dim[1], table->shape.dim[0]);
	if (line < 0 || nn_onnx_add_parameter(g, line, "weight", table, &table->shape, err) < 0)
		return -1;
	shape = x->held;
	shape.dim[shape.rank++] = table->shape.dim[1];
	nn_onnx_give(g, node, line, &shape);
	v = &g->values[node->out[0]];
	v->shape = x->shape;
	v->shape.dim[v->shape.rank++] = table->shape.dim[1];
	return 0;
}

/* Over what a Gather gave and nobody else takes; axes are an input, before opset 13 an attribute.
 */
int nn_onnx_reduce_sum(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "axes");
	const struct nn_onnx_constant *c = NULL;
	struct nn_onnx_value *x;
	struct nn_onnx_line *line;
	struct nn_text text = { 0 };
	struct nn_shape shape;
	char *sum;
	int dim = -1;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    (!a && nn_onnx_in(g, node, 1) && nn_onnx_in_constant(g, node, 1, &c, err) < 0))
		return -1;
	if ((a                          ? a->n_ints
	     : c && nn_onnx_is_whole(c) ? c->count
					: 0) == 1 &&
	    nn_onnx_axis(a ? a->ints[0] : nn_onnx_whole(c, 0), x->shape.rank, &dim, err) < 0)
		return -1;
	line = &g->lines[x->line];
	if (x->node < 0 || !is_gather(g, &g->nodes[x->node]) || x->uses != 1 || dim < 0 ||
	    dim != x->shape.rank - 2 || nn_onnx_int(node->proto, "keepdims", 1) != 0)
		return nn_fail(err, NN_EFORMAT,
			       "only the sum of a table's rows over their numbers is supported");
	nn_text_addf(&text, "%s mode=sum", line->text);
	sum = text.failed ? NULL : nn_strdup(text.data, err);
	nn_text_free(&text);
	if (!sum)
		return nn_fail(err, NN_ENOMEM, "cannot allocate a line");
	nn_free(line->text);
	line->text = sum;
	shape = x->shape;
	shape.dim[shape.rank - 2] = shape.dim[shape.rank - 1];
	shape.rank--;
	nn_onnx_give(g, node, x->line, &shape);
	return 0;
}
