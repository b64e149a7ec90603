/* Tables, whose gradients are lists of rows: memory for what a batch lists, and its sums. */
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"

static const struct nn_bound_param *table_at(const struct nn_bound *b, int table)
{
	return &b->params[b->table_params[table]];
}

/* ---- memory ---- */

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
