/* Starting a program again and again, and looking at the clock when something can be seen of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/start.h"

extern char **environ;

const char *nn_start_beside(const char *name, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= size)
		return NULL;
	memcpy(slash + 1, name, strlen(name) + 1);
	return access(path, X_OK) == 0 ? path : NULL;
}

/* Reads to the end; when the first byte came, else when there was none. */
static double read_all(int fd)
{
	char bytes[4096];
	double first = 0;
	ssize_t n;

	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		first = first > 0 ? first : nn_now_s();
	return first > 0 ? first : nn_now_s();
}

static int spawn(const char *const *argv, int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int status;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	status = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (status == 0)
		status = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (status == 0)
		status = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (status == 0)
		status = posix_spawn(pid, argv[0], &actions, NULL, (char *const *)(void *)argv,
				     environ);
	posix_spawn_file_actions_destroy(&actions);
	return status == 0 ? 0 : -1;
}

static int run(const char *const *argv, struct nn_start *s, struct nn_error *err)
{
	double begin, there, first;
	int fds[2], state, status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return nn_fail_errno(err, NN_EFAIL, "pipe");
	begin = nn_now_s();
	status = spawn(argv, fds[1], &pid);
	there = nn_now_s();
	close(fds[1]);
	if (status < 0) {
		close(fds[0]);
		return nn_fail(err, NN_EFAIL, "%s: cannot be started", argv[0]);
	}
	first = read_all(fds[0]);
	close(fds[0]);
	while (waitpid(pid, &state, 0) < 0)
		;
	*s = (struct nn_start){ there - begin, first - begin, nn_now_s() - begin };
	return WIFEXITED(state) && WEXITSTATUS(state) == 0
		       ? 0
		       : nn_fail(err, NN_EFAIL, "%s: failed", argv[0]);
}

static void keep_least(double *least, double seconds)
{
	if (*least == 0 || seconds < *least)
		*least = seconds;
}

int nn_start_measure(const char *const *argv, int runs, struct nn_start *start,
		     struct nn_error *err)
{
	*start = (struct nn_start){ 0 };
	for (int i = 0; i < runs; i++) {
		struct nn_start s = { 0 };

		if (run(argv, &s, err) < 0)
			return -1;
		keep_least(&start->exec_s, s.exec_s);
		keep_least(&start->ready_s, s.ready_s);
		keep_least(&start->whole_s, s.whole_s);
	}
	/*
	 * From the start each: where this process waited after exec the new one was long under way.
	 */
	start->ready_s -= start->exec_s;
	return 0;
}
