/* A rank's way back to the process that started it. */
#include "config.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/thread.h"
#include "comm/comm.h"
#include "comm/launch.h"

#define CONNECT_S 10  /* of an address that does not answer */
#define SILENT_S 20   /* without an answer of the other host the connection is closed */
#define BOARD_MS 1000 /* how often a rank of another host tells where it is */

struct nn_attach {
	int fd;
	bool remote;
	pthread_mutex_t sending; /* over TCP a packet is two parts */
	int error;               /* standard error of the process that started this one, -1 */
	int end;                 /* the exit status sent, -1: none yet */
	struct nn_rank_status *board;
};

/* ---- finding it ---- */

static int connect_here(const char *name, size_t n)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (n >= sizeof address.sun_path - 1)
		return -1;
	memcpy(address.sun_path + 1, name, n);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* "ADDRESS:PORT" */
static int connect_there(const char *text)
{
	const struct timeval patience = { CONNECT_S, 0 }, forever = { 0, 0 };
	const unsigned silence_ms = 1000 * SILENT_S;
	struct sockaddr_in address = { .sin_family = AF_INET };
	char host[INET_ADDRSTRLEN];
	unsigned short port;
	int fd;

	if (sscanf(text, "%15[0-9.]:%hu", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return -1;
	address.sin_port = htons(port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
	return fd;
}

int nn_rendezvous_find(const char *name, char token[33])
{
	size_t n = strcspn(++name, " ");
	int fd = -1;

	snprintf(token, 33, "%.*s", (int)n, name);
	for (name += n; *name && fd < 0; name += 1 + strcspn(name + 1, " "))
		fd = connect_there(name + 1);
	return fd;
}

/* NAME, or NAME TOKEN ADDRESS:PORT ...; the token is copied. */
static int find(struct nn_attach *a, const char *name, char token[33])
{
	size_t n = strcspn(name, " ");

	a->fd = connect_here(name, n);
	if (a->fd >= 0 || !name[n])
		return a->fd;
	a->remote = true;
	return a->fd = nn_rendezvous_find(name + n, token);
}

/* ---- talking ---- */

void nn_attach_say(struct nn_attach *a, enum nn_launch_kind kind, int status, const char *text)
{
	struct nn_launch_message packet = { .kind = (int)kind, .status = status };
	size_t n = offsetof(struct nn_launch_message, text) +
		   (size_t)snprintf(packet.text, sizeof packet.text - 1, "%s", text);

	n = n < sizeof packet - 1 ? n : sizeof packet - 1;
	pthread_mutex_lock(&a->sending);
	nn_launch_message_send(a->fd, a->remote, &packet, n);
	pthread_mutex_unlock(&a->sending);
}

int nn_attach_end(struct nn_attach *a, int status, const struct nn_error *err)
{
	if (a->end >= 0)
		return a->end;
	fflush(stdout); /* the receiver of the end may kill this process */
	if (nn_output_broken_pipe())
		status = 128 + SIGPIPE;
	a->end = status < 0 ? (int)err->code : status;
	nn_attach_say(a, NN_SAY_END, a->end, status < 0 ? err->text : "");
	return a->end;
}

void nn_attach_leave(struct nn_attach *a, struct nn_comm *comm, int status,
		     const struct nn_error *err)
{
	if (a)
		nn_attach_end(a, status, err);
	nn_comm_close(comm);
}

static void tell_board(struct nn_attach *a)
{
	struct nn_launch_message packet = { .kind = NN_SAY_BOARD };
	struct timespec time;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0)
		a->board->cpu_ms = (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
	memcpy(packet.text, a->board, sizeof *a->board);
	pthread_mutex_lock(&a->sending);
	nn_launch_message_send(a->fd, true, &packet,
			       offsetof(struct nn_launch_message, text) + sizeof *a->board);
	pthread_mutex_unlock(&a->sending);
}

static int gone(struct nn_error *err)
{
	return nn_fail(err, NN_EFAIL, "the process that started this rank is gone");
}

/*
 * The hello of a rank of this host carries the memory of its board, and Open MPI's number of the
 * job.
 */
static int hello_here(struct nn_attach *a, int memory)
{
	struct nn_launch_message packet = { .kind = NN_SAY_HELLO, .status = nn_comm_env_rank() };
	struct iovec part = { &packet, offsetof(struct nn_launch_message, text) + 1 };
	const char *number = getenv("OMPI_MCA_ess_base_jobid");
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	ssize_t sent;

	snprintf(packet.text, sizeof packet.text, "%s", number ? number : "");
	part.iov_len += strlen(packet.text);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof memory);
	memcpy(CMSG_DATA(head), &memory, sizeof memory);
	do
		sent = sendmsg(a->fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent > 0 ? 0 : -1;
}

static int hello(struct nn_attach *a, const char *token, struct nn_error *err)
{
	int memory = memfd_create("nn-board", MFD_CLOEXEC), status = -1;
	char host[64] = "?", text[160];
	void *board = MAP_FAILED;

	if (memory >= 0 && ftruncate(memory, sizeof *a->board) == 0)
		board = mmap(NULL, sizeof *a->board, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (board == MAP_FAILED) {
		nn_fail_errno(err, NN_EFAIL,
			      "cannot share memory with the process that started this rank");
	} else {
		a->board = board;
		status = a->remote ? 0 : hello_here(a, memory);
		if (status < 0)
			gone(err);
	}
	if (memory >= 0)
		close(memory);
	if (status < 0 || !a->remote)
		return status;
	if (gethostname(host, sizeof host - 1) < 0 || !*host)
		strcpy(host, "?");
	snprintf(text, sizeof text, "%s %ld %s", token, (long)getpid(), host);
	nn_attach_say(a, NN_SAY_HELLO, nn_comm_env_rank(), text);
	return 0;
}

/* Descriptors 0 and 1 are replaced by the packet's; the third is kept beside. */
static int take_streams(struct nn_attach *a, struct nn_error *err)
{
	struct nn_launch_message packet;
	struct iovec part = { &packet, sizeof packet };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	struct cmsghdr *head;
	int streams[3];
	ssize_t n;

	do
		n = recvmsg(a->fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof streams))
		return gone(err);
	memcpy(streams, CMSG_DATA(head), sizeof streams);
	for (int i = 0; i < 2; i++) {
		if (dup2(streams[i], i) < 0)
			return nn_fail_errno(err, NN_EFAIL,
					     "cannot take over standard input and output");
		close(streams[i]);
	}
	a->error = streams[2];
	return 0;
}

/* No rank outlives its parent: SIGTERM lets it clean up. */
static void *watch(void *arg)
{
	struct nn_attach *a = arg;
	struct nn_launch_message packet;

	for (;;) {
		struct pollfd p = { a->fd, POLLIN, 0 };

		if (poll(&p, 1, a->remote ? BOARD_MS : -1) > 0) {
			if (nn_launch_message_receive(a->fd, a->remote, &packet, sizeof packet) <=
			    0)
				break;
			if (packet.kind == NN_SAY_SIGNAL)
				kill(getpid(), packet.status);
		} else if (a->remote) {
			tell_board(a);
		}
	}
	kill(getpid(), SIGTERM);
	sleep(2);
	kill(getpid(), SIGKILL);
	return NULL;
}

static int start_watch(struct nn_attach *a, struct nn_error *err)
{
	pthread_t thread;

	if (nn_thread_start(&thread, 0, watch, a, "a thread", err) < 0)
		return -1;
	pthread_detach(thread);
	return 0;
}

int nn_attach(struct nn_attach **attach, struct nn_error *err)
{
	const char *name = getenv("NN_LAUNCH");
	char token[33] = "";
	struct nn_attach *a;

	*attach = NULL;
	if (!name || !nn_comm_is_rank())
		return 0;
	a = nn_alloc(1, sizeof *a, err);
	if (!a)
		return -1;
	a->error = a->end = -1;
	pthread_mutex_init(&a->sending, NULL);
	if (find(a, name, token) < 0) {
		nn_free(a);
		return gone(err);
	}
	if (hello(a, token, err) < 0)
		return -1;
	*attach = a;
	if (nn_comm_env_rank() == 0 && !a->remote && take_streams(a, err) < 0)
		return -1;
	return start_watch(a, err);
}

int nn_attach_stderr(const struct nn_attach *a)
{
	return a->error;
}

int nn_attach_check_streams(const struct nn_attach *a, const char *const *inputs, size_t n,
			    const char *output, struct nn_error *err)
{
	if (!a || !a->remote || nn_comm_env_rank() > 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (inputs[i] && nn_is_stdin(inputs[i]))
			return nn_fail(
				err, NN_EUSAGE,
				"%s: rank 0 runs on another host; name this one first in --hosts",
				inputs[i]);
	if (!output || strcmp(output, "-") == 0)
		return nn_fail(err, NN_EUSAGE,
			       "stdout: rank 0 runs on another host; name this one first in "
			       "--hosts, or a file with -o");
	return 0;
}

struct nn_rank_status *nn_attach_board(struct nn_attach *a)
{
	return a->board;
}
