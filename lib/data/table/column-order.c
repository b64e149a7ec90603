/* Columns of a table that a schema knows by their positions in the training file. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/table/column-plan.h"

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static size_t n_hashed(const struct nn_input_schema *input)
{
	size_t n = 0;

	for (size_t c = 0; input->columns && c < input->n_columns; c++)
		n += input->columns[c].n_hashed;
	return n;
}

int nn_plan_order_init(struct nn_plan_order *o, const struct nn_table *t,
		       const struct nn_schema *schema, struct nn_error *err)
{
	size_t n = 0;

	*o = (struct nn_plan_order){ 0 };
	for (size_t i = 0; i < schema->n_inputs; i++)
		n += schema->inputs[i].n_columns + n_hashed(&schema->inputs[i]);
	o->others = nn_alloc(t->width, sizeof *o->others, err);
	o->positions = nn_alloc(n, sizeof *o->positions, err);
	if (!o->others || !o->positions)
		return -1;
	for (size_t i = 0; i < t->width; i++)
		if (!t->columns[i].target)
			o->others[o->n_others++] = i;
	n = 0;
	for (size_t i = 0; i < schema->n_inputs; i++)
		for (size_t c = 0; schema->inputs[i].columns && c < schema->inputs[i].n_columns;
		     c++) {
			const struct nn_column *column = &schema->inputs[i].columns[c];

			if (column->position)
				o->positions[n++] = column->position;
			for (size_t k = 0; k < column->n_hashed; k++)
				if (column->hashed[k].position)
					o->positions[n++] = column->hashed[k].position;
		}
	qsort(o->positions, n, sizeof *o->positions, by_size);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || o->positions[i] != o->positions[i - 1])
			o->positions[o->n_positions++] = o->positions[i];
	return 0;
}

void nn_plan_order_fini(struct nn_plan_order *o)
{
	nn_free(o->others);
	nn_free(o->positions);
	*o = (struct nn_plan_order){ 0 };
}

int nn_plan_wrong_width(const struct nn_plan_order *o, const struct nn_table *t, size_t wanted,
			struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "%s:1: expected %zu column%s, got %zu",
		       nn_input_name(t->csv.input), wanted, nn_s(wanted), o->n_others);
}

int nn_plan_order_column(struct nn_plan_order *o, const struct nn_table *t, size_t position,
			 size_t *column, struct nn_error *err)
{
	const size_t *p;

	if (!position) {
		if (o->used == o->n_others)
			return nn_plan_wrong_width(o, t, o->used + 1, err);
		*column = o->others[o->used++];
		return 0;
	}
	p = bsearch(&position, o->positions, o->n_positions, sizeof *p, by_size);
	if (o->n_others == o->n_positions)
		*column = o->others[p - o->positions];
	else if (t->width >= o->positions[o->n_positions - 1])
		*column = position - 1;
	else
		return nn_plan_wrong_width(o, t, o->n_positions, err);
	return 0;
}
