/* What it costs ranks of this machine to sum their gradients. */
#ifndef NN_COMM_LINK_H
#define NN_COMM_LINK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An all-reduce of S bytes over n ranks takes 2 (n - 1) message_s + 2 (n - 1) / n S byte_s seconds:
 * the messages and bytes per rank of a ring. (Thakur, Rabenseifner, Gropp: Optimization of
 * collective communication operations in MPICH, 2005.)
 */
struct nn_link {
	double message_s, byte_s;
	int ranks; /* of the measurement; 0: an estimate */
};

/*
 * For a number of ranks: what trainings measured here, else what nn-allreduce --bench measured;
 * else of the nearest other number of ranks; else an estimate, from the time that copies in memory
 * take.
 */
void nn_link_get(int ranks, struct nn_link *link);
/* What trainings met first, the estimate left out: false. */
bool nn_link_known(int ranks, struct nn_link *link);
double nn_link_seconds(const struct nn_link *link, int ranks, double bytes);
/* A training's steps took so much more than their computing. */
void nn_link_put(int ranks, double bytes, double seconds);

#endif
