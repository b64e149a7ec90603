/*
 * Keep-alive connections of one thread to one server (epoll): a request on each at a time, opened
 * as they are needed, memory by their number alone.
 */
#ifndef NN_BENCH_LOAD_CLIENT_H
#define NN_BENCH_LOAD_CLIENT_H

#include "bench/load/answer.h"
#include "bench/load/server.h"

struct nn_load_call {
	const char *request; /* [size], head and body; stays the caller's until the call is done */
	size_t size;
	double intended; /* when it was to be sent */
	char *body;      /* for the answer's body, or NULL */
	size_t most;
};

/* A call that came to its end. */
struct nn_load_done {
	double intended, sent, at;           /* sent: NAN where it never was */
	const struct nn_load_answer *answer; /* NULL: there was none */
	const char *why;                     /* then: "timeout" */
};

struct nn_load_client;

/*
 * server must stay. At most n connections; a request without an answer after timeout_s seconds has
 * failed. done is called from call and wait, and must not call the client.
 */
int nn_load_client_new(struct nn_load_client **client, const struct nn_load_server *server,
		       size_t n, double timeout_s,
		       void (*done)(void *, const struct nn_load_done *), void *arg,
		       struct nn_error *err);
void nn_load_client_free(struct nn_load_client *client);
/* To whom calls are reported from here on. */
void nn_load_client_report(struct nn_load_client *client,
			   void (*done)(void *, const struct nn_load_done *), void *arg);
/* Can a call be made? Connections that failed rest for a while. */
bool nn_load_client_ready(struct nn_load_client *client, double now);
/* Make one; only where that is so. */
void nn_load_client_call(struct nn_load_client *client, const struct nn_load_call *call);
size_t nn_load_client_pending(const struct nn_load_client *client);
/*
 * Take what arrives until that time, or until something did, or for a twentieth of a second. A
 * signal ends it too.
 */
int nn_load_client_wait(struct nn_load_client *client, double until, struct nn_error *err);
/* Give up the calls that are under way: none is reported. */
void nn_load_client_abandon(struct nn_load_client *client);

#endif
