/* A pipe for all ranks: rank 0 reads, sends on what it read, and every rank's loader reads a pipe that a thread fills. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "train/feed.h"
#include "train/ranks.h"

#define CHUNK ((size_t)1 << 18)
#define CHANNEL 77                   /* messages of its own */

struct nn_feed {
	struct nn_comm *channel;
	int source;                  /* rank 0: what is read */
	bool piped;                  /* this rank's loader reads what the thread writes, else a file */
	int pipe;                    /* the end that it writes */
	int wake[2];                 /* closed when the loader is done */
	int failed;                  /* errno of a read */
	char *chunk;
	pthread_t thread;
};

/* ---- the thread ---- */

/* Rank 0: the next bytes; 0 at the end, or when nobody wants more. */
static ssize_t read_some(struct nn_feed *f)
{
	struct pollfd p[2] = { { f->source, POLLIN, 0 }, { f->wake[0], POLLIN, 0 } };
	ssize_t n;

	while (poll(p, 2, -1) < 0)
		;
	if (p[1].revents)
		return 0;
	n = nn_read_some(f->source, f->chunk, CHUNK);
	if (n < 0)
		f->failed = errno;
	return n;
}

static void *run(void *arg)
{
	struct nn_feed *f = arg;
	int64_t n;

	do {
		n = f->channel->rank == 0 ? read_some(f) : 0;
		if (nn_comm_broadcast(f->channel, 0, &n, sizeof n, NULL) < 0 ||
		    (n > 0 && nn_comm_broadcast(f->channel, 0, f->chunk, (size_t)n, NULL) < 0))
			break;
		if (f->piped && n > 0)
			nn_write_all(f->pipe, f->chunk, (size_t)n);      /* where it fails the loader has what it wants */
	} while (n > 0);
	if (f->piped)
		close(f->pipe);
	return NULL;
}

/* ---- around the loader ---- */

static bool is_pipe(const char *path)
{
	struct stat st;

	return path && (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)));
}

/* What rank 0 found: DATA, TARGETS or neither is a pipe, or was one that --spool has kept. */
static int which(struct nn_train *t, struct nn_error *err)
{
	const struct nn_train_setup *s = &t->setup;
	int found = is_pipe(s->data_path) ? 1 : is_pipe(s->targets_path) ? 2 : 0;

	if (!found && t->spooled)
		found = t->spooled == s->data_path ? 1 : 2;
	return nn_comm_broadcast(t->comm, 0, &found, sizeof found, err) < 0 ? -1 : found;
}

/* Standard input is from now on what the thread gives. */
static int take_stdin(struct nn_feed *f, const char **path, struct nn_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[0], STDIN_FILENO) < 0)
		return nn_fail_errno(err, NN_EFAIL, "-: cannot make a pipe");
	close(ends[0]);
	f->pipe = ends[1];
	f->piped = true;
	*path = "-";
	return 0;
}

static int open_source(struct nn_feed *f, const char *path, struct nn_error *err)
{
	f->source = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	return f->source < 0 ? nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path) : 0;
}

static int start(struct nn_feed *f, struct nn_train *t, const char **path, struct nn_error *err)
{
	bool file = nn_train_first(t) && !is_pipe(*path);

	if (nn_comm_channel(&f->channel, t->comm, CHANNEL, err) < 0 || !(f->chunk = nn_alloc(CHUNK, 1, err)))
		return -1;
	if (pipe2(f->wake, O_CLOEXEC) < 0)
		return nn_fail_errno(err, NN_EFAIL, "-: cannot make a pipe");
	if ((nn_train_first(t) && open_source(f, *path, err) < 0) || (!file && take_stdin(f, path, err) < 0))
		return -1;
	if (pthread_create(&f->thread, NULL, run, f) != 0)
		return nn_fail(err, NN_EFAIL, "cannot start a thread");
	return 0;
}

int nn_feed_open(struct nn_feed **feed, struct nn_train *t, struct nn_error *err)
{
	struct nn_feed *f;
	int found;

	*feed = NULL;
	if (nn_train_ranks(t) == 1)
		return 0;
	found = which(t, err);
	if (found <= 0)
		return found;
	if (!(f = nn_alloc(1, sizeof *f, err)))
		return -1;
	f->source = f->wake[0] = f->wake[1] = -1;
	*feed = f;
	/* a rank that fails here ends the job: nothing has to be undone */
	return start(f, t, found == 1 ? &t->setup.data_path : &t->setup.targets_path, err);
}

int nn_feed_close(struct nn_feed *f, int status, struct nn_error *err)
{
	int none;

	if (!f || status < 0)
		return status;               /* others may still read: the process ends as it is */
	none = f->piped ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (none >= 0) {
		dup2(none, STDIN_FILENO);    /* the thread goes on without who reads its pipe */
		close(none);
	}
	if (f->piped)
		close(f->wake[1]);           /* what this loader had, the others had before; a file may still be on its way to them */
	pthread_join(f->thread, NULL);
	if (!f->piped)
		close(f->wake[1]);
	close(f->wake[0]);
	if (f->source >= 0)
		close(f->source);
	if (f->failed)
		status = nn_fail(err, NN_EFAIL, "-: cannot read: %s", strerror(f->failed));
	nn_comm_close(f->channel);
	nn_free(f->chunk);
	nn_free(f);
	return status;
}
