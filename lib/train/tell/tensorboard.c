/*
 * Files of events: records of TensorFlow, each a length and the bytes of a message Event of
 * tensorflow/core/util/event.proto with a checksum behind both; protobuf by hand, for it is five
 * fields.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/tell/tensorboard.h"

struct nn_tensorboard {
	int fd, failed; /* errno of the first write that failed */
	struct nn_text path;
};

/* ---- records ---- */

/* CRC-32C (RFC 3720), rotated and shifted as records have it. */
static uint32_t checksum(const unsigned char *bytes, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
	}
	crc = ~crc;
	return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* Little-endian, n bytes. */
static void put(struct nn_text *text, uint64_t value, size_t n)
{
	for (; n > 0; n--, value >>= 8) {
		char byte = (char)(value & 255);

		nn_text_add_bytes(text, &byte, 1);
	}
}

static void write_record(struct nn_tensorboard *b, const struct nn_text *event)
{
	struct nn_text record = { 0 };

	put(&record, event->length, 8);
	put(&record, checksum((const unsigned char *)record.data, 8), 4);
	nn_text_add_bytes(&record, event->data, event->length);
	put(&record, checksum((const unsigned char *)event->data, event->length), 4);
	if (!b->failed && (event->failed || record.failed))
		b->failed = ENOMEM;
	if (!b->failed && !nn_write_all(b->fd, record.data, record.length))
		b->failed = errno;
	nn_text_free(&record);
}

/* ---- messages ---- */

enum wire { VARINT, FIXED64, BYTES, FIXED32 = 5 };

static void put_varint(struct nn_text *text, uint64_t value)
{
	for (; value > 127; value >>= 7)
		put(text, (value & 127) | 128, 1);
	put(text, value, 1);
}

static void put_key(struct nn_text *text, unsigned field, enum wire wire)
{
	put_varint(text, field << 3 | (unsigned)wire);
}

static void put_bytes(struct nn_text *text, unsigned field, const char *bytes, size_t n)
{
	put_key(text, field, BYTES);
	put_varint(text, n);
	nn_text_add_bytes(text, bytes, n);
}

/* wall_time, and the step where that is not 0. */
static void begin_event(struct nn_text *event, uint64_t step)
{
	struct timespec now;
	double seconds;
	uint64_t bits;

	clock_gettime(CLOCK_REALTIME, &now);
	seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	memcpy(&bits, &seconds, sizeof bits);
	put_key(event, 1, FIXED64);
	put(event, bits, 8);
	if (step) {
		put_key(event, 2, VARINT);
		put_varint(event, step);
	}
}

void nn_tensorboard_add(struct nn_tensorboard *b, uint64_t step, const char *name, double value)
{
	struct nn_text one = { 0 }, summary = { 0 }, event = { 0 };
	float single = (float)value;
	uint32_t bits;

	if (!b || isnan(value))
		return;
	memcpy(&bits, &single, sizeof bits);
	put_bytes(&one, 1, name, strlen(name)); /* tag */
	put_key(&one, 2, FIXED32);              /* simple_value */
	put(&one, bits, 4);
	put_bytes(&summary, 1, one.data, one.length); /* value */
	begin_event(&event, step);
	put_bytes(&event, 5, summary.data, summary.length); /* summary */
	event.failed |= one.failed | summary.failed;
	write_record(b, &event);
	nn_text_free(&one);
	nn_text_free(&summary);
	nn_text_free(&event);
}

/* ---- the file ---- */

/* Like mkdir -p; what fails shows when the file is opened. */
static void make_directories(char *path)
{
	for (char *at = path + 1; *at; at++)
		if (*at == '/') {
			*at = '\0';
			mkdir(path, 0777);
			*at = '/';
		}
}

static int open_file(struct nn_tensorboard *b, const char *directory, struct nn_error *err)
{
	char host[256] = "localhost";

	gethostname(host, sizeof host - 1);
	b->fd = -1;
	for (int i = 0; b->fd < 0 && i < 1000; i++) {
		nn_text_clear(&b->path);
		nn_text_addf(&b->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d", directory,
			     (long long)time(NULL), host, (long)getpid(), i);
		if (b->path.failed)
			return nn_fail(err, NN_ENOMEM, "cannot allocate the name of a file");
		make_directories(b->path.data);
		b->fd = open(b->path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (b->fd < 0 && errno != EEXIST)
			break;
	}
	return b->fd < 0 ? nn_fail_errno(err, NN_EFAIL, "--tensorboard=%s: cannot write %s",
					 directory, b->path.data)
			 : 0;
}

int nn_tensorboard_open(struct nn_tensorboard **board, const char *directory, struct nn_error *err)
{
	static const char version[] = "brain.Event:2";
	struct nn_tensorboard *b;
	struct nn_text event = { 0 };

	*board = NULL;
	if (!directory)
		return 0;
	if (!(b = nn_alloc(1, sizeof *b, err)))
		return -1;
	if (open_file(b, directory, err) < 0) {
		nn_tensorboard_close(b);
		return -1;
	}
	begin_event(&event, 0);
	put_bytes(&event, 3, version, sizeof version - 1); /* file_version */
	write_record(b, &event);
	nn_text_free(&event);
	*board = b;
	return 0;
}

void nn_tensorboard_close(struct nn_tensorboard *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	nn_text_free(&b->path);
	nn_free(b);
}

int nn_tensorboard_check(const struct nn_tensorboard *b, struct nn_error *err)
{
	return b && b->failed ? nn_fail(err, NN_EFAIL, "%s: cannot write: %s", b->path.data,
					strerror(b->failed))
			      : 0;
}
