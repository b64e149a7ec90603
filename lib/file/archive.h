/*
 * What a module that decompresses offers: a stream over bytes that its caller reads. nn-archive
 * (gzip, zlib), nn-xz (liblzma) and nn-zstd (libzstd) are such; nn-archive has deflated bytes in
 * memory besides.
 */
#ifndef NN_FILE_ARCHIVE_H
#define NN_FILE_ARCHIVE_H

#include <stddef.h>
#include "base/error.h"

/*
 * Where the compressed bytes come from: the next ones (*n = 0 at the end), valid until the next
 * call.
 */
struct nn_archive_source {
	int (*next)(void *arg, const unsigned char **bytes, size_t *n, struct nn_error *err);
	void *arg;
	const char *name; /* for messages; borrowed as long as the stream */
};

struct nn_archive {
	int (*open)(void **stream, const struct nn_archive_source *source, struct nn_error *err);
	/*
	 * As much as comes out without asking the source again once there is something; *got = 0 at
	 * the end.
	 */
	int (*read)(void *stream, void *bytes, size_t n, size_t *got, struct nn_error *err);
	void (*close)(void *stream);
	/* nn-archive alone. Raw deflate data of n bytes that hold `size`, neither more nor less. */
	int (*inflate)(const void *bytes, size_t n, void *to, size_t size, const char *name,
		       struct nn_error *err);
	/* The first `size` bytes; they hold at least that many. */
	int (*begin)(const void *bytes, size_t n, void *to, size_t size, const char *name,
		     struct nn_error *err);
};

#endif
