/* Tables, whose gradients are lists of rows: memory for what a batch lists, and its sums. */
#include <string.h>

#include "base/memory.h"
#include "graph/arena.h"
#include "graph/instance.h"

static const struct nn_bound_param *table_at(const struct nn_bound *b, int table)
{
	return &b->params[b->table_params[table]];
}

/* ---- memory ---- */

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
		const struct nn_bound_param *param = table_at(b, i);
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

int nn_graph_take_lists(struct nn_graph *graph, struct nn_error *err)
{
	size_t n = graph->bound.training ? (size_t)graph->bound.n_tables : 0;

	graph->entries = nn_alloc(2 * n, sizeof *graph->entries, err);
	if (!graph->entries)
		return -1;
	graph->sums = graph->entries + n;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++) {
			const struct nn_list_place *p = &graph->plan.lists[i];

			(k ? graph->sums : graph->entries)[i] = (struct nn_row_list){
				.width = p->width,
				.room = p->room,
				.n = (size_t *)(void *)(graph->memory + graph->plan.list_counts) +
				     2 * i + (size_t)k,
				.row = (void *)(graph->memory + p->row[k]),
				.leaf = (void *)(graph->memory + p->leaf[k]),
				.value = graph->memory + p->value[k],
			};
		}
	return 0;
}

/* ---- what there is of them ---- */

int nn_graph_tables(const struct nn_graph *graph)
{
	return graph->bound.n_tables;
}

struct nn_graph_table nn_graph_table(const struct nn_graph *graph, int table)
{
	const struct nn_bound_param *param = table_at(&graph->bound, table);
	const struct nn_op_param *desc = &param->desc;

	return (struct nn_graph_table){ param->source, desc->shape.dim[0], desc->shape.dim[1],
					param->offset, desc->lazy };
}

struct nn_row_list *nn_graph_table_sums(struct nn_graph *graph, int table)
{
	return &graph->sums[table];
}

struct nn_row_list *nn_graph_table_entries(struct nn_graph *graph, int table)
{
	return &graph->entries[table];
}

/* ---- a batch ---- */

void nn_graph_begin(struct nn_graph *graph)
{
	size_t n = 2 * (size_t)graph->bound.n_tables;

	if (n)
		nn_queue_clear(graph->bound.queue, graph->memory + graph->plan.list_counts,
			       n * sizeof(size_t));
}

void nn_graph_sum_tables(struct nn_graph *graph, size_t first_leaf, size_t end_leaf)
{
	for (int i = 0; i < graph->bound.n_tables; i++) {
		struct nn_row_sum sum = { &graph->entries[i],
					  &graph->sums[i],
					  first_leaf,
					  end_leaf,
					  graph->memory + graph->plan.list_work,
					  graph->pool,
					  graph->bound.queue };

		graph->bound.device->sum_rows(&sum);
	}
}

size_t nn_graph_table_count(const struct nn_graph *graph, int table)
{
	size_t n;

	nn_queue_read(graph->bound.queue, &n, graph->sums[table].n, sizeof n);
	return n;
}

void nn_graph_gradient(const struct nn_graph *graph, int param, void *canonical)
{
	const struct nn_row_list *sums;
	size_t bytes;
	int table;
	uint32_t row;

	if (graph->bound.program->params[param].desc.role != NN_ROW_TABLE) {
		nn_graph_unpack(graph, param, graph->gradients, canonical);
		return;
	}
	table = nn_bound_table(&graph->bound, graph->bound.place[param]);
	sums = &graph->sums[table];
	bytes = sums->width * nn_dtype_size(graph->bound.device->dtype);
	memset(canonical, 0, nn_graph_count(graph, param) * bytes / sums->width);
	for (size_t j = 0, n = nn_graph_table_count(graph, table); j < n; j++) {
		nn_queue_read(graph->bound.queue, &row, &sums->row[j], sizeof row);
		nn_queue_read(graph->bound.queue, (char *)canonical + row * bytes,
			      (const char *)sums->value + j * bytes, bytes);
	}
}
