/*
 * The acceptor: a thread that takes connections from the listening sockets and gives each to the
 * loop with the fewest, or refuses it; and that keeps the sockets of clients that were refused in
 * mid-request until these have read why. A loop with its own listening socket (SO_REUSEPORT) would
 * save a change of thread per connection, but the kernel deals those out by a hash: of few
 * connections most may sit on one loop.
 */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "serve/http/loop.h"

enum { LINGER_MS = 1000 };

struct acceptor {
	struct nn_http *http;
	/* the box, the listening sockets, then who lingers, oldest first */
	struct pollfd set[1 + NN_HTTP_LISTENERS + NN_HTTP_LINGERING];
	double until[NN_HTTP_LINGERING];
	nfds_t first, n; /* of those that linger; of all */
	bool tired;      /* descriptors or memory are out: look away for a moment */
};

static void forget(struct acceptor *acceptor, nfds_t at)
{
	size_t behind = acceptor->n - at - 1;
	double *until = acceptor->until + (at - acceptor->first);

	close(acceptor->set[at].fd);
	memmove(acceptor->set + at, acceptor->set + at + 1, behind * sizeof *acceptor->set);
	memmove(until, until + 1, behind * sizeof *until);
	acceptor->n--;
}

static void linger(struct acceptor *acceptor, int fd)
{
	if (acceptor->n - acceptor->first == NN_HTTP_LINGERING)
		forget(acceptor, acceptor->first);
	acceptor->set[acceptor->n] = (struct pollfd){ fd, POLLIN, 0 };
	acceptor->until[acceptor->n - acceptor->first] = nn_now_s() + LINGER_MS / 1e3;
	acceptor->n++;
}

/* Drop what came; false: the client is done, or has had its time. */
static bool drop(struct acceptor *acceptor, nfds_t at, double now)
{
	char bytes[16384];
	ssize_t n = 1;

	if (acceptor->until[at - acceptor->first] <= now)
		return false;
	if (acceptor->set[at].revents != 0)
		n = recv(acceptor->set[at].fd, bytes, sizeof bytes, MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static struct nn_http_loop *least_loaded(struct nn_http *http)
{
	struct nn_http_loop *best = http->loops;

	for (unsigned i = 1; i < http->n_loops; i++)
		if (atomic_load(&http->loops[i].load) < atomic_load(&best->load))
			best = http->loops + i;
	return best;
}

/* One connection; false: there is none. */
static bool take(struct acceptor *acceptor, int listener)
{
	struct nn_http *http = acceptor->http;
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof address;
	struct nn_http_arrival arrival;
	struct nn_http_loop *loop;
	int fd =
		accept4(listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		acceptor->tired =
			errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
		return errno == ECONNABORTED || errno == EINTR;
	}
	if (atomic_load(&http->connections) >= http->setup.limits.connections) {
		atomic_fetch_add(&http->refused, 1);
		nn_http_refuse_socket(http, fd, nn_http_many_connections, nn_now_s());
		linger(acceptor, fd);
		return true;
	}
	loop = least_loaded(http);
	atomic_fetch_add(&http->connections, 1);
	atomic_fetch_add(&loop->load, 1);
	arrival = (struct nn_http_arrival){ fd, address.ss_family == AF_UNIX };
	if (!nn_http_loop_send(loop, arrival)) {
		atomic_fetch_sub(&http->connections, 1);
		atomic_fetch_sub(&loop->load, 1);
		close(fd);
	}
	return true;
}

/* What is in the backlog has been accepted as far as the client knows: it is taken still. */
static void stop_listening(struct acceptor *acceptor)
{
	struct nn_http *http = acceptor->http;

	for (unsigned i = 0; i < http->n_listeners; i++) {
		while (take(acceptor, http->listeners[i]))
			;
		close(http->listeners[i]);
		http->listeners[i] = -1;
		acceptor->set[1 + i].fd = -1;
	}
	atomic_store(&http->stopping, false);
}

/* fd -1: stop listening, -2: end; else one that lingers. */
static bool obey(struct acceptor *acceptor)
{
	struct nn_http_arrival message;

	while (nn_read_all(acceptor->http->acceptor_box[0], &message, sizeof message)) {
		if (message.fd == -2)
			return false;
		if (message.fd == -1)
			stop_listening(acceptor);
		else
			linger(acceptor, message.fd);
	}
	return true;
}

static int patience(const struct acceptor *acceptor)
{
	if (acceptor->tired)
		return 20;
	return acceptor->n > acceptor->first ? LINGER_MS / 4 : -1;
}

void *nn_http_accept(void *arg)
{
	struct acceptor acceptor = { .http = arg };
	struct nn_http *http = arg;
	int burst = http->setup.from ? 1 : 64; /* others may be idle */

	acceptor.set[0] = (struct pollfd){ http->acceptor_box[0], POLLIN, 0 };
	for (unsigned i = 0; i < http->n_listeners; i++)
		acceptor.set[1 + i] = (struct pollfd){ http->listeners[i], POLLIN, 0 };
	acceptor.first = acceptor.n = 1 + http->n_listeners;
	for (;;) {
		/* tired: the listening sockets would wake us at once */
		struct pollfd *lingering = acceptor.set + acceptor.first;
		double now;

		if (acceptor.tired)
			poll(lingering, acceptor.n - acceptor.first, patience(&acceptor));
		acceptor.tired = false;
		if (poll(acceptor.set, acceptor.n, patience(&acceptor)) < 0 && errno != EINTR)
			break;
		if (acceptor.set[0].revents != 0 && !obey(&acceptor))
			break;
		for (nfds_t i = 1; i < acceptor.first; i++)
			for (int k = 0; k < burst && acceptor.set[i].revents != 0; k++)
				if (acceptor.set[i].fd < 0 || !take(&acceptor, acceptor.set[i].fd))
					break;
		now = nn_now_s();
		for (nfds_t i = acceptor.n; i-- > acceptor.first;)
			if (!drop(&acceptor, i, now))
				forget(&acceptor, i);
	}
	while (acceptor.n > acceptor.first)
		forget(&acceptor, acceptor.first);
	return NULL;
}

void nn_http_linger(struct nn_http *http, int fd)
{
	struct nn_http_arrival message = { fcntl(fd, F_DUPFD_CLOEXEC, 0), false };

	/* a full box: the client may lose its answer */
	if (message.fd >= 0 &&
	    write(http->acceptor_box[1], &message, sizeof message) != sizeof message)
		close(message.fd);
}
