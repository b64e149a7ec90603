/* .npy: one array after another, any order and endianness in, v1 C order out. */
#ifndef NN_FILE_NPY_H
#define NN_FILE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/output.h"
#include "base/shape.h"
#include "file/input.h"

/* An array that comes next in an input: also what idx.h reads. */
struct nn_npy_header {
	enum nn_dtype dtype;
	bool swap, fortran; /* other byte order; column-major */
	struct nn_shape shape;
	size_t bytes; /* of the data that follow */
};

/* The header of the array that comes next. 1: read, 0: clean end of input, -1: error. */
int nn_npy_next(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err);
/* The same where only the first bytes of the array are here: its data are not asked for. */
#define NN_NPY_MOST_HEADER (12 + 10000) /* bytes that a header takes at most */
int nn_npy_header_only(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err);
/*
 * Read the whole array into block: native byte order, C order, its own dtype. Memory grows with
 * what really comes.
 */
int nn_npy_read(struct nn_input *input, const struct nn_npy_header *header, struct nn_block *block,
		struct nn_error *err);
/*
 * The same of an input that holds one array and no more: its type, shape and, in block, values
 * (safetensors.h).
 */
struct nn_st_tensor;
int nn_npy_read_tensor(struct nn_input *input, struct nn_st_tensor *tensor, struct nn_block *block,
		       struct nn_error *err);
/*
 * Read n values of a C-order array that come next, native byte order, their own dtype (for
 * streaming rows).
 */
int nn_npy_read_values(struct nn_input *input, const struct nn_npy_header *header, size_t n,
		       void *data, struct nn_error *err);
/* A v1 header for shape, and how long it is. */
#define NN_NPY_HEADER 512
int nn_npy_header(char text[NN_NPY_HEADER], size_t *length, enum nn_dtype dtype,
		  const struct nn_shape *shape, struct nn_error *err);
/* The same to output; the data follow through nn_output_write. */
int nn_npy_write_header(struct nn_output *output, enum nn_dtype dtype, const struct nn_shape *shape,
			struct nn_error *err);

#endif
