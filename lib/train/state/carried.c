/* States of rows on their way between the graphs of ranks and the file of a training's state. */
#include "base/memory.h"
#include "graph/states.h"
#include "step/cut.h"
#include "train/state/carried.h"

static size_t row_bytes(const struct nn_keeping *k)
{
	return k->tensors.carried_shape.dim[1] * nn_dtype_size(k->tensors.dtype);
}

int nn_carried_open(struct nn_keeping *k, struct nn_error *err)
{
	struct nn_state_tensors *t = &k->tensors;
	size_t bytes = nn_graph_state_bytes(nn_step_graph(k->worker->step));

	t->carried_shape =
		nn_shape2(k->options->recipe.batch, bytes / nn_dtype_size(t->dtype));
	t->carried = nn_alloc(t->carried_shape.dim[0], bytes, err);
	return t->carried ? 0 : -1;
}

/* Rows of a rank's leaves: every batch is a full one. */
static size_t first_row(const struct nn_keeping *k, int rank, int ranks)
{
	size_t rows = k->options->recipe.batch, leaves = k->options->recipe.leaves;

	return nn_cut_share(leaves, rank, ranks).from * rows / leaves;
}

int nn_carried_collect(struct nn_keeping *k, struct nn_error *err)
{
	struct nn_comm *comm = k->worker->layout->comm;
	char *all = k->tensors.carried;

	for (int r = 0; all && r < comm->size; r++) {
		size_t from = first_row(k, r, comm->size),
		       to = r + 1 < comm->size ? first_row(k, r + 1, comm->size)
					       : k->tensors.carried_shape.dim[0];
		char *at = all + from * row_bytes(k);

		if (r == comm->rank)
			nn_graph_read_states(nn_step_graph(k->worker->step), from, to, at);
		if (comm->size > 1 && to > from &&
		    nn_comm_broadcast(comm, r, at, (to - from) * row_bytes(k), err) < 0)
			return -1;
	}
	return 0;
}

int nn_carried_share(struct nn_keeping *k, struct nn_error *err)
{
	return nn_comm_broadcast(k->worker->layout->comm, 0, k->tensors.carried,
				 k->tensors.carried_shape.dim[0] * row_bytes(k), err);
}

void nn_carried_load(struct nn_keeping *k)
{
	if (k->tensors.carried)
		nn_graph_write_states(nn_step_graph(k->worker->step), 0,
				      k->tensors.carried_shape.dim[0], k->tensors.carried);
}
