/* A server whose handler echoes, waits and holds back, and a client that speaks raw bytes. */
#ifndef TESTS_LIB_SERVE_HTTP_H
#define TESTS_LIB_SERVE_HTTP_H

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/http/http.h"
#include "tap.h"

/*
 * What the handler does by path: /now answers at once, /later from another thread, /held when
 * release() is called; /sleep keeps its loop for 0.7 seconds; all others at the end of the round.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct nn_exchange *later[512], *held[512];
	size_t n_later, n_held;
	bool stop;
	pthread_t worker;
	_Atomic size_t handled, ended, refused;
	_Atomic unsigned last_status;
	_Atomic size_t last_bytes; /* of the answer's body */
	_Atomic bool sleeping; /* the handler of /sleep */
} bench = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

/* Of the loop that this thread is. */
static _Thread_local struct nn_exchange *in_round[512];
static _Thread_local size_t n_in_round;

/* "METHOD path?query X-Test local\n", then the body. */
static void answer(struct nn_exchange *x)
{
	const char *test = nn_exchange_header(x, "x-TEST");

	nn_text_addf(&x->answer, "%s %s?%s %s %s\n", x->method, x->path, x->query ? x->query : "-",
		     test ? test : "-", nn_exchange_is_local(x) ? "local" : "remote");
	nn_text_add_bytes(&x->answer, x->body, strlen(x->body)); /* '\0' is behind it */
	nn_exchange_set_header(x, "X-Bytes", x->bytes == strlen(x->body) ? "whole" : "cut");
	nn_exchange_answer(x, 200, "text/plain");
}

static void handle(void *arg, struct nn_exchange *x)
{
	(void)arg;
	atomic_fetch_add(&bench.handled, 1);
	x->arg = &bench;
	if (strcmp(x->path, "/now") == 0) {
		answer(x);
		return;
	}
	if (strcmp(x->path, "/later") == 0 || strcmp(x->path, "/held") == 0) {
		pthread_mutex_lock(&bench.lock);
		if (x->path[1] == 'l')
			bench.later[bench.n_later++] = x;
		else
			bench.held[bench.n_held++] = x;
		pthread_cond_signal(&bench.more);
		pthread_mutex_unlock(&bench.lock);
		return;
	}
	if (strcmp(x->path, "/sleep") == 0) {
		atomic_store(&bench.sleeping, true);
		usleep(700000);
	}
	in_round[n_in_round++] = x;
}

static void ended(void *arg, struct nn_exchange *x, unsigned status, size_t bytes)
{
	(void)arg;
	atomic_store(&bench.last_status, status);
	atomic_store(&bench.last_bytes, bytes);
	atomic_fetch_add(x->arg ? &bench.ended : &bench.refused, 1);
}

static void round_ends(void *arg, unsigned loop)
{
	(void)arg;
	(void)loop;
	for (size_t i = 0; i < n_in_round; i++)
		answer(in_round[i]);
	n_in_round = 0;
}

__attribute__((unused)) static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&bench.lock);
	while (!bench.stop || bench.n_later > 0) {
		if (bench.n_later > 0) {
			struct nn_exchange *x = bench.later[--bench.n_later];

			pthread_mutex_unlock(&bench.lock);
			usleep(100);
			answer(x);
			pthread_mutex_lock(&bench.lock);
			continue;
		}
		pthread_cond_wait(&bench.more, &bench.lock);
	}
	pthread_mutex_unlock(&bench.lock);
	return NULL;
}

/* Until something is true, at most half a minute. */
#define AWAIT(condition) \
	do { \
		for (int await = 0; await < 30000 && !(condition); await++) \
			usleep(1000); \
	} while (0)

__attribute__((unused)) static size_t n_held(void)
{
	size_t n;

	pthread_mutex_lock(&bench.lock);
	n = bench.n_held;
	pthread_mutex_unlock(&bench.lock);
	return n;
}

__attribute__((unused)) static void release(void)
{
	pthread_mutex_lock(&bench.lock);
	while (bench.n_held > 0)
		answer(bench.held[--bench.n_held]);
	pthread_mutex_unlock(&bench.lock);
}

static struct nn_http_setup plain_setup(void)
{
	return (struct nn_http_setup){
		.listen = "127.0.0.1:0",
		.loops = 2,
		.limits = { .body = 5000,
			    .line = 200,
			    .headers = 500,
			    .header_count = 10,
			    .chunks = 5,
			    .connections = 200,
			    .header_timeout = 20,
			    .min_rate = 1 },
		.handle = handle,
		.ended = ended,
		.round = round_ends,
	};
}

static struct nn_http *serve(const struct nn_http_setup *setup)
{
	struct nn_error err = { 0 };
	struct nn_http *http;

	if (nn_http_open(&http, setup, &err) != 0 || nn_http_start(http, &err) != 0) {
		ok(false, "a server starts: %s", err.text);
		exit(tap_done());
	}
	return http;
}

/* A connection to where nn_http_where says; -1: refused. */
static int dial(const char *where)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in remote = { .sin_family = AF_INET };
	struct timeval patience = { 30, 0 };
	bool is_local = strncmp(where, "unix:", 5) == 0;
	int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
	int yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* pieces go as they are */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (is_local) {
		strncpy(local.sun_path, where + 5, sizeof local.sun_path - 1);
		status = connect(fd, (struct sockaddr *)&local, sizeof local);
	} else {
		remote.sin_port = htons((uint16_t)atoi(strrchr(where, ':') + 1));
		remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		status = connect(fd, (struct sockaddr *)&remote, sizeof remote);
	}
	if (status == 0)
		return fd;
	close(fd);
	return -1;
}

/* false: the other side has closed */
static bool say(int fd, const char *bytes, size_t n)
{
	ssize_t k;

	for (; n > 0; bytes += k, n -= (size_t)k) {
		k = send(fd, bytes, n, MSG_NOSIGNAL);
		if (k <= 0)
			return false;
	}
	return true;
}

struct heard {
	int status; /* 0: none */
	char head[1024], body[8192];
	bool closed; /* nothing came behind it */
};

/* One answer; head_only: to HEAD. */
static struct heard hear(int fd, bool head_only)
{
	struct heard heard = { 0 };
	size_t n = 0, length = 0;
	const char *found;

	while (n < sizeof heard.head - 1 && !strstr(heard.head, "\r\n\r\n") &&
	       recv(fd, heard.head + n, 1, 0) == 1)
		n++;
	if (sscanf(heard.head, "HTTP/1.1 %d", &heard.status) != 1)
		return heard;
	found = strstr(heard.head, "Content-Length: ");
	if (found && !head_only)
		length = strtoul(found + 16, NULL, 10);
	for (n = 0; n < length && n < sizeof heard.body - 1; n++)
		if (recv(fd, heard.body + n, 1, 0) != 1)
			break;
	return heard;
}

/* Does nothing more come, as the other side has ended the connection? */
static bool is_closed(int fd)
{
	char more;
	ssize_t n = recv(fd, &more, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

/* A connection, a request, an answer; the connection should end if `ends`. */
static struct heard ask_bytes(const char *where, const char *request, size_t n, bool ends)
{
	int fd = dial(where);
	struct heard heard;

	say(fd, request, n);
	heard = hear(fd, strncmp(request, "HEAD", 4) == 0);
	if (ends)
		heard.closed = is_closed(fd);
	close(fd);
	return heard;
}

static struct heard ask(const char *where, const char *request)
{
	return ask_bytes(where, request, strlen(request), false);
}

#endif
