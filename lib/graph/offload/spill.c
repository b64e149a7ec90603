/* One thread does what was asked for, one piece of work after the other. */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/thread.h"
#include "graph/offload/spill.h"

#define JOBS 64 /* that wait at most: whoever asks for more waits for one to end */

struct job {
	bool reads;
	size_t at, bytes;
	char *memory;
};

struct nn_spill {
	int fd;
	pthread_t thread;
	bool started, ends;
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	struct job jobs[JOBS];
	size_t first, n; /* jobs[first % JOBS] is at work or next */
	atomic_bool failed;
	struct nn_error error;
	char *folder;
	void *piece;
};

/* ---- the thread ---- */

static bool work(struct nn_spill *s, struct job j)
{
	while (j.bytes > 0) {
		ssize_t n = j.reads ? pread(s->fd, j.memory, j.bytes, (off_t)j.at)
				    : pwrite(s->fd, j.memory, j.bytes, (off_t)j.at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			nn_fail_errno(&s->error, NN_EFAIL, "%s: cannot %s activations", s->folder,
				      j.reads ? "read" : "write");
			return false;
		}
		j.memory += n;
		j.at += (size_t)n;
		j.bytes -= (size_t)n;
	}
	return true;
}

static void *run(void *arg)
{
	struct nn_spill *s = arg;

	pthread_mutex_lock(&s->lock);
	while (s->n > 0 || !s->ends) {
		struct job job;

		if (s->n == 0) {
			pthread_cond_wait(&s->asked, &s->lock);
			continue;
		}
		job = s->jobs[s->first % JOBS];
		pthread_mutex_unlock(&s->lock);
		if (!atomic_load(&s->failed) && !work(s, job))
			atomic_store(&s->failed, true);
		pthread_mutex_lock(&s->lock);
		s->first++;
		s->n--;
		pthread_cond_signal(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its owner ---- */

static void ask(struct nn_spill *s, struct job job)
{
	pthread_mutex_lock(&s->lock);
	while (s->n == JOBS)
		pthread_cond_wait(&s->done, &s->lock);
	s->jobs[(s->first + s->n++) % JOBS] = job;
	pthread_cond_signal(&s->asked);
	pthread_mutex_unlock(&s->lock);
}

void nn_spill_write(struct nn_spill *s, size_t at, const void *memory, size_t bytes)
{
	ask(s, (struct job){ false, at, bytes, (char *)(uintptr_t)memory });
}

void nn_spill_read(struct nn_spill *s, size_t at, void *memory, size_t bytes)
{
	ask(s, (struct job){ true, at, bytes, memory });
}

void nn_spill_settle(struct nn_spill *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->n > 0)
		pthread_cond_wait(&s->done, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

bool nn_spill_failed(const struct nn_spill *s)
{
	return atomic_load(&s->failed);
}

int nn_spill_check(const struct nn_spill *s, struct nn_error *err)
{
	if (!nn_spill_failed(s))
		return 0;
	return nn_fail(err, s->error.code, "%s", s->error.text);
}

/* Where the file system has no files without names, one whose name goes at once. */
static int open_unnamed(const char *folder)
{
	struct nn_text path = { 0 };
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	nn_text_addf(&path, "%s/.nn-offload.XXXXXX", folder);
	fd = path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
	if (fd >= 0)
		unlink(path.data);
	nn_text_free(&path);
	return fd;
}

static int open_file(struct nn_spill *s, size_t bytes, struct nn_error *err)
{
	s->fd = open_unnamed(s->folder);
	if (s->fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot make a file for activations",
				     s->folder);
	if ((errno = posix_fallocate(s->fd, 0, (off_t)bytes)) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot take %zu bytes for activations",
				     s->folder, bytes);
	return nn_thread_start(&s->thread, 0, run, s, "a thread that writes activations", err);
}

int nn_spill_open(struct nn_spill **spill, const char *folder, size_t bytes, size_t piece,
		  struct nn_error *err)
{
	struct nn_spill *s = *spill = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->asked, NULL);
	pthread_cond_init(&s->done, NULL);
	s->folder = nn_strdup(folder, err);
	s->piece = nn_alloc(piece ? piece : 1, 1, err);
	if (!s->folder || !s->piece || open_file(s, bytes, err) < 0) {
		nn_spill_close(s);
		*spill = NULL;
		return -1;
	}
	s->started = true;
	return 0;
}

void *nn_spill_piece(const struct nn_spill *s)
{
	return s->piece;
}

void nn_spill_close(struct nn_spill *s)
{
	if (!s)
		return;
	if (s->started) {
		pthread_mutex_lock(&s->lock);
		s->ends = true;
		pthread_cond_signal(&s->asked);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	if (s->fd >= 0)
		close(s->fd);
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->asked);
	pthread_mutex_destroy(&s->lock);
	nn_free(s->folder);
	nn_free(s->piece);
	nn_free(s);
}
