/*
 * Signs of life: a rank that is stopped, or one that makes no progress, keeps all others waiting.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "comm/launch-job.h"

#define STOPPED_TICKS 40 /* seen stopped so often in a row: 20 s */
#define LEFT_TICKS 10    /* the same for mpirun, once all ranks have ended: 5 s */
#define SILENT_S 20.0    /* nothing heard of a rank on another host */
#define TELL_S 60.0      /* a rank without progress is reported after this */
#define BUSY_JIFFIES 5   /* processor time in a tick that counts as progress: a tenth of a core */
#define LOOK_JIFFIES 25  /* of a rank that waits, which looks for messages over TCP */

/* The letter of its state in /proc, T is stopped, and its processor time. */
static char state_of(long pid, uint64_t *jiffies)
{
	char path[40], text[1024], *end, state = '?';
	uint64_t user = 0, system = 0;
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
	if (end)
		sscanf(end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		       &state, &user, &system);
	*jiffies = user + system;
	return state;
}

/* Twenty seconds are up. *ready: it computes, or would if a processor were free. */
static bool is_stopped(struct nn_launch_rank *rank, double now, uint64_t *jiffies, bool *ready)
{
	char state;

	*ready = false;
	if (rank->remote) {
		*jiffies = atomic_load(&rank->board->cpu_ms) / 10;
		return now - rank->heard_s > SILENT_S;
	}
	state = state_of(rank->pid, jiffies);
	*ready = state == 'R';
	rank->stopped = state == 'T' ? rank->stopped + 1 : 0;
	return rank->stopped >= STOPPED_TICKS;
}

/*
 * A step done, or computing: only at work on steps can it be without progress, for a pipe may be
 * read for hours. One that waits for no message and for a processor alone computes as well: a busy
 * machine gives it less than a tenth of a core.
 */
static void note_progress(struct nn_launch_rank *rank, double now, uint64_t jiffies, bool ready)
{
	uint64_t at = atomic_load(&rank->board->at);
	bool waits = atomic_load(&rank->board->waiting);

	if (at == 0 || at != rank->at || (ready && !waits) ||
	    jiffies >= rank->jiffies + (waits ? LOOK_JIFFIES : BUSY_JIFFIES)) {
		rank->moved_s = now;
		rank->moved_jiffies = jiffies;
		rank->told = false;
	}
	rank->at = at;
	rank->jiffies = jiffies;
}

/*
 * Who waits for a message makes progress as long as one does that is at work and waits for none: a
 * rank may evaluate held-out rows alone for long. One of another host that was not heard of yet (at
 * 0) lends nothing.
 */
static void share_progress(struct nn_launch_job *job)
{
	double last = 0;

	for (int i = 0; i < job->l->ranks; i++) {
		const struct nn_launch_rank *rank = &job->ranks[i];

		if (rank->fd >= 0 && !rank->said && rank->at > 0 &&
		    !atomic_load(&rank->board->waiting) && rank->moved_s > last)
			last = rank->moved_s;
	}
	for (int i = 0; i < job->l->ranks; i++) {
		struct nn_launch_rank *rank = &job->ranks[i];

		if (rank->fd >= 0 && !rank->said && rank->moved_s < last &&
		    atomic_load(&rank->board->waiting))
			/*
			 * but not moved_jiffies, which distinguish ranks that wait actively from
			 * those that do not
			 */
			rank->moved_s = last;
	}
}

/*
 * The rank that all wait for: one that waits for no message itself, else the one that does not even
 * look for it.
 */
static int find_idle(const struct nn_launch_job *job, double now, double seconds)
{
	uint64_t least = UINT64_MAX;
	int found = -1;

	for (int i = 0; i < job->l->ranks; i++) {
		const struct nn_launch_rank *rank = &job->ranks[i];
		uint64_t busy;

		if (rank->fd < 0 || rank->said || now - rank->moved_s < seconds)
			continue;
		busy = atomic_load(&rank->board->waiting) ? 1 + rank->jiffies - rank->moved_jiffies
							  : 0;
		if (busy < least) {
			least = busy;
			found = i;
		}
	}
	return found;
}

static void tell_idle(struct nn_launch_job *job, int i, double now)
{
	struct nn_launch_rank *rank = &job->ranks[i];
	char text[160];

	if (rank->told)
		return;
	for (int k = 0; k < job->l->ranks; k++)
		job->ranks[k].told = true;
	snprintf(text, sizeof text,
		 "rank %d (pid %ld) has made no progress for %.0f s at step %" PRIu64, i, rank->pid,
		 now - rank->moved_s, atomic_load(&rank->board->at) - 1);
	job->l->say(job->l->arg, NN_SAY_WARNING, text);
}

bool nn_launch_is_left(struct nn_launch_job *job)
{
	bool ended = true;
	uint64_t jiffies;

	for (int i = 0; i < job->l->ranks; i++)
		ended &= job->ranks[i].said && job->ranks[i].status == 0;
	job->left = ended && state_of(job->mpirun, &jiffies) == 'T' ? job->left + 1 : 0;
	return job->left >= LEFT_TICKS;
}

bool nn_launch_look(struct nn_launch_job *job)
{
	double now = nn_now_s();
	int idle;

	for (int i = 0; i < job->l->ranks; i++) {
		struct nn_launch_rank *rank = &job->ranks[i];
		uint64_t jiffies = 0;
		bool ready;

		if (rank->fd < 0 || rank->said)
			continue;
		if (is_stopped(rank, now, &jiffies, &ready)) {
			job->stopped = i;
			return true;
		}
		note_progress(rank, now, jiffies, ready);
	}
	share_progress(job);
	if ((idle = find_idle(job, now, TELL_S)) >= 0)
		tell_idle(job, idle, now);
	job->idle = job->l->timeout_s > 0 ? find_idle(job, now, job->l->timeout_s) : -1;
	return job->idle >= 0;
}
