/* The communicator of all ranks, messages, and the small collectives on top of them. */
#include "config.h"
#include <string.h>

#include "base/crc32.h"
#include "base/memory.h"
#include "base/module.h"
#include "comm/comm.h"

int nn_comm_open(struct nn_comm **result, bool threads, struct nn_error *err)
{
	struct nn_comm *comm = nn_alloc(1, sizeof *comm, err);

	if (!comm)
		return -1;
	comm->stride = 1;
	comm->whole = comm;
	comm->unwatched = nn_comm_env_unwatched();
	comm->transport = nn_comm_env_size() == 1 ? &nn_transport_self : nn_module_open("mpi", err);
	if (!comm->transport ||
	    comm->transport->open(&comm->state, threads, &comm->rank, &comm->size, err) < 0) {
		nn_free(comm);
		return -1;
	}
	comm->fragments = nn_comm_shares_memory();
	*result = comm;
	return 0;
}

int nn_comm_channel(struct nn_comm **channel, const struct nn_comm *comm, int number,
		    struct nn_error *err)
{
	struct nn_comm *c = nn_alloc(1, sizeof *c, err);

	if (!c)
		return -1;
	*c = *comm;
	c->tag = number;
	c->scratch = NULL;
	c->scratch_size = 0;
	c->borrowed = true;
	*channel = c;
	return 0;
}

int nn_comm_part(struct nn_comm **part, const struct nn_comm *comm, int first, int stride, int size,
		 int number, struct nn_error *err)
{
	struct nn_comm *c;

	if (stride < 1 || size < 1 || first < 0 || first + stride * (size - 1) >= comm->size ||
	    comm->rank < first || (comm->rank - first) % stride != 0 ||
	    (comm->rank - first) / stride >= size)
		NN_BUG("rank %d of %d has no part of %d ranks from %d by %d", comm->rank,
		       comm->size, size, first, stride);
	if (nn_comm_channel(part, comm, number, err) < 0)
		return -1;
	c = *part;
	c->first = comm->first + first * comm->stride;
	c->stride = comm->stride * stride;
	c->part = size < comm->size || comm->part;
	c->rank = (comm->rank - first) / stride;
	c->size = size;
	memset(c->choice, 0, sizeof c->choice);
	return 0;
}

uint64_t nn_comm_moved(const struct nn_comm *comm)
{
	return __atomic_load_n(&comm->whole->moved, __ATOMIC_RELAXED);
}

void nn_comm_count(struct nn_comm *comm, size_t bytes)
{
	__atomic_fetch_add(&comm->whole->moved, bytes, __ATOMIC_RELAXED);
}

void nn_comm_close(struct nn_comm *comm)
{
	if (!comm)
		return;
	if (!comm->borrowed)
		comm->transport->close(comm->state);
	nn_free(comm->scratch);
	nn_free(comm);
}

void nn_comm_abort(struct nn_comm *comm, int status)
{
	comm->transport->abort(comm->state, status);
}

void *nn_comm_scratch(struct nn_comm *comm, size_t bytes, struct nn_error *err)
{
	if (bytes > comm->scratch_size) {
		nn_free(comm->scratch);
		comm->scratch_size = 0;
		comm->scratch = nn_alloc(bytes, 1, err);
		if (!comm->scratch)
			return NULL;
		comm->scratch_size = bytes;
	}
	return comm->scratch ? comm->scratch : (comm->scratch = nn_alloc(1, 1, err));
}

/* ---- messages ---- */

#define AT_ONCE 64 /* requests that need no memory of their own */
/*
 * What fits into one fragment of Open MPI's shared memory arrives without an answer being waited
 * for; up to three of those are faster than one message that asks first (4096 bytes: 1.3 us in
 * place of 3.1). Over TCP each costs a call of the system.
 */
#define EAGER NN_COMM_SHORT
#define EAGER_PARTS ((size_t)3)

/*
 * Messages that are posted go in parts that Open MPI sends over TCP without asking first (its
 * btl_tcp_eager_limit is 64 KiB, a header included). A question and its answer wait behind all that
 * is under way, so ranks that send and receive all the time took turns: two hosts at 1 Gbit/s with
 * 33 MB of gradients waited 0.47 s a step for messages, in parts 0.26 s.
 */
#define PART ((size_t)60 << 10)

/* Bytes of the parts that a message goes in. */
static size_t part_of(const struct nn_comm *c, size_t bytes)
{
	size_t n = c->fragments ? (bytes + EAGER - 1) / EAGER : EAGER_PARTS + 1;

	return n > EAGER_PARTS || bytes == 0 ? NN_MESSAGE_MAX : (bytes + n - 1) / n;
}

static int start(struct nn_comm *c, bool send, const struct nn_message *m, size_t part,
		 struct nn_request *requests, size_t *n, struct nn_error *err)
{
	nn_comm_count(c, m->bytes);
	for (size_t at = 0; at < m->bytes; at += part) {
		size_t bytes = m->bytes - at < part ? m->bytes - at : part;
		char *data = (char *)m->data + at;
		int peer = c->first + m->peer * c->stride;

		if ((send ? c->transport->send(c->state, peer, c->tag, data, bytes, &requests[*n],
					       err)
			  : c->transport->receive(c->state, peer, c->tag, data, bytes,
						  &requests[*n], err)) < 0)
			return -1;
		++*n;
	}
	return 0;
}

static size_t parts(const struct nn_comm *c, const struct nn_message *m, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += m[i].bytes ? (m[i].bytes - 1) / part_of(c, m[i].bytes) + 1 : 0;
	return sum;
}

static int wait(struct nn_comm *c, struct nn_request *requests, size_t n, struct nn_error *err)
{
	int status;

	if (c->waiting)
		++*c->waiting;
	status = c->transport->wait(c->state, requests, n, err);
	if (c->waiting)
		--*c->waiting;
	return status;
}

int nn_comm_exchange(struct nn_comm *c, const struct nn_message *sends, size_t n_sends,
		     const struct nn_message *receives, size_t n_receives, struct nn_error *err)
{
	struct nn_request few[AT_ONCE], *requests = few;
	size_t n = 0, total = parts(c, sends, n_sends) + parts(c, receives, n_receives);
	int status = 0;

	if (total > AT_ONCE && !(requests = nn_alloc(total, sizeof *requests, err)))
		return -1;
	for (size_t i = 0; i < n_receives && status == 0; i++)
		status = start(c, false, &receives[i], part_of(c, receives[i].bytes), requests, &n,
			       err);
	for (size_t i = 0; i < n_sends && status == 0; i++)
		status = start(c, true, &sends[i], part_of(c, sends[i].bytes), requests, &n, err);
	if (status == 0 && n > 0)
		status = wait(c, requests, n, err);
	if (requests != few)
		nn_free(requests);
	return status;
}

static int post(struct nn_comm *c, bool sends, const struct nn_message *message,
		struct nn_posted *posted, struct nn_error *err)
{
	size_t more = posted->n + (message->bytes + PART - 1) / PART;

	if (more > posted->room) {
		struct nn_request *grown =
			nn_realloc(posted->requests, posted->room * sizeof *grown,
				   2 * more * sizeof *grown, err);

		if (!grown)
			return -1;
		posted->requests = grown;
		posted->room = 2 * more;
	}
	return start(c, sends, message, PART, posted->requests, &posted->n, err);
}

int nn_comm_post(struct nn_comm *c, const struct nn_message *send, struct nn_posted *posted,
		 struct nn_error *err)
{
	return post(c, true, send, posted, err);
}

int nn_comm_post_receive(struct nn_comm *c, const struct nn_message *receive,
			 struct nn_posted *posted, struct nn_error *err)
{
	return post(c, false, receive, posted, err);
}

int nn_comm_finish(struct nn_comm *c, struct nn_posted *posted, struct nn_error *err)
{
	size_t n = posted->n;

	posted->n = 0;
	return n > 0 ? wait(c, posted->requests, n, err) : 0;
}

int nn_comm_expect(struct nn_comm *c, const struct nn_message *receive, struct nn_request *request,
		   struct nn_error *err)
{
	size_t n = 0;

	if (receive->bytes < 1 || receive->bytes > NN_COMM_SHORT)
		NN_BUG("a short message of %zu bytes", receive->bytes);
	return start(c, false, receive, NN_COMM_SHORT, request, &n, err);
}

int nn_comm_any(struct nn_comm *c, struct nn_request *requests, size_t n, size_t *which,
		struct nn_error *err)
{
	int status;

	if (c->waiting)
		++*c->waiting;
	status = c->transport->wait_any(c->state, requests, n, which, err);
	if (c->waiting)
		--*c->waiting;
	return status;
}

/* Each round doubles the distance at which a rank has heard of others. */
int nn_comm_barrier(struct nn_comm *c, struct nn_error *err)
{
	for (int d = 1; d < c->size; d *= 2) {
		char out = 0, in = 0;
		struct nn_message send = { (c->rank + d) % c->size, &out, 1 };
		struct nn_message receive = { (c->rank - d + c->size) % c->size, &in, 1 };

		if (nn_comm_exchange(c, &send, 1, &receive, 1, err) < 0)
			return -1;
	}
	return 0;
}

/* In round d the ranks below d (counted from root) send to those d further on. */
int nn_comm_broadcast(struct nn_comm *c, int root, void *data, size_t bytes, struct nn_error *err)
{
	int me = (c->rank - root + c->size) % c->size;

	for (int d = 1; d < c->size; d *= 2) {
		struct nn_message m = { 0, data, bytes };
		bool sends = me < d && me + d < c->size, receives = me >= d && me < 2 * d;

		m.peer = (root + (sends ? me + d : me - d)) % c->size;
		if ((sends || receives) && nn_comm_exchange(c, &m, sends, &m, receives, err) < 0)
			return -1;
	}
	return 0;
}

/* Round the ring. */
int nn_comm_all_gather(struct nn_comm *c, const void *mine, void *all, size_t bytes,
		       struct nn_error *err)
{
	char *to = all;

	memmove(to + (size_t)c->rank * bytes, mine, bytes);
	for (int i = 1; i < c->size; i++) {
		int right = (c->rank + 1) % c->size, left = (c->rank - 1 + c->size) % c->size;
		int out = (c->rank - i + 1 + c->size) % c->size,
		    in = (c->rank - i + c->size) % c->size;
		struct nn_message send = { right, to + (size_t)out * bytes, bytes };
		struct nn_message receive = { left, to + (size_t)in * bytes, bytes };

		if (nn_comm_exchange(c, &send, 1, &receive, 1, err) < 0)
			return -1;
	}
	return 0;
}

int nn_comm_compare(struct nn_comm *c, const uint32_t *sums, size_t n, int *rank, size_t *place,
		    struct nn_error *err)
{
	uint32_t mine = nn_crc32(0, sums, n * sizeof *sums), all[c->size], *theirs;
	int status;

	if (nn_comm_all_gather(c, &mine, all, sizeof mine, err) < 0)
		return -1;
	*rank = 0;
	while (*rank < c->size && all[*rank] == all[0])
		++*rank;
	if (*rank == c->size)
		return 1;
	theirs = nn_alloc((size_t)c->size * n, sizeof *theirs, err);
	if (!theirs)
		return -1;
	status = nn_comm_all_gather(c, sums, theirs, n * sizeof *sums, err);
	*place = 0;
	while (status == 0 && *place + 1 < n &&
	       theirs[(size_t)*rank * n + *place] == theirs[*place])
		++*place;
	nn_free(theirs);
	return status;
}
