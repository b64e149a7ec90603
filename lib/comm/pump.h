/*
 * A thread that moves messages while their owner computes: the transport moves them only while
 * something calls it.
 */
#ifndef NN_COMM_PUMP_H
#define NN_COMM_PUMP_H

#include "comm/comm.h"

struct nn_pump;

/* Idle at first. comm is borrowed, and was opened for threads. */
int nn_pump_new(struct nn_pump **pump, const struct nn_comm *comm, struct nn_error *err);
void nn_pump_free(struct nn_pump *pump); /* NULL allowed */
/* From now on it pumps, or not any more. Does not wait for it. */
void nn_pump_run(struct nn_pump *pump, bool runs);

#endif
