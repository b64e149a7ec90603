/* Parameters and slots of ranks: which of them are a rank's own, rank 0's for all, and whether they
 * stay alike. */
#include "base/crc32.h"
#include "base/memory.h"
#include "train/ranks.h"
#include "train/strategy/team.h"

int nn_train_find_kept(struct nn_train *t, struct nn_error *err)
{
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t n = (size_t)t->program->n_params;

	nn_free(t->keeps);
	t->keeps = NULL;
	if (!nn_train_in_parts(t) || t->comm->rank == 0)
		return 0;
	if (!(t->keeps = nn_alloc(n, sizeof *t->keeps, err)))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (nn_graph_has(graph, (int)i))
			t->keeps[i] = nn_train_gathers(t)
					      ? nn_shape_count(&t->program->params[i].desc.shape)
					      : nn_graph_count(graph, (int)i);
	return 0;
}

/* What the rank `peer` has of a parameter, whose elements on rank 0 are `values`; NULL: how much.
 */
static struct nn_message part_of(const struct nn_train *t, int p, void *values, int peer)
{
	size_t from = 0, count = nn_shape_count(&t->program->params[p].desc.shape),
	       size = nn_dtype_size(t->device->dtype);

	if (t->tensor)
		count = nn_tensor_slice(t, p, peer % nn_tensor_ranks(t), &from);
	if (t->pipe && t->pipe->owner[p] != peer / nn_tensor_ranks(t) % t->pipe->stages)
		count = 0;
	return (struct nn_message){ peer, values ? (char *)values + from * size : NULL,
				    count * size };
}

static int hand_out(struct nn_train *t, int p, void *values, struct nn_error *err)
{
	struct nn_message message;

	if (t->comm->rank > 0) {
		message = part_of(t, p, NULL, t->comm->rank);
		message.peer = 0;
		message.data = values;
		return nn_comm_exchange(t->comm, NULL, 0, &message, 1, err);
	}
	for (int r = 1; r < t->comm->size; r++) {
		message = part_of(t, p, values, r);
		if (nn_comm_exchange(t->comm, &message, 1, NULL, 0, err) < 0)
			return -1;
	}
	return 0;
}

int nn_train_share_set(struct nn_train *t, void *const *set, struct nn_error *err)
{
	for (int p = 0; p < t->program->n_params; p++) {
		size_t bytes = nn_shape_count(&t->program->params[p].desc.shape) *
			       nn_dtype_size(t->device->dtype);

		if (nn_train_in_parts(t) ? hand_out(t, p, set[p], err) < 0
					 : nn_comm_broadcast(t->comm, 0, set[p], bytes, err) < 0)
			return -1;
	}
	return 0;
}

int nn_train_share_state(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	char yes = *resumed;

	if (nn_train_ranks(t) == 1)
		return 0;
	if (nn_comm_broadcast(t->comm, 0, &yes, 1, err) < 0)
		return -1;
	*resumed = yes;
	if (!yes)
		return 0;
	for (int set = 0; set < NN_STATE_SETS; set++)
		if (t->tensors.set[set] && nn_train_share_set(t, t->tensors.set[set], err) < 0)
			return -1;
	return nn_comm_broadcast(t->comm, 0, &t->counters, sizeof t->counters, err);
}

/* ---- are they alike? ---- */

/* Do ranks that share the samples have the same parameters after each step, each a copy of its own?
 */
static bool copies(const struct nn_train *t)
{
	return (t->strategy == &nn_strategy_sync || t->strategy == &nn_strategy_master) &&
	       !nn_near(t);
}

/* Of a table what the batch may have changed: of a lazy one the rows that it had, which all ranks
 * have listed. */
static uint32_t table_sum(struct nn_graph *graph, int table, size_t size)
{
	struct nn_graph_table t = nn_graph_table(graph, table);
	const struct nn_row_list *rows = nn_graph_table_sums(graph, table);
	const char *weights = (const char *)nn_graph_weights(graph) + t.offset * size;
	uint32_t sum = 0;

	if (!t.lazy)
		return nn_crc32(0, weights, t.rows * t.width * size);
	for (size_t j = 0; j < rows->n; j++)
		sum = nn_crc32(sum, weights + rows->row[j] * t.width * size, t.width * size);
	return sum;
}

int nn_train_check_parameters(struct nn_train *t, struct nn_error *err)
{
	struct nn_comm *comm = nn_train_sharers(t);
	struct nn_graph *graph = nn_step_graph(t->step);
	size_t n = (size_t)t->program->n_params, size = nn_dtype_size(t->device->dtype), offset,
	       packed, place;
	uint64_t every = t->options->check_every;
	uint32_t *sums;
	int rank, alike;

	if (comm->size == 1 || every == 0 || t->counters.step % every || !copies(t))
		return 0;
	if (nn_sync_arrive(t, err) < 0 || !(sums = nn_alloc(n, sizeof *sums, err)))
		return -1;
	for (size_t p = 0; p < n; p++)
		if (nn_graph_place(graph, (int)p, &offset, &packed))
			sums[p] = nn_crc32(0, (const char *)nn_graph_weights(graph) + offset * size,
					   packed * size);
	for (int i = 0; i < nn_graph_tables(graph); i++)
		sums[nn_graph_table(graph, i).param] = table_sum(graph, i, size);
	alike = nn_comm_alike(comm, sums, n, &rank, &place, err);
	nn_free(sums);
	if (alike == 0)
		return nn_fail(err, NN_EFAIL,
			       "step %llu: %s of rank %d is not what it is on rank 0; memory or a "
			       "processor may be at fault",
			       (unsigned long long)t->counters.step, t->program->params[place].name,
			       rank);
	return alike < 0 ? -1 : 0;
}
