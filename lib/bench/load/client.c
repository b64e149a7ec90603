/* Connections and what happens on them. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench/load/client.h"

#define REST 0.1                 /* seconds of a connection that could not be made */
#define LOOK_MS 50               /* between two looks for calls that took too long */
#define PIECE ((size_t)64 << 10) /* bytes of answers read at once */
#define EVENTS 64

enum state { CLOSED, CONNECTING, IDLE, SENDING, WAITING };

struct connection {
	enum state state;
	int fd;
	bool used;          /* an answer came on it: the server may close it whenever it likes */
	bool again;         /* the call is sent a second time */
	double since, sent; /* of the call: when it was made, and its request sent */
	double rests;       /* until then */
	size_t out;         /* bytes of the request sent so far */
	struct nn_load_call call;
	struct nn_load_answer answer;
};

struct nn_load_client {
	const struct nn_load_server *server;
	void (*done)(void *, const struct nn_load_done *);
	void *arg;
	int epoll, timer;
	size_t n, pending, n_free;
	double timeout, looked;
	double rings;             /* when the timer does, or did */
	struct connection **free; /* those without a call: the one used last on top */
	struct connection *connections;
	char *piece;
};

/* ---- opening and closing ---- */

int nn_load_client_new(struct nn_load_client **client, const struct nn_load_server *server,
		       size_t n, double timeout_s,
		       void (*done)(void *, const struct nn_load_done *), void *arg,
		       struct nn_error *err)
{
	struct nn_load_client *c = *client = nn_alloc(1, sizeof *c, err);
	struct epoll_event event = { .events = EPOLLIN |
					       EPOLLET }; /* of the timer: nobody reads it */

	if (!c)
		return -1;
	*c = (struct nn_load_client){ .server = server, .n = n, .timeout = timeout_s };
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->connections = nn_alloc(n, sizeof *c->connections, err);
	c->free = nn_alloc(n, sizeof(struct connection *), err);
	c->piece = nn_alloc(1, PIECE, err);
	nn_load_client_report(c, done, arg);
	if (c->connections && c->free && c->piece) {
		for (; c->n_free < n; c->n_free++)
			c->free[c->n_free] = &c->connections[n - 1 - c->n_free];
		if (c->epoll >= 0 && c->timer >= 0 &&
		    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &event) == 0)
			return 0;
		nn_fail_errno(err, NN_EFAIL, "cannot wait for connections");
	}
	nn_load_client_free(c);
	*client = NULL;
	return -1;
}

static void close_one(struct connection *k)
{
	if (k->state != CLOSED)
		close(k->fd);
	k->state = CLOSED;
	k->used = false;
}

void nn_load_client_free(struct nn_load_client *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->connections && i < c->n; i++)
		close_one(&c->connections[i]);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->timer >= 0)
		close(c->timer);
	nn_free(c->connections);
	nn_free(c->free);
	nn_free(c->piece);
	nn_free(c);
}

void nn_load_client_report(struct nn_load_client *c,
			   void (*done)(void *, const struct nn_load_done *), void *arg)
{
	c->done = done;
	c->arg = arg;
}

size_t nn_load_client_pending(const struct nn_load_client *c)
{
	return c->pending;
}

/* ---- ends of calls ---- */

static bool has_call(const struct connection *k)
{
	return k->call.request != NULL;
}

/* The connection is free again; report what came of its call. */
static void finish(struct nn_load_client *c, struct connection *k, const char *why)
{
	struct nn_load_done done = { k->call.intended, k->sent, nn_now_s(), why ? NULL : &k->answer,
				     why };

	k->call.request = NULL;
	c->pending--;
	c->free[c->n_free++] = k;
	if (why || k->answer.close)
		close_one(k);
	else
		k->state = IDLE;
	c->done(c->arg, &done);
}

static void fail(struct nn_load_client *c, struct connection *k, const char *why)
{
	k->rests = isnan(k->sent) ? nn_now_s() + REST : 0;
	finish(c, k, why);
}

/* ---- sending ---- */

static void watch(struct nn_load_client *c, struct connection *k, bool writing)
{
	struct epoll_event event = { .events = EPOLLIN | (writing ? (uint32_t)EPOLLOUT : 0) };

	event.data.ptr = k;
	epoll_ctl(c->epoll, EPOLL_CTL_MOD, k->fd, &event);
}

static void send_more(struct nn_load_client *c, struct connection *k)
{
	ssize_t n;

	do
		n = send(k->fd, k->call.request + k->out, k->call.size - k->out, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN) {
		/* It may have answered before it closed: reading tells. */
		k->state = WAITING;
		watch(c, k, false);
		return;
	}
	k->out += n > 0 ? (size_t)n : 0;
	if (k->out < k->call.size && k->state != SENDING)
		watch(c, k, true);
	else if (k->out == k->call.size && k->state == SENDING)
		watch(c, k, false);
	k->state = k->out < k->call.size ? SENDING : WAITING;
}

/* On a connection that stands. */
static void begin(struct nn_load_client *c, struct connection *k)
{
	k->out = 0;
	k->sent = nn_now_s();
	nn_load_answer_init(&k->answer, k->call.body, k->call.most);
	send_more(c, k);
}

static void open_one(struct nn_load_client *c, struct connection *k)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };

	event.data.ptr = k;
	k->fd = nn_load_server_connect(c->server);
	if (k->fd >= 0)
		k->state = CONNECTING;
	if (k->fd < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, k->fd, &event) < 0)
		fail(c, k, strerror(errno));
}

bool nn_load_client_ready(struct nn_load_client *c, double now)
{
	for (size_t i = c->n_free; i-- > 0;) {
		struct connection *found = c->free[i];

		if (found->rests > now)
			continue;
		c->free[i] = c->free[c->n_free - 1];
		c->free[c->n_free - 1] = found;
		return true;
	}
	return false;
}

void nn_load_client_call(struct nn_load_client *c, const struct nn_load_call *call)
{
	struct connection *k = c->free[--c->n_free];

	k->call = *call;
	k->again = false;
	k->since = nn_now_s();
	k->sent = NAN;
	c->pending++;
	if (k->state == IDLE)
		begin(c, k);
	else
		open_one(c, k);
}

/* ---- what arrives ---- */

/*
 * The server closed. Where it did so on a connection kept from an earlier call, before a byte of
 * the answer, it had not seen this one: it goes out once more, on a connection of its own.
 */
static void lose(struct nn_load_client *c, struct connection *k, const char *why)
{
	bool again = k->used && !k->again && !k->answer.begun;

	if (!again) {
		fail(c, k, why);
		return;
	}
	close_one(k);
	k->again = true;
	open_one(c, k);
}

static void take(struct nn_load_client *c, struct connection *k, const char *bytes, size_t n)
{
	struct nn_error err = { 0 };
	size_t used;
	bool whole = nn_load_answer_take(&k->answer, bytes, n, &used, &err);

	if (err.code != NN_OK) {
		fail(c, k, err.text);
		return;
	}
	if (!whole)
		return;
	/* An answer to a request that is not all sent, or more than one, ends the connection. */
	k->answer.close |= used < n || k->out < k->call.size;
	k->used = true;
	finish(c, k, NULL);
}

static void arrive(struct nn_load_client *c, struct connection *k)
{
	ssize_t n;

	do
		n = recv(k->fd, c->piece, PIECE, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return;
	if (!has_call(k)) /* closed, or speaking unasked */
		close_one(k);
	else if (n > 0)
		take(c, k, c->piece, (size_t)n);
	else if (n == 0 && nn_load_answer_end(&k->answer))
		finish(c, k, NULL);
	else
		lose(c, k, n < 0 ? strerror(errno) : "the server closed the connection");
}

static void connected(struct nn_load_client *c, struct connection *k)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		fail(c, k, strerror(error));
		return;
	}
	k->state = IDLE;
	watch(c, k, false);
	begin(c, k);
}

static void happen(struct nn_load_client *c, struct connection *k, uint32_t events)
{
	if (k->state == CONNECTING)
		connected(c, k);
	else if (k->state == SENDING && (events & EPOLLOUT))
		send_more(c, k);
	else if (k->state != CLOSED)
		arrive(c, k);
}

/* Calls that took too long. */
static void look(struct nn_load_client *c, double now)
{
	if (now < c->looked + LOOK_MS / 1e3)
		return;
	c->looked = now;
	for (size_t i = 0; i < c->n; i++) {
		struct connection *k = &c->connections[i];

		if (has_call(k) && now > k->since + c->timeout)
			fail(c, k, "no answer within the time of --timeout");
	}
}

/* Armed for a time that may have passed: it rings at once then. */
static void set_timer(struct nn_load_client *c, double at)
{
	struct itimerspec when = { 0 };
	double whole = floor(at);

	if (at == c->rings)
		return;
	c->rings = at;
	when.it_value.tv_sec = (time_t)whole;
	when.it_value.tv_nsec = (long)((at - whole) * 1e9) | 1;
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int nn_load_client_wait(struct nn_load_client *c, double until, struct nn_error *err)
{
	struct epoll_event events[EVENTS];
	double now = nn_now_s();
	int n;

	if (until > now && until < now + LOOK_MS / 1e3) /* else milliseconds are fine enough */
		set_timer(c, until);
	n = epoll_wait(c->epoll, events, EVENTS, until <= now ? 0 : LOOK_MS);
	if (n < 0 && errno != EINTR)
		return nn_fail_errno(err, NN_EFAIL, "cannot wait for connections");
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr)
			happen(c, events[i].data.ptr, events[i].events);
	look(c, nn_now_s());
	return 0;
}

void nn_load_client_abandon(struct nn_load_client *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct connection *k = &c->connections[i];

		if (!has_call(k))
			continue;
		close_one(k);
		k->call.request = NULL;
		c->pending--;
		c->free[c->n_free++] = k;
	}
}
