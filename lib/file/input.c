/* Bytes in: a buffer over a source, which is asked to decompress where the first bytes say so. */
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/input.h"
#include "file/source.h"
#include "file/tee.h"

#define CHUNK NN_BYTE_SOURCE_CHUNK

struct nn_input {
	struct nn_byte_source source;
	bool started, plain, memory, folder;
	struct nn_block buffer;
	size_t at, have; /* buffer[at, at + have) come next */
};

/* Look at the first bytes, once. */
static int start(struct nn_input *in, struct nn_error *err)
{
	size_t got;

	if (in->started)
		return 0;
	if (nn_block_reserve(&in->buffer, CHUNK + NN_INPUT_PAD, err) < 0)
		return -1;
	while (!in->plain && nn_byte_source_undecided(in->buffer.data, in->have)) {
		if (nn_byte_source_read(&in->source, nn_block_at(&in->buffer, in->have),
					CHUNK - in->have, &got, err) < 0)
			return -1;
		if (got == 0)
			break;
		in->have += got;
	}
	in->started = true;
	if (in->plain)
		return 0;
	if (nn_byte_source_unzip(&in->source, in->buffer.data, in->have, err) < 0)
		return -1;
	if (in->source.archive)
		in->have = 0;
	return 0;
}

/*
 * One more read into the buffer, which is moved or grown when it has no room for at least half a
 * chunk.
 */
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
		return nn_fail_at(err, "%s", in->source.name);
	room = in->buffer.room - NN_INPUT_PAD;
	if (nn_byte_source_read(&in->source, nn_block_at(&in->buffer, end), room - end, got, err) <
	    0)
		return -1;
	in->have += *got;
	return 0;
}

/* Of a descriptor, which it closes (on failure too); path is its name. */
static int open_fd(struct nn_input **input, const char *path, int fd, struct nn_error *err)
{
	struct nn_input *in = nn_alloc(1, sizeof *in, err);

	if (!in) {
		if (fd > STDIN_FILENO)
			close(fd);
		return -1;
	}
	if (nn_byte_source_open(&in->source, path, fd, err) < 0) {
		nn_free(in);
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
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", *path ? path : "\"\"");
	return open_fd(input, path, fd, err);
}

int nn_input_open_data(struct nn_input **input, const char *path, struct nn_error *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return nn_input_open(input, path, err);
	if (nn_input_open_memory(input, path, err) < 0)
		return -1;
	(*input)->folder = true;
	return 0;
}

bool nn_input_is_folder(const struct nn_input *in)
{
	return in->folder;
}

void nn_input_saw(struct nn_input *in, const void *bytes, size_t n)
{
	if (in->source.watch && n)
		nn_watch_add(in->source.watch, bytes, n, false);
}

static bool opens_again(const struct nn_input *in)
{
	return (in->source.regular || in->folder) && strcmp(in->source.name, "-") != 0;
}

int nn_input_tee(struct nn_input *in, size_t n, struct nn_error *err)
{
	return opens_again(in) ? 0 : nn_byte_source_tee(&in->source, n, err);
}

void nn_input_leave(struct nn_input *first)
{
	if (first->source.tee)
		nn_tee_leave(first->source.tee, first->source.reader);
}

int nn_input_open_again(struct nn_input **input, const struct nn_input *first, struct nn_error *err)
{
	struct nn_input *in;

	if (opens_again(first))
		return nn_input_open_data(input, first->source.name, err);
	in = nn_alloc(1, sizeof *in, err);
	if (!in || nn_byte_source_again(&in->source, &first->source, err) < 0) {
		nn_free(in);
		return -1;
	}
	*input = in;
	return 0;
}

int nn_input_open_memory(struct nn_input **input, const char *name, struct nn_error *err)
{
	if (open_fd(input, name, -1, err) < 0)
		return -1;
	(*input)->started = (*input)->plain = (*input)->memory = true;
	return 0;
}

void nn_input_give(struct nn_input *in, const void *bytes, size_t n)
{
	in->buffer = (struct nn_block){ (void *)bytes, n }; /* only read */
	in->at = 0;
	in->have = n;
}

bool nn_input_in_memory(const struct nn_input *in)
{
	return in->memory;
}

void nn_input_close(struct nn_input *in)
{
	if (!in)
		return;
	if (!in->memory)
		nn_block_free(&in->buffer);
	nn_byte_source_close(&in->source);
	nn_free(in);
}

const char *nn_input_name(const struct nn_input *in)
{
	return in->source.name;
}

bool nn_input_is_pipe(const struct nn_input *in)
{
	return in->source.is_pipe;
}

void nn_input_plain(struct nn_input *in)
{
	in->plain = true;
}

int nn_input_peek(struct nn_input *in, const unsigned char **bytes, size_t n, size_t *got,
		  struct nn_error *err)
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

int nn_input_some(struct nn_input *in, const unsigned char **bytes, size_t *got,
		  struct nn_error *err)
{
	if (in->have == 0)
		return nn_input_more(in, bytes, got, err);
	*bytes = nn_block_at(&in->buffer, in->at);
	*got = in->have;
	return 0;
}

int nn_input_more(struct nn_input *in, const unsigned char **bytes, size_t *got,
		  struct nn_error *err)
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
	return nn_byte_source_ready(&in->source);
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
		if (nn_byte_source_read(&in->source, to + *got, n - *got, &more, err) < 0)
			return -1;
		*got += more;
	}
	return 0;
}

int nn_input_load(struct nn_input *in, struct nn_block *block, size_t at, size_t n,
		  const char *what, struct nn_error *err)
{
	int64_t left;
	size_t done = 0, got, end, room;

	if (start(in, err) < 0)
		return -1;
	left = nn_input_left(in);
	if (left >= 0 && (uint64_t)left < n)
		return nn_fail(err, NN_EFORMAT, "%s: %s ends early: expected %zu byte%s, found %zu",
			       in->source.name, what, n, nn_s(n), (size_t)left);
	if (!nn_add(at, n, &end))
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for %zu bytes",
			       in->source.name, n);
	while (done < n) {
		/* what a pipe or archive claims is believed step by step */
		room = left >= 0 || n - done <= 16 * CHUNK ? n : done + done / 4 + 16 * CHUNK;
		room = room < n ? room : n;
		if (nn_block_reserve(block, at + room, err) < 0)
			return nn_fail_at(err, "%s", in->source.name);
		if (nn_input_read(in, nn_block_at(block, at + done), room - done, &got, err) < 0)
			return -1;
		done += got;
		if (done < room)
			return nn_fail(err, NN_EFORMAT,
				       "%s: %s ends early: expected %zu byte%s, found %zu",
				       in->source.name, what, n, nn_s(n), done);
	}
	return 0;
}

int nn_input_skip(struct nn_input *in, size_t n, struct nn_error *err)
{
	size_t held = in->have < n ? in->have : n;
	int64_t left = nn_input_left(in);

	if (left < 0 || (uint64_t)left < n)
		return nn_fail(err, NN_EFORMAT, "%s: ends early: %zu more byte%s expected",
			       in->source.name, n, n == 1 ? " was" : "s were");
	nn_input_take(in, held);
	if (lseek(in->source.fd, (off_t)(n - held), SEEK_CUR) < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot read", in->source.name);
	in->source.left -= (int64_t)(n - held);
	return 0;
}

/* Of what a digest covers, both ends, the bytes are read; between them they only count. */
int nn_input_pass(struct nn_input *in, size_t n, struct nn_error *err)
{
	uint64_t edge = NN_WATCH_EDGE;
	size_t held, got, middle;

	while (n > 0) {
		held = in->have < n ? in->have : n;
		nn_input_take(in, held);
		if ((n -= held) == 0)
			break;
		middle = (uint64_t)in->source.left > edge ? (size_t)((uint64_t)in->source.left - edge)
							  : 0;
		middle = middle < n ? middle : n;
		if (!in->source.watch)
			return nn_input_skip(in, n, err);
		if (in->source.stamp.size - (uint64_t)in->source.left >= edge && middle > 0) {
			if (nn_input_skip(in, middle, err) < 0)
				return -1;
			nn_watch_add(in->source.watch, NULL, middle, true);
			n -= middle;
			continue;
		}
		if (fill(in, &got, err) < 0)
			return -1;
		if (got == 0)
			return nn_fail(err, NN_EFORMAT, "%s: ends early: %zu more byte%s expected",
				       in->source.name, n, n == 1 ? " was" : "s were");
	}
	return 0;
}

int nn_input_end(struct nn_input *in, const char *what, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	if (nn_input_peek(in, &bytes, 1, &got, err) < 0)
		return -1;
	return got ? nn_fail(err, NN_EFORMAT, "%s: other bytes follow %s", in->source.name, what)
		   : 0;
}

int64_t nn_input_left(const struct nn_input *in)
{
	return in->source.archive || !in->started || in->source.left < 0
		       ? -1
		       : in->source.left + (int64_t)in->have;
}

int nn_input_reopen(const struct nn_input *in, uint64_t *at)
{
	int64_t left = nn_input_left(in);
	int fd;

	if (left < 0 || !in->source.regular || (fd = fcntl(in->source.fd, F_DUPFD_CLOEXEC, 3)) < 0)
		return -1;
	*at = in->source.stamp.size - (uint64_t)left;
	return fd;
}

int nn_input_watch(struct nn_input *in, struct nn_error *err)
{
	in->source.watch = nn_watch_new(err);
	return in->source.watch ? 0 : -1;
}

void nn_input_digest(const struct nn_input *in, struct nn_sha256 *hash)
{
	nn_watch_digest(in->source.watch, hash);
}

void nn_input_stamp(const struct nn_input *in, struct nn_stamp *stamp)
{
	*stamp = in->source.stamp;
}

double nn_input_share(const struct nn_input *in)
{
	double size = (double)in->source.stamp.size,
	       left = (double)in->source.left + (in->source.archive ? 0 : (double)in->have);

	if (!in->source.regular || in->source.left < 0 || size <= 0)
		return NAN;
	return left < size ? 1 - left / size : 0;
}
