/*
 * Ranks talking: processes numbered from 0 that run one program, and sums over them whose bytes do
 * not depend on how they travel.
 */
#ifndef NN_COMM_COMM_H
#define NN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "comm/reduce.h"
#include "comm/transport.h"

/*
 * ring     in round i a rank sends its untouched piece to rank r+i; the owner adds all of them
 *          along the tree; results go round: 2(n-1)/n of the bytes per rank, 2(n-1) messages
 * halving  recursive halving, neighbours first, then doubling: the same bytes, 2 log2(n) messages
 * tree     partial results whole along the tree: log2(n) messages, log2(n) times the bytes
 * mpi      MPI_Allreduce, in its own order
 * auto     the fastest of the first three for such an array, as measured on these ranks
 */
enum nn_algorithm {
	NN_ALGORITHM_AUTO,
	NN_ALGORITHM_MPI,
	NN_ALGORITHM_RING,
	NN_ALGORITHM_HALVING,
	NN_ALGORITHM_TREE
};
extern const char *const nn_algorithms[]; /* "auto", ...; NULL at the end */

/* arrays of up to 1K, 2K, ... 1M bytes, and longer ones, have a fastest algorithm each */
#define NN_COMM_CLASS ((size_t)1024)
#define NN_COMM_CLASSES 11

/*
 * A communicator belongs to one thread at a time. All functions without a peer are
 * collective: every rank calls them in the same order with the same sizes. Where one fails
 * (-1) the job is lost: print the error and nn_comm_abort.
 */
struct nn_comm {
	int rank, size;
	int first, stride; /* rank r of these is rank first + r * stride of the transport */
	const struct nn_transport *transport;
	void *state;
	int tag;
	void *scratch; /* grows with what collectives need */
	size_t scratch_size;
	enum nn_algorithm choice[NN_COMM_CLASSES]; /* of auto; NN_ALGORITHM_AUTO: not measured */
	bool fragments;                            /* short messages in parts: comm.c */
	bool borrowed;         /* a channel: the transport is closed by another */
	bool part;             /* has some of the ranks only */
	bool unwatched;        /* ranks started by srun, which no launcher of ours watches */
	struct nn_comm *whole; /* what was opened; its count is of all its channels */
	uint64_t moved;        /* bytes sent and received */
	_Atomic uint32_t
		*waiting; /* number of threads waiting for messages; NULL: not counted */
};

/* Does the environment say that this process is one of several ranks (mpirun, srun)? */
bool nn_comm_is_rank(void);
/* The rank the environment names, before anything is opened; 0 where it names none. */
int nn_comm_env_rank(void);
/* How many ranks the environment names: 1 where it names no rank, 0 where it does not say. */
int nn_comm_env_size(void);
/*
 * Do the ranks run without a launcher that watches them? Call it before MPI begins, which sets the
 * variables that mpirun sets.
 */
bool nn_comm_env_unwatched(void);
/*
 * Has this host fewer processors than ranks, as far as the environment says? Then a waiting thread
 * should yield its core.
 */
bool nn_comm_crowded(void);
/*
 * Number of processes like this one that srun started without making them ranks: each would do the
 * whole work. 1 without srun.
 */
int nn_comm_env_tasks(void);
/*
 * May Open MPI carry bytes between ranks of one host in shared memory, as far as the environment
 * says? The same on all ranks.
 */
bool nn_comm_shares_memory(void);
/*
 * The key in the cache "link" (base/cache.h) of a figure for a number of ranks: it contains the
 * transport, in a rank as given to mpirun, else as nn-train and nn-allreduce will give it.
 */
#define NN_COMM_KEY 256
void nn_comm_key(char key[NN_COMM_KEY], const char *what, int ranks);

/* A hash of the code and constants of this program and of libnn: the same on ranks of one build. */
uint64_t nn_comm_program(void);

/*
 * The communicator of all ranks: of this process alone unless it is one of several ranks, else
 * through the module nn-mpi (NN_ENODEV where it is missing). threads: channels will be used by
 * threads of their own.
 */
int nn_comm_open(struct nn_comm **comm, bool threads, struct nn_error *err);
/*
 * A second communicator of the same ranks, whose messages do not meet those of the first: for a
 * helper thread. Not collective.
 */
int nn_comm_channel(struct nn_comm **channel, const struct nn_comm *comm, int number,
		    struct nn_error *err);
/*
 * A channel of some ranks: first, first + stride, ..., size of them, this rank among them; there
 * they have the numbers from 0. The transport's own reduction (mpi) is for all ranks and not for
 * these. Not collective.
 */
int nn_comm_part(struct nn_comm **part, const struct nn_comm *comm, int first, int stride, int size,
		 int number, struct nn_error *err);
/*
 * Bytes that this rank has sent and received so far, through all channels; those of the transport's
 * own reduction are not known.
 */
uint64_t nn_comm_moved(const struct nn_comm *comm);
/* Inside: count some. */
void nn_comm_count(struct nn_comm *comm, size_t bytes);
void nn_comm_close(struct nn_comm *comm); /* NULL allowed */
/* End the other ranks with this status; the caller is to end, too. */
void nn_comm_abort(struct nn_comm *comm, int status);

/* ---- messages ---- */

/*
 * One peer each; data of sends is not written. All are started at once; returns when all are done.
 */
struct nn_message {
	int peer;
	void *data;
	size_t bytes; /* 0: left out, on both sides */
};
int nn_comm_exchange(struct nn_comm *comm, const struct nn_message *sends, size_t n_sends,
		     const struct nn_message *receives, size_t n_receives, struct nn_error *err);

/*
 * Messages that are under way; begins as {0}. Free its memory with nn_free(posted->requests) when
 * none is.
 */
struct nn_posted {
	struct nn_request *requests;
	size_t n, room;
};
/*
 * Start a message to one peer, or from it: its data is borrowed until nn_comm_finish, which waits
 * for all that are under way. Between two ranks messages are received in the order in which they
 * were started, by the same kind of function as they were sent: posted ones go in parts of their
 * own size, so that more may follow while they are on their way.
 */
int nn_comm_post(struct nn_comm *comm, const struct nn_message *send, struct nn_posted *posted,
		 struct nn_error *err);
int nn_comm_post_receive(struct nn_comm *comm, const struct nn_message *receive,
			 struct nn_posted *posted, struct nn_error *err);
int nn_comm_finish(struct nn_comm *comm, struct nn_posted *posted, struct nn_error *err);

/*
 * Messages of up to NN_COMM_SHORT bytes from whichever rank is first: expect starts to receive one
 * into its place among requests[n], any waits for one of those, whose place it says. A place that
 * is {0} has none.
 */
#define NN_COMM_SHORT ((size_t)4000)
int nn_comm_expect(struct nn_comm *comm, const struct nn_message *receive,
		   struct nn_request *request, struct nn_error *err);
int nn_comm_any(struct nn_comm *comm, struct nn_request *requests, size_t n, size_t *which,
		struct nn_error *err);

int nn_comm_barrier(struct nn_comm *comm, struct nn_error *err);
/* bytes of `root` to all. */
int nn_comm_broadcast(struct nn_comm *comm, int root, void *data, size_t bytes,
		      struct nn_error *err);
/*
 * Do all ranks have the same sums[n]? 1; 0 with the first rank that differs from rank 0, and the
 * place of its first difference, known to all. Equal sums cost one word of each rank.
 */
int nn_comm_compare(struct nn_comm *comm, const uint32_t *sums, size_t n, int *rank, size_t *place,
		    struct nn_error *err);
/* bytes of every rank, in order of ranks: all[size * bytes]. */
int nn_comm_all_gather(struct nn_comm *comm, const void *mine, void *all, size_t bytes,
		       struct nn_error *err);

/* ---- all-reduce ---- */

/*
 * out[count] on every rank from in[count] of each (which may be out), as nn_reduce_leaves over the
 * ranks in order: the same bytes for any algorithm but mpi. reduce->n is the number of ranks. found
 * may be NULL; only whole numbers make it cost a message.
 */
int nn_comm_allreduce(struct nn_comm *comm, const struct nn_reduce *reduce,
		      enum nn_algorithm algorithm, const void *in, void *out, size_t count,
		      struct nn_reduce_found *found, struct nn_error *err);
/* What auto means for an array of `bytes` bytes. */
enum nn_algorithm nn_comm_choose(const struct nn_comm *comm, size_t bytes);
/*
 * What auto means on these ranks: as kept from an earlier run, else measured (10 ms over shared
 * memory) and kept. The same on all.
 */
int nn_comm_measure(struct nn_comm *comm, struct nn_error *err);

/* Inside: at least `bytes` of scratch memory, valid until the next call; NULL with an error. */
void *nn_comm_scratch(struct nn_comm *comm, size_t bytes, struct nn_error *err);
/*
 * Inside: of one algorithm; *over where a partial result of whole numbers did not fit, on some
 * rank.
 */
typedef int nn_allreduce(struct nn_comm *comm, const struct nn_reduce *reduce, const void *in,
			 void *out, size_t count, bool *over, struct nn_error *err);
nn_allreduce nn_allreduce_tree, nn_allreduce_halving;
/*
 * With every leaf at the owner of a piece whole numbers are exact: *overflow is the first value of
 * this rank's piece that did not fit.
 */
int nn_allreduce_ring(struct nn_comm *comm, const struct nn_reduce *reduce, const void *in,
		      void *out, size_t count, size_t *overflow, struct nn_error *err);

#endif
