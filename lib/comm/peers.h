/*
 * Ranks that nobody watches: where one is gone, the others end.
 *
 * Under srun none of our processes stays beside the ranks, so each rank keeps a TCP connection to
 * rank 0, whose end says that a rank is gone. Where hosts cannot reach each other so, srun -K
 * remains. A stopped rank is not distinguished from one that computes.
 */
#ifndef NN_COMM_PEERS_H
#define NN_COMM_PEERS_H

#include "comm/comm.h"

struct nn_peers;

/*
 * Tasks of srun have no process that watches them all: each keeps a connection to rank 0. Where one
 * is closed unasked, lost is called with the rank that is gone as the error (NN_ERANK, "rank 1 (pid
 * 4711 on node2) was lost"), in a thread of its own, of rank 0 or, where that is the one, of
 * another; it is to end the job and does not return. *peers NULL where mpirun or a process of ours
 * watches, where this is the only rank, or where a rank's host cannot reach rank 0's over TCP: that
 * is not an error. Collective.
 */
int nn_peers_watch(struct nn_peers **peers, struct nn_comm *comm,
		   void (*lost)(void *arg, struct nn_error *err), void *arg, struct nn_error *err);
/* All ranks are at their end, none is missed any more. Collective; NULL allowed. */
void nn_peers_end(struct nn_peers *peers);

#endif
