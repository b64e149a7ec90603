/*
 * Answers between runs: the last holds, writers do not damage each other, damage and missing places
 * do no harm, the file stays small.
 */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"
#include "tap.h"

static char directory[64], path[128], value[NN_CACHE_VALUE];

static bool says(const char *key, const char *expected)
{
	return nn_cache_get("answers", key, value) == NN_CACHE_FOUND &&
	       strcmp(value, expected) == 0;
}

static bool put(const char *key, const char *text)
{
	struct nn_error err = { 0 };

	if (nn_cache_put("answers", key, text, &err) == 0)
		return true;
	note("%s", err.text);
	return false;
}

static void write_file(const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd >= 0 && write(fd, bytes, n) < 0)
		note("cannot write %s", path);
	if (fd >= 0)
		close(fd);
}

static off_t size_of(void)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void plain(void)
{
	char key[5000];

	ok(nn_cache_get("answers", "a", value) == NN_CACHE_NONE && !*value,
	   "cache: without a file there is no answer");
	ok(put("a", "1") && put("b", "2 3") && says("a", "1") && says("b", "2 3"),
	   "cache: what was put is there");
	ok(put("a", "4") && says("a", "4") && says("b", "2 3"),
	   "cache: the last answer of a key holds");
	ok(nn_cache_get("answers", "ab", value) == NN_CACHE_NONE &&
		   nn_cache_get("answers", "", value) == NN_CACHE_NONE,
	   "cache: a key that begins or ends as another is none");
	memset(key, 'x', sizeof key);
	key[sizeof key - 1] = '\0';
	key[10] = '\n';
	key[20] = '\t';
	ok(put(key, "long") && says(key, "long"),
	   "cache: a key of any length and bytes has its answer");
	key[4000] = 'y';
	ok(nn_cache_get("answers", key, value) == NN_CACHE_NONE,
	   "cache: long keys that differ late are two");
}

static void machines(void)
{
	char name[NN_CACHE_MACHINE], other[NN_CACHE_MACHINE];

	put("m", "here");
	nn_cache_machine(name);
	setenv("NN_CPU", "generic", 1);
	nn_cache_machine(other);
	ok(strcmp(name, other) != 0 && nn_cache_get("answers", "m", value) == NN_CACHE_OTHER &&
		   !*value,
	   "cache: an answer of another machine is told, not given");
	put("m", "there");
	ok(says("m", "there"), "cache: both machines have theirs");
	unsetenv("NN_CPU");
	ok(says("m", "here"), "cache: the newer one of another machine does not hide ours");
	ok(strstr(name, PACKAGE_VERSION) && strlen(strrchr(name, ' ')) == 13,
	   "cache: the machine names version and build: %s", name);
}

static void damage(void)
{
	char bytes[3000];

	put("d", "kept");
	write_file("no tabs here\n\tx\ty\n\n", 19);
	ok(put("d", "5") && says("d", "5"), "cache: lines that are none do no harm");
	write_file("half a li", 9);
	ok(put("d", "6") && says("d", "6"), "cache: an answer after half a line is whole");
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * i * 7 + i / 3);
	write_file(bytes, sizeof bytes);
	ok(nn_cache_get("answers", "d", value) == NN_CACHE_NONE && put("d", "7") && says("d", "7"),
	   "cache: a file of any bytes is taken for an old one");
	unlink(path);
	ok(mkdir(path, 0777) == 0 && nn_cache_get("answers", "d", value) == NN_CACHE_NONE &&
		   nn_cache_put("answers", "d", "8", NULL) < 0,
	   "cache: a directory in its place holds nothing and fails to keep");
	rmdir(path);
	ok(mkfifo(path, 0666) == 0 && nn_cache_get("answers", "d", value) == NN_CACHE_NONE &&
		   nn_cache_put("answers", "d", "8", NULL) < 0,
	   "cache: a pipe in its place is not waited for");
	unlink(path);
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	ok(nn_cache_get("answers", "d", value) == NN_CACHE_NONE &&
		   nn_cache_put("answers", "d", "8", NULL) < 0,
	   "cache: no place to keep answers is no error of reading");
	setenv("XDG_CACHE_HOME", directory, 1);
}

/*
 * Several processes that add answers of their own, most of them while others write the file anew.
 */
static void together(void)
{
	char key[64], text[NN_CACHE_VALUE];
	int bad = 0;

	memset(text, 'v', sizeof text);
	text[sizeof text - 1] = '\0';
	fflush(stdout); /* valgrind writes what a child inherited */
	for (int child = 0; child < 4; child++)
		if (fork() == 0) {
			for (int i = 0; i < 400; i++) {
				snprintf(key, sizeof key, "child %d answer %d", child, i);
				if (nn_cache_put("answers", key, text, NULL) < 0)
					_exit(1);
			}
			_exit(0);
		}
	for (int child = 0, status; child < 4; child++)
		bad += wait(&status) < 0 || status != 0;
	ok(bad == 0, "cache: processes that write at once all succeed");
	ok(size_of() > 0 && size_of() <= 264 * 1024,
	   "cache: the file stays below 256 KiB and a few lines (%ld)", (long)size_of());
	bad = 0;
	for (int child = 0; child < 4; child++)
		for (int i = 0; i < 400; i++) {
			snprintf(key, sizeof key, "child %d answer %d", child, i);
			bad += nn_cache_get("answers", key, value) == NN_CACHE_FOUND &&
			       strcmp(value, text) != 0;
		}
	ok(bad == 0, "cache: what is there afterwards is whole");
	put("last", "one");
	for (int i = 0; i < 600; i++)
		put("same", text);
	ok(says("last", "one") && says("same", text),
	   "cache: an answer that is given again and again drives no other out");
}

/* What somebody else may put where answers are kept. */
static void planted(void)
{
	char other[160], saved[160];
	struct stat st;

	snprintf(other, sizeof other, "%s/elsewhere", directory);
	snprintf(saved, sizeof saved, "%s/saved", directory);
	ok(put("mine", "1") && stat(path, &st) == 0 && (st.st_mode & 077) == 0,
	   "cache: the file is its owner's alone");
	rename(path, saved);
	ok(rename(saved, other) == 0 && symlink(other, path) == 0 && !put("mine", "2") &&
		   nn_cache_get("answers", "mine", value) == NN_CACHE_NONE,
	   "cache: a link is not followed");
	unlink(path);
	ok(link(other, path) == 0 && !put("mine", "3") &&
		   nn_cache_get("answers", "mine", value) == NN_CACHE_NONE,
	   "cache: nor is a file with other names written to");
	unlink(other);
	ok(put("mine", "4") && says("mine", "4"), "cache: once it is gone answers are kept again");
}

int main(void)
{
	snprintf(directory, sizeof directory, "/tmp/nn-cache.XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	setenv("XDG_CACHE_HOME", directory, 1);
	unsetenv("NN_CPU");
	snprintf(path, sizeof path, "%s/nntools/answers", directory);
	plain();
	machines();
	damage();
	planted();
	together();
	unlink(path);
	snprintf(path, sizeof path, "%s/nntools", directory);
	ok(rmdir(path) == 0 && rmdir(directory) == 0, "cache: nothing else is left behind");
	return tap_done();
}
