/*
 * Recurrent layers of Keras under the words of PyTorch's: a kernel [in,gates] and a
 * recurrent_kernel [units,gates], the gates of an LSTM i, f, c, o as ours, those of a GRU z, r, h,
 * which are r, z, n here. There is one bias, of a GRU (reset_after) two in one array.
 *
 * NAME/lstm_cell/kernel becomes NAME/kernel_ih_l0; of the two in a Bidirectional
 * NAME/backward_lstm/lstm_cell/kernel becomes NAME/kernel_ih_l0_reverse. Arrays without names
 * (arr_0, as get_weights gives them) are a cell where their shapes say so: arr_0.kernel_ih_l0.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/match/keras.h"
#include "model/net.h"

struct cell {
	const struct nn_st_tensor *kernel, *recurrent, *bias; /* NULL: it has no bias */
	size_t gates;
};

/* ---- names ---- */

/* The bytes of a name before its last word; *n: those of the word, without TensorFlow's ":0". */
static size_t before_word(const char *name, size_t *n)
{
	size_t at = strlen(name);

	while (at > 0 && name[at - 1] != '/' && name[at - 1] != '.')
		at--;
	*n = strcspn(name + at, ":");
	return at;
}

static bool is_word(const char *name, const char *word)
{
	size_t n, at = before_word(name, &n);

	return strlen(word) == n && memcmp(name + at, word, n) == 0;
}

static bool named_so(const char *part, size_t n, const char *word)
{
	return n >= strlen(word) && memcmp(part, word, strlen(word)) == 0;
}

/* lstm_cell, gru_cell_1 */
static bool is_cell(const char *part, size_t n)
{
	while (n > 0 && ((part[n - 1] >= '0' && part[n - 1] <= '9') || part[n - 1] == '_'))
		n--;
	return n > 5 && memcmp(part + n - 5, "_cell", 5) == 0;
}

/* The layer's name in front of ours; is it the way back of two? */
static bool add_layer(struct nn_text *text, const char *name)
{
	size_t n, all = before_word(name, &n);
	bool reverse = false;

	for (size_t at = 0; at < all; at += n + 1) {
		n = strcspn(name + at, "/.");
		reverse |= named_so(name + at, n, "backward_");
		if (!is_cell(name + at, n) && !named_so(name + at, n, "backward_") &&
		    !named_so(name + at, n, "forward_"))
			nn_text_add_bytes(text, name + at, n + 1);
	}
	return reverse;
}

/* The tensor beside `name` with another last word; NULL. */
static const struct nn_st_tensor *beside(const struct nn_st *st, const char *name, const char *word)
{
	size_t n, at = before_word(name, &n);
	const struct nn_st_tensor *tensor;
	struct nn_text text = { 0 };

	nn_text_add_bytes(&text, name, at);
	nn_text_addf(&text, "%s%s", word, name + at + n);
	tensor = text.failed ? NULL : nn_st_find(st, text.data);
	nn_text_free(&text);
	return tensor;
}

/* ---- which tensors are a cell ---- */

/* Gates by shape; 0: no kernel and recurrent_kernel of one cell. */
static size_t gates_of(const struct nn_st_tensor *kernel, const struct nn_st_tensor *recurrent)
{
	const size_t *k, *r;

	if (!kernel || !recurrent || kernel->shape.rank != 2 || recurrent->shape.rank != 2)
		return 0;
	k = kernel->shape.dim;
	r = recurrent->shape.dim;
	if (r[0] == 0 || r[1] % r[0] != 0 || k[1] != r[1])
		return 0;
	return r[1] / r[0] == 1 || r[1] / r[0] == 3 || r[1] / r[0] == 4 ? r[1] / r[0] : 0;
}

static bool is_bias(const struct nn_st_tensor *t, const struct cell *c)
{
	struct nn_shape one = nn_shape1(c->recurrent->shape.dim[1]),
			two = nn_shape2(2, c->recurrent->shape.dim[1]);

	return t && nn_shape_equal(&t->shape, c->gates == 3 ? &two : &one);
}

static int wrong(const struct nn_st_tensor *t, const char *wanted, const char *place,
		 struct nn_error *err)
{
	char quoted[NN_QUOTED], shape[NN_SHAPE_TEXT];

	return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is %s, expected %s", place,
		       nn_quote(quoted, t->name, strlen(t->name)), nn_shape_text(shape, &t->shape),
		       wanted);
}

/* The cell of a recurrent_kernel. */
static int named_cell(struct cell *c, const struct nn_st *st, const struct nn_st_tensor *recurrent,
		      const char *place, struct nn_error *err)
{
	*c = (struct cell){ .kernel = beside(st, recurrent->name, "kernel"),
			    .recurrent = recurrent,
			    .bias = beside(st, recurrent->name, "bias") };
	c->gates = gates_of(c->kernel, recurrent);
	if (c->gates == 0)
		return wrong(recurrent,
			     "[units,gates] beside a kernel [in,gates], with units, three or four "
			     "times units for gates",
			     place, err);
	if (c->bias && !is_bias(c->bias, c))
		return wrong(c->bias,
			     c->gates == 3 ? "two rows of gates: a GRU needs reset_after=True"
					   : "a number for each gate",
			     place, err);
	return 0;
}

static const struct nn_st_tensor *numbered(const struct nn_st *st, size_t i)
{
	char name[32];

	snprintf(name, sizeof name, "arr_%zu", i);
	return nn_st_find(st, name);
}

static bool has_line(const struct nn_net *net, const char *layer)
{
	for (size_t i = 0; i < net->n_statements; i++)
		if (net->statements[i].layer && strcmp(net->statements[i].layer->name, layer) == 0)
			return true;
	return false;
}

/* The cell that begins with array i. One gate could be two dense layers: the net has to have it. */
static bool numbered_cell(struct cell *c, const struct nn_st *st, const struct nn_net *net,
			  size_t i)
{
	const struct nn_st_tensor *bias = numbered(st, i + 2);

	*c = (struct cell){ .kernel = numbered(st, i), .recurrent = numbered(st, i + 1) };
	c->gates = gates_of(c->kernel, c->recurrent);
	if (c->gates == 0 || !has_line(net, c->gates == 1 ? "rnn" : c->gates == 3 ? "gru" : "lstm"))
		return false;
	if (is_bias(bias, c))
		c->bias = bias;
	return true;
}

static size_t find_cells(struct cell *cells, const struct nn_st *st, const struct nn_net *net,
			 const char *place, struct nn_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < st->n_tensors; i++)
		if (is_word(st->tensors[i].name, "recurrent_kernel") &&
		    named_cell(&cells[n++], st, &st->tensors[i], place, err) < 0)
			return SIZE_MAX;
	for (size_t i = 0; n == 0 && i + 1 < st->n_tensors && numbered(st, i); i++)
		while (numbered_cell(&cells[n], st, net, i)) {
			i += cells[n].bias ? 3 : 2;
			n++;
		}
	return n;
}

/* ---- as ours ---- */

/* Rows of gates; a GRU's first two change places. NULL: zeros. */
static int add(struct nn_st *own, const struct nn_st_tensor *like, const char *name,
	       const struct nn_shape *shape, const char *values, size_t gates, struct nn_error *err)
{
	size_t i = own->n_tensors++, size = nn_dtype_size(like->dtype),
	       row = shape->dim[shape->rank - 1] * size, gate = row / gates,
	       rows = row ? nn_shape_count(shape) * size / row : 0;
	char *to;

	own->names[i] = nn_strdup(name, err);
	if (!own->names[i] || nn_block_reserve(&own->arrays[i], rows * row + 1, err) < 0)
		return -1;
	to = own->arrays[i].data;
	own->tensors[i] = (struct nn_st_tensor){ own->names[i], like->dtype, *shape, to };
	if (!values)
		memset(to, 0, rows * row);
	for (size_t r = 0; values && r < rows; r++, to += row, values += row) {
		memcpy(to, values, row);
		if (gates == 3) {
			memcpy(to, values + gate, gate);
			memcpy(to + gate, values, gate);
		}
	}
	return 0;
}

static int add_part(struct nn_st *own, const struct cell *c, const struct nn_st_tensor *t,
		    const char *word, const struct nn_shape *shape, const char *values,
		    struct nn_error *err)
{
	struct nn_text name = { 0 };
	bool reverse = false;
	int status;

	if (is_word(c->recurrent->name, "recurrent_kernel"))
		reverse = add_layer(&name, t->name);
	else
		nn_text_addf(&name, "%s.", t->name);
	nn_text_addf(&name, "%s%s", word, reverse ? "_reverse" : "");
	status = name.failed ? nn_fail(err, NN_ENOMEM, "out of memory for names of tensors")
			     : add(own, t, name.data, shape, values, c->gates, err);
	nn_text_free(&name);
	return status;
}

static int add_cell(struct nn_st *own, const struct cell *c, struct nn_error *err)
{
	struct nn_shape one = nn_shape1(c->recurrent->shape.dim[1]);
	const char *bias = c->bias ? c->bias->data : NULL;

	if (add_part(own, c, c->kernel, "kernel_ih_l0", &c->kernel->shape, c->kernel->data, err) ||
	    add_part(own, c, c->recurrent, "kernel_hh_l0", &c->recurrent->shape, c->recurrent->data,
		     err))
		return -1;
	if (!bias)
		return 0;
	if (add_part(own, c, c->bias, "bias_ih_l0", &one, bias, err))
		return -1;
	bias += one.dim[0] * nn_dtype_size(c->bias->dtype);
	return add_part(own, c, c->bias, "bias_hh_l0", &one, c->gates == 3 ? bias : NULL, err);
}

static int turn_all(struct nn_st *own, const struct nn_st *st, const struct cell *cells, size_t n,
		    const char *place, struct nn_error *err)
{
	bool *taken = nn_alloc(st->n_tensors, sizeof *taken, err);
	int status = taken ? nn_st_reserve(own, st->n_tensors + n, err) : -1;
	const char *twice;
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < n && status == 0; i++) {
		status = add_cell(own, &cells[i], err);
		taken[cells[i].kernel - st->tensors] = true;
		taken[cells[i].recurrent - st->tensors] = true;
		if (cells[i].bias)
			taken[cells[i].bias - st->tensors] = true;
	}
	for (size_t i = 0; i < st->n_tensors && status == 0; i++)
		if (!taken[i])
			own->tensors[own->n_tensors++] = st->tensors[i];
	nn_free(taken);
	if (status < 0)
		return -1;
	twice = nn_st_sort(own->tensors, own->n_tensors);
	return twice ? nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is there twice", place,
			       nn_quote(quoted, twice, strlen(twice)))
		     : 0;
}

int nn_keras_cells(struct nn_st **st, const struct nn_net *net, const char *place,
		   struct nn_error *err)
{
	struct cell *cells = nn_alloc((*st)->n_tensors, sizeof *cells, err);
	struct nn_st *own = NULL;
	size_t n = cells ? find_cells(cells, *st, net, place, err) : SIZE_MAX;
	int status = n == SIZE_MAX ? -1 : 0;

	if (status == 0 && n > 0) {
		own = nn_alloc(1, sizeof *own, err);
		status = own ? turn_all(own, *st, cells, n, place, err) : -1;
	}
	nn_free(cells);
	if (status < 0) {
		nn_st_free(own);
		return -1;
	}
	if (own) {
		own->base = *st;
		*st = own;
	}
	return 0;
}
