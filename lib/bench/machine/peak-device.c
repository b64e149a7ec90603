/* Peaks of a device with memory of its own, through a queue of its own. */
#include <math.h>

#include "bench/machine/peak-inside.h"
#include "device/queue.h"

struct there {
	const struct nn_device *device;
	struct nn_queue *queue;
	enum nn_peak_memory what;
	char *memory;
	size_t bytes, rounds;
	double flop; /* of a round */
};

static void fma_piece(void *arg, size_t i, int thread)
{
	struct there *t = arg;

	(void)i;
	(void)thread;
	t->device->remote->fma(t->device, t->queue, t->rounds);
	nn_queue_wait(t->queue, NULL);
}

static void memory_piece(void *arg, size_t i, int thread)
{
	struct there *t = arg;

	(void)i;
	(void)thread;
	if (t->what == NN_PEAK_READ)
		t->device->remote->read(t->queue, t->memory, t->bytes, t->rounds);
	for (size_t round = 0; t->what != NN_PEAK_READ && round < t->rounds; round++)
		if (t->what == NN_PEAK_WRITE)
			nn_queue_clear(t->queue, t->memory, t->bytes);
		else
			nn_queue_copy(t->queue, t->memory, t->memory + t->bytes / 2, t->bytes / 2);
	nn_queue_wait(t->queue, NULL);
}

/* What failed in between is told here. */
static int close_queue(struct nn_queue *queue, int status, struct nn_error *err)
{
	if (status == 0)
		status = nn_queue_wait(queue, err);
	nn_queue_close(queue);
	return status;
}

int nn_peak_device_fma(const struct nn_bench *b, const struct nn_device *device, double seconds,
		       double *rate, struct nn_error *err)
{
	struct there t = { .device = device, .rounds = 1 };
	struct nn_peak_run run = { NULL, fma_piece, &t, 0, &t.rounds };

	*rate = NAN;
	if (!device->remote->fma)
		return 0;
	if (nn_queue_open(&t.queue, device, err) < 0)
		return -1;
	run.amount = device->remote->fma(device, t.queue, 1);
	*rate = nn_peak_best(b, &run, seconds);
	return close_queue(t.queue, 0, err);
}

int nn_peak_device_memory(const struct nn_bench *b, const struct nn_device *device,
			  enum nn_peak_memory what, size_t bytes, double seconds, double *rate,
			  struct nn_error *err)
{
	struct there t = { .device = device, .what = what, .bytes = bytes, .rounds = 1 };
	const struct nn_peak_run run = { NULL, memory_piece, &t, (double)bytes, &t.rounds };
	int status = -1;

	*rate = NAN;
	if (what == NN_PEAK_READ && !device->remote->read)
		return 0;
	if (nn_queue_open(&t.queue, device, err) < 0)
		return -1;
	if ((t.memory = nn_memory_new(t.queue, bytes, err))) {
		*rate = nn_peak_best(b, &run, seconds);
		nn_memory_free(t.queue, t.memory);
		status = 0;
	}
	return close_queue(t.queue, status, err);
}

int nn_peak_device_far(const struct nn_device *device, size_t *bytes, struct nn_error *err)
{
	if (device->remote->room(device, bytes, err) < 0)
		return -1;
	*bytes = *bytes / 4 < NN_PEAK_FAR ? *bytes / 4 / 2048 * 2048 : NN_PEAK_FAR;
	return 0;
}
