/*
 * Memory shared by the ranks of one host: what a rank wrote before a barrier the others read after
 * it.
 */
#ifndef NN_COMM_SHARED_H
#define NN_COMM_SHARED_H

#include "comm/comm.h"

struct nn_shared;

/*
 * `bytes`, the same on all ranks, zeroed and aligned to pages. *window is NULL where ranks are on
 * several hosts, may not open each other's memory, or MPI was told to do without shared memory
 * (--mca btl): then they have messages alone. Collective.
 */
int nn_shared_open(struct nn_shared **window, struct nn_comm *comm, size_t bytes,
		   struct nn_error *err);
void nn_shared_close(struct nn_shared *window); /* NULL allowed; not collective */
void *nn_shared_memory(const struct nn_shared *window);
/* Wait for all ranks: some time on the core, then asleep. */
void nn_shared_barrier(struct nn_shared *window);

/* Bytes of a window that sums go through: of `ranks` ranks, of arrays of mostly `bytes` bytes. */
size_t nn_shared_sum_bytes(int ranks, size_t bytes);
/*
 * nn_comm_allreduce over the ranks of a window of that size, comm those it was opened with: the
 * same bytes, no message. Of real numbers in host memory; out may be in. What all-reduce would have
 * sent and received is counted. Collective.
 */
void nn_shared_allreduce(struct nn_shared *window, struct nn_comm *comm,
			 const struct nn_reduce *reduce, const void *in, void *out, size_t count);

#endif
