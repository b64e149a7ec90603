/*
 * The process that stays: hears what ranks say, sees which one is gone, and leaves nothing running.
 */
#include "base/text.h"
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "comm/launch-job.h"

#define TICK_MS 500
#define NOTICE_S 3.0 /* mpirun ends the others by itself when one is gone */
#define TERM_S 3.0   /* then SIGTERM is sent, and as long after it all are killed */

static void ending(struct nn_launch_job *job, double after_s)
{
	if (job->end_at == 0)
		job->end_at = nn_now_s() + after_s;
}

static void lose(struct nn_launch_job *job, int i)
{
	struct nn_launch_rank *rank = &job->ranks[i];

	close(rank->fd);
	rank->fd = -1;
	if (!rank->said && job->first_lost < 0)
		job->first_lost = i;
	if (!rank->said || rank->status)
		ending(job, NOTICE_S);
}

static void hear_rank(struct nn_launch_job *job, int i)
{
	struct nn_launch_rank *rank = &job->ranks[i];
	struct nn_launch_message packet;

	if (!nn_launch_hear(rank, &packet)) {
		lose(job, i);
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
	case NN_SAY_STATE:
		snprintf(job->state, sizeof job->state, "%.*s", (int)sizeof job->state - 1,
			 packet.text);
		break;
	case NN_SAY_BOARD:
		memcpy(rank->board, packet.text, sizeof *rank->board);
		break;
	case NN_SAY_WARNING:
	case NN_SAY_NOTE:
		if (rank->said && job->l->last)
			nn_text_addf(job->l->last, "%s\n", packet.text);
		else
			job->l->say(job->l->arg, packet.kind, packet.text);
		break;
	}
}

/* What mpirun says is kept, the last of it. False at its end. */
static bool hear_mpirun(struct nn_launch_job *job)
{
	char bytes[4096];
	ssize_t n = read(job->out, bytes, sizeof bytes);

	if (n < 0)
		return errno == EINTR;
	if (n > 0 && job->words.length < (size_t)1 << 20)
		nn_text_add_bytes(&job->words, bytes, (size_t)n);
	return n > 0;
}

/* A rank of another host kills itself when it hears nothing more of this process. */
static void kill_rank(struct nn_launch_job *job, int i)
{
	if (job->ranks[i].fd < 0)
		return;
	if (job->ranks[i].remote)
		lose(job, i);
	else
		kill((pid_t)job->ranks[i].pid, SIGKILL);
}

/* A host that does not answer: mpirun does not wait for the ssh that does. */
static void end_children(const struct nn_launch_job *job)
{
	char path[64];
	long child;
	FILE *file;

	for (int i = 0; i < job->l->ranks; i++)
		if (job->ranks[i].pid)
			return;
	snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)job->mpirun,
		 (long)job->mpirun);
	file = fopen(path, "re");
	while (file && fscanf(file, "%ld", &child) == 1)
		kill((pid_t)child, SIGTERM);
	if (file)
		fclose(file);
}

/* Ask mpirun to end; the second time kill all. */
static void end_all(struct nn_launch_job *job)
{
	job->end_at = nn_now_s() + TERM_S;
	if (job->signals++ == 0) {
		end_children(job);
		kill(job->mpirun, NN_LAUNCH_END);
		return;
	}
	for (int i = 0; i < job->l->ranks; i++)
		kill_rank(job, i);
	if (job->signals > 2)
		kill(-job->mpirun, SIGKILL);
}

/* Kill without asking mpirun first: it does not react, or there is no time to wait. */
static void end_at_once(struct nn_launch_job *job)
{
	job->signals = job->signals > 0 ? job->signals : 1;
	end_all(job);
	kill(job->mpirun, NN_LAUNCH_END);
}

static void watch_signals(struct nn_launch_job *job)
{
	int now = job->l->stop ? *job->l->stop : 0, save = job->l->save ? *job->l->save : 0;

	if (save && nn_launch_send(&job->ranks[0], NN_SAY_SIGNAL, save))
		*job->l->save = 0;
	if (!now || job->stop)
		return;
	if (job->l->stops && *job->l->stops < 2 &&
	    (job->passed_on || nn_launch_send(&job->ranks[0], NN_SAY_SIGNAL, now))) {
		job->passed_on = now;
		return;
	}
	job->stop = now;
	if (job->passed_on)
		end_at_once(job);
	else
		end_all(job);
}

/* Ranks wait for mpirun to let them go. */
static void end_stopped(struct nn_launch_job *job)
{
	job->finished = true;
	for (int i = 0; i < job->l->ranks; i++)
		kill_rank(job, i);
	kill(-job->mpirun, SIGKILL);
}

static void look(struct nn_launch_job *job)
{
	if (!job->finished && nn_launch_is_left(job))
		end_stopped(job);
	if (job->stopped < 0 && job->idle < 0 && job->signals == 0 && nn_launch_look(job))
		end_at_once(job);
}

/* A daemon on a host that is cut off may hold the pipe for long. */
static bool is_dead(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

/* Until mpirun has closed its end of the pipe, or was killed. */
static void watch(struct nn_launch_job *job)
{
	int n = job->l->ranks;

	for (double tick = nn_now_s();;) {
		struct pollfd *p = job->polls;
		bool busy = job->unidentified >= 0;

		p[0] = (struct pollfd){ busy ? -1 : job->listener, POLLIN, 0 };
		p[1] = (struct pollfd){ busy ? -1 : job->door, POLLIN, 0 };
		p[2] = (struct pollfd){ job->out, POLLIN, 0 };
		p[3] = (struct pollfd){ job->unidentified, POLLIN, 0 };
		for (int i = 0; i < n; i++)
			p[4 + i] = (struct pollfd){ job->ranks[i].fd, POLLIN, 0 };
		if (poll(p, 4 + (nfds_t)n, TICK_MS) < 0)
			memset(p, 0, (4 + (size_t)n) * sizeof *p);
		watch_signals(job);
		for (int i = 0; i < n; i++)
			if (p[4 + i].revents && job->ranks[i].fd >= 0)
				hear_rank(job, i);
		if (p[3].revents)
			nn_launch_hello(job);
		if (p[0].revents || p[1].revents)
			nn_launch_accept(job, !p[0].revents);
		if (p[2].revents && !hear_mpirun(job))
			return;
		if (nn_now_s() - tick > TICK_MS * 1e-3) {
			tick = nn_now_s();
			look(job);
			if (job->signals > 2 && is_dead(job->mpirun))
				return;
		}
		if (job->end_at > 0 && nn_now_s() > job->end_at)
			end_all(job);
	}
}

/* Without mpirun a rank that is still there is an orphan; what it said last is heard. */
static void hear_last(struct nn_launch_job *job)
{
	for (int i = 0; i < job->l->ranks; i++)
		while (job->ranks[i].fd >= 0) {
			struct pollfd p = { job->ranks[i].fd, POLLIN, 0 };

			if (poll(&p, 1, 200) == 0)
				kill_rank(job, i);
			else
				hear_rank(job, i);
		}
}

int nn_launch_run(const struct nn_launch *l, struct nn_error *err)
{
	struct nn_launch_job job = { .l = l,
				     .listener = -1,
				     .door = -1,
				     .out = -1,
				     .unidentified = -1,
				     .first_lost = -1,
				     .stopped = -1,
				     .idle = -1,
				     .began = time(NULL) };
	char name[NN_LAUNCH_NAME], note[80];
	int status = -1, waited = 0;

	job.ranks = nn_alloc((size_t)l->ranks, sizeof *job.ranks, err);
	job.polls = nn_alloc((size_t)l->ranks + 4, sizeof *job.polls, err);
	if (!job.ranks || !job.polls)
		goto out;
	for (int i = 0; i < l->ranks; i++)
		job.ranks[i].fd = -1;
	if (nn_launch_listen(&job, !nn_launch_local(l), name, err) < 0 ||
	    nn_launch_start(l, name, &job.mpirun, &job.out, err) < 0)
		goto out;
	if (l->cores && l->ranks > l->cores) {
		snprintf(note, sizeof note, "%d ranks share %d core%s", l->ranks, l->cores,
			 nn_s(l->cores));
		l->say(l->arg, NN_SAY_NOTE, note);
	}
	watch(&job);
	while (waitpid(job.mpirun, &waited, 0) < 0 && errno == EINTR)
		;
	hear_last(&job);
	if (WIFSIGNALED(waited))
		nn_launch_sweep(&job);
	status = nn_launch_outcome(&job, waited, err);
	if (l->saved)
		*l->saved = job.ranks[0].board ? atomic_load(&job.ranks[0].board->saved) : 0;
out:
	nn_launch_close(&job);
	nn_text_free(&job.words);
	nn_free(job.ranks);
	nn_free(job.polls);
	return status;
}
