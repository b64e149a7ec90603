/* Gradients of tables among ranks. */
#ifndef NN_PARALLEL_TABLES_H
#define NN_PARALLEL_TABLES_H

#include "comm/comm.h"
#include "graph/graph.h"

/*
 * From the sums that each rank has of its run of leaves (nn_step_run) those of the whole batch, on
 * every rank: the bytes of one rank. Collective. A rank sends the rows that its part of the batch
 * has.
 */
int nn_tables_share(struct nn_graph *graph, struct nn_comm *comm, size_t n_leaves,
		    enum nn_dtype dtype, struct nn_error *err);
/*
 * The sums of this rank's whole batch to a rank, or from it: as large as the rows that the batch
 * has.
 */
int nn_tables_pass(struct nn_graph *graph, struct nn_comm *comm, int peer, bool sends,
		   enum nn_dtype dtype, struct nn_error *err);

#endif
