/* What a call moves to a device with memory of its own and back, to be timed apart. */
#ifndef NN_BENCH_MACHINE_COPIES_H
#define NN_BENCH_MACHINE_COPIES_H

#include "device/device.h"
#include "device/queue.h"

struct nn_copies {
	struct nn_queue *queue; /* NULL: its memory is the host's, and there are none */
	struct nn_mirror mirror;
	size_t in, out; /* bytes of a call */
};

int nn_copies_open(struct nn_copies *copies, const struct nn_device *device, size_t in, size_t out,
		   struct nn_error *err);
void nn_copies_close(struct nn_copies *copies);
/* One way, and the device done; functions of a nn_measure_call. */
void nn_copies_in(void *copies);
void nn_copies_out(void *copies);

#endif
