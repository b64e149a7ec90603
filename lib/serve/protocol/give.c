/* Outputs as text: floats as each protocol writes them, shapes as nested arrays. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "serve/protocol/give.h"

void nn_give_float(struct nn_text *text, float value, enum nn_style style)
{
	char number[NN_NUMBER];

	if (style == NN_STYLE_V1)
		nn_text_add_bytes(text, number, nn_format_f32_g(number, value));
	else if (isfinite(value))
		nn_text_add_bytes(text, number, nn_format_f32(number, value));
	else
		nn_text_add_bytes(text, "null", 4);
}

/* ---- rows ---- */

struct nn_shape nn_give_shape(const struct nn_query *q, size_t output, size_t row)
{
	const struct nn_port *port = &q->served->outputs[output];
	struct nn_shape shape = port->shape;

	if (port->steps && q->job.lengths)
		shape.dim[0] = q->job.lengths[row];
	return shape;
}

struct nn_given nn_give_row(const struct nn_query *q, size_t output, size_t row)
{
	const struct nn_served *served = q->served;
	struct nn_given given = { .n = 0 };
	size_t at = 0;

	for (size_t o = 0; o < served->n_outputs && o <= output; o++)
		if (!served->outputs[o].text) {
			struct nn_shape shape = nn_give_shape(q, o, row);

			given.first = at;
			given.classes = served->outputs[o].classes;
			given.n = nn_shape_count(&shape);
			at += served->outputs[o].size;
		}
	if (given.n == 0)
		given.n = served->row_out;
	given.values = (const float *)q->job.out + row * served->row_out + given.first;
	return given;
}

size_t nn_give_best(const struct nn_query *q, const struct nn_given *given)
{
	size_t best = 0;

	if (q->served->classifies && given->n == 2 && q->served->model->threshold > 0)
		return given->values[1] >= (float)q->served->model->threshold;
	for (size_t c = 1; c < given->n; c++)
		if (given->values[c] > given->values[best] ||
		    (isnan(given->values[c]) && !isnan(given->values[best])))
			best = c;
	return best;
}

const char *nn_give_label(const struct nn_query *q, const struct nn_given *given, size_t c,
			  char buffer[24])
{
	const char *label =
		given->classes ? nn_model_label(q->served->model, given->first + c) : NULL;

	if (label)
		return label;
	snprintf(buffer, 24, "%zu", c);
	return buffer;
}

/* Is class a before b? Not a number is first, as it is the best above; of equals the smaller. */
static bool is_before(const float *values, size_t a, size_t b)
{
	if (isnan(values[a]) || isnan(values[b]))
		return isnan(values[a]) && (!isnan(values[b]) || a < b);
	return values[a] != values[b] ? values[a] > values[b] : a < b;
}

/* A heap whose root is the last of all: what stands at `at` goes down to its place. */
static void sink(const float *values, size_t *heap, size_t n, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		size_t c = heap[at];

		if (child + 1 < n && is_before(values, heap[child], heap[child + 1]))
			child++;
		if (is_before(values, heap[child], c))
			return;
		heap[at] = heap[child];
		heap[child] = c;
	}
}

void nn_give_top(const struct nn_given *given, size_t k, size_t *order)
{
	const float *values = given->values;
	size_t n = k < given->n ? k : given->n;

	for (size_t c = 0; c < n; c++)
		order[c] = c;
	for (size_t at = n / 2; at-- > 0;)
		sink(values, order, n, at);
	for (size_t c = n; n > 0 && c < given->n; c++)
		if (is_before(values, c, order[0])) {
			order[0] = c;
			sink(values, order, n, 0);
		}
	while (n-- > 1) {
		size_t last = order[0];

		order[0] = order[n];
		order[n] = last;
		sink(values, order, n, 0);
	}
}

static void give_dims(struct nn_text *text, const float **values, const size_t *dims, int rank,
		      enum nn_style style)
{
	nn_text_add_bytes(text, "[", 1);
	for (size_t i = 0; i < dims[0]; i++) {
		if (i)
			nn_text_add_bytes(text, ",", 1);
		if (rank > 1)
			give_dims(text, values, dims + 1, rank - 1, style);
		else
			nn_give_float(text, *(*values)++, style);
	}
	nn_text_add_bytes(text, "]", 1);
}

void nn_give_nested(const struct nn_query *q, struct nn_text *text, size_t output, size_t row,
		    enum nn_style style)
{
	const struct nn_port *port = &q->served->outputs[output];
	struct nn_given given = nn_give_row(q, output, row);
	struct nn_shape shape = nn_give_shape(q, output, row);
	const char *label;
	char buffer[24];

	if (port->text) {
		label = nn_give_label(q, &given, nn_give_best(q, &given), buffer);
		nn_text_add_json(text, label, strlen(label));
	} else if (!port->fixed || shape.rank == 0) {
		nn_give_float(text, *given.values, style);
	} else {
		give_dims(text, &given.values, shape.dim, shape.rank, style);
	}
}
