/* What the sources of http share: the server, its loops, connections and requests. */
#ifndef NN_SERVE_HTTP_LOOP_H
#define NN_SERVE_HTTP_LOOP_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "serve/http/http.h"

enum { NN_HTTP_LISTENERS = 8, NN_HTTP_LINGERING = 256 };

/* Where a connection stands: the first three have deadlines. */
enum nn_http_phase {
	NN_HTTP_LINE, /* part of a request line has come, or nothing on a new connection */
	NN_HTTP_HEADERS,
	NN_HTTP_BODY,
	NN_HTTP_IDLE,  /* between two requests */
	NN_HTTP_ANSWER /* the handler's, or being sent */
};

/* Who has a request. SETTLED turns into one of the others at the end of its round. */
enum nn_http_owner {
	NN_HTTP_TAKEN,     /* the handler has it, libmicrohttpd still looks at its connection */
	NN_HTTP_SUSPENDED, /* the handler has it */
	NN_HTTP_ANSWERED,  /* the loop */
	NN_HTTP_GONE       /* the handler alone: the server is closed */
};

/* A connection. */
struct nn_http_link {
	struct nn_http_loop *loop;
	struct nn_http_link *prev, *next; /* of the loop */
	struct MHD_Connection *connection;
	struct nn_http_request *request; /* NULL: none is read or answered */
	int fd;
	enum nn_http_phase phase;
	double since;        /* when the phase began */
	uint64_t bytes_used; /* by the requests that are over */
	uint64_t bytes_taken; /* by libmicrohttpd when it was last looked at; idle: no less than
				 used */
	uint64_t local_taken; /* by libmicrohttpd from a Unix socket, until local_left was set */
	int local_left;       /* SO_PEEK_OFF: what is read is subtracted there */
	bool local;           /* over a Unix socket */
	bool unread;          /* when it was last looked at more lay there */
	bool refused;         /* answered past libmicrohttpd, nothing more is taken from it */
};

/* An exchange with what the handler does not see. Kept on a list of the loop when it is over. */
struct nn_http_request {
	struct nn_exchange exchange; /* first */
	struct nn_http_link *link;
	struct nn_http_loop *loop;
	struct nn_http *http;
	struct nn_http_request *next; /* in the loop's fresh or spare list */
	_Atomic int owner;            /* enum nn_http_owner */
	unsigned status;              /* of the answer */
	size_t refusal_bytes;         /* of a refusal's body that went past libmicrohttpd */
	const char *type;             /* Content-Type */
	struct nn_text line;          /* path, '\0', query: a copy, unescaped */
	struct nn_text headers;       /* of the answer: name, '\0', value, '\0', ... */
	const char *raw_url;          /* in libmicrohttpd's buffer, to see where lines end */
	size_t raw_url_length;
	const char *body_begin; /* the first byte behind the headers, likewise */
	size_t body_room;
	size_t head_bytes; /* of its line and headers */
	uint64_t chunks;
	bool begun, handled, chunked;
};

struct nn_http_loop {
	struct nn_http *http;
	unsigned number;
	pthread_t thread;
	struct MHD_Daemon *daemon;
	int wake_fd;             /* eventfd */
	_Atomic bool woken;      /* since the last round began */
	int inbox[2];            /* pipe of struct nn_http_arrival */
	_Atomic size_t arrivals; /* in it */
	_Atomic size_t load;     /* connections given to this loop */
	_Atomic size_t unread;   /* connections added in the last round */
	_Atomic size_t pending, answering;
	struct nn_http_link *links;
	struct nn_http_request *fresh; /* handed out in this round */
	struct nn_http_request *spare;
	size_t n_spare;
	double next_look; /* at deadlines */
	bool link_began;  /* set when a connection that is added comes to life */
	bool stop;
};

/* A connection on its way from the acceptor to a loop; fd -1: stop. */
struct nn_http_arrival {
	int fd;
	bool local;
};

struct nn_http {
	struct nn_http_setup setup;
	struct nn_text where, cert, key;
	int listeners[NN_HTTP_LISTENERS];
	unsigned n_listeners;
	char *unix_path; /* removed at close, and by signals that end the process; NULL: none */
	int unix_handle; /* nn_output_remember */
	bool wide;
	struct nn_http_loop *loops;
	unsigned n_loops, n_started;
	pthread_t acceptor;
	bool accepting;        /* the acceptor's thread runs */
	int acceptor_box[2];   /* pipe of struct nn_http_arrival: fd >= 0: to linger */
	_Atomic bool stopping; /* the acceptor has been told and has not finished */
	_Atomic size_t connections, refused;
	_Atomic size_t holders; /* who frees this: close, and each request it left behind */
};

/* http.c: one holder less; the last frees it. */
void nn_http_let_go(struct nn_http *http);
/* Tell the acceptor: -1: stop listening, -2: end. */
void nn_http_tell_acceptor(struct nn_http *http, int what);

/* listen.c: fills listeners, where, unix_path, wide. */
int nn_http_listen(struct nn_http *http, struct nn_error *err);
/* accept.c: the acceptor's thread. */
void *nn_http_accept(void *http);
/* Read and drop what comes on a copy of fd for a while, so that the answer is not lost by a reset.
 */
void nn_http_linger(struct nn_http *http, int fd);

/* loop.c */
int nn_http_loop_open(struct nn_http_loop *loop, struct nn_http *http, unsigned number,
		      struct nn_error *err);
void nn_http_loop_close(struct nn_http_loop *loop);
void *nn_http_loop_run(void *loop);

/* request.c: the callbacks of libmicrohttpd. */
void *nn_http_on_line(void *loop, const char *url, struct MHD_Connection *connection);
enum MHD_Result nn_http_on_request(void *loop, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *data,
				   size_t *bytes, void **request);
void nn_http_on_completed(void *loop, struct MHD_Connection *connection, void **request,
			  enum MHD_RequestTerminationCode code);
void nn_http_request_free(struct nn_http_request *request);
/* log.c */
void nn_http_on_log(void *loop, const char *format, va_list args);

/* Bytes that libmicrohttpd has read so far; where the system does not count them: 0. */
uint64_t nn_http_bytes_taken(struct nn_http_link *link);
/* Is this its thread? */
bool nn_http_loop_is_here(const struct nn_http_loop *loop);
/* There is something to do for a loop that may be waiting; any thread. */
void nn_http_loop_wake(struct nn_http_loop *loop);
/* Hand a connection to a loop (fd -1: it stops); false: it cannot be. */
bool nn_http_loop_send(struct nn_http_loop *loop, struct nn_http_arrival arrival);

/* A refusal: its status and why, naming the option. */
struct nn_http_refusal {
	unsigned status; /* 0: none */
	const char *why;
};
/* validate.c: what is wrong with the headers, which are all there. */
struct nn_http_refusal nn_http_check(struct nn_http_request *request,
				     struct MHD_Connection *connection, const char *method,
				     const char *version, uint64_t *length);

/* answer.c: give libmicrohttpd the answer; false: it cannot be given. */
bool nn_http_reply(struct nn_http_request *request);
/* Queue this refusal as the answer. */
enum MHD_Result nn_http_refuse(struct nn_http_request *request, struct nn_http_refusal refusal);
/* Write it past libmicrohttpd, which takes none now; the caller ends the connection. */
void nn_http_refuse_raw(struct nn_http_link *link, struct nn_http_refusal refusal);
/* The same for a socket that libmicrohttpd has not seen, which came at `since`. */
void nn_http_refuse_socket(struct nn_http *http, int fd, struct nn_http_refusal refusal,
			   double since);
/* The handler will hear of it no more. */
void nn_http_over(struct nn_http_request *request, size_t bytes_out);

extern const struct nn_http_refusal nn_http_late_headers, nn_http_late_body, nn_http_large_body,
	nn_http_long_line, nn_http_large_headers, nn_http_many_headers, nn_http_many_chunks,
	nn_http_many_connections, nn_http_bad_framing, nn_http_malformed;

#endif
