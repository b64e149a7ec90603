/* Files written safely: what was there stays until the new one is complete. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"

#define BUFFER ((size_t)64 << 10)

struct nn_output {
	char *name;             /* in messages */
	char *path, *temporary; /* NULL: written directly */
	char *buffer;
	size_t used;
	int fd;
	int slot; /* in the list of temporaries, -1: none */
	bool part; /* nn_output_open_part */
};

/*
 * Names of temporaries that exist or are about to, and of locks, for nn_output_abort_all in a
 * signal handler. Whoever takes a name out of its place owns it: the handler never reads one that
 * is being freed.
 */
#define MAX_TEMPORARIES 64
static _Atomic(char *) temporaries[MAX_TEMPORARIES];
static atomic_bool broken_pipe;

bool nn_output_broken_pipe(void)
{
	return atomic_load(&broken_pipe);
}

void nn_output_set_broken_pipe(void)
{
	atomic_store(&broken_pipe, true);
}

void nn_output_abort_all(void)
{
	for (int i = 0; i < MAX_TEMPORARIES; i++) {
		char *path = atomic_exchange(&temporaries[i], NULL);

		if (path)
			unlink(path);
	}
}

int nn_output_remember(char *path)
{
	for (int i = 0; i < MAX_TEMPORARIES; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&temporaries[i], &none, path))
			return i;
	}
	return -1;
}

void nn_output_forget(int handle, char *path)
{
	if (handle < 0 || atomic_exchange(&temporaries[handle], NULL))
		nn_free(path);
}

/* The temporary is gone: renamed, or removed. */
static void forget(struct nn_output *o)
{
	nn_output_forget(o->slot, o->temporary);
	o->slot = -1;
	o->temporary = NULL;
}

bool nn_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

bool nn_is_stdin(const char *path)
{
	struct stat st;

	return strcmp(path, "-") == 0 || (nn_same_file(path, "/dev/stdin") &&
					  stat("/dev/stdin", &st) == 0 && !S_ISREG(st.st_mode));
}

/*
 * The name is remembered before the file is made, so that a signal in between leaves nothing
 * behind.
 */
static int create(struct nn_output *o, mode_t mode)
{
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		nn_output_letters(o->temporary, attempt);
		if (access(o->temporary, F_OK) == 0)
			continue;
		o->slot = nn_output_remember(o->temporary);
		o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (o->fd >= 0 && nn_output_hold(o->fd, AT_FDCWD, o->temporary))
			return 0;
		if (o->fd >= 0) {
			close(o->fd);
			o->fd = -1;
			errno = EEXIST;
		}
		if (o->slot >= 0)
			atomic_store(&temporaries[o->slot], NULL);
		o->slot = -1;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* A file keeps the mode it had, and a file beside another is never more readable than that. */
static mode_t mode_of(const char *path, const char *owner)
{
	struct stat old;
	mode_t mode = 07777;

	if (lstat(path, &old) == 0 && S_ISREG(old.st_mode))
		mode &= old.st_mode & 0777;
	if (owner && lstat(owner, &old) == 0 && S_ISREG(old.st_mode))
		mode &= old.st_mode & 0777;
	return mode;
}

/* A name that a rename would refuse is refused before any work. */
static int check_name(const char *path, struct nn_error *err)
{
	const char *slash = strrchr(path, '/');

	if (strlen(slash ? slash + 1 : path) <= NAME_MAX && strlen(path) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", path);
}

static int open_temporary(struct nn_output *o, const char *path, const char *owner,
			  struct nn_error *err)
{
	mode_t mode = mode_of(path, owner);

	if (check_name(path, err) < 0)
		return -1;
	if (!o->part)
		nn_output_sweep(path);
	o->path = nn_strdup(path, err);
	o->temporary = nn_output_temporary(path, err);
	if (!o->path || !o->temporary)
		return -1;
	if (create(o, mode > 0777 ? 0666 : 0600) < 0) {
		nn_free(o->temporary);
		o->temporary = NULL;
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", path);
	}
	if (mode <= 0777 && fchmod(o->fd, mode) != 0)
		errno = 0; /* some filesystems have no modes */
	return 0;
}

/*
 * /dev/stdout, /dev/fd/N and /proc/self/fd/N are descriptors, also where they lead to a regular
 * file: N, or -1.
 */
static int descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t n;

	if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
		return strcmp(path, "/dev/stdout") == 0 ? STDOUT_FILENO : STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t length = strlen(folders[i]);

		if (strncmp(path, folders[i], length) == 0 &&
		    nn_parse_u64(path + length, strlen(path + length), &n) && n < INT_MAX)
			return (int)n;
	}
	return -1;
}

bool nn_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0 || descriptor(path) == STDOUT_FILENO;
}

int nn_output_binary(struct nn_output *o, struct nn_error *err)
{
	return isatty(o->fd)
		       ? nn_fail(err, NN_EUSAGE, "%s: is a terminal; name a file with -o", o->name)
		       : 0;
}

static int open_stdout(struct nn_output *o, bool binary, struct nn_error *err)
{
	o->name = nn_strdup("stdout", err);
	if (!o->name)
		return -1;
	o->fd = STDOUT_FILENO;
	return binary ? nn_output_binary(o, err) : 0;
}

static int open_path(struct nn_output *o, const char *path, const char *owner, bool binary,
		     struct nn_error *err)
{
	struct stat st;
	int fd = descriptor(path);

	o->name = nn_strdup(path, err);
	if (!o->name)
		return -1;
	if (*path == '\0' || path[strlen(path) - 1] == '/')
		return nn_fail(err, NN_EFAIL, "%s: expected the name of a file to write",
			       *path ? path : "\"\"");
	if (fd < 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode)))
		return open_temporary(o, path, owner, err);
	if (fd < 0 && S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFAIL, "%s: is a directory, expected a file to write", path);
	o->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
			: open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (o->fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", path);
	return binary ? nn_output_binary(o, err) : 0;
}

static int open_output(struct nn_output **output, const char *path, const char *owner, bool binary,
		       bool part, struct nn_error *err)
{
	struct nn_output *o = nn_alloc(1, sizeof *o, err);
	bool standard = !path || nn_is_stdout(path);

	if (!o)
		return -1;
	o->fd = o->slot = -1;
	o->part = part;
	o->buffer = nn_realloc(NULL, 0, BUFFER, err); /* zeros would be its pages touched */
	if (!o->buffer ||
	    (standard ? open_stdout(o, binary, err) : open_path(o, path, owner, binary, err)) < 0) {
		nn_output_abort(o);
		return -1;
	}
	*output = o;
	return 0;
}

int nn_output_open_beside(struct nn_output **output, const char *path, const char *owner,
			  bool binary, struct nn_error *err)
{
	return open_output(output, path, owner, binary, false, err);
}

int nn_output_open(struct nn_output **output, const char *path, bool binary, struct nn_error *err)
{
	return open_output(output, path, NULL, binary, false, err);
}

int nn_output_check(const char *path, struct nn_error *err)
{
	struct nn_output *probe;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	if (nn_output_open(&probe, path, true, err) < 0)
		return -1;
	nn_output_abort(probe);
	return 0;
}

int nn_output_open_part(struct nn_output **output, const char *path, struct nn_error *err)
{
	return open_output(output, path, NULL, true, true, err);
}

static bool wait_until_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static int write_all(struct nn_output *o, const char *bytes, size_t n, struct nn_error *err)
{
	while (n > 0) {
		ssize_t written = write(o->fd, bytes, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN && wait_until_writable(o->fd))
			continue; /* another process that shares our stdout made it non-blocking */
		if (written < 0) {
			if (errno == EPIPE && o->fd == STDOUT_FILENO)
				nn_output_set_broken_pipe();
			return nn_fail_errno(err, NN_EFAIL, "%s: cannot write", o->name);
		}
		bytes += written;
		n -= (size_t)written;
	}
	return 0;
}

int nn_output_flush(struct nn_output *o, struct nn_error *err)
{
	size_t n = o->used;

	o->used = 0;
	return write_all(o, o->buffer, n, err);
}

int nn_output_write(struct nn_output *o, const void *bytes, size_t n, struct nn_error *err)
{
	if (n > BUFFER - o->used && nn_output_flush(o, err) < 0)
		return -1;
	if (n >= BUFFER)
		return write_all(o, bytes, n, err);
	memcpy(o->buffer + o->used, bytes, n);
	o->used += n;
	return 0;
}

int nn_output_printf(struct nn_output *o, struct nn_error *err, const char *format, ...)
{
	char small[512], *text = small;
	va_list args, again;
	int n, status;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(small, sizeof small, format, args);
	va_end(args);
	if (n >= (int)sizeof small) {
		text = nn_alloc((size_t)n + 1, 1, err);
		if (text)
			vsnprintf(text, (size_t)n + 1, format, again);
	}
	va_end(again);
	status = n < 0 || !text ? -1 : nn_output_write(o, text, (size_t)n, err);
	if (text != small)
		nn_free(text);
	return status;
}

bool nn_output_is_regular(const struct nn_output *o)
{
	return o->temporary != NULL;
}

static void release(struct nn_output *o)
{
	nn_free(o->path);
	nn_free(o->name);
	nn_free(o->buffer);
	nn_free(o);
}

static int finish(struct nn_output *o, struct nn_error *err)
{
	int fd = o->fd;

	if (nn_output_flush(o, err) < 0)
		return -1;
	if (o->fd == STDOUT_FILENO)
		return 0;
	if (o->temporary && !o->part && fsync(fd) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot sync", o->name);
	o->fd = -1;
	if (close(fd) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot close", o->name);
	if (!o->temporary)
		return 0;
	if (rename(o->temporary, o->path) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot rename", o->name);
	forget(o);
	return o->part ? 0 : nn_output_sync_name(o->path, err);
}

int nn_output_commit(struct nn_output *o, struct nn_error *err)
{
	int status = finish(o, err);

	nn_output_abort(o);
	return status;
}

void nn_output_abort(struct nn_output *o)
{
	if (!o)
		return;
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	if (o->temporary) {
		unlink(o->temporary);
		forget(o);
	}
	release(o);
}

int nn_output_close(struct nn_output *o, int status, struct nn_error *err)
{
	if (status == 0)
		return nn_output_commit(o, err);
	nn_output_abort(o);
	return -1;
}
