/*
 * Who is still there, where nobody watches: connections that only say by their end that a rank is
 * gone.
 */
#include "config.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "comm/launch.h"
#include "comm/peers.h"

#define MEET_S 10   /* in which all ranks have come to rank 0 */
#define SILENT_S 20 /* a host that answers nothing for so long is gone */
/*
 * in which a rank that says why it ends has ended all, and one that has ended knows that all have
 */
#define SPEAK_S 1

struct who {
	long pid;
	char host[64];
};

struct nn_peers {
	struct nn_comm *comm;
	void (*lost)(void *arg, struct nn_error *err);
	void *arg;
	struct who *who; /* [size] */
	struct pollfd
		*polls;   /* [size] by rank; of others than rank 0 that of rank 0 alone, else -1 */
	atomic_bool over; /* all ranks have come to their end */
	pthread_t thread;
};

/* ---- coming together ---- */

/* A dead host says nothing: the system asks. */
static void keep_asking(int fd)
{
	const int on = 1, pause_s = SILENT_S / 4, times = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &pause_s, sizeof pause_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof pause_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

/* Who connects with the token is the rank that it says; anybody else is sent away. */
static void take(struct nn_peers *p, int fd, const char *token)
{
	const struct timeval patience = { 1, 0 };
	struct nn_launch_message packet = { 0 };
	long n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	n = nn_launch_message_receive(fd, true, &packet, sizeof packet - 1);
	if (n < (long)offsetof(struct nn_launch_message, text) || strcmp(packet.text, token) != 0 ||
	    packet.status < 1 || packet.status >= p->comm->size ||
	    p->polls[packet.status].fd >= 0) {
		close(fd);
		return;
	}
	keep_asking(fd);
	p->polls[packet.status].fd = fd;
}

/* Rank 0: are all there in time? */
static bool wait_for_all(struct nn_peers *p, int door, const char *token)
{
	double end = nn_now_s() + MEET_S;
	int missing = p->comm->size - 1;

	while (missing > 0 && nn_now_s() < end) {
		struct pollfd ready = { door, POLLIN, 0 };
		int fd = poll(&ready, 1, 100) > 0 ? accept4(door, NULL, NULL, SOCK_CLOEXEC) : -1;

		if (fd >= 0)
			take(p, fd, token);
		missing = 0;
		for (int r = 1; r < p->comm->size; r++)
			missing += p->polls[r].fd < 0;
	}
	return missing == 0;
}

static bool go_to_first(struct nn_peers *p, const char *door)
{
	struct nn_launch_message packet = { .kind = NN_SAY_HELLO, .status = p->comm->rank };
	int fd = nn_rendezvous_find(door, packet.text);

	if (fd < 0)
		return false;
	keep_asking(fd);
	p->polls[0].fd = fd;
	return nn_launch_message_send(
		fd, true, &packet, offsetof(struct nn_launch_message, text) + strlen(packet.text));
}

/* 1: all are connected; 0: some cannot be. */
static int meet(struct nn_peers *p, struct nn_error *err)
{
	char door[NN_LAUNCH_NAME] = "", token[33] = "";
	int fd = -1, status = -1, all = 1;
	struct nn_comm *c = p->comm;
	int32_t good = 1, *theirs = nn_alloc((size_t)c->size, sizeof *theirs, err);

	if (!theirs)
		return -1;
	if (c->rank == 0 && (fd = nn_rendezvous_open(token, door, NULL)) < 0)
		door[0] = '\0';
	if (nn_comm_broadcast(c, 0, door, sizeof door, err) < 0)
		goto out;
	good = *door && (c->rank == 0 ? wait_for_all(p, fd, token) : go_to_first(p, door));
	if (nn_comm_all_gather(c, &good, theirs, sizeof good, err) < 0)
		goto out;
	for (int r = 0; r < c->size; r++)
		all = all && theirs[r];
	status = all;
out:
	if (fd >= 0)
		close(fd);
	nn_free(theirs);
	return status;
}

/* ---- watching ---- */

/* The rank whose connection is closed, -1: none. */
static int closed(struct nn_peers *p)
{
	char byte;

	if (poll(p->polls, (nfds_t)p->comm->size, -1) <= 0)
		return -1;
	for (int r = 0; r < p->comm->size; r++)
		if (p->polls[r].revents && recv(p->polls[r].fd, &byte, 1, MSG_DONTWAIT) <= 0)
			return r;
	return -1;
}

static void *watch(void *arg)
{
	struct nn_peers *p = arg;
	struct nn_error err = { 0 };
	double speak;
	int gone;

	while ((gone = closed(p)) < 0)
		if (atomic_load(&p->over))
			return NULL;
	/* of several that miss rank 0 the first speaks */
	speak = nn_now_s() + (p->comm->rank > 1 ? 2 : 1) * SPEAK_S;
	while (nn_now_s() < speak) {
		if (atomic_load(&p->over))
			return NULL;
		poll(NULL, 0, 10);
	}
	nn_fail(&err, NN_ERANK, "rank %d (pid %ld on %s) was lost", gone, p->who[gone].pid,
		p->who[gone].host);
	p->lost(p->arg, &err);
	return NULL;
}

static void drop(struct nn_peers *p)
{
	for (int r = 0; p->polls && r < p->comm->size; r++)
		if (p->polls[r].fd >= 0)
			close(p->polls[r].fd);
	nn_free(p->polls);
	nn_free(p->who);
	nn_free(p);
}

int nn_peers_watch(struct nn_peers **peers, struct nn_comm *comm,
		   void (*lost)(void *arg, struct nn_error *err), void *arg, struct nn_error *err)
{
	struct who me = { .pid = getpid() };
	struct nn_peers *p;
	int status = -1;

	*peers = NULL;
	if (!comm->unwatched || comm->size == 1)
		return 0;
	p = nn_alloc(1, sizeof *p, err);
	if (!p)
		return -1;
	p->comm = comm;
	p->lost = lost;
	p->arg = arg;
	p->who = nn_alloc((size_t)comm->size, sizeof *p->who, err);
	p->polls = nn_alloc((size_t)comm->size, sizeof *p->polls, err);
	for (int r = 0; p->polls && r < comm->size; r++)
		p->polls[r] = (struct pollfd){ -1, POLLIN, 0 };
	if (gethostname(me.host, sizeof me.host - 1) < 0 || !*me.host)
		strcpy(me.host, "?");
	if (p->who && p->polls && nn_comm_all_gather(comm, &me, p->who, sizeof me, err) == 0)
		status = meet(p, err);
	if (status == 1 && nn_thread_start(&p->thread, 0, watch, p, "a thread", err) < 0)
		status = -1;
	if (status < 1) {
		drop(p);
		return status;
	}
	*peers = p;
	return 0;
}

void nn_peers_end(struct nn_peers *p)
{
	if (!p)
		return;
	nn_comm_barrier(p->comm, NULL);
	atomic_store(&p->over, true);
	for (int r = 0; r < p->comm->size; r++)
		if (p->polls[r].fd >= 0)
			shutdown(p->polls[r].fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	drop(p);
}
