/* Where the lists of tables lie: the rows that a batch names, and their sums. */
#include "base/memory.h"
#include "graph/arena.h"
#include "graph/plan.h"

static int plan_list(struct nn_memory_plan *plan, struct nn_list_place *list, size_t size,
		     struct nn_error *err)
{
	size_t bytes;

	if (!nn_mul(list->room, list->width, &bytes) || !nn_mul(bytes, size, &bytes))
		return nn_fail(err, NN_ENOMEM, "the batch is larger than memory can be");
	for (int k = 0; k < 2; k++)
		if (nn_arena_append(&plan->bytes, list->room * sizeof(uint32_t), &list->row[k],
				    err) ||
		    nn_arena_append(&plan->bytes, list->room * sizeof(uint32_t), &list->leaf[k],
				    err) ||
		    nn_arena_append(&plan->bytes, bytes, &list->value[k], err))
			return -1;
	return 0;
}

int nn_memory_plan_lists(struct nn_memory_plan *plan, const struct nn_bound *b,
			 const struct nn_graph_options *options, struct nn_error *err)
{
	size_t begin = plan->bytes, most = 0,
	       rows = options->batch ? options->batch : options->max_rows;

	plan->lists = nn_alloc((size_t)b->n_tables, sizeof *plan->lists, err);
	if (!plan->lists)
		return -1;
	for (int i = 0; i < b->n_tables; i++) {
		const struct nn_bound_param *param = &b->params[b->table_params[i]];
		struct nn_list_place *list = &plan->lists[i];

		list->width = param->desc.shape.dim[1];
		if (!nn_mul(rows, nn_shape_count(b->nodes[param->node].shapes), &list->room) ||
		    list->room >= UINT32_MAX)
			return nn_fail(err, NN_ENOMEM,
				       "%zu rows have too many numbers for an embedding", rows);
		if (plan_list(plan, list, nn_dtype_size(b->device->dtype), err))
			return -1;
		most = list->room > most ? list->room : most;
	}
	if (most &&
	    nn_arena_append(&plan->bytes, (most + 1) * NN_ROW_SUM_WORK, &plan->list_work, err))
		return -1;
	if (b->n_tables && nn_arena_append(&plan->bytes, 2 * (size_t)b->n_tables * sizeof(size_t),
					   &plan->list_counts, err))
		return -1;
	plan->memory.rows = plan->bytes - begin;
	return 0;
}
