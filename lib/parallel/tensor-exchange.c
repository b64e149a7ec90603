/*
 * What graphs of a group ask to be exchanged: through memory that the group sees together, piece by
 * piece, or by messages where its ranks are on several hosts.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/tensor.h"
#include "parallel/worker.h"

/* bytes of a rank that go through the window at once: read while they are in a shared cache */
#define PIECE ((size_t)512 << 10)

static struct nn_message *messages(struct nn_tensor_exchange *e, size_t bytes, void **room)
{
	const struct nn_tensor_parallel *g = e->group;
	size_t head = 2 * (size_t)g->columns.ranks * sizeof(struct nn_message);
	struct nn_message *list = nn_comm_scratch(g->line, head + bytes, &e->why);

	if (!list)
		e->failed = true;
	else if (room)
		*room = (char *)list + head;
	return list;
}

/* What each rank has of `lines` lines of n columns, into whole lines. */
struct column_lines {
	size_t n, size;
	int ranks;
};

static size_t first_of(const struct column_lines *l, int r)
{
	return l->n * (size_t)r / (size_t)l->ranks;
}

static size_t width_of(const struct column_lines *l, int r)
{
	return (first_of(l, r + 1) - first_of(l, r)) * l->size;
}

static void put_columns(const struct column_lines *l, int r, const char *part, char *whole,
			size_t lines)
{
	size_t from = first_of(l, r) * l->size, width = width_of(l, r), row = l->n * l->size;

	for (size_t i = 0; i < lines; i++)
		memcpy(whole + i * row + from, part + i * width, width);
}

static void count(struct nn_tensor_exchange *e, size_t bytes, bool by_messages)
{
	e->bytes += bytes;
	if (!by_messages)
		nn_comm_count(e->group->line, bytes);
}

/* Pieces alternate between two buffers: a rank past a barrier has read the piece before. */
static void gather_shared(struct nn_tensor_exchange *e, const struct column_lines *l,
			  const char *part, char *whole, size_t lines, size_t piece)
{
	int mine = e->group->columns.rank;

	for (size_t at = 0; at < lines; at += piece) {
		size_t k = lines - at < piece ? lines - at : piece;
		char *rooms = (char *)nn_shared_memory(e->window) +
			      e->turn++ % 2 * (size_t)l->ranks * PIECE;

		memcpy(rooms + (size_t)mine * PIECE, part + at * width_of(l, mine),
		       k * width_of(l, mine));
		nn_shared_barrier(e->window);
		for (int r = 0; r < l->ranks; r++)
			if (r != mine)
				put_columns(l, r, rooms + (size_t)r * PIECE,
					    whole + at * l->n * l->size, k);
	}
}

static void gather_messages(struct nn_tensor_exchange *e, const struct column_lines *l,
			    const char *part, char *whole, size_t lines)
{
	size_t ranks = (size_t)l->ranks, n = 0;
	const struct nn_tensor_parallel *g = e->group;
	int mine = g->columns.rank;
	void *room;
	struct nn_message *sends = messages(e, lines * l->n * l->size, &room), *receives;

	if (!sends)
		return;
	receives = sends + ranks;
	for (int r = 0; r < l->ranks; r++) {
		if (r == mine)
			continue;
		sends[n] = (struct nn_message){ r, (void *)(uintptr_t)part,
						lines * width_of(l, mine) };
		receives[n++] =
			(struct nn_message){ r, (char *)room + first_of(l, r) * l->size * lines,
					     lines * width_of(l, r) };
	}
	if (nn_comm_exchange(g->line, sends, n, receives, n, &e->why) < 0) {
		e->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_columns(l, receives[i].peer, receives[i].data, whole, lines);
}

static void gather(void *arg, const void *part, void *whole, size_t lines, size_t n, size_t size)
{
	struct nn_tensor_exchange *e = arg;
	const struct nn_tensor_parallel *g = e->group;
	struct column_lines l = { n, size, g->columns.ranks };
	size_t row = (n + (size_t)l.ranks - 1) / (size_t)l.ranks * size,
	       mine = lines * width_of(&l, g->columns.rank);
	bool shared = e->window && row <= PIECE;
	double start = nn_now_s();

	if (e->failed)
		return;
	put_columns(&l, g->columns.rank, part, whole, lines);
	if (shared)
		gather_shared(e, &l, part, whole, lines, PIECE / row);
	else
		gather_messages(e, &l, part, whole, lines);
	count(e, lines * n * size - mine + mine * (size_t)(l.ranks - 1), !shared);
	e->seconds += nn_now_s() - start;
}

static void exchange(void *arg, void *const *send, const size_t *send_bytes, void *const *receive,
		     const size_t *receive_bytes)
{
	struct nn_tensor_exchange *e = arg;
	const struct nn_tensor_parallel *g = e->group;
	size_t ranks = (size_t)g->columns.ranks, n = 0, bytes = 0;
	struct nn_message *sends = e->failed ? NULL : messages(e, 0, NULL), *receives;
	double start = nn_now_s();

	if (!sends)
		return;
	receives = sends + ranks;
	for (size_t r = 0; r < ranks; r++) {
		if ((int)r == g->columns.rank)
			continue;
		sends[n] = (struct nn_message){ (int)r, send[r], send_bytes[r] };
		receives[n++] = (struct nn_message){ (int)r, receive[r], receive_bytes[r] };
		bytes += send_bytes[r] + receive_bytes[r];
	}
	e->failed = nn_comm_exchange(g->line, sends, n, receives, n, &e->why) < 0;
	count(e, bytes, true);
	e->seconds += nn_now_s() - start;
}

int nn_tensor_exchanged(struct nn_worker *w, double *seconds, struct nn_error *err)
{
	struct nn_tensor_exchange *e = w->layout->tensor->exchange;

	*seconds = e->seconds - e->counted_s;
	e->counted_s = e->seconds;
	if (e->failed && err)
		*err = e->why;
	return e->failed ? -1 : 0;
}

int nn_tensor_begin(struct nn_worker *w, struct nn_error *err)
{
	struct nn_tensor_exchange *e = w->layout->tensor->exchange;

	e->seconds = e->counted_s = 0;
	e->bytes = 0;
	if (e->failed && err)
		*err = e->why;
	return e->failed ? -1 : 0;
}

int nn_tensor_exchange_open(struct nn_tensor_parallel *g, struct nn_error *err)
{
	struct nn_tensor_exchange *e = g->exchange = nn_alloc(1, sizeof *e, err);

	if (!e)
		return -1;
	e->group = g;
	g->columns.arg = e;
	g->columns.gather = gather;
	g->columns.exchange = exchange;
	return nn_shared_open(&e->window, g->line, 2 * (size_t)g->columns.ranks * PIECE, err);
}

void nn_tensor_exchange_close(struct nn_tensor_exchange *e)
{
	if (!e)
		return;
	nn_shared_close(e->window);
	nn_free(e->squares);
	nn_free(e->squares_at);
	nn_free(e->bounds);
	nn_free(e);
}
