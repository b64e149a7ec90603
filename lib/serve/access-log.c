/* Lines about answers, each a single write. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "serve/access-log.h"

struct nn_access_log {
	char *path;
	int fd; /* the same number for all files that it has been */
	void (*warn)(void *arg, const char *text);
	void *arg;
	atomic_bool torn; /* the last line lacks its end */
	atomic_bool told; /* lines are lost since the last that was written */
};

/* A pipe whose reader is slow must not stop the server. */
static int open_file(const char *path, struct nn_error *err)
{
	int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);

	return fd < 0 ? nn_fail_errno(err, NN_EFAIL, "%s: cannot write", path) : fd;
}

int nn_access_log_open(struct nn_access_log **log, const char *path,
		       void (*warn)(void *arg, const char *text), void *arg, struct nn_error *err)
{
	struct nn_access_log *l = nn_alloc(1, sizeof *l, err);

	if (!l)
		return -1;
	l->warn = warn;
	l->arg = arg;
	l->path = nn_strdup(path, err);
	l->fd = l->path ? open_file(path, err) : -1;
	if (l->fd < 0) {
		nn_free(l->path);
		nn_free(l);
		return -1;
	}
	*log = l;
	return 0;
}

void nn_access_log_close(struct nn_access_log *log)
{
	if (!log)
		return;
	close(log->fd);
	nn_free(log->path);
	nn_free(log);
}

int nn_access_log_reopen(struct nn_access_log *log, struct nn_error *err)
{
	int fd = open_file(log->path, err);

	if (fd < 0)
		return -1;
	if (dup3(fd, log->fd, O_CLOEXEC) < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s: cannot write", log->path);
		close(fd);
		return -1;
	}
	close(fd);
	atomic_store(&log->torn, false);
	return 0;
}

/* "2026-01-31T23:59:59.123Z" */
static void add_time(struct nn_text *text)
{
	struct timespec now;
	struct tm tm;
	char date[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	nn_text_addf(text, "{\"time\":\"%s.%03ldZ\"", date, now.tv_nsec / 1000000);
}

static void add_line(struct nn_text *text, const struct nn_access *access)
{
	add_time(text);
	nn_text_add(text, ",\"method\":");
	nn_text_add_json(text, access->method, strlen(access->method));
	nn_text_add(text, ",\"path\":");
	nn_text_add_json(text, access->path, strlen(access->path));
	nn_text_addf(text,
		     ",\"status\":%u,\"bytes_in\":%zu,\"bytes_out\":%zu,\"seconds\":%.6f,"
		     "\"model\":",
		     access->status, access->bytes_in, access->bytes_out, access->seconds);
	if (access->model && *access->model)
		nn_text_add_json(text, access->model, strlen(access->model));
	else
		nn_text_add(text, "null");
	nn_text_addf(text, ",\"rows\":%zu}\n", access->rows);
}

static void lost(struct nn_access_log *log, const char *why)
{
	struct nn_error error;

	if (atomic_exchange(&log->told, true) || !log->warn)
		return;
	nn_fail(&error, NN_EFAIL, "%s: lines are lost: %s", log->path, why);
	log->warn(log->arg, error.text);
}

void nn_access_log_write(struct nn_access_log *log, const struct nn_access *access)
{
	struct nn_text text = { 0 };
	ssize_t n;

	if (atomic_exchange(&log->torn, false))
		nn_text_add(&text, "\n");
	add_line(&text, access);
	if (text.failed) {
		lost(log, "out of memory");
	} else {
		do
			n = write(log->fd, text.data, text.length);
		while (n < 0 && errno == EINTR);
		if (n > 0 && text.data[n - 1] != '\n')
			atomic_store(&log->torn, true);
		if (n < 0 || (size_t)n < text.length)
			lost(log, n < 0 ? strerror(errno) : "No space left on device");
		else
			atomic_store(&log->told, false);
	}
	nn_text_free(&text);
}
