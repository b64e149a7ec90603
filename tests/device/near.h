/*
 * A queue for devices of tests that only cost time: their memory is the host's, and work is done at
 * once. Who includes this defines near_moved, which is told of every copy, and the device's clock.
 */
#ifndef TESTS_DEVICE_NEAR_H
#define TESTS_DEVICE_NEAR_H

#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "device/queue.h"

static void near_moved(bool in, size_t bytes);
static double near_clock(void);

static struct nn_queue *near_queue_open(const struct nn_device *device, struct nn_error *err)
{
	struct nn_queue *queue = nn_alloc(1, sizeof *queue, err);

	if (queue)
		queue->remote = device->remote;
	return queue;
}

static void near_queue_close(struct nn_queue *queue)
{
	nn_free(queue);
}

static void *near_take(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	(void)queue;
	return nn_alloc(bytes, 1, err);
}

static void near_give(struct nn_queue *queue, void *memory)
{
	(void)queue;
	nn_free(memory);
}

static void near_copy_in(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	(void)queue;
	memcpy(to, from, bytes);
	near_moved(true, bytes);
}

static void near_copy_out(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	(void)queue;
	memcpy(to, from, bytes);
	near_moved(false, bytes);
}

static void near_copy(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	(void)queue;
	memcpy(to, from, bytes);
}

static void near_copy_lines(struct nn_queue *queue, void *to, size_t to_line, const void *from,
			    size_t from_line, size_t bytes, size_t lines)
{
	(void)queue;
	nn_queue_copy_lines(NULL, to, to_line, from, from_line, bytes, lines);
}

static void near_after(struct nn_queue *queue, struct nn_queue *other)
{
	(void)queue;
	(void)other;
}

static int near_room(const struct nn_device *device, size_t *bytes, struct nn_error *err)
{
	(void)device;
	(void)err;
	*bytes = (size_t)1 << 40;
	return 0;
}

static void near_clear(struct nn_queue *queue, void *memory, size_t bytes)
{
	(void)queue;
	memset(memory, 0, bytes);
}

static int near_wait_for(struct nn_queue *queue, struct nn_error *err)
{
	(void)queue;
	(void)err;
	return 0;
}

static double near_moments[NN_MOMENTS];

static void near_moment(struct nn_queue *queue, int which)
{
	(void)queue;
	near_moments[which] = near_clock();
}

static double near_between(struct nn_queue *queue, int from, int to)
{
	(void)queue;
	return near_moments[to] - near_moments[from];
}

static const struct nn_remote near_remote = {
	.open = near_queue_open,
	.close = near_queue_close,
	.alloc = near_take,
	.free = near_give,
	.alloc_host = near_take,
	.free_host = near_give,
	.copy_in = near_copy_in,
	.copy_out = near_copy_out,
	.copy = near_copy,
	.copy_lines = near_copy_lines,
	.after = near_after,
	.room = near_room,
	.clear = near_clear,
	.wait = near_wait_for,
	.moment = near_moment,
	.between = near_between,
};

#endif
