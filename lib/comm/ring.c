/* All-reduce in pieces with an owner each, which gets all leaves; results go round the ring. */
#include <stdint.h>

#include "base/memory.h"
#include "comm/comm.h"

/* Values before piece p of n. */
static size_t before(size_t count, int p, int n)
{
	return count / (size_t)n * (size_t)p + count % (size_t)n * (size_t)p / (size_t)n;
}

/*
 * Every rank's part of my piece, in order of ranks: leaves[rank] is where it lies; mine stays in
 * `in`.
 */
static int collect(struct nn_comm *c, const struct nn_reduce *r, const char *in, size_t count,
		   char *room, const void **leaves, struct nn_message *messages,
		   struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), mine = before(count, c->rank, c->size);
	size_t bytes = (before(count, c->rank + 1, c->size) - mine) * size;
	struct nn_message *sends = messages, *receives = messages + c->size;

	leaves[c->rank] = in + mine * size;
	for (int i = 1; i < c->size; i++) {
		int to = (c->rank + i) % c->size, from = (c->rank - i + c->size) % c->size;
		size_t at = before(count, to, c->size);

		sends[i - 1] = (struct nn_message){ to, (void *)(in + at * size),
						    (before(count, to + 1, c->size) - at) * size };
		receives[i - 1] = (struct nn_message){
			from, room + (size_t)(i - 1) * ((bytes + 63) / 64 * 64), bytes
		};
		leaves[from] = receives[i - 1].data;
	}
	return nn_comm_exchange(c, sends, (size_t)c->size - 1, receives, (size_t)c->size - 1, err);
}

/* In round i a rank passes on what it got in the round before. */
static int spread(struct nn_comm *c, char *out, size_t count, size_t size, struct nn_error *err)
{
	int right = (c->rank + 1) % c->size, left = (c->rank - 1 + c->size) % c->size;

	for (int i = 1; i < c->size; i++) {
		int give = (c->rank - i + 1 + c->size) % c->size,
		    get = (c->rank - i + c->size) % c->size;
		size_t from = before(count, give, c->size), to = before(count, get, c->size);
		struct nn_message send = { right, out + from * size,
					   (before(count, give + 1, c->size) - from) * size };
		struct nn_message receive = { left, out + to * size,
					      (before(count, get + 1, c->size) - to) * size };

		if (nn_comm_exchange(c, &send, 1, &receive, 1, err) < 0)
			return -1;
	}
	return 0;
}

int nn_allreduce_ring(struct nn_comm *c, const struct nn_reduce *r, const void *in, void *out,
		      size_t count, size_t *overflow, struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), n = (size_t)c->size,
	       mine = before(count, c->rank, c->size);
	size_t piece = before(count, c->rank + 1, c->size) - mine,
	       room = (piece * size + 63) / 64 * 64 * (n - 1);
	char *scratch = nn_comm_scratch(
		c, room + n * sizeof(void *) + 2 * n * sizeof(struct nn_message), err);
	struct nn_reduce_found found;
	const void **leaves;

	if (!scratch)
		return -1;
	leaves = (const void **)(void *)(scratch + room);
	if (collect(c, r, in, count, scratch, leaves, (struct nn_message *)(void *)(leaves + n),
		    err) < 0)
		return -1;
	nn_reduce_leaves(r, leaves, piece, (char *)out + mine * size, NULL, &found);
	if (found.overflow != SIZE_MAX && *overflow == SIZE_MAX)
		*overflow = mine + found.overflow;
	return spread(c, out, count, size, err);
}
