/* Bytes in, from a file, a pipe or stdin, decompressed when their magic says so. */
#ifndef NN_FILE_INPUT_H
#define NN_FILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "file/bytes.h"
#include "file/watch.h"

struct nn_input;

/*
 * path "-": stdin. Directories and devices are refused (a FIFO or pipe is fine, as is any stdin).
 * gzip, xz and zstd (concatenated members; other bytes after them, a wrong check and a ratio over
 * 1100:1 are errors) are taken off, each by a module. Nothing is read yet. Every error text
 * begins with the name.
 */
int nn_input_open(struct nn_input **input, const char *path, struct nn_error *err);
/*
 * As above, but a directory is a folder: an input without bytes, whose files nn_members gives
 * (file/members). What is read of them is told to nn_input_saw, for the digest.
 */
int nn_input_open_data(struct nn_input **input, const char *path, struct nn_error *err);
bool nn_input_is_folder(const struct nn_input *input);
void nn_input_saw(struct nn_input *input, const void *bytes, size_t n);
void nn_input_close(struct nn_input *input);
/*
 * Before anything was read: n more inputs will give the same bytes from their begin on. And one of
 * them: a regular file is opened again, of all else bytes are kept until all inputs have taken
 * them. The first outlives the others.
 */
int nn_input_tee(struct nn_input *input, size_t n, struct nn_error *err);
int nn_input_open_again(struct nn_input **input, const struct nn_input *first,
			struct nn_error *err);
/* The first of several will not be read on: bytes are no longer kept for it. */
void nn_input_leave(struct nn_input *first);
/*
 * For readers of inputs: bytes that lie in memory, under a name for errors. They are borrowed until
 * others are given or it is closed; none at first.
 */
int nn_input_open_memory(struct nn_input **input, const char *name, struct nn_error *err);
void nn_input_give(struct nn_input *input, const void *bytes, size_t n);
bool nn_input_in_memory(const struct nn_input *input);
const char *nn_input_name(const struct nn_input *input); /* path, "-" for stdin */
bool nn_input_is_pipe(
	const struct nn_input *input); /* pipe, FIFO, socket or terminal: may wait for more */
/* Take the bytes as they are: no decompression. Before anything was read. */
void nn_input_plain(struct nn_input *input);

/*
 * Of a file or pipe NN_INPUT_PAD bytes after what peek, some, more and held return may be read;
 * what they are does not matter.
 */
#define NN_INPUT_PAD 64

/*
 * Up to n bytes that come next, without taking them; *got < n only at the end. Blocks until n or
 * the end.
 */
int nn_input_peek(struct nn_input *input, const unsigned char **bytes, size_t n, size_t *got,
		  struct nn_error *err);
/*
 * What has arrived already, at least one byte unless at the end (*got = 0): for readers that must
 * not wait for more.
 */
int nn_input_some(struct nn_input *input, const unsigned char **bytes, size_t *got,
		  struct nn_error *err);
/* As nn_input_some, after reading once more: *got is what it was before only at the end. */
int nn_input_more(struct nn_input *input, const unsigned char **bytes, size_t *got,
		  struct nn_error *err);
/* What nn_input_some would give without reading. */
const unsigned char *nn_input_held(const struct nn_input *input, size_t *got);
/* False when reading would wait for the other end of a pipe. */
bool nn_input_ready(const struct nn_input *input);
void nn_input_take(struct nn_input *input, size_t n); /* n bytes of what peek or some returned */
int nn_input_read(struct nn_input *input, void *bytes, size_t n, size_t *got, struct nn_error *err);
/*
 * All n bytes into block from `at` on; fewer are an error that says "NAME: WHAT ends early:
 * expected n bytes, got m". Memory grows with what really comes.
 */
int nn_input_load(struct nn_input *input, struct nn_block *block, size_t at, size_t n,
		  const char *what, struct nn_error *err);
/* Leave out n bytes of a regular file that is not compressed (nn_input_left). */
int nn_input_skip(struct nn_input *input, size_t n, struct nn_error *err);
/* The same, but nn_input_digest has seen them. */
int nn_input_pass(struct nn_input *input, size_t n, struct nn_error *err);
/*
 * A descriptor of a regular file that is not compressed, for pread, which is the caller's to close;
 * *at: where in it what comes next lies. -1: it is none.
 */
int nn_input_reopen(const struct nn_input *input, uint64_t *at);
/* An error unless nothing follows: "NAME: other bytes follow WHAT". */
int nn_input_end(struct nn_input *input, const char *what, struct nn_error *err);
/* Bytes from here to the end when known without reading (regular, not compressed); else -1. */
int64_t nn_input_left(const struct nn_input *input);
/*
 * Which part of a regular file has been given, 0..1; compressed: about, by what was read of it.
 * NaN: no regular file.
 */
double nn_input_share(const struct nn_input *input);

/* Keep what nn_input_digest needs: before anything was read. */
int nn_input_watch(struct nn_input *input, struct nn_error *err);
/* Add length, first MiB and last MiB of the bytes read so far (before decompression) to a hash. */
void nn_input_digest(const struct nn_input *input, struct nn_sha256 *hash);

/* The file's identity, for nn_stamp_holds. */
void nn_input_stamp(const struct nn_input *input, struct nn_stamp *stamp);

#endif
