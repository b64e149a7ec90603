/* A rank's way back to the process that started it. */
#include "config.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "comm/launch.h"

struct nn_attach {
	int fd;
	int error;                   /* standard error of the process that started this one, -1 */
};

static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int fd;

	if (n >= sizeof address.sun_path - 1)
		return -1;
	memcpy(address.sun_path + 1, name, n);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Descriptors 0 and 1 become those that come with the packet; the third is kept beside. */
static int take_streams(struct nn_attach *a, struct nn_error *err)
{
	struct nn_packet packet;
	struct iovec part = { &packet, sizeof packet };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	struct cmsghdr *head;
	int streams[3];
	ssize_t n;

	do
		n = recvmsg(a->fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof streams))
		return nn_fail(err, NN_EFAIL, "the process that started this rank is gone");
	memcpy(streams, CMSG_DATA(head), sizeof streams);
	for (int i = 0; i < 2; i++) {
		if (dup2(streams[i], i) < 0)
			return nn_fail_errno(err, NN_EFAIL, "cannot take over standard input and output");
		close(streams[i]);
	}
	a->error = streams[2];
	return 0;
}

/* No rank outlives the one who started it: SIGTERM lets it clean up. */
static void *watch(void *arg)
{
	struct nn_attach *a = arg;
	struct nn_packet packet;
	ssize_t n;

	while ((n = recv(a->fd, &packet, sizeof packet, 0)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && packet.kind == NN_SAY_SIGNAL)
			kill(getpid(), packet.status);
	kill(getpid(), SIGTERM);
	sleep(2);
	kill(getpid(), SIGKILL);
	return NULL;
}

int nn_attach(struct nn_attach **attach, struct nn_error *err)
{
	const char *name = getenv("NN_LAUNCH");
	struct nn_attach *a;
	sigset_t all, before;
	pthread_t thread;
	int status;

	*attach = NULL;
	if (!name || !nn_comm_is_rank())
		return 0;
	a = nn_alloc(1, sizeof *a, err);
	if (!a)
		return -1;
	a->error = -1;
	a->fd = connect_to(name);
	if (a->fd < 0) {
		nn_free(a);
		return nn_fail(err, NN_EFAIL, "the process that started this rank is gone");
	}
	nn_attach_say(a, NN_SAY_HELLO, nn_comm_env_rank(), "");
	*attach = a;
	if (nn_comm_env_rank() == 0 && take_streams(a, err) < 0)
		return -1;
	/* signals are for the thread that works */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&thread, NULL, watch, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (status != 0)
		return nn_fail(err, NN_EFAIL, "cannot start a thread");
	pthread_detach(thread);
	return 0;
}

void nn_attach_say(struct nn_attach *a, enum nn_say kind, int status, const char *text)
{
	struct nn_packet packet = { .kind = (int)kind, .status = status };
	size_t n = offsetof(struct nn_packet, text) + (size_t)snprintf(packet.text, sizeof packet.text - 1, "%s", text);

	n = n < sizeof packet - 1 ? n : sizeof packet - 1;
	while (send(a->fd, &packet, n, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

int nn_attach_stderr(const struct nn_attach *a)
{
	return a->error;
}
