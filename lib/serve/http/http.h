/*
 * HTTP over sockets: whole requests in, answers out, from any thread. Nothing outside this folder
 * includes <microhttpd.h>.
 *
 * A loop is a thread with an epoll set of its own; connections go to the loop with the fewest. What
 * arrives is bounded: a request that passes a limit is refused here (400, 408, 413, 414, 431, 501,
 * 503), naming the option.
 */
#ifndef NN_SERVE_HTTP_HTTP_H
#define NN_SERVE_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct nn_http;

/* A request and its answer. Members above the line are the handler's to read, below to write. */
struct nn_exchange {
	const char *method, *path; /* path without its query, as it came (not unescaped) */
	const char *query;         /* behind '?', NULL: none */
	char *body;                /* [bytes], '\0' behind it; may be written to */
	size_t bytes;
	double began, read; /* nn_now_s: its first byte had come; all of it had */
	unsigned loop;      /* 0 .. loops - 1 */
	/* ---- */
	struct nn_text answer; /* its body, freed with the exchange */
	void *arg;             /* the handler's own; freed in `ended` */
	const char *model;     /* for the access log, until `ended`; NULL: none */
	size_t rows;
};

struct nn_http_limits {
	uint64_t body, line, headers, header_count, chunks, connections;
	double header_timeout; /* seconds */
	uint64_t min_rate;     /* bytes a second of a body */
};

struct nn_http_setup {
	const char
		*listen; /* HOST:PORT (port 0: any), unix:PATH; NULL: sockets that systemd passed */
	const struct nn_http *from;     /* opened before a fork: its sockets are used; NULL: none */
	const char *tls_cert, *tls_key; /* PEM files, NULL: none */
	unsigned loops;
	struct nn_http_limits limits;
	/* A whole request has come, on its loop's thread: answer it now or later. */
	void (*handle)(void *arg, struct nn_exchange *exchange);
	/*
	 * The answer is sent or the client gone: the last that is heard of the exchange. Also of
	 * requests that were refused here and never handed out (arg is NULL, bytes what had come).
	 * On the loop's thread, on that which accepts (--max-connections), or on that of
	 * nn_exchange_answer after nn_http_close.
	 */
	void (*ended)(void *arg, struct nn_exchange *exchange, unsigned status, size_t bytes_out);
	/* All that was there is handled, on the loop's thread, before it waits for more. */
	void (*round)(void *arg, unsigned loop);
	/* A thread of a loop begins (computes without subnormals, ...). NULL: nothing to do. */
	void (*begin)(void *arg, unsigned loop);
	void *arg;
};

/* Is it HOST:PORT, [HOST]:PORT or unix:PATH? NN_EUSAGE, as of --listen. */
int nn_http_check_listen(const char *listen, struct nn_error *err);
/* Has systemd passed sockets to this process? */
bool nn_http_is_passed(void);
/* To the process that started this one, before it looked at them: they are not for this one. */
void nn_http_close_passed(void);
/* Bind and listen; nothing is accepted yet. A port in use or an address not here: NN_EFAIL. */
int nn_http_open(struct nn_http **http, const struct nn_http_setup *setup, struct nn_error *err);
/* The file of its Unix socket is another process's, which this one does not remove. */
void nn_http_disown(struct nn_http *http);
/* "http://127.0.0.1:8080", "unix:/run/nn.sock"; borrowed */
const char *nn_http_where(const struct nn_http *http);
/* Does it listen beyond loopback and Unix sockets? */
bool nn_http_is_wide(const struct nn_http *http);
int nn_http_start(struct nn_http *http, struct nn_error *err);
/* Connections there are. */
size_t nn_http_connections(const struct nn_http *http);
/* Connections refused so far because of --max-connections. */
size_t nn_http_refused(const struct nn_http *http);
/* New connections are refused from now on; those that are open go on. */
void nn_http_stop_accepting(struct nn_http *http);
/* May a connection still come, though that was called? Not for long. */
bool nn_http_is_stopping(const struct nn_http *http);
/* Requests that have begun to come and are not yet answered, and connections not yet looked at. */
size_t nn_http_pending(const struct nn_http *http);
/*
 * Ends loops and connections, answered or not; requests that are still the handler's stay valid
 * until it answers them, to nobody: how many they are. NULL allowed.
 */
size_t nn_http_close(struct nn_http *http);

/* A header of the request, in any case; NULL: none. Borrowed until it is answered. */
const char *nn_exchange_header(const struct nn_exchange *exchange, const char *name);
/* Over a Unix socket (administration needs no key there)? */
bool nn_exchange_is_local(const struct nn_exchange *exchange);
/* A header of the answer; false: memory is out. Before nn_exchange_answer. */
bool nn_exchange_set_header(struct nn_exchange *exchange, const char *name, const char *value);
/*
 * Send exchange->answer with this status; any thread, once; the exchange is not the caller's any
 * more. type: Content-Type, a constant.
 */
void nn_exchange_answer(struct nn_exchange *exchange, unsigned status, const char *type);

#endif
