/* Bytes in: one buffer over a descriptor, with a decompressor between them where the first bytes ask for one. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/module.h"
#include "file/archive.h"
#include "file/input.h"
#include "file/watch.h"

#define CHUNK ((size_t)1 << 16)

struct nn_input {
	char *name;
	int fd;
	bool is_pipe, regular, started, plain, raw_end, memory;
	int64_t raw_left;                 /* of a regular file; -1: unknown */
	struct nn_stamp stamp;
	const struct nn_archive *archive; /* NULL: not compressed */
	void *stream;
	unsigned char *raw;               /* compressed bytes */
	size_t raw_have;                  /* sniffed, not yet given to the archive */
	struct nn_block buffer;
	size_t at, have;                  /* buffer[at, at + have) come next */
	struct nn_watch *watch;
};

/* One read of the descriptor; *got = 0 at the end. */
static int read_raw(struct nn_input *in, void *bytes, size_t room, size_t *got, struct nn_error *err)
{
	ssize_t n;

	*got = 0;
	if (in->raw_end)
		return 0;
	do
		n = read(in->fd, bytes, room);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EISDIR)
		return nn_fail(err, NN_EFORMAT, "%s: is a directory, expected a file", in->name);
	if (n < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", in->name);
	in->raw_end = n == 0;
	if (in->raw_left >= n)
		in->raw_left -= n;
	if (in->watch)
		nn_watch_add(in->watch, bytes, (size_t)n, in->raw_left >= (int64_t)NN_WATCH_EDGE);
	*got = (size_t)n;
	return 0;
}

/* What the archive asks for: the sniffed bytes first. */
static int next_raw(void *arg, const unsigned char **bytes, size_t *n, struct nn_error *err)
{
	struct nn_input *in = arg;

	*bytes = in->raw;
	if (in->raw_have) {
		*n = in->raw_have;
		in->raw_have = 0;
		return 0;
	}
	return read_raw(in, in->raw, CHUNK, n, err);
}

static int start_gzip(struct nn_input *in, struct nn_error *err)
{
	struct nn_archive_source source = { next_raw, in, in->name };

	in->archive = nn_module_open("archive", err);
	if (!in->archive)
		return nn_fail_at(err, "%s: is compressed with gzip", in->name);
	in->raw = nn_alloc(CHUNK, 1, err);
	if (!in->raw)
		return -1;
	memcpy(in->raw, in->buffer.data, in->have);
	in->raw_have = in->have;
	in->at = in->have = 0;
	return in->archive->open(&in->stream, &source, err);
}

/* Look at the first two bytes, once. */
static int start(struct nn_input *in, struct nn_error *err)
{
	size_t got;

	if (in->started)
		return 0;
	if (nn_block_reserve(&in->buffer, CHUNK + NN_INPUT_PAD, err) < 0)
		return -1;
	while (!in->plain && in->have < 2 && (in->have == 0 || nn_block_at(&in->buffer, 0)[0] == 0x1f)) {
		if (read_raw(in, nn_block_at(&in->buffer, in->have), CHUNK - in->have, &got, err) < 0)
			return -1;
		if (got == 0)
			break;
		in->have += got;
	}
	in->started = true;
	if (!in->plain && in->have >= 2 && nn_block_at(&in->buffer, 0)[0] == 0x1f && nn_block_at(&in->buffer, 0)[1] == 0x8b)
		return start_gzip(in, err);
	return 0;
}

static int read_some(struct nn_input *in, void *bytes, size_t room, size_t *got, struct nn_error *err)
{
	if (in->archive)
		return in->archive->read(in->stream, bytes, room, got, err);
	return read_raw(in, bytes, room, got, err);
}

/* One more read into the buffer, which is moved or grown when it has no room for at least half a chunk. */
static int fill(struct nn_input *in, size_t *got, struct nn_error *err)
{
	size_t end = in->at + in->have, room = in->buffer.room - NN_INPUT_PAD;

	*got = 0;
	if (in->memory)
		return 0;
	if (room - end < CHUNK / 2 && in->at > in->have) {
		memcpy(in->buffer.data, nn_block_at(&in->buffer, in->at), in->have);
		in->at = 0;
		end = in->have;
	}
	if (room - end < CHUNK / 2 && nn_block_reserve(&in->buffer, 2 * in->buffer.room, err) < 0)
		return nn_fail_at(err, "%s", in->name);
	room = in->buffer.room - NN_INPUT_PAD;
	if (read_some(in, nn_block_at(&in->buffer, end), room - end, got, err) < 0)
		return -1;
	in->have += *got;
	return 0;
}

static bool is_dev_null(const struct stat *st)
{
	struct stat null;

	return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

/* Directories and devices are no data; /dev/null is an empty file, and stdin may be a terminal. */
static int check_kind(struct nn_input *in, bool is_stdin, struct nn_error *err)
{
	struct stat st;

	if (fstat(in->fd, &st) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", in->name);
	if (S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFORMAT, "%s: is a directory, expected a file", in->name);
	if ((S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && !is_stdin && !is_dev_null(&st))
		return nn_fail(err, NN_EFORMAT, "%s: is a device, expected a file or pipe", in->name);
	in->regular = S_ISREG(st.st_mode);
	in->is_pipe = !in->regular && !S_ISBLK(st.st_mode);
	in->raw_left = -1;
	if (in->regular && st.st_size > 0) {
		off_t at = lseek(in->fd, 0, SEEK_CUR);

		if (at >= 0)
			in->raw_left = at < st.st_size ? st.st_size - at : 0;
	}
	nn_stamp_take(&in->stamp, &st);
	return 0;
}

int nn_input_open_fd(struct nn_input **input, const char *path, int fd, struct nn_error *err)
{
	struct nn_input *in = nn_alloc(1, sizeof *in, err);

	if (!in) {
		if (fd > STDIN_FILENO)
			close(fd);
		return -1;
	}
	in->fd = fd;
	in->name = nn_strdup(path, err);
	if (!in->name || check_kind(in, fd == STDIN_FILENO, err) < 0) {
		nn_input_close(in);
		return -1;
	}
	*input = in;
	return 0;
}

int nn_input_open(struct nn_input **input, const char *path, struct nn_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	return nn_input_open_fd(input, path, fd, err);
}

int nn_input_open_memory(struct nn_input **input, const char *name, struct nn_error *err)
{
	struct nn_input *in = nn_alloc(1, sizeof *in, err);

	if (!in)
		return -1;
	in->fd = -1;
	in->name = nn_strdup(name, err);
	if (!in->name) {
		nn_free(in);
		return -1;
	}
	in->started = in->plain = in->raw_end = in->memory = true;
	*input = in;
	return 0;
}

void nn_input_give(struct nn_input *in, const void *bytes, size_t n)
{
	in->buffer = (struct nn_block){ (void *)bytes, n };      /* only read */
	in->at = 0;
	in->have = n;
}

void nn_input_close(struct nn_input *in)
{
	if (!in)
		return;
	if (in->memory)
		in->buffer = (struct nn_block){0};
	if (in->stream)
		in->archive->close(in->stream);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	nn_block_free(&in->buffer);
	nn_free(in->raw);
	nn_free(in->watch);
	nn_free(in->name);
	nn_free(in);
}

const char *nn_input_name(const struct nn_input *in)
{
	return in->name;
}

bool nn_input_is_pipe(const struct nn_input *in)
{
	return in->is_pipe;
}

void nn_input_plain(struct nn_input *in)
{
	in->plain = true;
}

int nn_input_compressed(struct nn_input *in, bool *compressed, struct nn_error *err)
{
	if (start(in, err) < 0)
		return -1;
	*compressed = in->archive != NULL;
	return 0;
}

int nn_input_peek(struct nn_input *in, const unsigned char **bytes, size_t n, size_t *got, struct nn_error *err)
{
	size_t more = 1;

	if (start(in, err) < 0)
		return -1;
	while (in->have < n && more > 0)
		if (fill(in, &more, err) < 0)
			return -1;
	*bytes = nn_block_at(&in->buffer, in->at);
	*got = in->have < n ? in->have : n;
	return 0;
}

int nn_input_some(struct nn_input *in, const unsigned char **bytes, size_t *got, struct nn_error *err)
{
	if (in->have == 0)
		return nn_input_more(in, bytes, got, err);
	*bytes = nn_block_at(&in->buffer, in->at);
	*got = in->have;
	return 0;
}

int nn_input_more(struct nn_input *in, const unsigned char **bytes, size_t *got, struct nn_error *err)
{
	bool first = !in->started;
	size_t more;

	if (start(in, err) < 0)
		return -1;
	if (!(first && in->have) && fill(in, &more, err) < 0)
		return -1;
	*bytes = nn_block_at(&in->buffer, in->at);
	*got = in->have;
	return 0;
}

const unsigned char *nn_input_held(const struct nn_input *in, size_t *got)
{
	*got = in->have;
	return nn_block_at(&in->buffer, in->at);
}

bool nn_input_ready(const struct nn_input *in)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };

	return !in->is_pipe || in->raw_end || in->raw_have > 0 || poll(&p, 1, 0) > 0;
}

void nn_input_take(struct nn_input *in, size_t n)
{
	in->have -= n;
	in->at = in->have ? in->at + n : 0;
}

int nn_input_read(struct nn_input *in, void *bytes, size_t n, size_t *got, struct nn_error *err)
{
	unsigned char *to = bytes;
	size_t take, more = 1;

	*got = 0;
	if (start(in, err) < 0)
		return -1;
	take = in->have < n ? in->have : n;
	if (take)
		memcpy(to, nn_block_at(&in->buffer, in->at), take);
	nn_input_take(in, take);
	*got = take;
	while (*got < n && more > 0) {
		/* small rests go through the buffer, which reads ahead */
		if (n - *got < CHUNK / 2) {
			if (fill(in, &more, err) < 0)
				return -1;
			take = in->have < n - *got ? in->have : n - *got;
			memcpy(to + *got, nn_block_at(&in->buffer, in->at), take);
			nn_input_take(in, take);
			*got += take;
			continue;
		}
		if (read_some(in, to + *got, n - *got, &more, err) < 0)
			return -1;
		*got += more;
	}
	return 0;
}

int nn_input_load(struct nn_input *in, struct nn_block *block, size_t at, size_t n, const char *what,
		  struct nn_error *err)
{
	int64_t left;
	size_t done = 0, got, end, room;

	if (start(in, err) < 0)
		return -1;
	left = nn_input_left(in);
	if (left >= 0 && (uint64_t)left < n)
		return nn_fail(err, NN_EFORMAT, "%s: %s ends early: expected %zu bytes, found %zu", in->name, what, n,
			       (size_t)left);
	if (!nn_add(at, n, &end))
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for %zu bytes", in->name, n);
	while (done < n) {
		/* what a pipe or archive claims is believed step by step */
		room = left >= 0 || n - done <= 16 * CHUNK ? n : done + done / 4 + 16 * CHUNK;
		room = room < n ? room : n;
		if (nn_block_reserve(block, at + room, err) < 0)
			return nn_fail_at(err, "%s", in->name);
		if (nn_input_read(in, nn_block_at(block, at + done), room - done, &got, err) < 0)
			return -1;
		done += got;
		if (done < room)
			return nn_fail(err, NN_EFORMAT, "%s: %s ends early: expected %zu bytes, found %zu", in->name,
				       what, n, done);
	}
	return 0;
}

int nn_input_end(struct nn_input *in, const char *what, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	if (nn_input_peek(in, &bytes, 1, &got, err) < 0)
		return -1;
	return got ? nn_fail(err, NN_EFORMAT, "%s: other bytes follow %s", in->name, what) : 0;
}

int64_t nn_input_left(const struct nn_input *in)
{
	return in->archive || !in->started || in->raw_left < 0 ? -1 : in->raw_left + (int64_t)in->have;
}

int nn_input_watch(struct nn_input *in, struct nn_error *err)
{
	in->watch = nn_watch_new(err);
	return in->watch ? 0 : -1;
}

void nn_input_digest(const struct nn_input *in, struct nn_sha256 *hash)
{
	nn_watch_digest(in->watch, hash);
}

void nn_input_stamp(const struct nn_input *in, struct nn_stamp *stamp)
{
	*stamp = in->stamp;
}

double nn_input_share(const struct nn_input *in)
{
	double size = (double)in->stamp.size, left = (double)in->raw_left + (in->archive ? 0 : (double)in->have);

	if (!in->regular || in->raw_left < 0 || size <= 0)
		return NAN;
	return left < size ? 1 - left / size : 0;
}
