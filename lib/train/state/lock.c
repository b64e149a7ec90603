/*
 * The lock: a POSIX record lock on .NAME.lock beside the state, which the kernel drops with the
 * process.
 */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "train/state/lock.h"

struct nn_lock {
	int fd;
	char *path;
	int handle; /* of its name among what a signal removes */
};

static char *lock_path(const char *path, struct nn_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct nn_text text = { 0 };
	char *result = NULL;

	nn_text_add_bytes(&text, path, (size_t)(name - path));
	nn_text_addf(&text, ".%.*s.lock", NAME_MAX - (int)strlen("..lock"), name);
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the name of a lock");
	else
		result = nn_strdup(text.data, err);
	nn_text_free(&text);
	return result;
}

/*
 * Locked, and still the file of that name: who held it before may have removed it meanwhile. 1, 0:
 * try again, -1.
 */
static int lock_file(struct nn_lock *lock, const char *path, struct nn_error *err)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat held, named;

	lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (lock->fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: no state can be written there", path);
	if (fcntl(lock->fd, F_SETLK, &whole) < 0) {
		if (errno != EACCES && errno != EAGAIN)
			return nn_fail_errno(err, NN_EFAIL, "%s: cannot lock the state", path);
		whole = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		if (fcntl(lock->fd, F_GETLK, &whole) < 0 || whole.l_type == F_UNLCK)
			return 0;
		return nn_fail(err, NN_EFAIL, "%s: in use by pid %ld", path, (long)whole.l_pid);
	}
	return fstat(lock->fd, &held) == 0 && lstat(lock->path, &named) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

int nn_lock_take(struct nn_lock **lock, const char *path, struct nn_error *err)
{
	struct nn_lock *l = nn_alloc(1, sizeof *l, err);
	sigset_t all, before;
	int status = 0;

	if (!l)
		return -1;
	l->fd = -1;
	if (!(l->path = lock_path(path, err))) {
		nn_free(l);
		return -1;
	}
	/* no signal comes between a file that is there and one that is known to be removed */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while ((status = lock_file(l, path, err)) == 0)
		close(l->fd);
	l->handle = status < 0 ? -1 : nn_output_remember(l->path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (status < 0) {
		if (l->fd >= 0)
			close(l->fd);
		nn_free(l->path);
		nn_free(l);
		return -1;
	}
	*lock = l;
	return 0;
}

void nn_lock_release(struct nn_lock *lock)
{
	if (!lock)
		return;
	unlink(lock->path);
	nn_output_forget(lock->handle, lock->path);
	close(lock->fd);
	nn_free(lock);
}
