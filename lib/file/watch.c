/* What is remembered of bytes and files: a digest of both ends, and the file's identity. */
#include "config.h"

#include <string.h>

#include "base/memory.h"
#include "file/watch.h"

#define EDGE NN_WATCH_EDGE

/* The last MiB lies in a ring. */
struct nn_watch {
	struct nn_sha256 head;
	uint64_t length;
	unsigned char ring[EDGE];
};

struct nn_watch *nn_watch_new(struct nn_error *err)
{
	struct nn_watch *w = nn_alloc(1, sizeof *w, err);

	if (w)
		nn_sha256_init(&w->head);
	return w;
}

void nn_watch_add(struct nn_watch *w, const unsigned char *bytes, size_t n, bool far)
{
	size_t at;

	if (w->length < EDGE)
		nn_sha256_add(&w->head, bytes, n < EDGE - w->length ? n : EDGE - w->length);
	w->length += n;
	if (far)
		return;
	if (n > EDGE) {
		bytes += n - EDGE;
		n = EDGE;
	}
	at = (w->length - n) % EDGE;
	if (at + n > EDGE) {
		memcpy(w->ring, bytes + (EDGE - at), n - (EDGE - at));
		n = EDGE - at;
	}
	memcpy(w->ring + at, bytes, n);
}

void nn_watch_digest(const struct nn_watch *w, struct nn_sha256 *hash)
{
	struct nn_sha256 head = w->head;
	char hex[NN_SHA256_HEX];
	unsigned char length[8];
	size_t at = w->length % EDGE;

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(w->length >> (8 * i));
	nn_sha256_add(hash, length, sizeof length);
	nn_sha256_hex(&head, hex);
	nn_sha256_add(hash, hex, sizeof hex - 1);
	if (w->length > EDGE)
		nn_sha256_add(hash, w->ring + at, EDGE - at);
	nn_sha256_add(hash, w->ring, at);
}

void nn_stamp_take(struct nn_stamp *stamp, const struct stat *st)
{
	*stamp =
		(struct nn_stamp){ S_ISREG(st->st_mode),  st->st_dev,         st->st_ino,
				   (uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec };
}

bool nn_stamp_holds(const struct nn_stamp *stamp, const char *path)
{
	struct stat st;

	if (!stamp->regular || strcmp(path, "-") == 0 || stat(path, &st) < 0)
		return true;
	return st.st_dev == stamp->device && st.st_ino == stamp->inode &&
	       (uint64_t)st.st_size == stamp->size && st.st_mtim.tv_sec == stamp->seconds &&
	       st.st_mtim.tv_nsec == stamp->nanoseconds;
}
