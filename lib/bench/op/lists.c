/* A trial of an op with a table: its numbers, and the lists that its gradient is. */
#include <string.h>

#include "base/memory.h"
#include "bench/op/trial.h"

void nn_op_rows_fill(const struct nn_op_trial *t, void *x, size_t n, size_t rows)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)((nn_op_trial_real(t, x, i) + 1) / 2 * (double)rows);

		nn_op_trial_put(t, x, i, (double)(at < rows ? at : rows - 1));
	}
}

struct nn_row_list *nn_op_list_new(const struct nn_op_trial *t, int p, struct nn_error *err)
{
	size_t room = nn_op_trial_in(t, 0), width = t->params[p].shape.dim[1];
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
	if (list->n && list->row && list->leaf && list->value)
		return list;
	nn_op_list_free(list);
	return NULL;
}

void nn_op_list_free(struct nn_row_list *list)
{
	if (!list)
		return;
	nn_free(list->n);
	nn_free(list->row);
	nn_free(list->leaf);
	nn_free(list->value);
	nn_free(list);
}

int nn_op_lists_new(struct nn_op_trial *t, int p, struct nn_error *err)
{
	if (!(t->lists.entries = nn_op_list_new(t, p, err)) || !(t->lists.sums = nn_op_list_new(t, p, err)))
		return -1;
	t->dw[p] = t->lists.entries;
	t->lists.work = nn_alloc(t->lists.entries->room + 1, NN_ROW_SUM_WORK, err);
	return t->lists.work ? 0 : -1;
}

void nn_op_lists_free(struct nn_op_trial *t)
{
	nn_op_list_free(t->lists.entries);
	nn_op_list_free(t->lists.sums);
	nn_free(t->lists.work);
}

void nn_op_lists_sum(struct nn_op_trial *t)
{
	struct nn_row_sum sum = { t->lists.entries,   t->lists.sums,      0,   t->call.n_leaves,
				  t->lists.work, t->call.pool, NULL };

	t->device->sum_rows(&sum);
	*t->lists.entries->n = 0;
}

void nn_op_lists_gradient(const struct nn_op_trial *t, void *plain)
{
	size_t bytes = t->lists.sums->width * nn_dtype_size(t->device->dtype);

	for (size_t j = 0; j < *t->lists.sums->n; j++)
		memcpy((char *)plain + t->lists.sums->row[j] * bytes,
		       (const char *)t->lists.sums->value + j * bytes, bytes);
}
