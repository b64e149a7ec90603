/*
 * zlib streams (RFC 1950, RFC 1951) of one's own: fixed codes and matches within 32 KiB, the same bytes on every
 * machine, whatever zlib is there.
 */
#ifndef NN_FILE_PICTURE_DEFLATE_H
#define NN_FILE_PICTURE_DEFLATE_H

#include <stddef.h>
#include "base/error.h"

/* Bytes that n of them take at most. */
#define NN_DEFLATE_MOST(n) ((n) + (n) / 8 + 32)

/* To out[NN_DEFLATE_MOST(n)]; how many were written, 0: out of memory. */
size_t nn_deflate(const unsigned char *bytes, size_t n, unsigned char *out, struct nn_error *err);

#endif
