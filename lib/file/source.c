/*
 * Where the bytes of an input come from: a descriptor, with a decompressor behind it where that was
 * asked for.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/limit.h"
#include "base/memory.h"
#include "base/module.h"
#include "file/source.h"

/* These are out before the ratio counts, so that small files of zeros pass. */
#define FREE_BYTES (1 << 20)

/* One read of the descriptor; *got = 0 at the end. */
static int read_raw(struct nn_byte_source *s, void *bytes, size_t room, size_t *got,
		    struct nn_error *err)
{
	ssize_t n;

	*got = 0;
	if (s->ended)
		return 0;
	n = s->tee ? nn_tee_read(s->tee, s->reader, bytes, room) : nn_read_some(s->fd, bytes, room);
	if (n < 0 && errno == EISDIR)
		return nn_fail(err, NN_EFORMAT, "%s: is a directory, expected a file", s->name);
	if (n < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", s->name);
	s->ended = n == 0;
	if (s->left >= n)
		s->left -= n;
	if (s->watch)
		nn_watch_add(s->watch, bytes, (size_t)n, s->left >= (int64_t)NN_WATCH_EDGE);
	*got = (size_t)n;
	return 0;
}

/* Compressions: what they begin with, and the module that takes each off. */
static const struct compression {
	const char *magic;
	size_t n;
	const char *word, *module;
	unsigned char any; /* bits of the first byte that do not count */
} compressions[] = {
	{ "\x1f\x8b", 2, "gzip", "archive", 0 },
	{ "\xfd\x37zXZ", 6, "xz", "xz", 0 },
	{ "\x28\xb5\x2f\xfd", 4, "zstd", "zstd", 0 },
	{ "\x50\x2a\x4d\x18", 4, "zstd", "zstd", 0x0f }, /* a frame that is skipped (RFC 8878) */
};

/* Are the first n bytes of its magic there? */
static bool begins(const struct compression *c, const unsigned char *bytes, size_t n)
{
	return n == 0 || ((bytes[0] | c->any) == ((unsigned char)c->magic[0] | c->any) &&
			  memcmp(bytes + 1, c->magic + 1, n - 1) == 0);
}

static const struct compression *compression_of(const void *bytes, size_t n)
{
	for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
		if (n >= compressions[i].n && begins(&compressions[i], bytes, compressions[i].n))
			return &compressions[i];
	return NULL;
}

bool nn_byte_source_undecided(const void *bytes, size_t n)
{
	for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
		if (n < compressions[i].n && begins(&compressions[i], bytes, n))
			return true;
	return false;
}

/* What the archive asks for: the sniffed bytes first. */
static int next_raw(void *arg, const unsigned char **bytes, size_t *n, struct nn_error *err)
{
	struct nn_byte_source *s = arg;

	*bytes = s->raw;
	if (s->raw_have) {
		*n = s->raw_have;
		s->raw_have = 0;
	} else if (read_raw(s, s->raw, NN_BYTE_SOURCE_CHUNK, n, err) < 0) {
		return -1;
	}
	s->packed += *n;
	return 0;
}

int nn_byte_source_unzip(struct nn_byte_source *s, const void *bytes, size_t n,
			 struct nn_error *err)
{
	struct nn_archive_source source = { next_raw, s, s->name };
	const struct compression *how = compression_of(bytes, n);

	if (!how)
		return 0;
	s->archive = nn_module_open(how->module, err);
	if (!s->archive)
		return nn_fail_at(err, "%s: is compressed with %s", s->name, how->word);
	s->raw = nn_alloc(NN_BYTE_SOURCE_CHUNK, 1, err);
	if (!s->raw)
		return -1;
	memcpy(s->raw, bytes, n);
	s->raw_have = n;
	return s->archive->open(&s->stream, &source, err);
}

int nn_byte_source_read(struct nn_byte_source *s, void *bytes, size_t room, size_t *got,
			struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	if (!s->archive)
		return read_raw(s, bytes, room, got, err);
	if (s->archive->read(s->stream, bytes, room, got, err) < 0)
		return -1;
	s->unpacked += *got;
	if (s->unpacked > FREE_BYTES && s->unpacked / nn_limit(NN_LIMIT_RATIO) > s->packed)
		return nn_fail(err, NN_EFORMAT, "%s: decompresses to more than %s", s->name,
			       nn_limit_said(NN_LIMIT_RATIO, 0, said));
	return 0;
}

bool nn_byte_source_ready(const struct nn_byte_source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	return !s->is_pipe || s->ended || s->raw_have > 0 ||
	       (s->tee && nn_tee_holds(s->tee, s->reader)) || poll(&p, 1, 0) > 0;
}

static bool is_dev_null(const struct stat *st)
{
	struct stat null;

	return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

/* Directories and devices hold no data; /dev/null is an empty file, and stdin may be a terminal. */
static int check_kind(struct nn_byte_source *s, bool is_stdin, struct nn_error *err)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", s->name);
	if (S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFORMAT, "%s: is a directory, expected a file", s->name);
	if ((S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && !is_stdin && !is_dev_null(&st))
		return nn_fail(err, NN_EFORMAT, "%s: is a device, expected a file or pipe",
			       s->name);
	s->regular = S_ISREG(st.st_mode);
	s->is_pipe = !s->regular && !S_ISBLK(st.st_mode);
	s->left = -1;
	if (s->regular && st.st_size > 0) {
		off_t at = lseek(s->fd, 0, SEEK_CUR);

		if (at >= 0)
			s->left = at < st.st_size ? st.st_size - at : 0;
	}
	nn_stamp_take(&s->stamp, &st);
	return 0;
}

int nn_byte_source_open(struct nn_byte_source *s, const char *name, int fd, struct nn_error *err)
{
	*s = (struct nn_byte_source){ .fd = fd, .ended = fd < 0, .left = -1 };
	s->name = nn_strdup(name, err);
	if (s->name && (fd < 0 || check_kind(s, fd == STDIN_FILENO, err) == 0))
		return 0;
	nn_byte_source_close(s);
	return -1;
}

void nn_byte_source_close(struct nn_byte_source *s)
{
	bool first = s->reader == 0;

	if (s->stream)
		s->archive->close(s->stream);
	if (s->fd > STDIN_FILENO && first)
		close(s->fd);
	if (first)
		nn_tee_free(s->tee);
	nn_free(s->raw);
	nn_free(s->watch);
	nn_free(s->name);
	*s = (struct nn_byte_source){ 0 };
}

/* Nobody can leave bytes out that another reader wants: how many are left is no longer known. */
int nn_byte_source_tee(struct nn_byte_source *s, size_t n, struct nn_error *err)
{
	if (nn_tee_new(&s->tee, s->fd, n + 1, err) < 0)
		return -1;
	s->reader = nn_tee_join(s->tee);
	s->left = -1;
	return 0;
}

int nn_byte_source_again(struct nn_byte_source *s, const struct nn_byte_source *first,
			 struct nn_error *err)
{
	*s = (struct nn_byte_source){ .fd = first->fd,
				      .is_pipe = first->is_pipe,
				      .regular = first->regular,
				      .left = -1,
				      .stamp = first->stamp,
				      .tee = first->tee };
	s->name = nn_strdup(first->name, err);
	if (!s->name)
		return -1;
	s->reader = nn_tee_join(s->tee);
	return 0;
}
