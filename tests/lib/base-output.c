/*
 * Outputs: the old file stays until the new one is complete, whatever happens; what is no regular
 * file is written directly.
 */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "tap.h"

static struct nn_error err;

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		note("cannot write %s", path);
}

static bool holds(const char *path, const char *text)
{
	char got[1000];
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(got, 1, sizeof got - 1, file) : 0;

	got[n] = '\0';
	if (file)
		fclose(file);
	return file && strcmp(got, text) == 0;
}

/* Files in this directory whose name ends in .tmp. */
static int temporaries(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		n += length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

static int write_text(const char *path, const char *text)
{
	struct nn_output *o;

	err.text[0] = '\0';
	if (nn_output_open(&o, path, false, &err) < 0)
		return -1;
	if (nn_output_write(o, text, strlen(text), &err) < 0) {
		nn_output_abort(o);
		return -1;
	}
	return nn_output_commit(o, &err);
}

static int mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

static void plain(void)
{
	struct nn_output *o;
	char big[200000], name[NAME_MAX + 1];
	struct stat st;

	umask(027);
	ok(write_text("new", "one\n") == 0 && holds("new", "one\n") && mode_of("new") == 0640,
	   "output: a new file, under the umask");
	chmod("new", 0604);
	ok(write_text("./new", "two\n") == 0 && holds("new", "two\n") && mode_of("new") == 0604,
	   "output: a file keeps its mode");
	ok(nn_output_open(&o, "new", false, &err) == 0 && nn_output_is_regular(o) &&
		   temporaries() == 1 && holds("new", "two\n"),
	   "output: while it is written the old one is there");
	ok(nn_output_printf(o, &err, "%0300d|%0900d\n", 1, 2) == 0 && nn_output_flush(o, &err) == 0,
	   "output: formats of any length");
	nn_output_abort(o);
	ok(holds("new", "two\n") && temporaries() == 0,
	   "output: an abort leaves the old file and nothing else");
	nn_output_abort(NULL);
	memset(big, 'x', sizeof big);
	ok(nn_output_open(&o, "big", true, &err) == 0 && nn_output_write(o, "a", 1, &err) == 0 &&
		   nn_output_write(o, big, sizeof big, &err) == 0 &&
		   nn_output_write(o, big, 65536, &err) == 0 &&
		   nn_output_write(o, "b", 1, &err) == 0 && nn_output_commit(o, &err) == 0 &&
		   stat("big", &st) == 0 && st.st_size == 200000 + 65536 + 2,
	   "output: pieces larger than the buffer");
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	ok(write_text(name, "long\n") == 0 && holds(name, "long\n"),
	   "output: the longest name a file can have");
	ok(nn_same_file("new", "./new") && !nn_same_file("new", "big") &&
		   !nn_same_file("new", "nowhere"),
	   "output: the same file");
}

/* What a kill leaves goes at the next writing; what somebody still writes stays. */
static void sweeps(void)
{
	struct nn_output *o, *other;
	char name[NAME_MAX + 1], ours[] = ".new.XXXXXX.tmp", others[] = ".newer.XXXXXX.tmp";

	nn_output_letters(ours, 0);
	nn_output_letters(others, 1);
	put(ours, "dead");
	put(".new.abcde.tmp", "not a temporary of ours");
	put(".new.backup.tmp", "a file of the user");
	put(others, "of another file");
	ok(nn_output_open(&o, "new", false, &err) == 0 && access(ours, F_OK) != 0 &&
		   access(".new.abcde.tmp", F_OK) == 0 && access(others, F_OK) == 0 &&
		   access(".new.backup.tmp", F_OK) == 0,
	   "output: the temporary of a killed run is swept away, nothing else is");
	ok(nn_output_open(&other, "./new", false, &err) == 0 && temporaries() == 5,
	   "output: one that is being written stays");
	nn_output_write(o, "a", 1, &err);
	nn_output_write(other, "b", 1, &err);
	ok(nn_output_commit(o, &err) == 0 && holds("new", "a") &&
		   nn_output_commit(other, &err) == 0 && holds("new", "b"),
	   "output: two writers of one file: both end, the last counts");
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	{
		char *dead = nn_output_temporary(name, &err);

		nn_output_letters(dead, 2);
		put(dead, "dead");
		ok(write_text(name, "long\n") == 0 && access(dead, F_OK) != 0,
		   "output: also beside the longest name");
		nn_free(dead);
	}
	unlink(".new.abcde.tmp");
	unlink(".new.backup.tmp");
	unlink(others);
	ok(temporaries() == 0, "output: nothing is left behind by sweeping");
}

/* The mode of the one temporary that is there. */
static int temporary_mode(void)
{
	DIR *entries = opendir(".");
	struct dirent *entry;
	struct stat st = { 0 };

	while ((entry = readdir(entries)))
		if (strlen(entry->d_name) > 4 &&
		    strcmp(entry->d_name + strlen(entry->d_name) - 4, ".tmp") == 0 &&
		    stat(entry->d_name, &st) != 0)
			note("%s is gone", entry->d_name);
	closedir(entries);
	return (int)(st.st_mode & 0777);
}

static bool opens_as(const char *path, const char *owner, int mode)
{
	struct nn_output *o;
	bool as = nn_output_open_beside(&o, path, owner, false, &err) == 0 &&
		  temporary_mode() == mode;

	nn_output_abort(o);
	return as;
}

static void modes(void)
{
	put("model", "secret");
	chmod("model", 0600);
	put("wide", "old");
	chmod("wide", 0644);
	ok(opens_as("model", NULL, 0600) && opens_as("wide", NULL, 0644),
	   "output: a file keeps its mode");
	ok(opens_as("state", "model", 0600) && opens_as("wide", "model", 0600) &&
		   opens_as("model", "wide", 0600) && opens_as("wide", "nowhere", 0644),
	   "output: what lies beside a file is no wider than that");
	unlink("model");
	unlink("wide");
}

static void links(void)
{
	struct stat st;

	put("target", "old\n");
	if (symlink("target", "link") != 0 || symlink("nowhere", "dangling") != 0)
		note("no links here");
	ok(write_text("link", "new\n") == 0 && holds("target", "old\n") && holds("link", "new\n") &&
		   lstat("link", &st) == 0 && S_ISREG(st.st_mode),
	   "output: a link is replaced, never its target");
	ok(write_text("dangling", "new\n") == 0 && holds("dangling", "new\n") &&
		   access("nowhere", F_OK) != 0,
	   "output: so is a link to nowhere");
}

static void refused(void)
{
	mkdir("folder", 0777);
	ok(write_text("missing/file", "x") < 0 && err.code == NN_EFAIL &&
		   strstr(err.text, "missing/file"),
	   "output: a missing directory: %s", err.text);
	ok(write_text("folder", "x") < 0 && strstr(err.text, "is a directory"),
	   "output: a directory: %s", err.text);
	{
		char name[302] = { 0 };

		memset(name, 'n', 300);
		ok(write_text(name, "x") < 0 && strstr(err.text, "too long") &&
			   nn_output_open(&(struct nn_output *){ NULL }, name, false, &err) < 0,
		   "output: a name longer than files can have is refused when it is opened");
	}
	ok(write_text("folder/", "x") < 0 && write_text("", "x") < 0, "output: no name");
	ok(write_text("/proc/version", "x") < 0, "output: a place where nothing can be made: %s",
	   err.text);
	if (access("/dev/full", W_OK) == 0)
		ok(write_text("/dev/full", "x") < 0 && strstr(err.text, "/dev/full: ") &&
			   strstr(err.text, strerror(ENOSPC)),
		   "output: a full disk: %s", err.text);
	ok(temporaries() == 0, "output: nothing is left behind");
}

static void fifo(void)
{
	char got[10] = "";
	int fd;
	struct stat st;

	if (mkfifo("fifo", 0600) != 0 || (fd = open("fifo", O_RDONLY | O_NONBLOCK)) < 0)
		return;
	ok(write_text("fifo", "hello") == 0 && read(fd, got, sizeof got) == 5 &&
		   strcmp(got, "hello") == 0 && lstat("fifo", &st) == 0 && S_ISFIFO(st.st_mode),
	   "output: a FIFO is written directly and stays");
	close(fd);
}

/* Run body in a child; its wait status. */
static int child(void (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		body();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void killed_between(void)
{
	struct nn_output *o;

	if (nn_output_open(&o, "safe", false, &err) == 0 &&
	    nn_output_write(o, "half", 4, &err) == 0 && nn_output_flush(o, &err) == 0)
		raise(SIGKILL);
}

static void on_signal(int number)
{
	nn_output_abort_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void ended_by_signal(void)
{
	struct nn_output *a, *b, *c;

	signal(SIGTERM, on_signal);
	if (nn_output_open(&a, "safe", false, &err) == 0 &&
	    nn_output_open(&b, "other", false, &err) == 0 &&
	    nn_output_open(&c, "third", false, &err) == 0 && nn_output_commit(b, &err) == 0)
		raise(SIGTERM);
}

static void reader_leaves(void)
{
	struct nn_output *o;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0)
		return;
	close(ends[0]);
	if (nn_output_broken_pipe() || nn_output_open(&o, NULL, true, &err) < 0 ||
	    nn_output_write(o, "x", 1, &err) < 0)
		return;
	if (nn_output_commit(o, &err) < 0 && nn_output_broken_pipe() &&
	    strncmp(err.text, "stdout: ", 8) == 0)
		_exit(42);
}

static void through_dev_stdout(void)
{
	int fd = open("collected", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || write(STDOUT_FILENO, "a", 1) != 1 ||
	    write_text("/dev/stdout", "b") < 0 || write_text("-", "c") < 0 ||
	    write_text("/dev/fd/1", "d") < 0 || write(STDOUT_FILENO, "e", 1) != 1)
		return;
	_exit(42);
}

static void nonblocking(void)
{
	struct nn_output *o;
	int ends[2];
	static char block[1 << 20], got[1 << 16];
	size_t sum = 0;
	ssize_t n;

	if (pipe(ends) != 0 || fork() != 0) {
		if (nn_output_open(&o, NULL, true, &err) == 0)
			nn_output_abort(o);
		close(ends[1]);
		while ((n = read(ends[0], got, sizeof got)) > 0)
			sum += (size_t)n;
		_exit(sum == sizeof block ? 42 : 1);
	}
	close(ends[0]);
	dup2(ends[1], STDOUT_FILENO);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	if (nn_output_open(&o, NULL, true, &err) == 0 &&
	    nn_output_write(o, block, sizeof block, &err) == 0)
		nn_output_commit(o, &err);
}

static void crashes(void)
{
	int status;

	put("safe", "before\n");
	status = child(killed_between);
	ok(WIFSIGNALED(status) && holds("safe", "before\n") && temporaries() == 1,
	   "output: a kill between write and rename leaves the old file");
	if (system("rm -f .*.tmp") != 0)
		note("cannot remove temporaries");
	status = child(ended_by_signal);
	ok(WIFSIGNALED(status) && holds("safe", "before\n") && temporaries() == 0 &&
		   access("other", F_OK) == 0 && access("third", F_OK) != 0,
	   "output: temporaries are removed from a signal handler, what is complete stays");
	status = child(reader_leaves);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	   "output: a reader of stdout that left is told apart");
	status = child(through_dev_stdout);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 42 && holds("collected", "abcde"),
	   "output: /dev/stdout is standard output, also where that is a file");
	status = child(nonblocking);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	   "output: a non-blocking stdout loses nothing");
}

int main(void)
{
	char folder[] = "/tmp/nn-output.XXXXXX", command[100];

	if (!mkdtemp(folder) || chdir(folder) != 0) {
		ok(false, "output: a folder to work in");
		return tap_done();
	}
	plain();
	sweeps();
	modes();
	links();
	refused();
	fifo();
	crashes();
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (chdir("/") != 0 || system(command) != 0)
		note("cannot remove %s", folder);
	return tap_done();
}
