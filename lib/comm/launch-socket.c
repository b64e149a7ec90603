/*
 * Where ranks find the process that stays: a socket without a file for this host, TCP with a token
 * for others.
 */
#include "config.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/launch-job.h"

#define HELLO_S 5 /* limit for an unidentified connection to say hello */

/* ---- packets ---- */

/* A signal may come between; a timeout set on the socket ends it. */
static long receive_all(int fd, void *bytes, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = recv(fd, (char *)bytes + have, n - have, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got;
		have += (size_t)got;
	}
	return (long)n;
}

long nn_launch_message_receive(int fd, bool remote, void *packet, size_t n)
{
	uint32_t length;
	ssize_t got;

	if (remote) {
		got = receive_all(fd, &length, sizeof length);
		if (got <= 0 || length == 0 || length > n)
			return got <= 0 ? got : -1;
		return receive_all(fd, packet, length);
	}
	do
		got = recv(fd, packet, n, 0);
	while (got < 0 && errno == EINTR);
	return got;
}

bool nn_launch_message_send(int fd, bool remote, const void *packet, size_t n)
{
	uint32_t length = (uint32_t)n;
	struct iovec parts[2] = { { &length, sizeof length }, { (void *)(uintptr_t)packet, n } };
	struct msghdr message = { .msg_iov = remote ? parts : parts + 1,
				  .msg_iovlen = remote ? 2 : 1 };
	ssize_t sent;

	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)(remote ? n + sizeof length : n);
}

bool nn_launch_send(const struct nn_launch_rank *rank, enum nn_launch_kind kind, int status)
{
	const struct nn_launch_message packet = { .kind = (int)kind, .status = status };

	return rank->fd >= 0 && nn_launch_message_send(rank->fd, rank->remote, &packet,
						       offsetof(struct nn_launch_message, text));
}

bool nn_launch_hear(struct nn_launch_rank *rank, struct nn_launch_message *packet)
{
	long n;

	memset(packet, 0, offsetof(struct nn_launch_message, text) + 1);
	n = nn_launch_message_receive(rank->fd, rank->remote, packet, sizeof *packet - 1);
	if (n < (long)offsetof(struct nn_launch_message, text))
		return false;
	((char *)packet)[n] = '\0';
	rank->heard_s = nn_now_s();
	return true;
}

/* ---- listening ---- */

static int failed(struct nn_error *err)
{
	return nn_fail_errno(err, NN_EFAIL, "cannot make a socket for ranks");
}

/* A leading NUL: no file. */
static int listen_here(const char *name, struct nn_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path + 1, name, n);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0 ||
	    listen(fd, 128) < 0) {
		failed(err);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* " TOKEN ADDRESS:PORT ..." with every address of this host that others may reach. */
static int add_addresses(char token[33], int port, char *name, struct nn_error *err)
{
	struct ifaddrs *all;
	unsigned char random[16];
	size_t at = strlen(name);

	if (getrandom(random, sizeof random, 0) != sizeof random || getifaddrs(&all) < 0)
		return failed(err);
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	at += (size_t)snprintf(name + at, NN_LAUNCH_NAME - at, " %s", token);
	for (struct ifaddrs *a = all; a; a = a->ifa_next) {
		char text[INET_ADDRSTRLEN];

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
		    a->ifa_flags & IFF_LOOPBACK || at + sizeof text + 8 > NN_LAUNCH_NAME)
			continue;
		inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr, text,
			  sizeof text);
		at += (size_t)snprintf(name + at, NN_LAUNCH_NAME - at, " %s:%d", text, port);
	}
	freeifaddrs(all);
	return 0;
}

int nn_rendezvous_open(char token[33], char *name, struct nn_error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t n = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &n) < 0)
		failed(err);
	else if (add_addresses(token, ntohs(address.sin_port), name, err) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int nn_launch_listen(struct nn_launch_job *job, bool others, char *name, struct nn_error *err)
{
	snprintf(name, NN_LAUNCH_NAME, "nntools-%ld-%llx", (long)getpid(),
		 (unsigned long long)(nn_now_s() * 1e9));
	job->listener = listen_here(name, err);
	if (job->listener < 0)
		return -1;
	if (others)
		job->door = nn_rendezvous_open(job->token, name, err);
	return others && job->door < 0 ? -1 : 0;
}

void nn_launch_close(struct nn_launch_job *job)
{
	const int all[] = { job->listener, job->door, job->unidentified, job->out };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] >= 0)
			close(all[i]);
	for (int i = 0; job->ranks && i < job->l->ranks; i++)
		if (job->ranks[i].board)
			munmap(job->ranks[i].board, sizeof *job->ranks[i].board);
}

/* ---- connections ---- */

void nn_launch_accept(struct nn_launch_job *job, bool door)
{
	const struct timeval patience = { HELLO_S, 0 };

	job->unidentified = accept4(door ? job->door : job->listener, NULL, NULL, SOCK_CLOEXEC);
	job->unidentified_remote = door;
	if (job->unidentified >= 0)
		setsockopt(job->unidentified, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/* The standard streams of this process, so that rank 0 reads and writes them itself. */
static void give_streams(int fd)
{
	struct nn_launch_message packet = { .kind = NN_SAY_STREAMS };
	struct iovec part = { &packet, offsetof(struct nn_launch_message, text) };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int streams[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof streams);
	memcpy(CMSG_DATA(head), streams, sizeof streams);
	while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* A hello with the memory that it shares (descriptor, or -1). */
static long receive_hello(int fd, struct nn_launch_message *packet, int *memory)
{
	struct iovec part = { packet, sizeof *packet - 1 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*memory = -1;
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof *memory))
		memcpy(memory, CMSG_DATA(head), sizeof *memory);
	return n;
}

static struct nn_rank_status *map(int memory)
{
	int flags = memory < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *board =
		mmap(NULL, sizeof(struct nn_rank_status), PROT_READ | PROT_WRITE, flags, memory, 0);

	return board == MAP_FAILED ? NULL : board;
}

/* A rank of this host: the kernel names its process. */
static bool know(struct nn_launch_job *job, struct nn_launch_rank *found,
		 struct nn_launch_message *packet)
{
	struct ucred who = { 0 };
	socklen_t n = sizeof who;
	int memory;
	long got = receive_hello(job->unidentified, packet, &memory);
	bool good = got >= (long)offsetof(struct nn_launch_message, text) &&
		    packet->kind == NN_SAY_HELLO && memory >= 0 &&
		    getsockopt(job->unidentified, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
		    who.uid == geteuid();

	found->pid = who.pid;
	found->board = good ? map(memory) : NULL;
	if (good)
		job->number = strtoul(packet->text, NULL, 10);
	if (memory >= 0)
		close(memory);
	return found->board != NULL;
}

/* One of another host: it knows the token. */
static bool know_remote(struct nn_launch_job *job, struct nn_launch_rank *found,
			struct nn_launch_message *packet)
{
	char token[33];
	long n = nn_launch_message_receive(job->unidentified, true, packet, sizeof *packet - 1);

	if (n < (long)offsetof(struct nn_launch_message, text) || packet->kind != NN_SAY_HELLO)
		return false;
	((char *)packet)[n] = '\0';
	if (sscanf(packet->text, "%32s %ld %63s", token, &found->pid, found->host) != 3 ||
	    strcmp(token, job->token) != 0)
		return false;
	found->board = map(-1);
	return found->board != NULL;
}

void nn_launch_hello(struct nn_launch_job *job)
{
	struct nn_launch_rank found = { .fd = job->unidentified,
					.remote = job->unidentified_remote };
	struct nn_launch_message packet = { 0 };
	bool good = found.remote ? know_remote(job, &found, &packet) : know(job, &found, &packet);

	job->unidentified = -1;
	if (!good || packet.status < 0 || packet.status >= job->l->ranks ||
	    job->ranks[packet.status].pid) {
		close(found.fd);
		if (found.board)
			munmap(found.board, sizeof *found.board);
		return;
	}
	found.heard_s = found.moved_s = nn_now_s();
	job->ranks[packet.status] = found;
	if (packet.status == 0 && !found.remote)
		give_streams(found.fd);
}
