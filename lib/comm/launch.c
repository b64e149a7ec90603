/* The process that stays: hears what ranks say, sees which one is gone, and leaves nothing running. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "comm/launch.h"

#define TICK_MS 500
#define NOTICE_S 3.0           /* mpirun ends the others by itself when one is gone */
#define TERM_S 3.0             /* then it is told to, and then all are killed */
#define STOPPED_TICKS 40       /* a rank that was seen stopped so often in a row ends the job: 20 s */

struct rank {
	int fd;                      /* -1: not there yet, or gone */
	long pid;
	bool said, gone;             /* NN_SAY_END came; the socket was closed */
	int status;
	int stopped;                 /* ticks in a row */
	char text[NN_PACKET];
	char at[80];
};

struct job {
	const struct nn_launch *l;
	struct rank *ranks;
	struct pollfd *polls;        /* listener, mpirun's words, ranks, strangers not yet known */
	int listener, out, stranger;
	pid_t mpirun;
	struct nn_text words;
	int first_lost;              /* the first whose socket was closed unasked, -1 */
	double end_at;               /* when to send what comes next; 0: nothing is wrong */
	int signals;                 /* sent to mpirun so far */
	int passed_on;               /* the first signal, 0: none */
	int stop;
};

static struct sockaddr_un address_of(const char *name, socklen_t *length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);

	memcpy(address.sun_path + 1, name, n);        /* a leading NUL: no file */
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	return address;
}

static int listen_as(const char *name, struct nn_error *err)
{
	socklen_t length;
	struct sockaddr_un address = address_of(name, &length);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 128) < 0) {
		nn_fail_errno(err, NN_EFAIL, "cannot make a socket for ranks");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* The standard streams of this process, so that rank 0 reads and writes them itself. */
static void give_streams(int fd)
{
	struct nn_packet packet = { .kind = NN_SAY_STREAMS };
	struct iovec part = { &packet, offsetof(struct nn_packet, text) };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = {0} };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
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

/* Who is at the other end must be the same user; its number is in its first packet. */
static void hello(struct job *job, int fd, const struct nn_packet *packet)
{
	struct ucred who = {0};
	socklen_t n = sizeof who;
	struct rank *rank;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != geteuid() || packet->kind != NN_SAY_HELLO ||
	    packet->status < 0 || packet->status >= job->l->ranks || job->ranks[packet->status].pid) {
		close(fd);
		return;
	}
	rank = &job->ranks[packet->status];
	rank->fd = fd;
	rank->pid = who.pid;
	if (packet->status == 0)
		give_streams(fd);
}

/* False at the end of the other side. */
static bool hear(int fd, struct nn_packet *packet)
{
	ssize_t n;

	memset(packet, 0, offsetof(struct nn_packet, text) + 1);
	do
		n = recv(fd, packet, sizeof *packet - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)offsetof(struct nn_packet, text))
		return false;
	((char *)packet)[n] = '\0';
	return true;
}

static void ending(struct job *job, double after_s)
{
	if (job->end_at == 0)
		job->end_at = nn_now_s() + after_s;
}

static void hear_rank(struct job *job, int i)
{
	struct rank *rank = &job->ranks[i];
	struct nn_packet packet;

	if (!hear(rank->fd, &packet)) {
		close(rank->fd);
		rank->fd = -1;
		rank->gone = true;
		if (!rank->said && job->first_lost < 0)
			job->first_lost = i;
		if (!rank->said || rank->status)
			ending(job, NOTICE_S);
		return;
	}
	switch (packet.kind) {
	case NN_SAY_END:
		rank->said = true;
		rank->status = packet.status;
		snprintf(rank->text, sizeof rank->text, "%s", packet.text);
		if (rank->status)
			ending(job, NOTICE_S);
		break;
	case NN_SAY_AT:
		snprintf(rank->at, sizeof rank->at, "%.*s", (int)sizeof rank->at - 1, packet.text);
		break;
	case NN_SAY_WARNING:
	case NN_SAY_NOTE:
		job->l->say(job->l->arg, packet.kind, packet.text);
		break;
	}
}

/* One at a time: who connects says hello at once. */
static void hear_stranger(struct job *job)
{
	struct nn_packet packet;
	int fd = job->stranger;

	job->stranger = -1;
	if (hear(fd, &packet))
		hello(job, fd, &packet);
	else
		close(fd);
}

/* What mpirun says is kept, the last of it. False at its end. */
static bool hear_mpirun(struct job *job)
{
	char bytes[4096];
	ssize_t n = read(job->out, bytes, sizeof bytes);

	if (n < 0)
		return errno == EINTR;
	if (n > 0 && job->words.length < (size_t)1 << 20)
		nn_text_add_bytes(&job->words, bytes, (size_t)n);
	return n > 0;
}

/* The letter of its state in /proc: T is stopped. */
static char state_of(long pid)
{
	char path[40], text[512], *end;
	FILE *file;
	size_t n;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return '?';
	n = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

/* The first rank that has been stopped for long, or -1. */
static int find_stopped(struct job *job)
{
	for (int i = 0; i < job->l->ranks; i++) {
		struct rank *rank = &job->ranks[i];

		if (rank->fd < 0)
			continue;
		rank->stopped = state_of(rank->pid) == 'T' ? rank->stopped + 1 : 0;
		if (rank->stopped >= STOPPED_TICKS)
			return i;
	}
	return -1;
}

/* mpirun is told to end; a second time all are killed. */
static void end_all(struct job *job)
{
	job->end_at = nn_now_s() + TERM_S;
	if (job->signals++ == 0) {
		kill(job->mpirun, SIGTERM);
		return;
	}
	for (int i = 0; i < job->l->ranks; i++)
		if (job->ranks[i].fd >= 0)
			kill((pid_t)job->ranks[i].pid, SIGKILL);
	if (job->signals > 2)
		kill(-job->mpirun, SIGKILL);
}

/* False where there is no rank 0 to hear it. */
static bool pass_on(const struct job *job, int signal)
{
	const struct nn_packet packet = { .kind = NN_SAY_SIGNAL, .status = signal };

	return job->ranks[0].fd >= 0 && send(job->ranks[0].fd, &packet, offsetof(struct nn_packet, text), MSG_NOSIGNAL) > 0;
}

static void watch_signals(struct job *job)
{
	int now = job->l->stop ? *job->l->stop : 0, save = job->l->save ? *job->l->save : 0;

	if (save && pass_on(job, save))
		*job->l->save = 0;
	if (!now || job->stop)
		return;
	if (job->l->stops && *job->l->stops < 2 && (job->passed_on || pass_on(job, now))) {
		job->passed_on = now;
		return;
	}
	job->stop = now;
	if (job->passed_on)
		job->signals = 1;            /* who asks twice does not want to wait */
	end_all(job);
	if (job->passed_on)
		kill(job->mpirun, SIGTERM);
}

/* Until mpirun has closed its end of the pipe. Returns the rank that was found stopped, or -1. */
static int watch(struct job *job)
{
	int stopped = -1, n = job->l->ranks;

	for (double tick = nn_now_s();;) {
		struct pollfd *p = job->polls;

		p[0] = (struct pollfd){ job->stranger >= 0 ? -1 : job->listener, POLLIN, 0 };
		p[1] = (struct pollfd){ job->out, POLLIN, 0 };
		p[2] = (struct pollfd){ job->stranger, POLLIN, 0 };
		for (int i = 0; i < n; i++)
			p[3 + i] = (struct pollfd){ job->ranks[i].fd, POLLIN, 0 };
		if (poll(p, 3 + (nfds_t)n, TICK_MS) < 0)
			memset(p, 0, (3 + (size_t)n) * sizeof *p);
		watch_signals(job);
		for (int i = 0; i < n; i++)
			if (p[3 + i].revents && job->ranks[i].fd >= 0)
				hear_rank(job, i);
		if (p[2].revents)
			hear_stranger(job);
		if (p[0].revents)
			job->stranger = accept4(job->listener, NULL, NULL, SOCK_CLOEXEC);
		if (p[1].revents && !hear_mpirun(job))
			return stopped;
		if (nn_now_s() - tick > TICK_MS * 1e-3) {
			tick = nn_now_s();
			if (stopped < 0 && (stopped = find_stopped(job)) >= 0 && job->signals < 1) {
				job->signals = 1;         /* nothing gentle wakes it */
				end_all(job);
				kill(job->mpirun, SIGTERM);
			}
		}
		if (job->end_at > 0 && nn_now_s() > job->end_at)
			end_all(job);
	}
}

/* mpirun's own words as notes, without its rulers. */
static void tell_words(struct job *job)
{
	char *line, *rest = job->words.data;

	while (rest && (line = strsep(&rest, "\n"))) {
		char note[1024];

		if (strspn(line, "-\r ") == strlen(line))
			continue;
		snprintf(note, sizeof note, "mpirun: %s", line);
		job->l->say(job->l->arg, NN_SAY_NOTE, note);
	}
}

static int lost(struct job *job, int i, int status, struct nn_error *err)
{
	struct rank *rank = &job->ranks[i];
	int number = job->words.data ? nn_launch_signal(job->words.data, rank->pid) : 0;
	const char *comma = *rank->at ? " at " : "";

	if (number == 0 && WIFEXITED(status) && WEXITSTATUS(status) > 128)
		number = WEXITSTATUS(status) - 128;
	if (number)
		return nn_fail(err, NN_ERANK, "rank %d (pid %ld) was killed by signal %d%s%s", i, rank->pid, number, comma, rank->at);
	return nn_fail(err, NN_ERANK, "rank %d (pid %ld) ended unasked%s%s", i, rank->pid, comma, rank->at);
}

/* A rank that explains itself, one that ends in silence, one whose error is that another was lost. */
static int weight(const struct rank *rank)
{
	return rank->status == NN_ERANK ? 0 : *rank->text ? 2 : 1;
}

/* What the whole comes to: a rank's own error first, unless it is that another was lost. */
static int outcome(struct job *job, int stopped, int status, struct nn_error *err)
{
	const struct rank *found = NULL;

	for (int i = job->l->ranks; i-- > 0;) {
		const struct rank *rank = &job->ranks[i];

		if (rank->said && rank->status && (!found || weight(rank) >= weight(found)))
			found = rank;
	}
	if (job->stop)
		return 128 + job->stop;
	if (stopped >= 0)
		return nn_fail(err, NN_ERANK, "rank %d (pid %ld) was stopped (state T) and did not go on", stopped,
			       job->ranks[stopped].pid);
	if (found && found->status > 128 && !*found->text)
		return found->status;
	if (found && found->status != NN_ERANK)
		return nn_fail(err, (enum nn_code)found->status, "%s", found->text);
	if (job->passed_on && job->first_lost >= 0)
		return 128 + job->passed_on;         /* it came before the ranks could stop gently */
	if (job->first_lost >= 0)
		return lost(job, job->first_lost, status, err);
	if (found)
		return nn_fail(err, NN_ERANK, "%s", found->text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	tell_words(job);
	if (WIFSIGNALED(status))
		return nn_fail(err, NN_ERANK, "--ranks=%d: mpirun was killed by signal %d", job->l->ranks, WTERMSIG(status));
	return nn_fail(err, NN_ENODEV, "--ranks=%d: mpirun ended with status %d", job->l->ranks, WEXITSTATUS(status));
}

static int supervise(struct job *job, struct nn_error *err)
{
	int stopped = watch(job), status = 0;

	while (waitpid(job->mpirun, &status, 0) < 0 && errno == EINTR)
		;
	/* without mpirun a rank that is still there is an orphan; what it said last is heard */
	for (int i = 0; i < job->l->ranks; i++)
		while (job->ranks[i].fd >= 0) {
			struct pollfd p = { job->ranks[i].fd, POLLIN, 0 };

			if (poll(&p, 1, 200) == 0)
				kill((pid_t)job->ranks[i].pid, SIGKILL);
			else
				hear_rank(job, i);
		}
	return outcome(job, stopped, status, err);
}

int nn_launch_run(const struct nn_launch *l, struct nn_error *err)
{
	struct job job = { .l = l, .listener = -1, .out = -1, .stranger = -1, .first_lost = -1 };
	char name[NN_LAUNCH_NAME], note[80];
	int status = -1;

	snprintf(name, sizeof name, "nntools-%ld-%llx", (long)getpid(), (unsigned long long)(nn_now_s() * 1e9));
	job.ranks = nn_alloc((size_t)l->ranks, sizeof *job.ranks, err);
	job.polls = nn_alloc((size_t)l->ranks + 3, sizeof *job.polls, err);
	if (!job.ranks || !job.polls)
		goto out;
	for (int i = 0; i < l->ranks; i++)
		job.ranks[i].fd = -1;
	job.listener = listen_as(name, err);
	if (job.listener < 0 || nn_launch_start(l, name, &job.mpirun, &job.out, err) < 0)
		goto out;
	if (l->cores && l->ranks > l->cores) {
		snprintf(note, sizeof note, "%d ranks share %d core%s", l->ranks, l->cores, l->cores == 1 ? "" : "s");
		l->say(l->arg, NN_SAY_NOTE, note);
	}
	status = supervise(&job, err);
out:
	if (job.listener >= 0)
		close(job.listener);
	if (job.stranger >= 0)
		close(job.stranger);
	if (job.out >= 0)
		close(job.out);
	nn_text_free(&job.words);
	nn_free(job.ranks);
	nn_free(job.polls);
	return status;
}
