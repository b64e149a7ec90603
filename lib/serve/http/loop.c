/*
 * A loop: a thread, a daemon of libmicrohttpd that it drives, and the deadlines of its connections.
 *
 * A round: what has come is read and handed out; `round` of the setup; who was answered by then
 * gets the answer without a wake-up, the rest is suspended until nn_exchange_answer is called.
 */
#define _GNU_SOURCE /* pipe2 */
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "serve/http/loop.h"

static _Thread_local const struct nn_http_loop *here;

bool nn_http_loop_is_here(const struct nn_http_loop *loop)
{
	return here == loop;
}

/* What is read of a Unix socket is subtracted from where peeking would begin: never looked at. */
static void count_local(struct nn_http_link *link)
{
	link->local_left = INT_MAX;
	if (setsockopt(link->fd, SOL_SOCKET, SO_PEEK_OFF, &link->local_left,
		       sizeof link->local_left) != 0)
		link->local_left = -1;
}

static uint64_t bytes_taken_locally(struct nn_http_link *link)
{
	socklen_t size = sizeof(int);
	int left;

	if (link->local_left < 0 ||
	    getsockopt(link->fd, SOL_SOCKET, SO_PEEK_OFF, &left, &size) != 0)
		return 0;
	link->local_taken += (uint64_t)(link->local_left - left);
	link->local_left = left;
	if (left < INT_MAX / 2)
		count_local(link);
	return link->local_taken;
}

uint64_t nn_http_bytes_taken(struct nn_http_link *link)
{
	struct tcp_info info;
	socklen_t size = sizeof info;
	int unread = 0;

	if (link->local)
		return bytes_taken_locally(link);
	/* in this order: what comes in between counts as taken */
	ioctl(link->fd, FIONREAD, &unread);
	if (getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
	    size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
		return 0;
	return info.tcpi_bytes_received - (uint64_t)unread;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct nn_http_loop *loop = arg;
	struct nn_http_link *link = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		loop->link_began = true;
		link = *context = calloc(1, sizeof *link);
		if (!link)
			return;
		link->loop = loop;
		link->connection = connection;
		link->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				   ->connect_fd;
		link->local =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
				->client_addr->sa_family == AF_UNIX;
		if (link->local)
			count_local(link);
		link->since = nn_now_s();
		link->next = loop->links;
		if (link->next)
			link->next->prev = link;
		loop->links = link;
		return;
	}
	atomic_fetch_sub(&loop->http->connections, 1);
	atomic_fetch_sub(&loop->load, 1);
	if (!link)
		return;
	if (link->next)
		link->next->prev = link->prev;
	if (link->prev)
		link->prev->next = link->next;
	else
		loop->links = link->next;
	free(link);
}

/* Dead peers are noticed, and clients that do not read their answer. */
static void set_options(int fd)
{
	int yes = 1;
	unsigned patience_ms = 60 * 1000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

void nn_http_loop_wake(struct nn_http_loop *loop)
{
	uint64_t one = 1;

	/* the event is edge-triggered: nobody reads it, and a full counter is not reached */
	if (!atomic_exchange(&loop->woken, true))
		nn_write_all(loop->wake_fd, &one, sizeof one);
}

bool nn_http_loop_send(struct nn_http_loop *loop, struct nn_http_arrival arrival)
{
	if (!nn_write_all(loop->inbox[1], &arrival, sizeof arrival))
		return false;
	atomic_fetch_add(&loop->arrivals, 1);
	nn_http_loop_wake(loop);
	return true;
}

/* Connections from the acceptor. */
static void take_arrivals(struct nn_http_loop *loop)
{
	struct nn_http_arrival arrival;

	while (atomic_load_explicit(&loop->arrivals, memory_order_acquire) > 0 &&
	       nn_read_all(loop->inbox[0], &arrival, sizeof arrival)) {
		struct sockaddr_in6 address = { .sin6_family = arrival.local ? AF_UNIX : AF_INET6 };

		/* what it has sent is read in the next round: until then it counts as a request */
		atomic_fetch_add(&loop->unread, 1);
		atomic_fetch_sub(&loop->arrivals, 1);
		if (arrival.fd < 0) {
			loop->stop = true;
			continue;
		}
		if (!arrival.local)
			set_options(arrival.fd);
		loop->link_began = false;
		/* on failure the socket is closed there; if it had come to life we were told */
		if (MHD_add_connection(loop->daemon, arrival.fd, (struct sockaddr *)&address,
				       sizeof address) != MHD_YES &&
		    !loop->link_began) {
			atomic_fetch_sub(&loop->http->connections, 1);
			atomic_fetch_sub(&loop->load, 1);
		}
	}
}

/* The end of a round: answers that are there are sent, the others waited for. */
static void settle(struct nn_http_loop *loop)
{
	struct nn_http_request *request = loop->fresh, *next;

	loop->fresh = NULL;
	for (; request; request = next) {
		struct MHD_Connection *connection = request->link->connection;
		int taken = NN_HTTP_TAKEN;
		bool waits = false;

		next = request->next;
		if (atomic_load(&request->owner) == NN_HTTP_TAKEN) {
			MHD_suspend_connection(connection);
			waits = true;
			if (atomic_compare_exchange_strong(&request->owner, &taken,
							   NN_HTTP_SUSPENDED))
				continue;
		}
		/* if it cannot be given, nn_http_on_request is asked again, and fails */
		nn_http_reply(request);
		if (waits)
			MHD_resume_connection(connection);
	}
}

/* The beginning of a request line has come, and no more of it: that libmicrohttpd would say. */
static void look_at_idle(struct nn_http_link *link, bool moved, double now)
{
	if (!moved)
		return;
	link->phase = NN_HTTP_LINE;
	link->since = now;
}

/* A body may come slowly for a while, as long as it has been fast enough on the whole. */
static bool is_slow(const struct nn_http_link *link, double now)
{
	const struct nn_http_limits *limits = &link->loop->http->setup.limits;
	double credit = limits->header_timeout < 4 ? limits->header_timeout : 4;
	double due = (now - link->since - credit) * (double)limits->min_rate;

	return link->request && due > (double)link->request->exchange.bytes;
}

static void end(struct nn_http_link *link, struct nn_http_refusal refusal)
{
	nn_http_refuse_raw(link, refusal);
	/* so that libmicrohttpd sees its end, or, where it has no memory left to read, that it is
	 * idle */
	shutdown(link->fd, SHUT_RD);
	MHD_set_connection_option(link->connection, MHD_CONNECTION_OPTION_TIMEOUT, 1U);
}

/*
 * Unread bytes say that the loop was busy: the client is not late, they are read at once. Not where
 * libmicrohttpd reads none of them, as behind a chunk's line that is longer than its memory.
 */
static bool is_unread(struct nn_http_link *link, uint64_t taken, bool unread)
{
	bool stuck = unread && link->unread && taken == link->bytes_taken;

	link->unread = unread;
	return unread && !stuck;
}

static void look_at(struct nn_http_link *link, double now)
{
	const struct nn_http_limits *limits = &link->loop->http->setup.limits;
	uint64_t taken, before = link->bytes_taken;
	int bytes = 0;
	bool unread;

	if (link->phase == NN_HTTP_ANSWER)
		return;
	ioctl(link->fd, FIONREAD, &bytes);
	taken = nn_http_bytes_taken(link);
	unread = is_unread(link, taken, bytes > 0);
	link->bytes_taken = taken;
	if (link->phase == NN_HTTP_IDLE)
		look_at_idle(link, taken > before, now);
	else if (unread)
		return;
	else if (link->phase == NN_HTTP_BODY && is_slow(link, now))
		end(link, nn_http_late_body);
	else if (link->phase < NN_HTTP_BODY && now - link->since > limits->header_timeout)
		end(link, nn_http_late_headers);
}

static void look_at_deadlines(struct nn_http_loop *loop, double now)
{
	for (struct nn_http_link *link = loop->links, *next; link; link = next) {
		next = link->next;
		look_at(link, now);
	}
}

static double look_every(const struct nn_http *http)
{
	double every = http->setup.limits.header_timeout / 8;

	return every < 0.02 ? 0.02 : every > 1 ? 1 : every;
}

static void do_round(struct nn_http_loop *loop)
{
	struct nn_http *http = loop->http;
	double now;

	atomic_store(&loop->woken, false);
	/* it waits unless it has work at hand */
	MHD_run_wait(loop->daemon, loop->links ? (int32_t)(look_every(http) * 1e3) : -1);
	atomic_store(&loop->unread, 0);
	take_arrivals(loop);
	http->setup.round(http->setup.arg, loop->number);
	settle(loop);
	now = nn_now_s();
	if (now < loop->next_look)
		return;
	loop->next_look = now + look_every(http);
	look_at_deadlines(loop, now);
}

/* Nobody is answered any more: connections end, requests out there become their handler's. */
static void leave(struct nn_http_loop *loop)
{
	for (struct nn_http_link *link = loop->links; link; link = link->next) {
		int suspended = NN_HTTP_SUSPENDED;

		if (!link->request)
			continue;
		atomic_fetch_add(&loop->http->holders, 1);
		if (!atomic_compare_exchange_strong(&link->request->owner, &suspended,
						    NN_HTTP_GONE))
			atomic_fetch_sub(&loop->http->holders, 1);
		else
			MHD_resume_connection(link->connection);
	}
	while (atomic_load(&loop->answering) > 0)
		nn_pause();
	MHD_stop_daemon(loop->daemon);
	loop->daemon = NULL;
}

void *nn_http_loop_run(void *arg)
{
	struct nn_http_loop *loop = arg;
	struct nn_http *http = loop->http;

	here = loop;
	if (http->setup.begin)
		http->setup.begin(http->setup.arg, loop->number);
	while (!loop->stop)
		do_round(loop);
	leave(loop);
	return NULL;
}

/* Memory of a connection: the request's head, what is known of each header, the answer's head. */
static size_t memory_limit(const struct nn_http_limits *limits)
{
	size_t n = limits->line + limits->headers + limits->header_count * 64 + 4096;

	return n < 32 * 1024 ? 32 * 1024 : n;
}

static struct MHD_Daemon *start_daemon(struct nn_http_loop *loop)
{
	struct nn_http *http = loop->http;
	bool tls = http->setup.tls_cert;
	struct MHD_OptionItem tls_options[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, http->cert.data },
						{ MHD_OPTION_HTTPS_MEM_KEY, 0, http->key.data },
						{ MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem no_options[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, nn_http_on_request, loop, MHD_OPTION_EXTERNAL_LOGGER, nn_http_on_log,
		loop, MHD_OPTION_URI_LOG_CALLBACK, nn_http_on_line, loop,
		MHD_OPTION_NOTIFY_COMPLETED, nn_http_on_completed, loop,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, loop,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_limit(&http->setup.limits),
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)0x7fffffff, MHD_OPTION_ARRAY,
		tls ? tls_options : no_options, MHD_OPTION_END);
}

/*
 * Let wake_fd end the daemon's waiting. An event without data is how libmicrohttpd wakes itself: it
 * looks at its lists and goes on. An epoll set of our own around the daemon's would do without that
 * knowledge, at a tenth more CPU time for a lone client's request.
 */
static int watch(const struct nn_http_loop *loop)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	return info ? epoll_ctl(info->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) : -1;
}

int nn_http_loop_open(struct nn_http_loop *loop, struct nn_http *http, unsigned number,
		      struct nn_error *err)
{
	loop->http = http;
	loop->number = number;
	loop->inbox[0] = loop->inbox[1] = -1;
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0 || pipe2(loop->inbox, O_CLOEXEC) != 0 ||
	    fcntl(loop->inbox[0], F_SETFL, O_NONBLOCK) != 0)
		return nn_fail_errno(err, NN_EFAIL, "cannot set up a thread that serves");
	loop->daemon = start_daemon(loop);
	if (!loop->daemon && http->setup.tls_cert)
		return nn_fail(err, NN_EFAIL,
			       "the certificate %s and the key %s cannot be used (PEM, and of one "
			       "pair)",
			       http->setup.tls_cert, http->setup.tls_key);
	if (!loop->daemon)
		return nn_fail_errno(err, NN_EFAIL, "cannot start libmicrohttpd");
	if (watch(loop) != 0)
		return nn_fail(err, NN_EFAIL, "this libmicrohttpd has no epoll");
	return 0;
}

void nn_http_loop_close(struct nn_http_loop *loop)
{
	struct nn_http_request *next;

	if (loop->daemon)
		MHD_stop_daemon(loop->daemon);
	loop->daemon = NULL;
	for (; loop->spare; loop->spare = next) {
		next = loop->spare->next;
		nn_http_request_free(loop->spare);
	}
	for (int i = 0; i < 2; i++)
		if (loop->inbox[i] >= 0)
			close(loop->inbox[i]);
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
}
