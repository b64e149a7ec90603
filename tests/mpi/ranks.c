/*
 * As one of several ranks: every algorithm beside the plain program, all types and operations;
 * prints TAP on rank 0.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "lib/comm-plain.h"
#include "lib/tap.h"

#define COUNT 3001
#define MOST 16

static const enum nn_dtype types[] = {
	NN_F32, NN_F64, NN_F16, NN_BF16, NN_I8,  NN_U8,
	NN_I16, NN_U16, NN_I32, NN_U32,  NN_I64, NN_U64,
};
static const enum nn_algorithm algorithms[] = { NN_ALGORITHM_RING, NN_ALGORITHM_HALVING,
						NN_ALGORITHM_TREE, NN_ALGORITHM_AUTO };

static struct nn_comm *comm;
static char leaf[MOST][COUNT * 8], out[COUNT * 8], plain[COUNT * 8];
static const void *leaves[MOST];

/* A claim of all ranks: it holds when it holds on each. */
static void all_ok(bool good, const char *claim, const char *more)
{
	char mine = good, all[MOST];

	if (nn_comm_all_gather(comm, &mine, all, 1, NULL) < 0)
		exit(1);
	for (int i = 0; i < comm->size; i++)
		good &= all[i];
	if (comm->rank == 0)
		ok(good, "%d ranks: %s%s", comm->size, claim, more);
}

/* count values by an algorithm; in place or not. */
static bool agrees(const struct nn_reduce *r, enum nn_algorithm algorithm, size_t count,
		   bool in_place)
{
	size_t size = nn_dtype_size(r->dtype), overflow = SIZE_MAX, nan = 0;
	struct nn_reduce_found found;
	const void *in = leaves[comm->rank];

	if (in_place)
		in = memcpy(out, in, count * size);
	if (nn_comm_allreduce(comm, r, algorithm, in, out, count, &found, NULL) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!plain_reduce(r, leaves, i, plain) && overflow == SIZE_MAX)
			overflow = i;
	nan = nn_reduce_nan(r->dtype, plain, count);
	if (found.overflow != overflow || (overflow == SIZE_MAX && found.nan != nan))
		return false;
	return overflow != SIZE_MAX || memcmp(out, plain, count * size) == 0;
}

static void test_algorithm(enum nn_algorithm algorithm, bool wild)
{
	static const size_t counts[] = { 1, 2, 5, 64, COUNT };

	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		bool good = true;
		char more[80];

		for (int op = 0; nn_reduce_ops[op]; op++)
			for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
				const struct nn_reduce r = { types[t], (enum nn_reduce_op)op,
							     (size_t)comm->size };

				for (int i = 0; i < comm->size; i++)
					plain_fill(types[t], leaf[i], counts[k],
						   31 * t + 7 * k + (size_t)i, wild);
				good &= agrees(&r, algorithm, counts[k], (k + (size_t)op) % 2);
			}
		snprintf(more, sizeof more, "%s of %s%s", nn_algorithms[algorithm],
			 nn_dtype_name(types[t]), wild ? ", any bits" : "");
		all_ok(good, "every operation gives the bytes of the plain program: ", more);
	}
}

/* More than a chunk, whose pieces are no multiples of anything. */
static void test_long(void)
{
	size_t count = ((size_t)9 << 20) / 4 + 13;
	const struct nn_reduce r = { NN_F32, NN_REDUCE_MEAN, (size_t)comm->size };
	float *mine = malloc(count * 4), *results[4];
	bool good = mine != NULL, same = true;

	for (size_t a = 0; a < 4; a++) {
		results[a] = malloc(count * 4);
		good &= results[a] != NULL;
	}
	if (!good)
		exit(1);
	plain_fill(NN_F32, mine, count, (uint64_t)comm->rank + 77, false);
	for (size_t a = 0; a < 4; a++) {
		good &= nn_comm_allreduce(comm, &r, algorithms[a], mine, results[a], count, NULL,
					  NULL) == 0;
		same &= memcmp(results[a], results[0], count * 4) == 0;
	}
	all_ok(good && same, "long arrays get the same bytes from every algorithm", "");
	/* and the first and last values are those of the plain program */
	for (int i = 0; i < comm->size; i++) {
		plain_fill(NN_F32, results[1], count, (uint64_t)i + 77, false);
		memcpy(leaf[i], results[1], 400);
		memcpy(leaf[i] + 400, results[1] + count - 100, 400);
	}
	for (size_t i = 0; i < 200; i++)
		plain_reduce(&r, leaves, i, plain);
	all_ok(memcmp(results[0], plain, 400) == 0 &&
		       memcmp(results[0] + count - 100, plain + 400, 400) == 0,
	       "their ends are the plain program's", "");
	free(mine);
	for (size_t a = 0; a < 4; a++)
		free(results[a]);
}

/*
 * Ranks of one parity as a communicator of their own, beside that of all: a sum over them, messages
 * under way, their numbers.
 */
static void test_part(void)
{
	int parity = comm->rank % 2, size = (comm->size - parity + 1) / 2, numbers[MOST];
	const struct nn_reduce r = { NN_I32, NN_REDUCE_SUM, (size_t)size };
	struct nn_posted posted = { 0 };
	struct nn_comm *part;
	int32_t mine = 1 + comm->rank, sum = 0, wanted = 0, from = -1;
	bool good = nn_comm_part(&part, comm, parity, 2, size, 2, NULL) == 0;

	for (int i = parity; i < comm->size; i += 2)
		wanted += 1 + i;
	good &= part->rank == comm->rank / 2 && part->size == size;
	good &= nn_comm_allreduce(part, &r, NN_ALGORITHM_RING, &mine, &sum, 1, NULL, NULL) == 0 &&
		sum == wanted;
	good &= nn_comm_all_gather(part, &comm->rank, numbers, sizeof *numbers, NULL) == 0;
	for (int i = 0; i < size; i++)
		good &= numbers[i] == parity + 2 * i;
	if (size > 1) {
		struct nn_message send = { (part->rank + 1) % size, &mine, sizeof mine };
		struct nn_message receive = { (part->rank - 1 + size) % size, &from, sizeof from };

		good &= nn_comm_post_receive(part, &receive, &posted, NULL) == 0 &&
			nn_comm_post(part, &send, &posted, NULL) == 0;
		good &= nn_comm_finish(part, &posted, NULL) == 0 &&
			from == 1 + parity + 2 * receive.peer;
	}
	nn_free(posted.requests);
	nn_comm_close(part);
	all_ok(good, "some ranks talk as if they were all", "");
}

/* Messages of all sizes that are under way at once, round the ring: each byte arrives, in order. */
static void test_posted(void)
{
	static const size_t sizes[] = { 1, 61439, 61440, 61441, 400000 };
	unsigned char *out = malloc(600000), *in = calloc(600000, 1);
	struct nn_posted posted = { 0 };
	int left = (comm->rank - 1 + comm->size) % comm->size,
	    right = (comm->rank + 1) % comm->size;
	size_t at = 0;
	bool good = true;

	for (size_t i = 0; i < 600000; i++)
		out[i] = (unsigned char)(i * 7 + i / 251 + (size_t)comm->rank);
	for (size_t i = 0; comm->size > 1 && i < sizeof sizes / sizeof *sizes; at += sizes[i++]) {
		good &= nn_comm_post_receive(comm, &(struct nn_message){ left, in + at, sizes[i] },
					     &posted, NULL) == 0;
		good &= nn_comm_post(comm, &(struct nn_message){ right, out + at, sizes[i] },
				     &posted, NULL) == 0;
	}
	good &= nn_comm_finish(comm, &posted, NULL) == 0 && posted.n == 0;
	for (size_t i = 0; i < at; i++)
		good &= in[i] == (unsigned char)(i * 7 + i / 251 + (size_t)left);
	nn_free(posted.requests);
	free(out);
	free(in);
	all_ok(good, "messages that are under way at once arrive as they were sent", "");
}

/* One rank's word differs: all know which. */
static void test_alike(void)
{
	uint32_t sums[5] = { 1, 2, 3, 4, 5 };
	int rank, last = comm->size - 1;
	size_t place;
	bool good = nn_comm_compare(comm, sums, 5, &rank, &place, NULL) == 1;

	sums[3] += comm->size > 1 && comm->rank == last;
	good &= nn_comm_compare(comm, sums, 5, &rank, &place, NULL) == (comm->size == 1);
	all_ok(good && (comm->size == 1 || (rank == last && place == 3)),
	       "a rank that differs is found, with the place", "");
}

static void test_small(void)
{
	bool good = nn_comm_barrier(comm, NULL) == 0;
	struct nn_comm *other;
	int all[MOST];

	for (int root = 0; root < comm->size; root++) {
		int number = comm->rank == root ? 1000 + root : -1;

		good &= nn_comm_broadcast(comm, root, &number, sizeof number, NULL) == 0 &&
			number == 1000 + root;
	}
	all_ok(good, "a broadcast from any rank reaches all", "");
	good = nn_comm_all_gather(comm, &comm->rank, all, sizeof *all, NULL) == 0;
	for (int i = 0; i < comm->size; i++)
		good &= all[i] == i;
	all_ok(good, "gather gives what all have, in order", "");
	good = nn_comm_channel(&other, comm, 1, NULL) == 0;
	if (comm->size > 1) {
		/* two messages to the right, received the other way round */
		int out_first = 1, out_second = 2, in_first = 0, in_second = 0;
		struct nn_message send = { (comm->rank + 1) % comm->size, &out_first, sizeof(int) };
		struct nn_message receive = { (comm->rank - 1 + comm->size) % comm->size,
					      &in_second, sizeof(int) };

		good &= nn_comm_exchange(comm, &send, 1, NULL, 0, NULL) == 0;
		send.data = &out_second;
		good &= nn_comm_exchange(other, &send, 1, &receive, 1, NULL) == 0;
		receive.data = &in_first;
		good &= nn_comm_exchange(comm, NULL, 0, &receive, 1, NULL) == 0 && in_first == 1 &&
			in_second == 2;
	}
	nn_comm_close(other);
	all_ok(good, "messages of two channels do not meet", "");
	test_part();
	test_posted();
	test_alike();
	/* measured, then kept: all ranks choose alike */
	for (int turn = 0; turn < 2; turn++) {
		enum nn_algorithm choices[MOST][NN_COMM_CLASSES];

		good = nn_comm_measure(comm, NULL) == 0 &&
		       nn_comm_all_gather(comm, comm->choice, choices, sizeof *choices, NULL) == 0;
		for (int i = 0; i < comm->size && comm->size > 1; i++)
			for (int k = 0; k < NN_COMM_CLASSES; k++)
				good &= choices[i][k] == choices[0][k] &&
					choices[0][k] >= NN_ALGORITHM_RING;
		all_ok(good,
		       turn ? "the choice is found again"
			    : "auto chooses an algorithm, all ranks the same",
		       "");
		for (int k = 0; k < NN_COMM_CLASSES; k++)
			comm->choice[k] = NN_ALGORITHM_AUTO;
	}
}

int main(void)
{
	struct nn_error err = { 0 };
	int status = 0;

	for (int i = 0; i < MOST; i++)
		leaves[i] = leaf[i];
	if (nn_comm_open(&comm, false, &err) < 0 || comm->size > MOST) {
		fprintf(stderr, "%s\n", err.text);
		return err.code ? (int)err.code : 1;
	}
	test_small();
	for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
		test_algorithm(algorithms[a], false);
		test_algorithm(algorithms[a], true);
	}
	test_long();
	if (comm->rank == 0)
		status = tap_done();
	nn_comm_close(comm);
	return status;
}
