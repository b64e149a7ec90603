/*
 * What each pair of ranks can use: memory that both see, or TCP; where parameters lie on a device
 * either goes through the memory of the host, for no transport here reads a device's.
 */
#ifndef NN_COMM_PAIRS_H
#define NN_COMM_PAIRS_H

#include "base/text.h"
#include "comm/comm.h"

struct nn_pairs {
	int ranks;
	bool *shared;  /* [ranks * ranks] each can open the other's memory, and Open MPI may use it
			*/
	bool *devices; /* [ranks] its parameters lie on a device */
};

/* May processes of this host share memory, as far as this one can tell? */
bool nn_pairs_shared_here(void);
/*
 * Each rank opens a page of every other: what they find, the same on all. device: this rank's
 * parameters lie on one. Collective. Free what an open that failed has left, too.
 */
int nn_pairs_open(struct nn_pairs *pairs, struct nn_comm *comm, bool device, struct nn_error *err);
void nn_pairs_close(struct nn_pairs *pairs);
/* A row of the table: "rank 0: shared memory with 1, TCP with 2-3". */
void nn_pairs_row(const struct nn_pairs *pairs, int rank, struct nn_text *text);

#endif
