/* Files written safely: what was there stays until the new one is complete. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"

#define BUFFER ((size_t)64 << 10)

struct nn_output {
	char *name;                  /* in messages */
	char *path, *temporary;      /* NULL: written directly */
	char *buffer;
	size_t used;
	int fd;
	int slot;                    /* in the list of temporaries, -1: none */
};

/* Temporaries that exist, for nn_output_abort_all in a signal handler: names are set before they are made and never freed while set. */
#define MAX_TEMPORARIES 16
static _Atomic(char *) temporaries[MAX_TEMPORARIES];
static atomic_bool broken_pipe;

bool nn_output_broken_pipe(void)
{
	return atomic_load(&broken_pipe);
}

void nn_output_abort_all(void)
{
	for (int i = 0; i < MAX_TEMPORARIES; i++) {
		char *path = atomic_load(&temporaries[i]);

		if (path)
			unlink(path);
	}
}

static int remember(char *path)
{
	for (int i = 0; i < MAX_TEMPORARIES; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&temporaries[i], &none, path))
			return i;
	}
	return -1;
}

bool nn_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* `.NAME.XXXXXX.tmp` beside path. */
static char *temporary_name(const char *path, struct nn_error *err)
{
	const char *name = strrchr(path, '/');
	size_t room = strlen(path) + sizeof ".." ".XXXXXX.tmp";
	char *temporary = nn_alloc(room, 1, err);

	name = name ? name + 1 : path;
	if (temporary)
		snprintf(temporary, room, "%.*s.%s.XXXXXX.tmp", (int)(name - path), path, name);
	return temporary;
}

/* A new file has the mode that open would give it, an old one keeps its own. */
static void set_mode(int fd, const char *path)
{
	struct stat old;
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, stat(path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask) != 0)
		return;                  /* some filesystems have no modes */
}

static int open_temporary(struct nn_output *o, const char *path, struct nn_error *err)
{
	o->path = nn_strdup(path, err);
	o->temporary = temporary_name(path, err);
	if (!o->path || !o->temporary)
		return -1;
	o->fd = mkostemps(o->temporary, 4, O_CLOEXEC);
	if (o->fd < 0) {
		nn_free(o->temporary);
		o->temporary = NULL;
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", path);
	}
	o->slot = remember(o->temporary);
	set_mode(o->fd, path);
	return 0;
}

static int open_stdout(struct nn_output *o, bool binary, struct nn_error *err)
{
	o->name = nn_strdup("stdout", err);
	if (!o->name)
		return -1;
	if (binary && isatty(STDOUT_FILENO))
		return nn_fail(err, NN_EUSAGE, "stdout: is a terminal; name a file with -o");
	o->fd = STDOUT_FILENO;
	return 0;
}

static int open_path(struct nn_output *o, const char *path, struct nn_error *err)
{
	struct stat st;

	o->name = nn_strdup(path, err);
	if (!o->name)
		return -1;
	if (*path == '\0' || path[strlen(path) - 1] == '/')
		return nn_fail(err, NN_EFAIL, "%s: is no name of a file", path);
	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return open_temporary(o, path, err);
	if (S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFAIL, "%s: is a directory, expected a file to write", path);
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	return o->fd < 0 ? nn_fail_errno(err, NN_EFAIL, "%s", path) : 0;
}

int nn_output_open(struct nn_output **output, const char *path, bool binary, struct nn_error *err)
{
	struct nn_output *o = nn_alloc(1, sizeof *o, err);
	bool standard = !path || strcmp(path, "-") == 0;

	if (!o)
		return -1;
	o->fd = o->slot = -1;
	o->buffer = nn_alloc(BUFFER, 1, err);
	if (!o->buffer || (standard ? open_stdout(o, binary, err) : open_path(o, path, err)) < 0) {
		nn_output_abort(o);
		return -1;
	}
	*output = o;
	return 0;
}

static int write_all(struct nn_output *o, const char *bytes, size_t n, struct nn_error *err)
{
	while (n > 0) {
		ssize_t written = write(o->fd, bytes, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			if (errno == EPIPE && o->fd == STDOUT_FILENO)
				atomic_store(&broken_pipe, true);
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

int nn_output_fd(struct nn_output *o)
{
	return o->fd;
}

bool nn_output_is_regular(const struct nn_output *o)
{
	return o->temporary != NULL;
}

/* Names are durable only once their directory is. */
static int sync_directory(const char *path, struct nn_error *err)
{
	const char *name = strrchr(path, '/');
	char *directory = name ? nn_strndup(path, (size_t)(name - path) + 1, err) : nn_strdup(".", err);
	int fd, status = 0;

	if (!directory)
		return -1;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
			status = nn_fail_errno(err, NN_EFAIL, "%s: cannot sync", directory);
		close(fd);
	}
	nn_free(directory);
	return status;
}

static void release(struct nn_output *o)
{
	if (o->slot >= 0)
		atomic_store(&temporaries[o->slot], NULL);
	nn_free(o->temporary);
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
	if (o->temporary && fsync(fd) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot sync", o->name);
	o->fd = -1;
	if (close(fd) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot close", o->name);
	if (!o->temporary)
		return 0;
	if (rename(o->temporary, o->path) != 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot rename", o->name);
	if (o->slot >= 0) {
		atomic_store(&temporaries[o->slot], NULL);
		o->slot = -1;
	}
	nn_free(o->temporary);
	o->temporary = NULL;
	return sync_directory(o->path, err);
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
	if (o->temporary)
		unlink(o->temporary);
	release(o);
}
