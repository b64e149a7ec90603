/* A device with memory of its own, of the CPU's kernels. Never installed. */
#ifndef TESTS_DEVICE_APART_H
#define TESTS_DEVICE_APART_H

#include "device/device.h"
#include "device/queue.h"

/* The symbol nn_apart of the module. */
struct nn_apart {
	bool fail; /* products of dense layers are said to have failed */
	/*
	 * Told of what is asked of queues: W wait, M mark, P a mark that is reached, I and O copies
	 * in and out, A after another, R replay, K all else
	 */
	void (*asked)(char what, const struct nn_queue *queue);
	/* Of a kernel's call when its turn has come, with addresses that the host may read. */
	void (*called)(const struct nn_call *call, bool backward);
};

extern struct nn_apart nn_apart;

#endif
