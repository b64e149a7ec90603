/* What carries bytes between ranks: the table of a wing (self, mpi). */
#ifndef NN_COMM_TRANSPORT_H
#define NN_COMM_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include "comm/reduce.h"

/* A message under way: what the transport keeps of it. */
struct nn_request {
	void *handle;
};

#define NN_MESSAGE_MAX ((size_t)1 << 30) /* bytes of one message */

struct nn_transport {
	const char *name;
	/*
	 * threads: more than one thread will call (on different tags). Joins the other ranks;
	 * collective. *state belongs to this process until close, which is collective too.
	 */
	int (*open)(void **state, bool threads, int *rank, int *size, struct nn_error *err);
	void (*close)(void *state);
	/* End all other ranks with this exit status. */
	void (*abort)(void *state, int status);
	/*
	 * Start a message; data is borrowed until wait. Messages of one tag from one rank to
	 * another arrive in order.
	 */
	int (*send)(void *state, int to, int tag, const void *data, size_t bytes,
		    struct nn_request *request, struct nn_error *err);
	int (*receive)(void *state, int from, int tag, void *data, size_t bytes,
		       struct nn_request *request, struct nn_error *err);
	/*
	 * Until all n are done. Spins for two milliseconds, where ranks have a core each, then
	 * looks ever more rarely, up to once a millisecond.
	 */
	int (*wait)(void *state, struct nn_request *requests, size_t n, struct nn_error *err);
	/*
	 * Move messages under way along, without waiting. Any thread may call it while others wait
	 * or start messages.
	 */
	void (*progress)(void *state);
	/*
	 * Until one of n is done, which is not waited for again until it is started anew; a place
	 * that is {0} was never started.
	 */
	int (*wait_any)(void *state, struct nn_request *requests, size_t n, size_t *which,
			struct nn_error *err);
	/*
	 * The transport's own reduction, in whatever order; -1 with NN_EUSAGE for types it does not
	 * know. in and out may be one.
	 */
	int (*allreduce)(void *state, const struct nn_reduce *reduce, const void *in, void *out,
			 size_t count, struct nn_error *err);
};

extern const struct nn_transport nn_transport_self;

#endif
