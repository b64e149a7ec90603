/* The doors between host memory and a device's: whole blocks, in the order of a queue. */
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "device/queue.h"

#define BOUNCE ((size_t)1 << 20)

int nn_queue_open(struct nn_queue **queue, const struct nn_device *device, struct nn_error *err)
{
	*queue = device->remote ? device->remote->open(device, err) : NULL;
	return device->remote && !*queue ? -1 : 0;
}

void nn_queue_close(struct nn_queue *queue)
{
	if (!queue)
		return;
	nn_pinned_free(queue, queue->bounce);
	queue->remote->close(queue);
}

/* The first failure not yet reported; err NULL: it stays so. */
static int report(struct nn_queue *queue, int status, const struct nn_error *failure,
		  struct nn_error *err)
{
	if (status < 0 && !queue->failed) {
		queue->failed = true;
		queue->error = *failure;
	}
	if (!queue->failed)
		return 0;
	if (err) {
		queue->failed = false;
		*err = queue->error;
	}
	return -1;
}

int nn_queue_wait(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_error failure;

	if (!queue)
		return 0;
	queue->reached = ++queue->turn;
	return report(queue, queue->remote->wait(queue, &failure), &failure, err);
}

void nn_queue_mark(struct nn_queue *queue, int which)
{
	queue->marks[which] = ++queue->turn;
	queue->remote->mark(queue, which);
}

int nn_queue_reach(struct nn_queue *queue, int which, struct nn_error *err)
{
	struct nn_error failure;

	if (queue->reached < queue->marks[which])
		queue->reached = queue->marks[which];
	return report(queue, queue->remote->reach(queue, which, &failure), &failure, err);
}

void *nn_memory_new(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	return queue ? queue->remote->alloc(queue, bytes, err) : nn_alloc(bytes, 1, err);
}

void nn_memory_free(struct nn_queue *queue, void *memory)
{
	if (!queue)
		nn_free(memory);
	else if (memory)
		queue->remote->free(queue, memory);
}

void *nn_pinned_new(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	return queue ? queue->remote->alloc_host(queue, bytes, err) : nn_alloc(bytes, 1, err);
}

void nn_pinned_free(struct nn_queue *queue, void *memory)
{
	if (!queue)
		nn_free(memory);
	else if (memory)
		queue->remote->free_host(queue, memory);
}

void nn_queue_copy(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	if (queue)
		queue->remote->copy(queue, to, from, bytes);
	else
		memcpy(to, from, bytes);
}

void nn_queue_copy_lines(struct nn_queue *queue, void *to, size_t to_line, const void *from,
			 size_t from_line, size_t bytes, size_t lines)
{
	if (queue)
		queue->remote->copy_lines(queue, to, to_line, from, from_line, bytes, lines);
	for (size_t i = 0; !queue && i < lines; i++)
		memcpy((char *)to + i * to_line, (const char *)from + i * from_line, bytes);
}

void nn_queue_clear(struct nn_queue *queue, void *memory, size_t bytes)
{
	if (queue)
		queue->remote->clear(queue, memory, bytes);
	else
		memset(memory, 0, bytes);
}

/* The pinned buffer of a piece; NULL: out of memory, which the next wait reports. */
static char *bounce(struct nn_queue *queue)
{
	struct nn_error failure;

	if (!queue->bounce && !(queue->bounce = nn_pinned_new(queue, BOUNCE, &failure)) &&
	    !queue->failed) {
		queue->failed = true;
		queue->error = failure;
	}
	return queue->bounce;
}

void nn_queue_read(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	if (!queue) {
		memcpy(to, from, bytes);
		return;
	}
	for (size_t at = 0, n; at < bytes && bounce(queue); at += n) {
		n = bytes - at < BOUNCE ? bytes - at : BOUNCE;
		queue->remote->copy_out(queue, queue->bounce, (const char *)from + at, n);
		nn_queue_wait(queue, NULL);
		memcpy((char *)to + at, queue->bounce, n);
	}
}

void nn_queue_write(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	if (!queue) {
		memcpy(to, from, bytes);
		return;
	}
	for (size_t at = 0, n; at < bytes && bounce(queue); at += n) {
		n = bytes - at < BOUNCE ? bytes - at : BOUNCE;
		memcpy(queue->bounce, (const char *)from + at, n);
		queue->remote->copy_in(queue, (char *)to + at, queue->bounce, n);
		nn_queue_wait(queue, NULL);
	}
}

/* ---- mirrors ---- */

int nn_mirror_of(struct nn_mirror *m, struct nn_queue *queue, void *there, size_t bytes,
		 struct nn_error *err)
{
	*m = (struct nn_mirror){ .there = there, .lent = true };
	m->host = queue ? nn_pinned_new(queue, bytes, err) : there;
	return m->host || !queue ? 0 : -1;
}

int nn_mirror_new(struct nn_mirror *m, struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	void *there = nn_memory_new(queue, bytes, err);

	if (!there)
		return -1;
	if (nn_mirror_of(m, queue, there, bytes, err) < 0) {
		nn_memory_free(queue, there);
		m->there = NULL;
		return -1;
	}
	m->lent = false;
	return 0;
}

void nn_mirror_free(struct nn_mirror *m, struct nn_queue *queue)
{
	if (m->host != m->there)
		nn_pinned_free(queue, m->host);
	if (m->other)
		nn_pinned_free(queue, m->other);
	if (!m->lent)
		nn_memory_free(queue, m->there);
	*m = (struct nn_mirror){ 0 };
}

int nn_mirror_double(struct nn_mirror *m, struct nn_queue *queue, size_t bytes,
		     struct nn_error *err)
{
	return !queue || (m->other = nn_pinned_new(queue, bytes, err)) ? 0 : -1;
}

void nn_mirror_use(struct nn_mirror *m, int side)
{
	const struct nn_mirror was = *m;

	if (!m->other || side == m->side)
		return;
	m->host = was.other;
	m->sent = was.other_sent;
	m->other = was.host;
	m->other_sent = was.sent;
	m->side = side;
}

void *nn_mirror_write(struct nn_mirror *m, struct nn_queue *queue)
{
	if (queue && m->sent > queue->reached)
		nn_queue_wait(queue, NULL);
	return m->host;
}

void nn_mirror_send(struct nn_mirror *m, struct nn_queue *queue, size_t at, size_t bytes)
{
	if (!queue)
		return;
	queue->remote->copy_in(queue, (char *)m->there + at, (const char *)m->host + at, bytes);
	m->sent = queue->turn + 1;
}

void nn_mirror_fetch(const struct nn_mirror *m, struct nn_queue *queue, size_t at, size_t bytes)
{
	if (queue)
		queue->remote->copy_out(queue, (char *)m->host + at, (const char *)m->there + at,
					bytes);
}

void *nn_mirror_move(struct nn_mirror *m, struct nn_queue *queue, void *there)
{
	m->there = there;
	if (!queue)
		m->host = there;
	return nn_mirror_write(m, queue);
}

void *nn_mirror_read(struct nn_mirror *m, struct nn_queue *queue, void *there, size_t bytes)
{
	nn_mirror_move(m, queue, there);
	nn_mirror_fetch(m, queue, 0, bytes);
	nn_queue_wait(queue, NULL);
	return m->host;
}
