/* Reading and writing descriptors, whatever signals come in between. */
#ifndef NN_BASE_DESCRIPTOR_H
#define NN_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* As read(2), which gives what is there. */
ssize_t nn_read_some(int fd, void *bytes, size_t n);
/*
 * n bytes, neither less nor more. false: an error in errno, or 0 in errno at the end of what is
 * read.
 */
bool nn_read_all(int fd, void *bytes, size_t n);
/* The same of a file's bytes from `at` on, wherever the descriptor stands. */
bool nn_read_at(int fd, void *bytes, size_t n, uint64_t at);
/* false: an error in errno. */
bool nn_write_all(int fd, const void *bytes, size_t n);
/* TMPDIR, or /tmp. */
const char *nn_temporary_folder(void);
/* A descriptor of a file without a name in TMPDIR, in which `what` of a file `place` is kept; -1. */
int nn_unnamed_file(const char *place, const char *what, struct nn_error *err);

#endif
