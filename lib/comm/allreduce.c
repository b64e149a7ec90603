/*
 * All-reduce: chunks that caches hold, the algorithm of each, and what whole numbers need besides.
 */
#include <stdint.h>
#include <string.h>

#include "base/cache.h"
#include "base/clock.h"
#include "base/memory.h"
#include "comm/comm.h"

const char *const nn_algorithms[] = {
	[NN_ALGORITHM_AUTO] = "auto", [NN_ALGORITHM_MPI] = "mpi",
	[NN_ALGORITHM_RING] = "ring", [NN_ALGORITHM_HALVING] = "halving",
	[NN_ALGORITHM_TREE] = "tree", NULL,
};

#define CHUNK ((size_t)1 << 20) /* bytes at a time, so that partial results stay in the cache */

/* ---- which algorithm ---- */

/* Where nothing was measured: whole arrays while they are short, then pieces with few messages. */
enum nn_algorithm nn_comm_choose(const struct nn_comm *c, size_t bytes)
{
	int class = 0;

	while (class < NN_COMM_CLASSES - 1 && bytes > NN_COMM_CLASS << class)
		class ++;
	if (c->choice[class] != NN_ALGORITHM_AUTO)
		return c->choice[class];
	return class < 4                 ? NN_ALGORITHM_TREE
	       : c->size & (c->size - 1) ? NN_ALGORITHM_RING
					 : NN_ALGORITHM_HALVING;
}

static const enum nn_algorithm candidates[] = { NN_ALGORITHM_TREE, NN_ALGORITHM_HALVING,
						NN_ALGORITHM_RING };
#define N_CANDIDATES 3
#define FEWEST 7 /* times, and up to ... */
#define MOST 50  /* ... while a candidate took less than ... */
#define PROBE_S 4e-3
/* several calls a time, so that the start of the ranks counts little */
#define SHORT ((size_t)64 << 10)
#define BETTER 0.9 /* times as long as what else would be chosen */

/*
 * The best of some times, so that other work on the machine does not decide, of the slowest
 * rank: the same on all.
 */
static int probe(struct nn_comm *c, enum nn_algorithm algorithm, const float *in, float *out,
		 size_t bytes, double *best, struct nn_error *err)
{
	const struct nn_reduce sum = { NN_F32, NN_REDUCE_SUM, (size_t)c->size },
			       max = { NN_F64, NN_REDUCE_MAX, (size_t)c->size };
	int calls = bytes > SHORT ? 1 : 4;
	double mine = 1e9, spent = 0, most = 0;

	for (int i = 0; i < FEWEST || (i < MOST && most < PROBE_S); i++) {
		double start, s;

		if (nn_comm_barrier(c, err) < 0)
			return -1;
		start = nn_now_s();
		for (int k = 0; k < calls; k++)
			if (nn_comm_allreduce(c, &sum, algorithm, in, out, bytes / sizeof *in, NULL,
					      err) < 0)
				return -1;
		s = nn_now_s() - start;
		mine = s < mine ? s : mine;
		spent += s;
		if (i % 4 == 0 &&
		    nn_comm_allreduce(c, &max, NN_ALGORITHM_TREE, &spent, &most, 1, NULL, err) < 0)
			return -1;
	}
	return nn_comm_allreduce(c, &max, NN_ALGORITHM_TREE, &mine, best, 1, NULL, err);
}

static int probe_all(struct nn_comm *c, struct nn_error *err)
{
	size_t most = NN_COMM_CLASS << (NN_COMM_CLASSES - 1);
	float *room = nn_alloc(2 * most, 1, err);
	int status = room ? 0 : -1;

	for (int class = 0; class < NN_COMM_CLASSES && status == 0; class ++) {
		double best = 1e9, s = 0;

		for (int k = 0; k < N_CANDIDATES && status == 0; k++) {
			status = probe(c, candidates[k], room, room + most / sizeof *room,
				       NN_COMM_CLASS << class, &s, err);
			if (status == 0 && s < best * (k ? BETTER : 1)) {
				best = s;
				c->choice[class] = candidates[k];
			}
		}
	}
	nn_free(room);
	return status;
}

/* One letter for each class. False unless the answer makes sense. */
static bool recall(struct nn_comm *c)
{
	char key[NN_COMM_KEY], value[NN_CACHE_VALUE];

	nn_comm_key(key, "algorithms", c->size);
	if (nn_cache_get("link", key, value) != NN_CACHE_FOUND || strlen(value) != NN_COMM_CLASSES)
		return false;
	for (int i = 0; i < NN_COMM_CLASSES; i++) {
		c->choice[i] = value[i] == 't'   ? NN_ALGORITHM_TREE
			       : value[i] == 'h' ? NN_ALGORITHM_HALVING
			       : value[i] == 'r' ? NN_ALGORITHM_RING
						 : NN_ALGORITHM_AUTO;
		if (c->choice[i] == NN_ALGORITHM_AUTO)
			return false;
	}
	return true;
}

static void keep(const struct nn_comm *c)
{
	char key[NN_COMM_KEY], value[NN_COMM_CLASSES + 1] = "";

	nn_comm_key(key, "algorithms", c->size);
	for (int i = 0; i < NN_COMM_CLASSES; i++)
		value[i] = nn_algorithms[c->choice[i]][0];
	nn_cache_put("link", key, value, NULL); /* no place to keep it: measured again next time */
}

int nn_comm_measure(struct nn_comm *c, struct nn_error *err)
{
	char known = 0;

	if (c->size == 1)
		return 0;
	if (c->rank == 0)
		known = recall(c);
	if (nn_comm_broadcast(c, 0, &known, 1, err) < 0)
		return -1;
	if (known)
		return nn_comm_broadcast(c, 0, c->choice, sizeof c->choice, err);
	if (probe_all(c, err) < 0)
		return -1;
	if (c->rank == 0)
		keep(c);
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

/*
 * Chunk by chunk; *over where partial results did not fit, *overflow the first value that did not
 * in the end (ring alone).
 */
static int chunks(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm,
		  const char *in, char *out, size_t count, bool *over, size_t *overflow,
		  struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), most = CHUNK / size;

	for (size_t at = 0; at < count; at += most) {
		size_t n = count - at < most ? count - at : most, first = SIZE_MAX;
		int status;

		if (algorithm == NN_ALGORITHM_RING)
			status = nn_allreduce_ring(c, r, in + at * size, out + at * size, n, &first,
						   err);
		else if (algorithm == NN_ALGORITHM_TREE)
			status = nn_allreduce_tree(c, r, in + at * size, out + at * size, n, over,
						   err);
		else
			status = nn_allreduce_halving(c, r, in + at * size, out + at * size, n,
						      over, err);
		if (status < 0)
			return -1;
		if (first != SIZE_MAX && *overflow == SIZE_MAX)
			*overflow = at + first;
	}
	return 0;
}

/*
 * Where partial results of whole numbers leave the type, all is done again from the leaves,
 * exactly.
 */
static int whole(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm,
		 const void *in, void *out, size_t count, size_t *overflow, struct nn_error *err)
{
	size_t bytes = count * nn_dtype_size(r->dtype);
	bool over = false;
	void *copy = NULL;
	int status = -1;

	if (in == out && algorithm != NN_ALGORITHM_RING) {
		copy = nn_alloc(bytes, 1, err);
		if (!copy)
			return -1;
		in = memcpy(copy, in, bytes);
	}
	if (chunks(c, r, algorithm, in, out, count, &over, overflow, err) < 0)
		goto out;
	if (algorithm != NN_ALGORITHM_RING) {
		if (any(c, &over, err) < 0)
			goto out;
		if (over &&
		    chunks(c, r, NN_ALGORITHM_RING, in, out, count, &over, overflow, err) < 0)
			goto out;
	}
	status = algorithm == NN_ALGORITHM_RING || over ? first_overflow(c, overflow, err) : 0;
out:
	nn_free(copy);
	return status;
}

static int by_mpi(struct nn_comm *c, const struct nn_reduce *r, const char *in, char *out,
		  size_t count, struct nn_error *err)
{
	size_t size = nn_dtype_size(r->dtype), most = NN_MESSAGE_MAX / size;

	if (c->part)
		NN_BUG("the transport reduces over all ranks, not over some");
	for (size_t at = 0; at < count; at += most) {
		size_t n = count - at < most ? count - at : most;

		if (c->transport->allreduce(c->state, r, in + at * size, out + at * size, n, err) <
		    0)
			return -1;
		nn_reduce_end(r, out + at * size, out + at * size, n);
	}
	return 0;
}

int nn_comm_allreduce(struct nn_comm *c, const struct nn_reduce *r, enum nn_algorithm algorithm,
		      const void *in, void *out, size_t count, struct nn_reduce_found *found,
		      struct nn_error *err)
{
	size_t overflow = SIZE_MAX;
	bool over = false;
	int status = 0;

	if (algorithm == NN_ALGORITHM_AUTO)
		algorithm = nn_comm_choose(c, count * nn_dtype_size(r->dtype));
	if (c->size == 1) {
		struct nn_reduce_found ignored;

		nn_reduce_leaves(r, &in, count, out, NULL, &ignored);
	} else if (algorithm == NN_ALGORITHM_MPI) {
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
