/* A trial of an op with a table: its numbers, and the lists that its gradient is. */
#include <string.h>

#include "base/memory.h"
#include "bench/op-trial.h"

void nn_op_table_fill(const struct nn_op_trial *t, void *x, size_t n, size_t rows)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)((nn_op_trial_real(t, x, i) + 1) / 2 * (double)rows);

		nn_op_trial_put(t, x, i, (double)(at < rows ? at : rows - 1));
	}
}

static struct nn_row_list *list_new(const struct nn_op_trial *t, size_t room, size_t width,
				    struct nn_error *err)
{
	struct nn_row_list *list = nn_alloc(1, sizeof *list, err);

	if (!list)
		return NULL;
	*list = (struct nn_row_list){ .width = width,
				      .room = room,
				      .n = nn_alloc(1, sizeof *list->n, err),
				      .row = nn_alloc(room, sizeof *list->row, err),
				      .leaf = nn_alloc(room, sizeof *list->leaf, err),
				      .value = nn_alloc(room * width,
							nn_dtype_size(t->device->dtype), err) };
	return list;
}

static void list_free(struct nn_row_list *list)
{
	if (!list)
		return;
	nn_free(list->n);
	nn_free(list->row);
	nn_free(list->leaf);
	nn_free(list->value);
	nn_free(list);
}

int nn_op_table_new(struct nn_op_trial *t, int p, struct nn_error *err)
{
	size_t room = t->rows * nn_shape_count(t->site.in), width = t->params[p].shape.dim[1];

	t->entries = list_new(t, room, width, err);
	t->sums = list_new(t, room, width, err);
	t->list_work = nn_alloc(room + 1, NN_ROW_SUM_WORK, err);
	t->dw[p] = t->entries;
	return t->entries && t->entries->n && t->entries->value && t->entries->row &&
			       t->entries->leaf && t->sums && t->sums->n && t->sums->value &&
			       t->sums->row && t->sums->leaf && t->list_work
		       ? 0
		       : -1;
}

void nn_op_table_free(struct nn_op_trial *t)
{
	list_free(t->entries);
	list_free(t->sums);
	nn_free(t->list_work);
}

void nn_op_table_sum(struct nn_op_trial *t)
{
	struct nn_row_sum sum = { t->entries,   t->sums,      0,   t->call.n_leaves,
				  t->list_work, t->call.pool, NULL };

	t->device->sum_rows(&sum);
	*t->entries->n = 0;
}

void nn_op_table_gradient(const struct nn_op_trial *t, void *plain)
{
	size_t bytes = t->sums->width * nn_dtype_size(t->device->dtype);

	for (size_t j = 0; j < *t->sums->n; j++)
		memcpy((char *)plain + t->sums->row[j] * bytes,
		       (const char *)t->sums->value + j * bytes, bytes);
}
