/*
 * Pipes for all ranks: rank 0 reads, sends on what it read, and every rank's loader reads a pipe
 * that a thread fills.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "parallel/feed.h"

#define CHUNK ((size_t)1 << 18)
#define CHANNEL 77 /* messages of its own, as many as there can be pipes */
#define MOST 3     /* DATA, TARGETS, held-out data */

/* One pipe. */
struct stream {
	struct nn_comm *channel;
	const char **path, *name; /* where the loader finds its path, and what stood there */
	/* what stands there until the data were read: standard input, or a descriptor */
	char reads[32];
	int source;    /* rank 0: what is read */
	bool piped;    /* this rank's loader reads what the thread writes, else a file */
	int pipe, end; /* where the thread writes, and where the loader reads */
	int wake[2];   /* closed when the loader is done */
	int failed;    /* errno of a read */
	char *chunk;
	pthread_t thread;
};

struct nn_feed {
	struct stream streams[MOST];
	int n;
};

/* ---- the thread ---- */

/* Rank 0: the next bytes; 0 at the end, or when no rank reads on. */
static ssize_t read_some(struct stream *f)
{
	struct pollfd p[2] = { { f->source, POLLIN, 0 }, { f->wake[0], POLLIN, 0 } };
	ssize_t n;

	do {
		while (poll(p, 2, -1) < 0)
			;
		if (p[1].revents)
			return 0;
		n = nn_read_some(f->source, f->chunk, CHUNK);
	} while (n < 0 && errno == EAGAIN);
	if (n < 0)
		f->failed = errno;
	return n;
}

static void *run(void *arg)
{
	struct stream *f = arg;
	int64_t n;

	do {
		n = f->channel->rank == 0 ? read_some(f) : 0;
		if (nn_comm_broadcast(f->channel, 0, &n, sizeof n, NULL) < 0 ||
		    (n > 0 && nn_comm_broadcast(f->channel, 0, f->chunk, (size_t)n, NULL) < 0))
			break;
		if (f->piped && n > 0)
			nn_write_all(f->pipe, f->chunk,
				     (size_t)n); /* where it fails the loader has what it wants */
	} while (n > 0);
	if (f->piped)
		close(f->pipe);
	return NULL;
}

/* ---- around the loader ---- */

static bool is_pipe(const char *path)
{
	struct stat st;

	return path && (strcmp(path, "-") == 0 ||
			(stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)));
}

/*
 * What rank 0 found, a bit for each: DATA, TARGETS, held-out data are pipes, or were one that
 * --spool has kept.
 */
static int which(struct nn_comm *comm, const struct nn_feed_paths *p, struct nn_error *err)
{
	int found = is_pipe(*p->data) | is_pipe(*p->targets) << 1 | is_pipe(*p->held_out) << 2;

	if (p->spooled)
		found |= p->spooled == *p->data ? 1 : 2;
	return nn_comm_broadcast(comm, 0, &found, sizeof found, err) < 0 ? -1 : found;
}

/*
 * The loader reads what the thread gives: of the first pipe as standard input, of others as a
 * descriptor.
 */
static int take_place(struct stream *f, bool first, struct nn_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || (first && dup2(ends[0], STDIN_FILENO) < 0))
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot make a pipe", f->name);
	if (first)
		close(ends[0]);
	f->end = first ? STDIN_FILENO : ends[0];
	f->pipe = ends[1];
	f->piped = true;
	if (first)
		strcpy(f->reads, "-");
	else
		snprintf(f->reads, sizeof f->reads, "/dev/fd/%d", f->end);
	*f->path = f->reads;
	return 0;
}

/*
 * Rank 0, before anything takes the place of standard input. The writer of a FIFO may come when it
 * is done with the one before.
 */
static int open_source(struct stream *f, struct nn_error *err)
{
	f->source = strcmp(f->name, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					      : open(f->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return f->source < 0 ? nn_fail_errno(err, NN_EFAIL, "%s: cannot open", f->name) : 0;
}

static int start(struct stream *f, struct nn_comm *comm, int number, struct nn_error *err)
{
	bool file = comm->rank == 0 && !is_pipe(f->name);

	if (nn_comm_channel(&f->channel, comm, CHANNEL + number, err) < 0 ||
	    !(f->chunk = nn_alloc(CHUNK, 1, err)))
		return -1;
	if (pipe2(f->wake, O_CLOEXEC) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot make a pipe", f->name);
	if (!file && take_place(f, number == 0, err) < 0)
		return -1;
	return pthread_create(&f->thread, NULL, run, f) == 0
		       ? 0
		       : nn_fail(err, NN_EFAIL, "cannot start a thread");
}

int nn_feed_open(struct nn_feed **feed, struct nn_comm *comm, const struct nn_feed_paths *p,
		 struct nn_error *err)
{
	const char **paths[MOST] = { p->data, p->targets, p->held_out };
	struct nn_feed *f;
	int found;

	*feed = NULL;
	if (!comm || comm->size == 1)
		return 0;
	found = which(comm, p, err);
	if (found <= 0)
		return found;
	if (!(f = nn_alloc(1, sizeof *f, err)))
		return -1;
	*feed = f;
	/* a rank that fails here ends the job: nothing has to be undone */
	for (int i = 0; i < MOST; i++) {
		struct stream *stream = &f->streams[f->n];

		if (!(found & 1 << i))
			continue;
		*stream = (struct stream){ .path = paths[i], .name = *paths[i], .source = -1 };
		f->n++;
		if (comm->rank == 0 && open_source(stream, err) < 0)
			return -1;
	}
	for (int i = 0; i < f->n; i++)
		if (start(&f->streams[i], comm, i, err) < 0)
			return -1;
	return 0;
}

/* The user knows the pipe by its own name. */
static void rename_place(const struct stream *f, struct nn_error *err)
{
	size_t n = strlen(f->reads);
	struct nn_error named;

	if (n == 0 || !err || strncmp(err->text, f->reads, n) != 0 || err->text[n] != ':')
		return;
	nn_fail(&named, err->code, "%s%s", f->name, err->text + n);
	*err = named;
}

/* The loader is done; its thread may outlive the reader of its pipe. */
static int end(struct stream *f, struct nn_error *err)
{
	int status = 0, none = -1;

	if (f->piped && f->end != STDIN_FILENO) {
		close(f->end);
	} else if (f->piped && (none = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
		dup2(none, STDIN_FILENO);
		close(none);
	}
	if (f->piped)
		/*
		 * what this loader had, the others had before; a file may still be on its way to
		 * them
		 */
		close(f->wake[1]);
	pthread_join(f->thread, NULL);
	if (!f->piped)
		close(f->wake[1]);
	close(f->wake[0]);
	if (f->source >= 0)
		close(f->source);
	if (f->failed)
		status =
			nn_fail(err, NN_EFAIL, "%s: cannot read: %s", f->name, strerror(f->failed));
	*f->path = f->name;
	nn_comm_close(f->channel);
	nn_free(f->chunk);
	return status;
}

int nn_feed_close(struct nn_feed *f, int status, struct nn_error *err)
{
	for (int i = 0; f && i < f->n && status < 0; i++)
		rename_place(&f->streams[i], err);
	if (!f || status < 0)
		return status; /* others may still read: the process ends as it is */
	for (int i = 0; i < f->n; i++)
		status = end(&f->streams[i], err) < 0 ? -1 : status;
	nn_free(f);
	return status;
}
