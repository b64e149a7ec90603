/* Ranks begin, are watched, and end. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "serve/batch/batch.h"
#include "serve/http/http.h"
#include "serve/ranks/inside.h"
#include "serve/ranks/rank.h"

/* Sockets that were made so far and that the next rank takes over or closes. */
struct making {
	struct nn_ranks *ranks;
	unsigned threads; /* of each */
	int up[NN_MOST_CHANNELS];
};

static void close_all(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* Pairs: first ends, second ends. */
static int make_pairs(int *first, int *second, unsigned n, struct nn_error *err)
{
	for (unsigned i = 0; i < n; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
			close_all(first, i);
			close_all(second, i);
			return nn_fail_errno(err, NN_EFAIL, "cannot start a rank");
		}
		first[i] = ends[0];
		second[i] = ends[1];
	}
	return 0;
}

/* Nobody has asked it to end but rank 0, by ending. */
static void leave_signals(sigset_t *before)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

static _Noreturn void begin_rank(const struct making *m, unsigned rank, int control,
				 const int *down, const int *beyond, pid_t parent)
{
	const struct nn_ranks *ranks = m->ranks;
	struct nn_rank_setup setup = { .rank = (int)rank,
				       .ranks = (int)ranks->setup.ranks,
				       .channels = ranks->n_channels,
				       .threads = m->threads,
				       .device = ranks->setup.device,
				       .control = control };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NN_EFAIL);
	close_all(ranks->to, ranks->n_channels);
	close_all(beyond, ranks->n_channels);
	for (unsigned r = 1; r < rank; r++)
		close(ranks->others[r].control);
	nn_http_close_passed();
	memcpy(setup.up, m->up, sizeof setup.up);
	memcpy(setup.down, down, sizeof setup.down);
	nn_rank_be(&setup);
}

static int start_rank(struct making *m, unsigned rank, struct nn_error *err)
{
	struct nn_ranks *ranks = m->ranks;
	int down[NN_MOST_CHANNELS] = { 0 }, beyond[NN_MOST_CHANNELS] = { 0 }, control[2];
	pid_t parent = getpid(), pid;

	if (make_pairs(down, beyond, ranks->n_channels, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) {
		close_all(down, ranks->n_channels);
		close_all(beyond, ranks->n_channels);
		return nn_fail_errno(err, NN_EFAIL, "cannot start a rank");
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(control[0]);
		begin_rank(m, rank, control[1], down, beyond, parent);
	}
	close(control[1]);
	close_all(m->up, ranks->n_channels);
	close_all(down, ranks->n_channels);
	memcpy(m->up, beyond, sizeof m->up);
	if (pid < 0) {
		close(control[0]);
		return nn_fail_errno(err, NN_EFAIL, "cannot start a rank");
	}
	ranks->others[rank].pid = pid;
	ranks->others[rank].control = control[0];
	return 0;
}

static void count_threads(struct nn_ranks *ranks, struct making *m)
{
	unsigned n = ranks->setup.ranks;

	m->threads = ranks->setup.threads / n ? ranks->setup.threads / n : 1;
	ranks->n_channels = m->threads * n < NN_MOST_CHANNELS ? m->threads * n : NN_MOST_CHANNELS;
	for (unsigned i = 0; i < ranks->n_channels; i++)
		ranks->free[ranks->n_free++] = i;
	sem_init(&ranks->permits, 0, m->threads);
}

int nn_ranks_start(struct nn_ranks **result, const struct nn_ranks_setup *setup,
		   struct nn_error *err)
{
	struct nn_ranks *ranks = nn_alloc(1, sizeof *ranks, err);
	struct making m = { .ranks = ranks };
	sigset_t before;
	int status;

	if (!ranks)
		return -1;
	ranks->setup = *setup;
	pthread_mutex_init(&ranks->asking, NULL);
	pthread_mutex_init(&ranks->lock, NULL);
	pthread_cond_init(&ranks->freed, NULL);
	count_threads(ranks, &m);
	leave_signals(&before);
	status = make_pairs(ranks->to, m.up, ranks->n_channels, err);
	if (status < 0)
		ranks->n_channels = 0;
	for (unsigned r = 1; r < setup->ranks && status == 0; r++)
		status = start_rank(&m, r, err);
	memcpy(ranks->from, m.up, sizeof ranks->from);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (status < 0) {
		nn_ranks_end(ranks);
		return -1;
	}
	*result = ranks;
	return 0;
}

/* ---- who is lost ---- */

static void say_lost(struct nn_ranks *ranks, unsigned rank)
{
	pid_t pid = ranks->others[rank].pid;
	char text[256], how[80] = "is gone";
	int status;

	if (waitpid(pid, &status, 0) == pid) {
		ranks->others[rank].pid = 0;
		if (WIFSIGNALED(status))
			snprintf(how, sizeof how, "was ended by signal %d (%.40s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
	}
	snprintf(text, sizeof text,
		 "rank %u (process %ld) %s: its layers are lost, and this server is not ready any "
		 "more; start it again",
		 rank, (long)pid, how);
	ranks->setup.warn(ranks->setup.arg, text);
}

static void lose(struct nn_ranks *ranks, unsigned rank)
{
	atomic_store(&ranks->others[rank].lost, true);
	atomic_store(&ranks->lost, true);
	for (unsigned i = 0; i < ranks->n_channels; i++) { /* who waits is woken */
		shutdown(ranks->to[i], SHUT_RDWR);
		shutdown(ranks->from[i], SHUT_RDWR);
	}
	nn_batcher_drain(ranks->batcher);
	say_lost(ranks, rank);
}

static void *watch(void *arg)
{
	struct nn_ranks *ranks = arg;
	struct pollfd fds[NN_MOST_PARTS] = { { .fd = ranks->stop[0], .events = POLLIN } };
	unsigned n = ranks->setup.ranks;

	for (unsigned r = 1; r < n; r++)
		fds[r] = (struct pollfd){ .fd = ranks->others[r].control, .events = POLLRDHUP };
	for (;;) {
		if (poll(fds, n, -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		for (unsigned r = 1; r < n; r++)
			if (fds[r].revents) {
				fds[r].fd = -1;
				lose(ranks, r);
			}
	}
}

int nn_ranks_watch(struct nn_ranks *ranks, struct nn_batcher *batcher, struct nn_error *err)
{
	ranks->batcher = batcher;
	if (pipe2(ranks->stop, O_CLOEXEC) < 0)
		return nn_fail_errno(err, NN_EFAIL, "cannot watch ranks");
	if (nn_thread_start(&ranks->watcher, 0, watch, ranks, "the thread that watches ranks",
			    err) < 0) {
		close_all(ranks->stop, 2);
		return -1;
	}
	ranks->watching = true;
	return 0;
}

void nn_ranks_end(struct nn_ranks *ranks)
{
	if (!ranks)
		return;
	if (ranks->watching) {
		close(ranks->stop[1]);
		pthread_join(ranks->watcher, NULL);
		close(ranks->stop[0]);
	}
	for (unsigned r = 1; r < ranks->setup.ranks; r++)
		if (ranks->others[r].control)
			close(ranks->others[r].control);
	close_all(ranks->to, ranks->n_channels);
	close_all(ranks->from, ranks->n_channels);
	for (unsigned r = 1; r < ranks->setup.ranks; r++)
		if (ranks->others[r].pid)
			waitpid(ranks->others[r].pid, NULL, 0);
	pthread_cond_destroy(&ranks->freed);
	pthread_mutex_destroy(&ranks->lock);
	pthread_mutex_destroy(&ranks->asking);
	sem_destroy(&ranks->permits);
	nn_free(ranks);
}
