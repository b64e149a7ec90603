/*
 * Answers in small files: read whole, added to with one write, written anew when they have grown
 * too large.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/sha256.h"
#include "base/text.h"

#define MOST ((size_t)256 << 10) /* a file larger than this is written anew */
#define KEPT ((size_t)128 << 10) /* with so much of its newest answers */
#define KEY_BYTES 400            /* longer keys are cut, and end in their hash */

/* ---- names and keys ---- */

/* A directory of ours, or a link to one that we or root have made. */
static bool is_ours(const char *folder)
{
	struct stat st;

	return lstat(folder, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0);
}

/* Where the file lies, its directories made. false: nowhere. */
static bool file_name(struct nn_text *path, const char *name)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		nn_text_add(path, cache);
	else if (home && *home == '/')
		nn_text_addf(path, "%s/.cache", home);
	else
		return false;
	if (path->failed)
		return false;
	mkdir(path->data, 0700);
	nn_text_add(path, "/nntools");
	if (path->failed)
		return false;
	mkdir(path->data, 0700);
	if (!is_ours(path->data))
		return false;
	nn_text_addf(path, "/%s", name);
	return !path->failed;
}

/* Neither a link nor another name of a file elsewhere, where others may write to the directory. */
static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink < 2))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Tabs and ends of lines part the fields. */
static void add_field(struct nn_text *line, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nn_text_add_bytes(line, (unsigned char)text[i] < ' ' ? "|" : &text[i], 1);
}

static void add_key(struct nn_text *line, const char *key)
{
	size_t n = strlen(key);
	char hex[NN_SHA256_HEX];
	struct nn_sha256 sha;

	nn_text_add(line, "\t");
	add_field(line, key, n < KEY_BYTES ? n : KEY_BYTES);
	if (n >= KEY_BYTES) {
		nn_sha256_init(&sha);
		nn_sha256_add(&sha, key, n);
		nn_sha256_hex(&sha, hex);
		nn_text_addf(line, "... %s", hex);
	}
	nn_text_add(line, "\t");
}

/* "MACHINE<tab>KEY<tab>", what a line of the answer begins with. */
static void add_start(struct nn_text *line, const char *key)
{
	char machine[NN_CACHE_MACHINE];

	nn_cache_machine(machine);
	add_field(line, machine, strlen(machine));
	add_key(line, key);
}

/* ---- reading ---- */

/* The newest of a file, whole lines only; NULL if there is nothing. */
static char *read_newest(int fd, size_t *size)
{
	struct stat st;
	size_t n = 0, most = 2 * MOST;
	char *bytes, *begin;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
	    !(bytes = nn_alloc(most + 1, 1, NULL)))
		return NULL;
	for (ssize_t got; n < most; n += (size_t)got) {
		off_t at = (st.st_size > (off_t)most ? st.st_size - (off_t)most : 0) + (off_t)n;

		got = pread(fd, bytes + n, most - n, at);
		if (got <= 0)
			break;
	}
	while (n > 0 && bytes[n - 1] != '\n')
		n--;
	bytes[n] = '\0';
	begin = st.st_size > (off_t)most ? memchr(bytes, '\n', n) : NULL;
	if (begin)
		memset(bytes, '\n', (size_t)(begin - bytes));
	*size = n;
	return bytes;
}

/* The line that ends before `end` begins here. */
static const char *line_before(const char *bytes, const char *end)
{
	const char *begin = end - 1;

	while (begin > bytes && begin[-1] != '\n')
		begin--;
	return begin;
}

/* Does the line have this key, whatever its machine? */
static bool has_key(const char *line, const char *end, const char *key, size_t n)
{
	const char *tab = memchr(line, '\t', (size_t)(end - line));

	return tab && (size_t)(end - tab) > n && memcmp(tab, key, n) == 0;
}

/* The newest answer of the key: of this machine, else whether there is one of another. */
static enum nn_cached find(const char *bytes, size_t size, const struct nn_text *start,
			   char value[NN_CACHE_VALUE])
{
	const char *key = strchr(start->data, '\t');
	size_t key_length = start->length - (size_t)(key - start->data);
	enum nn_cached found = NN_CACHE_NONE;

	for (const char *end = bytes + size, *line; end > bytes; end = line) {
		size_t length;

		line = line_before(bytes, end);
		length = (size_t)(end - 1 - line);
		if (!has_key(line, end, key, key_length))
			continue;
		found = NN_CACHE_OTHER;
		if (length < start->length || memcmp(line, start->data, start->length) != 0 ||
		    length - start->length >= NN_CACHE_VALUE || memchr(line, '\0', length))
			continue;
		memcpy(value, line + start->length, length - start->length);
		value[length - start->length] = '\0';
		return NN_CACHE_FOUND;
	}
	return found;
}

enum nn_cached nn_cache_get(const char *name, const char *key, char value[NN_CACHE_VALUE])
{
	struct nn_text path = { 0 }, start = { 0 };
	enum nn_cached found = NN_CACHE_NONE;
	int fd = file_name(&path, name) ? open_file(path.data, O_RDONLY) : -1;
	size_t size = 0;
	char *bytes = fd >= 0 ? read_newest(fd, &size) : NULL;

	*value = '\0';
	if (bytes) {
		add_start(&start, key);
		if (!start.failed)
			found = find(bytes, size, &start, value);
	}
	if (fd >= 0)
		close(fd);
	nn_free(bytes);
	nn_text_free(&path);
	nn_text_free(&start);
	return found;
}

/* ---- writing ---- */

/* Does a line between `end` and `last` have the machine and key of the one before `end`? */
static bool comes_again(const char *line, const char *end, const char *last)
{
	const char *tab = memchr(line, '\t', (size_t)(end - line));
	size_t n;

	tab = tab ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
	if (!tab)
		return true; /* damaged: not worth keeping either */
	n = (size_t)(tab + 1 - line);
	for (const char *at = end; at < last;
	     at = (const char *)memchr(at, '\n', (size_t)(last - at)) + 1)
		if ((size_t)(last - at) > n && memcmp(at, line, n) == 0)
			return true;
	return false;
}

/*
 * The newest answers alone, in a file that takes the old one's place. An answer that somebody adds
 * meanwhile is lost, no more.
 */
static void shrink(int fd, const char *path)
{
	struct nn_output *output;
	size_t size = 0, kept = 0;
	char *bytes = read_newest(fd, &size);
	const char *begin = bytes ? bytes + size : NULL;

	while (bytes && begin > bytes && kept < KEPT) {
		const char *line = line_before(bytes, begin);

		if (!comes_again(line, begin, bytes + size))
			kept += (size_t)(begin - line);
		begin = line;
	}
	if (!bytes || nn_output_open(&output, path, false, NULL) < 0) {
		nn_free(bytes);
		return;
	}
	for (const char *line = begin, *end; line < bytes + size; line = end) {
		end = (const char *)memchr(line, '\n', (size_t)(bytes + size - line)) + 1;
		if (!comes_again(line, end, bytes + size) &&
		    nn_output_write(output, line, (size_t)(end - line), NULL) < 0) {
			nn_output_abort(output);
			nn_free(bytes);
			return;
		}
	}
	nn_output_commit(output, NULL);
	nn_free(bytes);
}

/* A kill may have left half a line: ours begins after its end. */
static bool ends_in_line(int fd, off_t size)
{
	char last;

	return size == 0 || (pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

static int append(int fd, const char *path, struct nn_text *line, struct nn_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return nn_fail(err, NN_EFAIL, "%s: is not a regular file", path);
	if ((size_t)st.st_size > 4 * MOST)
		return nn_fail(err, NN_EFAIL, "%s: has grown too large and cannot be written anew",
			       path);
	if (!ends_in_line(fd, st.st_size) && write(fd, "\n", 1) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write", path);
	if (write(fd, line->data, line->length) != (ssize_t)line->length)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot write", path);
	if ((size_t)st.st_size + line->length > MOST && flock(fd, LOCK_EX | LOCK_NB) == 0)
		shrink(fd, path); /* whoever has the lock is at it already */
	return 0;
}

int nn_cache_put(const char *name, const char *key, const char *value, struct nn_error *err)
{
	struct nn_text path = { 0 }, line = { 0 };
	int fd, status;

	if (!file_name(&path, name)) {
		nn_text_free(&path);
		return nn_fail(err, NN_EFAIL,
			       "neither XDG_CACHE_HOME nor HOME says where answers are kept");
	}
	add_start(&line, key);
	add_field(&line, value, strnlen(value, NN_CACHE_VALUE - 1));
	nn_text_add(&line, "\n");
	fd = open_file(path.data, O_RDWR | O_CREAT | O_APPEND);
	if (fd < 0)
		status = nn_fail_errno(err, NN_EFAIL, "%s: cannot write there", path.data);
	else if (line.failed)
		status = nn_fail(err, NN_ENOMEM, "cannot allocate memory for an answer");
	else
		status = append(fd, path.data, &line, err);
	if (fd >= 0)
		close(fd);
	nn_text_free(&path);
	nn_text_free(&line);
	return status;
}
