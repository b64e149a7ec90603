/*
 * Rows that stay in a file, of a cache or of an array: they are read, not mapped, since a file that
 * is cut must not become a SIGBUS.
 */
#ifndef NN_DATA_FILE_ROWS_H
#define NN_DATA_FILE_ROWS_H

#include "base/shape.h"

struct nn_file_rows {
	int fd;             /* closed with it */
	uint64_t at;        /* of the first byte */
	size_t values;      /* of a row */
	enum nn_dtype from; /* as they lie there; where bytes are swapped, in the other order */
	enum nn_dtype to;   /* as rows are given: `from`, u8 of bool, or real */
	bool swap;
	char *path; /* for messages */
};

/* Rows of a dataset, fd (taken, on failure too) and path (copied) given. NULL: no memory. */
struct nn_file_rows *nn_file_rows_new(int fd, const char *path, struct nn_error *err);
/* Bytes of a row as it is given. */
size_t nn_file_rows_size(const struct nn_file_rows *rows);
/* Rows first, first + 1, ... */
int nn_file_rows_read(const struct nn_file_rows *rows, uint64_t first, size_t n, void *to,
		      struct nn_error *err);
/* Bytes `from` and on of the file; fewer than n are an error. */
int nn_file_rows_bytes(const struct nn_file_rows *rows, uint64_t from, void *bytes, size_t n,
		       struct nn_error *err);

#endif
