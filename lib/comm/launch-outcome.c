/*
 * What a job comes to: which rank failed first, how, where it was, and what a job can resume from.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "comm/launch-job.h"

/*
 * mpirun's own words as notes, without its rulers; the first of them, ": so it said", for who hears
 * no notes.
 */
static void tell_words(struct nn_launch_job *job, char first[200])
{
	char *line, *rest = job->words.data;

	*first = '\0';
	while (rest && (line = strsep(&rest, "\n"))) {
		char note[1024];

		line[strcspn(line, "\r")] = '\0';
		if (strspn(line, "- ") == strlen(line))
			continue;
		if (!*first)
			snprintf(first, 200, ": %.190s", line);
		snprintf(note, sizeof note, "mpirun: %s", line);
		job->l->say(job->l->arg, NN_SAY_NOTE, note);
	}
}

/* " at step 118; last checkpoint m.state.safetensors (step 100)" */
static const char *place(const struct nn_launch_job *job, const struct nn_launch_rank *rank,
			 char text[700])
{
	uint64_t at = rank->board ? atomic_load(&rank->board->at) : 0, other;
	uint64_t saved = job->ranks[0].board ? atomic_load(&job->ranks[0].board->saved) : 0;
	size_t n = 0;

	/* what is known of a remote one is a second old, and all are at the same step */
	for (int i = 0; rank->remote && i < job->l->ranks; i++)
		if (job->ranks[i].board && (other = atomic_load(&job->ranks[i].board->at)) > at)
			at = other;
	if (at && saved > at)
		at = saved; /* a rank of async may not have heard of what was saved */
	text[0] = '\0';
	if (at)
		n = (size_t)snprintf(text, 700, " at step %" PRIu64, at - 1);
	if (saved && *job->state)
		snprintf(text + n, 700 - n, "; last checkpoint %s (step %" PRIu64 ")", job->state,
			 saved - 1);
	return text;
}

/* "rank 1 (pid 4711)", "rank 1 (pid 4711 on node2)" */
static const char *name(const struct nn_launch_job *job, int i, char text[120])
{
	const struct nn_launch_rank *rank = &job->ranks[i];

	snprintf(text, 120, "rank %d (pid %ld%s%s)", i, rank->pid, rank->remote ? " on " : "",
		 rank->host);
	return text;
}

/*
 * mpirun names the one that it noticed first; sockets are closed in no order where several end in
 * one moment.
 */
static int first_killed(const struct nn_launch_job *job)
{
	for (int i = 0; job->words.data && i < job->l->ranks; i++)
		if (job->ranks[i].pid && !job->ranks[i].said &&
		    nn_launch_signal(job->words.data, i, job->ranks[i].pid))
			return i;
	return job->first_lost;
}

static int lost(struct nn_launch_job *job, int status, struct nn_error *err)
{
	int i = first_killed(job),
	    number = job->words.data ? nn_launch_signal(job->words.data, i, job->ranks[i].pid) : 0;
	char who[120], where[700], words[200];

	name(job, i, who);
	place(job, &job->ranks[i], where);
	if (WIFSIGNALED(status) && job->signals == 0)
		return nn_fail(err, NN_ERANK, "mpirun was killed by signal %d%s", WTERMSIG(status),
			       where);
	if (number == 0 && WIFEXITED(status) && WEXITSTATUS(status) > 128)
		number = WEXITSTATUS(status) - 128;
	if (number)
		return nn_fail(err, NN_ERANK, "%s was killed by signal %d%s", who, number, where);
	if (*where)
		return nn_fail(err, NN_ERANK, "%s exited unexpectedly%s", who, where);
	tell_words(job, words); /* before the first step Open MPI may have ended it */
	return nn_fail(err, NN_ERANK, "%s exited unexpectedly%s", who, words);
}

/*
 * A rank that explains itself, one that ends in silence, one whose error is that another was lost.
 */
static int weight(const struct nn_launch_rank *rank)
{
	return rank->status == NN_ERANK ? 0 : *rank->text ? 2 : 1;
}

static const struct nn_launch_rank *find_error(const struct nn_launch_job *job)
{
	const struct nn_launch_rank *found = NULL;

	for (int i = job->l->ranks; i-- > 0;) {
		const struct nn_launch_rank *rank = &job->ranks[i];

		if (rank->said && rank->status && (!found || weight(rank) >= weight(found)))
			found = rank;
	}
	return found;
}

static int hung(const struct nn_launch_job *job, struct nn_error *err)
{
	int i = job->stopped >= 0 ? job->stopped : job->idle;
	const struct nn_launch_rank *rank = &job->ranks[i];
	char who[120], where[700];

	name(job, i, who);
	place(job, rank, where);
	if (job->stopped < 0)
		return nn_fail(err, NN_ERANK, "%s made no progress for %.0f s (--timeout)%s", who,
			       job->l->timeout_s, where);
	return nn_fail(err, NN_ERANK, "%s %s%s", who,
		       rank->remote ? "has not been heard of for 20 s"
				    : "was stopped (state T) and did not go on",
		       where);
}

/* A rank that was killed before it said hello: mpirun alone knows it. */
static int killed_early(const struct nn_launch_job *job, struct nn_error *err)
{
	const char *at = job->words.data ? strstr(job->words.data, "process rank ") : NULL,
		   *signal = at ? strstr(at, "exited on signal ") : NULL;
	int rank, number;
	long pid;

	if (!signal || sscanf(at, "process rank %d with PID %ld", &rank, &pid) != 2 ||
	    sscanf(signal, "exited on signal %d", &number) != 1)
		return 0;
	return nn_fail(err, NN_ERANK, "rank %d (pid %ld) was killed by signal %d", rank, pid,
		       number);
}

/* mpirun could not, or did not want to. */
static int not_started(struct nn_launch_job *job, int status, struct nn_error *err)
{
	bool slots = job->words.data && strstr(job->words.data, "not enough slots");
	const struct nn_launch *l = job->l;
	char words[200];

	tell_words(job, words);
	if (WIFSIGNALED(status))
		return nn_fail(err, NN_ERANK, "--ranks=%d: mpirun was killed by signal %d",
			       l->ranks, WTERMSIG(status));
	if (slots && !l->hosts && !l->hostfile)
		return nn_fail(err, NN_ENODEV,
			       "--ranks=%d: the batch system has given this job fewer tasks; ask "
			       "it for as many (Slurm: "
			       "--ntasks=%d)",
			       l->ranks, l->ranks);
	if (slots)
		return nn_fail(err, l->hosts ? NN_EUSAGE : NN_ENODEV,
			       "--ranks=%d: the hosts have fewer slots; --hosts=HOST:N,... and "
			       "--hostfile say how many each has",
			       l->ranks);
	if (l->hosts || l->hostfile)
		return nn_fail(err, NN_ENODEV, "%s=%.200s: mpirun ended with status %d%s",
			       l->hosts ? "--hosts" : "--hostfile",
			       l->hosts ? l->hosts : l->hostfile, WEXITSTATUS(status), words);
	return nn_fail(err, NN_ENODEV, "--ranks=%d: mpirun ended with status %d%s", l->ranks,
		       WEXITSTATUS(status), words);
}

int nn_launch_outcome(struct nn_launch_job *job, int status, struct nn_error *err)
{
	const struct nn_launch_rank *found = find_error(job);

	if (job->finished)
		return 0;
	if (job->stop)
		return 128 + job->stop;
	if (job->stopped >= 0 || job->idle >= 0)
		return hung(job, err);
	if (found && found->status > 128 && !*found->text)
		return found->status;
	if (found && found->status != NN_ERANK)
		return nn_fail(err, (enum nn_code)found->status, "%s", found->text);
	if (job->passed_on && job->first_lost >= 0)
		return 128 + job->passed_on; /* it came before the ranks could stop gently */
	if (job->first_lost >= 0)
		return lost(job, status, err);
	if (found)
		return nn_fail(err, NN_ERANK, "%s", found->text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return killed_early(job, err) < 0 ? -1 : not_started(job, status, err);
}
