/* Bytes in, from a file, a pipe or stdin, decompressed when their magic says so. */
#ifndef NN_FILE_INPUT_H
#define NN_FILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct nn_input;

/*
 * path "-": stdin. Directories and devices are refused (a FIFO or pipe is fine). gzip (concatenated members; other bytes
 * after them, a wrong CRC or length and a ratio over 1100:1 are errors) is taken off through the module nn-archive.
 */
int nn_input_open(struct nn_input **input, const char *path, struct nn_error *err);
void nn_input_close(struct nn_input *input);
const char *nn_input_name(const struct nn_input *input);      /* path, "-" for stdin */
bool nn_input_compressed(const struct nn_input *input);
bool nn_input_is_pipe(const struct nn_input *input);          /* pipe, FIFO, socket or terminal: may wait for more */
/* Up to n bytes that come next, without taking them; *got < n only at the end. Blocks until n or the end. */
int nn_input_peek(struct nn_input *input, const unsigned char **bytes, size_t n, size_t *got, struct nn_error *err);
/* What has arrived already, at least one byte unless at the end (*got = 0): for readers that must not wait for more. */
int nn_input_some(struct nn_input *input, const unsigned char **bytes, size_t *got, struct nn_error *err);
void nn_input_take(struct nn_input *input, size_t n);          /* n bytes of what peek or some returned */
int nn_input_read(struct nn_input *input, void *bytes, size_t n, size_t *got, struct nn_error *err);
/* Bytes from here to the end when known without reading (regular, not compressed); else -1. */
int64_t nn_input_left(const struct nn_input *input);

/* What the first bytes look like: "npy", "gzip", "safetensors", "idx", "zip", "hdf5", "png", "jpeg", "xz", "zstd", "tar", "onnx", "text", "empty" (a static word). */
const char *nn_sniff(const unsigned char *bytes, size_t n);

#endif
