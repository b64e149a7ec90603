/*
 * RNN, LSTM and GRU become rnn, lstm and gru: their gates stand in another order, both directions
 * in one tensor, and steps come before rows unless layout says otherwise.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/ops.h"
#include "onnx/cell.h"

struct recurrent {
	const struct nn_onnx_cell *cell;
	struct nn_onnx_value *x;
	const struct nn_onnx_constant *w, *r, *b; /* b NULL: none */
	size_t steps, width, units, ways;
	bool relu;
	bool rows_first;
};

static const char *const names[4][2] = { { "weight_ih_l0", "weight_ih_l0_reverse" },
					 { "weight_hh_l0", "weight_hh_l0_reverse" },
					 { "bias_ih_l0", "bias_ih_l0_reverse" },
					 { "bias_hh_l0", "bias_hh_l0_reverse" } };

/* ---- what is supported ---- */

static bool same_word(const ProtobufCBinaryData *word, const char *name)
{
	bool same = word->len == strlen(name);

	for (size_t i = 0; same && i < word->len; i++)
		same = (word->data[i] | 0x20) == (name[i] | 0x20);
	return same;
}

/* The usual functions of the cell, or of RNN Relu in all directions. */
static int take_activations(struct recurrent *r, const struct nn_onnx_node *node,
			    struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "activations");
	size_t n = a ? a->n_strings : 0, relus = 0;
	bool usual = true;

	for (size_t i = 0; i < n; i++) {
		usual &= same_word(&a->strings[i], r->cell->usual[i % r->cell->n_usual]);
		relus += same_word(&a->strings[i], "Relu");
	}
	r->relu = r->cell->n_usual == 1 && n == r->ways && relus == n;
	if ((!usual && !r->relu) || (n > 0 && n != r->ways * r->cell->n_usual) ||
	    nn_onnx_attribute(node->proto, "activation_alpha") ||
	    nn_onnx_attribute(node->proto, "activation_beta"))
		return nn_fail(err, NN_EFORMAT,
			       "other activations than the usual ones are not "
			       "supported");
	return 0;
}

static int take_attributes(struct recurrent *r, const struct nn_onnx_node *node,
			   struct nn_error *err)
{
	const Onnx__Node *n = node->proto;
	bool both = nn_onnx_string_is(n, "direction", "bidirectional", false);

	r->ways = both ? 2 : 1;
	r->rows_first = nn_onnx_int(n, "layout", 0) != 0;
	if (!both && !nn_onnx_string_is(n, "direction", "forward", true))
		return nn_fail(err, NN_EFORMAT,
			       "the reverse direction alone is not supported, only forward and "
			       "bidirectional");
	if (nn_onnx_attribute(n, "clip") || nn_onnx_int(n, "input_forget", 0) != 0)
		return nn_fail(err, NN_EFORMAT, "clip and input_forget are not supported");
	if (r->cell->after_product && nn_onnx_int(n, "linear_before_reset", 0) == 0)
		return nn_fail(err, NN_EFORMAT,
			       "linear_before_reset=0 is not supported: the reset gate of gru is "
			       "applied behind the product");
	return take_activations(r, node, err);
}

/* The state begins as zeros, all rows have all steps, and gates do not look at the cell. */
static int check_rest(const struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	static const struct {
		size_t input;
		const char *what;
	} others[] = { { 4, "sequence_lens" }, { 7, "peepholes" } };

	for (size_t i = 0; i < 2; i++)
		if (nn_onnx_in(g, node, others[i].input))
			return nn_fail(err, NN_EFORMAT, "%s are not supported", others[i].what);
	for (size_t i = 5; i <= 6; i++) {
		const struct nn_onnx_value *v = nn_onnx_in(g, node, i);

		for (size_t k = 0; v && (!v->constant || k < v->constant->count); k++)
			if (!v->constant || nn_onnx_real(v->constant, k) != 0)
				return nn_fail(err, NN_EFORMAT,
					       "a state that does not begin as zeros is not "
					       "supported");
	}
	if (node->proto->n_output > 2 && node->out[2] >= 0 && g->values[node->out[2]].uses > 0)
		return nn_fail(err, NN_EFORMAT, "the last cell (output 3) is not supported");
	return 0;
}

/* ---- weights ---- */

static int check_shape(const struct nn_onnx_constant *c, const char *what,
		       const struct nn_shape *wanted, struct nn_error *err)
{
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (nn_shape_equal(&c->shape, wanted) && nn_dtype_float(c->dtype))
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s is %s (%s), expected %s of numbers", what,
		       nn_shape_text(a, &c->shape), nn_dtype_name(c->dtype),
		       nn_shape_text(b, wanted));
}

static int take_weights(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			struct recurrent *r, struct nn_error *err)
{
	struct nn_shape w, hidden, bias;
	size_t gates = r->cell->n_gates, rows;

	if (nn_onnx_in_constant(g, node, 1, &r->w, err) < 0 ||
	    nn_onnx_in_constant(g, node, 2, &r->r, err) < 0 ||
	    (nn_onnx_in(g, node, 3) && nn_onnx_in_constant(g, node, 3, &r->b, err) < 0))
		return -1;
	r->units = r->r->shape.rank == 3 ? r->r->shape.dim[2] : 0;
	if (r->units == 0 || !nn_mul(gates * 2, r->units, &rows))
		return nn_fail(err, NN_EFORMAT, "R is no tensor of recurrence weights");
	w = nn_shape3(r->ways, rows / 2, r->width);
	hidden = nn_shape3(r->ways, rows / 2, r->units);
	bias = nn_shape2(r->ways, rows);
	return check_shape(r->w, "W", &w, err) < 0 || check_shape(r->r, "R", &hidden, err) < 0 ||
			       (r->b && check_shape(r->b, "B", &bias, err) < 0)
		       ? -1
		       : 0;
}

/* Blocks of `width` values a unit, of one direction: gates in our order. */
struct blocks {
	const struct nn_onnx_constant *from;
	size_t all, first; /* blocks of a direction, and the first of them that is meant */
	size_t width;
};

static int add_blocks(struct nn_onnx_graph *g, const struct recurrent *r, int line,
		      const char *name, const struct blocks *b, size_t way, struct nn_error *err)
{
	struct nn_onnx_constant *made = nn_onnx_constant_new(g, err);
	size_t gates = r->cell->n_gates, size = r->units * b->width * nn_dtype_size(b->from->dtype);
	struct nn_shape shape =
		b->width == 0 ? nn_shape1(gates * r->units) : nn_shape2(gates * r->units, b->width);

	if (b->width == 0)
		size = r->units * nn_dtype_size(b->from->dtype);
	if (!made || nn_onnx_constant_room(made, b->from->dtype, &shape, err) < 0)
		return -1;
	for (size_t k = 0; k < gates; k++)
		memcpy(nn_block_at(&made->owned, k * size),
		       (const char *)nn_onnx_data(b->from) +
			       (way * b->all + b->first + r->cell->theirs[k]) * size,
		       size);
	return nn_onnx_add_parameter(g, line, name, made, &shape, err);
}

static int add_weights(struct nn_onnx_graph *g, const struct recurrent *r, int line,
		       struct nn_error *err)
{
	size_t gates = r->cell->n_gates;
	const struct blocks blocks[4] = { { r->w, gates, 0, r->width },
					  { r->r, gates, 0, r->units },
					  { r->b, 2 * gates, 0, 0 },
					  { r->b, 2 * gates, gates, 0 } };

	for (size_t way = 0; way < r->ways; way++)
		for (size_t i = 0; i < (r->b ? 4u : 2u); i++)
			if (add_blocks(g, r, line, names[i][way], &blocks[i], way, err) < 0)
				return -1;
	return 0;
}

/* ---- what comes out ---- */

static void give(struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t k, int line,
		 const struct nn_shape *shape, const struct nn_shape *held, int rows)
{
	nn_onnx_give_held(g, node, k, line, shape, held);
	if (k < node->proto->n_output && node->out[k] >= 0)
		g->values[node->out[k]].rows = rows;
}

/* The last state of each direction: that of the way back is the first step's. */
static int last_of(struct nn_onnx_graph *g, const struct recurrent *r, int line,
		   struct nn_error *err)
{
	int last = nn_onnx_add_line(g, &line, 1, NULL, NULL, err, "last"), ways[2], back;

	if (last < 0 || r->ways == 1)
		return last;
	ways[0] = nn_onnx_add_line(g, &last, 1, NULL, NULL, err, "slice 0 %zu", r->units);
	back = nn_onnx_add_line(g, &line, 1, NULL, NULL, err, "slice 0 1");
	back = back < 0 ? -1
			: nn_onnx_add_line(g, &back, 1, NULL, NULL, err, "slice %zu %zu dim=1",
					   r->units, 2 * r->units);
	ways[1] = back < 0 ? -1 : nn_onnx_add_line(g, &back, 1, NULL, NULL, err, "flatten");
	return ways[0] < 0 || ways[1] < 0 ? -1
					  : nn_onnx_add_line(g, ways, 2, NULL, NULL, err, "concat");
}

static int give_all(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		    const struct recurrent *r, int line, struct nn_error *err)
{
	struct nn_shape steps = nn_shape3(r->steps, r->ways, r->units),
			state = nn_shape2(r->ways, r->units),
			held = nn_shape2(r->steps, r->ways * r->units),
			held_state = nn_shape1(r->ways * r->units);
	bool wants_state =
		node->proto->n_output > 1 && node->out[1] >= 0 && g->values[node->out[1]].uses > 0;

	give(g, node, 0, line, &steps, &held, r->rows_first ? 0 : 2);
	if (!wants_state)
		return 0;
	line = last_of(g, r, line, err);
	if (line < 0)
		return -1;
	give(g, node, 1, line, &state, &held_state, r->rows_first ? 0 : 1);
	return 0;
}

int nn_onnx_recurrent(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		      struct nn_error *err)
{
	struct recurrent r = { .cell = nn_onnx_cell_named(node->proto->op_type) };
	char text[NN_SHAPE_TEXT];
	int from, line;

	if (nn_onnx_in_rows(g, node, 0, &r.x, err) < 0 || take_attributes(&r, node, err) < 0 ||
	    check_rest(g, node, err) < 0)
		return -1;
	if (r.x->shape.rank != 2 || r.x->rows != !r.rows_first)
		return nn_fail(err, NN_EFORMAT,
			       "rows of %s as dimension %d are not supported, only of steps and "
			       "values, as dimension %d",
			       nn_shape_text(text, &r.x->shape), r.x->rows + 1, 1 + !r.rows_first);
	r.steps = r.x->shape.dim[0];
	r.width = r.x->shape.dim[1];
	if (take_weights(g, node, &r, err) < 0)
		return -1;
	from = nn_onnx_line_of(g, r.x, err);
	line = from < 0 ? -1
			: nn_onnx_add_line(g, &from, 1, node->proto->input[1], node->proto, err,
					   "%s %zu%s%s%s", r.cell->layer, r.units,
					   r.relu ? " nonlinearity=relu" : "",
					   r.ways == 2 ? " bidirectional=yes" : "",
					   r.b ? "" : " bias=no");
	return line < 0 || add_weights(g, &r, line, err) < 0 ? -1
							     : give_all(g, node, &r, line, err);
}
