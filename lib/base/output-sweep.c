/* Temporaries beside an output: their names, and those that a killed run left, which no living
 * process holds. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/random.h"

#define RANDOM 6 /* of `.NAME.XXXXXX.tmp` */

/* Two letters that follow from the other four: of names that users choose one in 3,844 has them. */
static void seal(char letters[RANDOM])
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint32_t sum = 2166136261u;

	for (int i = 0; i < RANDOM - 2; i++)
		sum = (sum ^ (unsigned char)letters[i]) * 16777619u;
	letters[RANDOM - 2] = digits[sum / 62 % 62];
	letters[RANDOM - 1] = digits[sum % 62];
}

char *nn_output_temporary(const char *path, struct nn_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int folder = (int)(name - path), most = NAME_MAX - (int)strlen("..XXXXXX.tmp");
	size_t room = strlen(path) + sizeof "..XXXXXX.tmp";
	char *temporary = nn_alloc(room, 1, err);

	if (temporary)
		snprintf(temporary, room, "%.*s.%.*s.XXXXXX.tmp", folder, path, most, name);
	return temporary;
}

void nn_output_letters(char *temporary, unsigned attempt)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char *x = temporary + strlen(temporary) - strlen("XXXXXX.tmp");
	struct timespec now;
	uint32_t out[4];
	uint64_t number;

	clock_gettime(CLOCK_REALTIME, &now);
	nn_philox((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec,
		  (uint64_t)getpid() << 32 | attempt, 0, 0, out);
	number = (uint64_t)out[0] << 32 | out[1];
	for (int i = 0; i < 6; i++, number /= 62)
		x[i] = letters[number % 62];
	seal(x);
}

static bool is_sealed(const char *letters)
{
	char again[RANDOM];

	memcpy(again, letters, RANDOM);
	seal(again);
	return memcmp(again, letters, RANDOM) == 0;
}

/* Of a name that was cut as names of temporaries are; of any name where that is empty. */
static bool is_temporary(const char *entry, const char *name, size_t n)
{
	size_t length = strlen(entry), others = 2 + RANDOM + 4;

	if (n == 0 && length > others) {
		name = entry + 1;
		n = length - others;
	}
	return length == 1 + n + 1 + RANDOM + 4 && entry[0] == '.' &&
	       strncmp(entry + 1, name, n) == 0 && entry[1 + n] == '.' &&
	       strcmp(entry + 1 + n + 1 + RANDOM, ".tmp") == 0 && is_sealed(entry + 1 + n + 1);
}

bool nn_output_hold(int fd, int folder, const char *path)
{
	struct stat held, named;

	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			break; /* no locks on this filesystem, so nothing is swept there */
	return fstat(fd, &held) == 0 && fstatat(folder, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* Whoever writes it holds a lock until it is renamed or the process ends, however it ends. */
static void sweep(int folder, const char *entry)
{
	int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    nn_output_hold(fd, folder, entry))
		unlinkat(folder, entry, 0);
	close(fd);
}

void nn_output_sweep(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *directory = slash ? nn_strndup(path, slash == path ? 1 : (size_t)(slash - path), NULL)
				: nn_strdup(".", NULL);
	DIR *entries = directory ? opendir(directory) : NULL;
	size_t n = strlen(name), most = NAME_MAX - strlen("..XXXXXX.tmp");
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (is_temporary(entry->d_name, name, n < most ? n : most))
			sweep(dirfd(entries), entry->d_name);
	if (entries)
		closedir(entries);
	nn_free(directory);
}

/* ---- durable ---- */

/* Names are durable only once their directory is. */
int nn_output_sync_name(const char *path, struct nn_error *err)
{
	const char *name = strrchr(path, '/');
	char *directory =
		name ? nn_strndup(path, (size_t)(name - path) + 1, err) : nn_strdup(".", err);
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

int nn_output_sync(const char *folder, struct nn_error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;

	if (fd < 0 || syncfs(fd) != 0)
		status = nn_fail_errno(err, NN_EFAIL, "%s: cannot sync", folder);
	if (fd >= 0)
		close(fd);
	return status;
}
