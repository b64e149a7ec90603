/* Copies through pinned memory into as much of the device's, and from there. */
#include "bench/machine/copies.h"

int nn_copies_open(struct nn_copies *c, const struct nn_device *device, size_t in, size_t out,
		   struct nn_error *err)
{
	*c = (struct nn_copies){ .in = in, .out = out };
	if (!device->remote)
		return 0;
	return nn_queue_open(&c->queue, device, err) < 0 ||
			       nn_mirror_new(&c->mirror, c->queue, in > out ? in : out, err) < 0
		       ? -1
		       : 0;
}

void nn_copies_close(struct nn_copies *c)
{
	if (c->queue)
		nn_mirror_free(&c->mirror, c->queue);
	nn_queue_close(c->queue);
}

void nn_copies_in(void *copies)
{
	struct nn_copies *c = copies;

	nn_mirror_send(&c->mirror, c->queue, 0, c->in);
	nn_queue_wait(c->queue, NULL);
}

void nn_copies_out(void *copies)
{
	struct nn_copies *c = copies;

	nn_mirror_fetch(&c->mirror, c->queue, 0, c->out);
	nn_queue_wait(c->queue, NULL);
}
