/*
 * Parameters and slots of ranks: which of them are a rank's own, rank 0's for all, and whether they
 * stay alike.
 */
#include "base/crc32.h"
#include "base/memory.h"
#include "parallel/pipeline.h"
#include "parallel/ranks.h"
#include "parallel/sync-group.h"
#include "parallel/tensor.h"

int nn_worker_find_kept(struct nn_worker *w, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t n = (size_t)w->task->program->n_params;

	nn_free(w->keeps);
	w->keeps = NULL;
	if (!nn_layout_in_parts(w->layout) || w->layout->comm->rank == 0)
		return 0;
	if (!(w->keeps = nn_alloc(n, sizeof *w->keeps, err)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_graph_has(graph, (int)i))
			w->keeps[i] =
				nn_layout_gathers(w->layout)
					? nn_shape_count(&w->task->program->params[i].desc.shape)
					: nn_graph_count(graph, (int)i);
	return 0;
}

/*
 * What the rank `peer` has of a parameter, whose elements on rank 0 are `values`; NULL: how much.
 */
static struct nn_message part_of(const struct nn_worker *w, int p, void *values, int peer)
{
	size_t from = 0, count = nn_shape_count(&w->task->program->params[p].desc.shape),
	       size = nn_dtype_size(w->task->device->dtype);

	if (w->layout->tensor)
		count = nn_tensor_slice(w, p, peer % nn_tensor_ranks(w->layout), &from);
	if (w->layout->pipe && w->layout->pipe->owner[p] !=
				       peer / nn_tensor_ranks(w->layout) % w->layout->pipe->stages)
		count = 0;
	return (struct nn_message){ peer, values ? (char *)values + from * size : NULL,
				    count * size };
}

static int hand_out(struct nn_worker *w, int p, void *values, struct nn_error *err)
{
	struct nn_message message;

	if (w->layout->comm->rank > 0) {
		message = part_of(w, p, NULL, w->layout->comm->rank);
		message.peer = 0;
		message.data = values;
		return nn_comm_exchange(w->layout->comm, NULL, 0, &message, 1, err);
	}
	for (int r = 1; r < w->layout->comm->size; r++) {
		message = part_of(w, p, values, r);
		if (nn_comm_exchange(w->layout->comm, &message, 1, NULL, 0, err) < 0)
			return -1;
	}
	return 0;
}

int nn_worker_share_set(struct nn_worker *w, void *const *set, struct nn_error *err)
{
	for (int p = 0; p < w->task->program->n_params; p++) {
		size_t bytes = nn_shape_count(&w->task->program->params[p].desc.shape) *
			       nn_dtype_size(w->task->device->dtype);

		if (nn_layout_in_parts(w->layout)
			    ? hand_out(w, p, set[p], err) < 0
			    : nn_comm_broadcast(w->layout->comm, 0, set[p], bytes, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- are they alike? ---- */

/*
 * Do ranks that share the samples have the same parameters after each step, each a copy of its own?
 */
static bool copies(const struct nn_worker *w)
{
	return w->layout->strategy->alike && !nn_sync_is_shared(w);
}

#define PIECE 16384

/* Of device memory, piece by piece where it is not the host's. */
static uint32_t crc_of(struct nn_queue *queue, const char *values, size_t bytes)
{
	char piece[PIECE];
	uint32_t sum = 0;

	if (!queue)
		return nn_crc32(0, values, bytes);
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < PIECE ? bytes - at : PIECE;
		nn_queue_read(queue, piece, values + at, n);
		sum = nn_crc32(sum, piece, n);
	}
	return sum;
}

/*
 * Of a table what the batch may have changed: of a lazy one the rows that it had, which all ranks
 * have listed.
 */
static uint32_t table_sum(struct nn_graph *graph, int table, size_t size)
{
	struct nn_graph_table t = nn_graph_table(graph, table);
	const struct nn_row_list *rows = nn_graph_table_sums(graph, table);
	const char *weights = (const char *)nn_graph_weights(graph) + t.offset * size;
	struct nn_queue *queue = nn_graph_queue(graph);
	uint32_t sum = 0;

	if (!t.lazy || queue)
		return crc_of(queue, weights, t.rows * t.width * size);
	for (size_t j = 0; j < *rows->n; j++)
		sum = nn_crc32(sum, weights + rows->row[j] * t.width * size, t.width * size);
	return sum;
}

int nn_worker_check_parameters(struct nn_worker *w, struct nn_error *err)
{
	struct nn_comm *comm = nn_layout_sharers(w->layout);
	struct nn_graph *graph = nn_step_graph(w->step);
	size_t n = (size_t)w->task->program->n_params, size = nn_dtype_size(w->task->device->dtype),
	       offset, packed, place;
	uint32_t *sums;
	int rank, alike;

	if (comm->size == 1 || !copies(w))
		return 0;
	if (nn_sync_wait_weights(w, err) < 0 || !(sums = nn_alloc(n, sizeof *sums, err)))
		return -1;
	for (size_t p = 0; p < n; p++)
		if (nn_graph_place(graph, (int)p, &offset, &packed))
			sums[p] = crc_of(nn_graph_queue(graph),
					 (const char *)nn_graph_weights(graph) + offset * size,
					 packed * size);
	for (int i = 0; i < nn_graph_tables(graph); i++)
		sums[nn_graph_table(graph, i).param] = table_sum(graph, i, size);
	alike = nn_comm_compare(comm, sums, n, &rank, &place, err);
	nn_free(sums);
	if (alike == 0)
		return nn_fail(err, NN_EFAIL,
			       "step %llu: %s of rank %d is not what it is on rank 0; memory or a "
			       "processor may be at fault",
			       (unsigned long long)w->counters->step,
			       w->task->program->params[place].name, rank);
	return alike < 0 ? -1 : 0;
}
