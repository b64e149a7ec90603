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
				      .n = nn_memory_new(t->queue, sizeof *list->n, err),
				      .row = nn_memory_new(t->queue, room * sizeof *list->row, err),
				      .leaf = nn_memory_new(t->queue, room * sizeof *list->leaf,
							    err),
				      .value = nn_memory_new(
					      t->queue,
					      room * width * nn_dtype_size(t->device->dtype),
					      err) };
	if (list->n && list->row && list->leaf && list->value)
		return list;
	nn_op_list_free(t, list);
	return NULL;
}

void nn_op_list_free(const struct nn_op_trial *t, struct nn_row_list *list)
{
	if (!list)
		return;
	nn_memory_free(t->queue, list->n);
	nn_memory_free(t->queue, list->row);
	nn_memory_free(t->queue, list->leaf);
	nn_memory_free(t->queue, list->value);
	nn_free(list);
}

int nn_op_lists_new(struct nn_op_trial *t, int p, struct nn_error *err)
{
	if (!(t->lists.entries = nn_op_list_new(t, p, err)) || !(t->lists.sums = nn_op_list_new(t, p, err)))
		return -1;
	t->dw[p] = t->lists.entries;
	t->lists.work = nn_memory_new(t->queue, (t->lists.entries->room + 1) * NN_ROW_SUM_WORK, err);
	return t->lists.work ? 0 : -1;
}

void nn_op_lists_free(struct nn_op_trial *t)
{
	nn_op_list_free(t, t->lists.entries);
	nn_op_list_free(t, t->lists.sums);
	nn_memory_free(t->queue, t->lists.work);
}

void nn_op_lists_sum(struct nn_op_trial *t)
{
	struct nn_row_sum sum = { t->lists.entries,   t->lists.sums,      0,   t->call.n_leaves,
				  t->lists.work, t->call.pool, t->queue };

	t->device->sum_rows(&sum);
	nn_queue_clear(t->queue, t->lists.entries->n, sizeof *t->lists.entries->n);
}

int nn_op_lists_gradient(const struct nn_op_trial *t, void *plain, struct nn_error *err)
{
	const struct nn_row_list *sums = t->lists.sums;
	const size_t bytes = sums->width * nn_dtype_size(t->device->dtype);
	size_t n;
	uint32_t *row;

	nn_queue_read(t->queue, &n, sums->n, sizeof n);
	if (!(row = nn_alloc(n, sizeof *row, err)))
		return -1;
	nn_queue_read(t->queue, row, sums->row, n * sizeof *row);
	for (size_t j = 0; j < n; j++)
		nn_queue_read(t->queue, (char *)plain + row[j] * bytes,
			      (const char *)sums->value + j * bytes, bytes);
	nn_free(row);
	return 0;
}
