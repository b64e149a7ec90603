/*
 * rnn, lstm, gru and last as nodes. A layer of both directions is one node; steps come first there,
 * so a Transpose stands before it, and behind it one with a Reshape that joins the directions.
 */
#include <string.h>

#include "onnx/export/op.h"
#include "onnx/cell.h"

/* "lstm.W_l1": of layer k of a line. */
static const char *part(const struct nn_onnx_op *o, const char *what)
{
	const struct nn_recurrent *r = o->attrs;

	return nn_onnx_keep_text(o->e, "%s.%s_l%u", o->name, what, r->layer);
}

static bool back_of(const struct nn_node *node, const struct nn_node *forward)
{
	return node->op == NN_OP_recurrent && node->line == forward->line &&
	       ((const struct nn_recurrent *)node->attrs)->reverse;
}

bool nn_onnx_is_part_of_recurrent(const struct nn_onnx_export *e, const struct nn_node *node)
{
	const struct nn_node *before = node - 1;

	return node > e->program->nodes && before->op == NN_OP_recurrent &&
	       before->line == node->line && (node->op == NN_OP_concat || back_of(node, before));
}

/*
 * Parameters p and maybe p + 1 of all directions as one tensor: blocks of units x width, gates in
 * the order of ONNX.
 */
static const char *tensor(const struct nn_onnx_op *o, const char *what, int p, int n, size_t ways)
{
	const struct nn_recurrent *r = o->attrs;
	const struct nn_onnx_cell *cell = nn_onnx_cell_of(r->cell);
	const void *const *params = o->e->model->params;
	const struct nn_shape *one = &o->e->program->params[o->node->param + p].desc.shape;
	size_t width = one->rank == 2 ? one->dim[1] : 1,
	       size = r->units * width * nn_dtype_size(o->e->model->dtype);
	struct nn_shape shape = one->rank == 2 ? nn_shape3(ways, one->dim[0], width)
					       : nn_shape2(ways, (size_t)n * one->dim[0]);
	char *data = params ? nn_onnx_keep(o->e, ways * (size_t)n * cell->n_gates, size) : NULL,
	     *to = data;
	const char *name = part(o, what);

	for (size_t way = 0; data && way < ways; way++)
		for (int i = 0; i < n; i++, to += cell->n_gates * size)
			for (size_t k = 0; k < cell->n_gates; k++)
				memcpy(to + cell->theirs[k] * size,
				       (const char *)params[o->node[way].param + p + i] + k * size,
				       size);
	nn_onnx_tensor(o->e, name, o->e->model->dtype, &shape, data);
	return name;
}

static const char *transposed(const struct nn_onnx_op *o, const char *what, const char *in,
			      const int64_t *perm, size_t n)
{
	const char *out = part(o, what);

	nn_onnx_put_ints(o->e, nn_onnx_node(o->e, "Transpose", out, out, IN(in)), "perm", perm, n);
	return out;
}

static void join_ways(const struct nn_onnx_op *o, const char *in, const char *out, size_t width)
{
	struct nn_shape three = nn_shape1(3);
	const char *sizes = part(o, "shape");
	int64_t *dims = nn_onnx_keep(o->e, 3, sizeof *dims);

	if (dims) {
		dims[1] = (int64_t)nn_onnx_shape_in(o)->dim[0];
		dims[2] = (int64_t)width;
	}
	nn_onnx_tensor(o->e, sizes, NN_I64, &three, dims);
	nn_onnx_node(o->e, "Reshape", part(o, "joined"), out, IN(in, sizes));
}

void nn_onnx_put_recurrent(const struct nn_onnx_op *o)
{
	static const int64_t to_steps[] = { 1, 0, 2 }, to_rows[] = { 2, 0, 1, 3 };
	const struct nn_recurrent *r = o->attrs;
	const struct nn_onnx_cell *cell = nn_onnx_cell_of(r->cell);
	const struct nn_node *end = o->e->program->nodes + o->e->program->n_nodes;
	size_t ways = o->node + 1 < end && back_of(o->node + 1, o->node) ? 2 : 1;
	const char *in = o->e->names[o->node->in[0]], *y = part(o, "steps");
	const char *x = transposed(o, "in", in, to_steps, 3), *w = tensor(o, "W", 0, 1, ways),
		   *h = tensor(o, "R", 1, 1, ways),
		   *b = r->bias ? tensor(o, "B", 2, 2, ways) : NULL;
	Onnx__Node *n = nn_onnx_node(o->e, cell->op, y, y, IN(x, w, h, b));

	nn_onnx_put_int(o->e, n, "hidden_size", (int64_t)r->units);
	if (ways == 2)
		nn_onnx_put_text(o->e, n, "direction", "bidirectional");
	if (cell->after_product)
		nn_onnx_put_int(o->e, n, "linear_before_reset", 1);
	if (r->cell == NN_CELL_RNN_RELU)
		nn_onnx_put_texts(o->e, n, "activations", "Relu", ways);
	join_ways(o, transposed(o, "rows", y, to_rows, 4),
		  o->e->names[o->node[ways == 2 ? 2 : 0].out], ways * r->units);
}

void nn_onnx_put_last(const struct nn_onnx_op *o)
{
	struct nn_shape scalar = { 0 };
	const char *place = nn_onnx_part(o, "place");
	int64_t *last = nn_onnx_keep(o->e, 1, sizeof *last);
	Onnx__Node *n;

	if (last)
		*last = -1;
	nn_onnx_tensor(o->e, place, NN_I64, &scalar, last);
	n = nn_onnx_node(o->e, "Gather", o->name, o->out, IN(o->in, place));
	nn_onnx_put_int(o->e, n, "axis", 1);
}
