/* All-reduce: chunks that caches hold, the algorithm of each, and what whole numbers need besides. */
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "comm/comm.h"

const char *const nn_algorithms[] = { "auto", "mpi", "ring", "halving", "tree", NULL };

#define CHUNK ((size_t)4 << 20)                   /* bytes at a time, so that partial results stay in the cache */

/* ---- which algorithm ---- */

#define LATENCY_S 1e-6                            /* where nothing was measured: shared memory */
#define S_PER_BYTE 2e-10
#define PROBE ((size_t)256 << 10)

/* Seconds of each: messages one after the other, bytes sent, and half as long for a byte that is added. */
enum nn_algorithm nn_comm_choose(const struct nn_comm *c, size_t bytes)
{
	double latency = c->latency_s > 0 ? c->latency_s : LATENCY_S, beta = c->s_per_byte > 0 ? c->s_per_byte : S_PER_BYTE;
	double n = c->size, s = (double)bytes * beta, deep = 0, tree, halving, ring;

	for (int k = 1; k < c->size; k *= 2)
		deep++;
	tree = deep * (latency + 1.5 * s);
	halving = 2 * deep * latency + 2.5 * (n - 1) / n * s;
	ring = 2 * (n - 1) * latency + 2.5 * (n - 1) / n * s;
	if (c->size & (c->size - 1))
		halving += 2 * latency + s;               /* what the ranks beyond a power of two send and get */
	if (tree <= halving && tree <= ring)
		return NN_TREE;
	return halving <= ring ? NN_HALVING : NN_RING;
}

/* The best of some exchanges with both neighbours of the ring. */
static int probe(struct nn_comm *c, void *out, void *in, size_t bytes, int times, double *best, struct nn_error *err)
{
	struct nn_message send = { (c->rank + 1) % c->size, out, bytes };
	struct nn_message receive = { (c->rank - 1 + c->size) % c->size, in, bytes };

	*best = 1e9;
	for (int i = 0; i < times; i++) {
		double start = nn_now_s(), s;

		if (nn_comm_exchange(c, &send, 1, &receive, 1, err) < 0)
			return -1;
		s = nn_now_s() - start;
		*best = s < *best ? s : *best;
	}
	return 0;
}

int nn_comm_measure(struct nn_comm *c, struct nn_error *err)
{
	const struct nn_reduce max = { NN_F64, NN_REDUCE_MAX, (size_t)c->size };
	double times[2], worst[2];
	char *room;

	if (c->size == 1)
		return 0;
	room = nn_alloc(2 * PROBE, 1, err);
	if (!room || probe(c, room, room + PROBE, 8, 50, &times[0], err) < 0 ||
	    probe(c, room, room + PROBE, PROBE, 5, &times[1], err) < 0 ||
	    nn_comm_allreduce(c, &max, NN_TREE, times, worst, 2, NULL, err) < 0) {
		nn_free(room);
		return -1;
	}
	nn_free(room);
	c->latency_s = worst[0];
	c->s_per_byte = (worst[1] > worst[0] ? worst[1] - worst[0] : worst[1]) / (double)PROBE;
	return 0;
}

/* ---- the work ---- */

/* Does any rank say so? */
static int any(struct nn_comm *c, bool *flag, struct nn_error *err)
{
	const struct nn_reduce max = { NN_U8, NN_REDUCE_MAX, (size_t)c->size };
	uint8_t mine = *flag, all = 0;
	bool over = false;

	if (nn_allreduce_tree(c, &max, &mine, &all, 1, &over, err) < 0)
		return -1;
	*flag = all != 0;
	return 0;
}

static int first_overflow(struct nn_comm *c, size_t *overflow, struct nn_error *err)
{
	const struct nn_reduce min = { NN_U64, NN_REDUCE_MIN, (size_t)c->size };
	uint64_t mine = *overflow, all = 0;
	bool over = false;

	if (nn_allreduce_tree(c, &min, &mine, &all, 1, &over, err) < 0)
		return -1;
	*overflow = (size_t)all;
	return 0;
}

/* Chunk by chunk; *over where partial results did not fit, *overflow the first value that did not in the end (ring alone). */
static int chunks(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm, const char *in, char *out, size_t count,
		  bool *over, size_t *overflow, struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), most = CHUNK / size;

	for (size_t at = 0; at < count; at += most) {
		size_t n = count - at < most ? count - at : most, first = SIZE_MAX;
		int status;

		if (algorithm == NN_RING)
			status = nn_allreduce_ring(c, r, in + at * size, out + at * size, n, &first, err);
		else if (algorithm == NN_TREE)
			status = nn_allreduce_tree(c, r, in + at * size, out + at * size, n, over, err);
		else
			status = nn_allreduce_halving(c, r, in + at * size, out + at * size, n, over, err);
		if (status < 0)
			return -1;
		if (first != SIZE_MAX && *overflow == SIZE_MAX)
			*overflow = at + first;
	}
	return 0;
}

/* Where partial results of whole numbers leave the type, all is done again from the leaves, exactly. */
static int whole(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm, const void *in, void *out, size_t count,
		 size_t *overflow, struct nn_error *err)
{
	size_t bytes = count * nn_dtype_size(r->dtype);
	bool over = false;
	void *copy = NULL;
	int status = -1;

	if (in == out && algorithm != NN_RING) {
		copy = nn_alloc(bytes, 1, err);
		if (!copy)
			return -1;
		in = memcpy(copy, in, bytes);
	}
	if (chunks(c, r, algorithm, in, out, count, &over, overflow, err) < 0)
		goto out;
	if (algorithm != NN_RING) {
		if (any(c, &over, err) < 0)
			goto out;
		if (over && chunks(c, r, NN_RING, in, out, count, &over, overflow, err) < 0)
			goto out;
	}
	status = algorithm == NN_RING || over ? first_overflow(c, overflow, err) : 0;
out:
	nn_free(copy);
	return status;
}

static int by_mpi(struct nn_comm *c, const struct nn_reduce *r, const char *in, char *out, size_t count, struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), most = NN_MESSAGE_MAX / size;

	for (size_t at = 0; at < count; at += most) {
		size_t n = count - at < most ? count - at : most;

		if (c->transport->allreduce(c->state, r, in + at * size, out + at * size, n, err) < 0)
			return -1;
		nn_reduce_end(r, out + at * size, out + at * size, n);
	}
	return 0;
}

int nn_comm_allreduce(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm, const void *in, void *out,
		      size_t count, struct nn_reduce_found *found, struct nn_error *err)
{
	size_t overflow = SIZE_MAX;
	bool over = false;
	int status = 0;

	if (algorithm == NN_AUTO)
		algorithm = nn_comm_choose(c, count * nn_dtype_size(r->dtype));
	if (c->size == 1) {
		struct nn_reduce_found ignored;

		nn_reduce_leaves(r, &in, count, out, NULL, &ignored);
	} else if (algorithm == NN_MPI) {
		status = by_mpi(c, r, in, out, count, err);
	} else if (nn_dtype_float(r->dtype) || r->op == NN_REDUCE_MIN || r->op == NN_REDUCE_MAX) {
		status = chunks(c, r, algorithm, in, out, count, &over, &overflow, err);
	} else {
		status = whole(c, r, algorithm, in, out, count, &overflow, err);
	}
	if (status == 0 && found)
		*found = (struct nn_reduce_found){ nn_reduce_nan(r->dtype, out, count), overflow };
	return status;
}
