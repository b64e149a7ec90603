/*
 * Where the bytes of an input come from: a descriptor, with a decompressor behind it where that was
 * asked for.
 */
#ifndef NN_FILE_SOURCE_H
#define NN_FILE_SOURCE_H

#include "file/archive.h"
#include "file/bytes.h"
#include "file/tee.h"
#include "file/watch.h"

struct nn_byte_source {
	char *name;
	int fd;                       /* -1: none, and nothing to read */
	bool is_pipe, regular, ended; /* ended: the descriptor has no more */
	int64_t left;                 /* to be read of a regular file; -1: unknown */
	struct nn_stamp stamp;
	struct nn_watch *watch; /* NULL: bytes are not digested */
	struct nn_tee *tee; /* of whose readers this is one, the first owns it; NULL: read alone */
	size_t reader;
	const struct nn_archive *archive; /* NULL: not compressed */
	void *stream;
	unsigned char *raw;        /* compressed bytes */
	size_t raw_have;           /* that were read before, and not yet given to the archive */
	uint64_t packed, unpacked; /* bytes that went into the archive and came out */
};

/*
 * Takes the descriptor (-1: none), also on failure; directories and devices are refused, but for a
 * terminal as stdin and /dev/null.
 */
int nn_byte_source_open(struct nn_byte_source *source, const char *name, int fd,
			struct nn_error *err);
void nn_byte_source_close(struct nn_byte_source *source); /* of zeros allowed */
/*
 * Before anything was read, n more sources of the same bytes; one of them. The first outlives them.
 */
int nn_byte_source_tee(struct nn_byte_source *source, size_t n, struct nn_error *err);
int nn_byte_source_again(struct nn_byte_source *source, const struct nn_byte_source *first,
			 struct nn_error *err);
/* One read; *got = 0 at the end. */
int nn_byte_source_read(struct nn_byte_source *source, void *bytes, size_t room, size_t *got,
			struct nn_error *err);
/* Could more bytes than these first ones show that it is compressed? */
bool nn_byte_source_undecided(const void *bytes, size_t n);
/*
 * Where what was read (n bytes, no more than NN_BYTE_SOURCE_CHUNK) is the beginning of gzip, xz or
 * zstd, reads give from now on what it holds, from its beginning on, and source->archive is set.
 */
int nn_byte_source_unzip(struct nn_byte_source *source, const void *bytes, size_t n,
			 struct nn_error *err);
/* False when reading would wait for the other end of a pipe. */
bool nn_byte_source_ready(const struct nn_byte_source *source);

#define NN_BYTE_SOURCE_CHUNK ((size_t)1 << 16)

#endif
