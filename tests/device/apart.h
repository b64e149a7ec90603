/* A device with memory of its own, of the CPU's kernels. Never installed. */
#ifndef TESTS_DEVICE_APART_H
#define TESTS_DEVICE_APART_H

#include "device/device.h"
#include "device/queue.h"

/* The symbol nn_apart of the module. */
struct nn_apart {
	bool fail; /* products of dense layers are said to have failed */
	/*
	 * Told of what is asked of queues: W wait, I and O copies in and out, A after another, R
	 * replay, K all else
	 */
	void (*asked)(char what, const struct nn_queue *queue);
};

extern struct nn_apart nn_apart;

#endif
