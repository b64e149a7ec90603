/*
 * safetensors: named tensors and string metadata; read with every check of formats.md, written in
 * the reference writer's order.
 */
#ifndef NN_FILE_SAFETENSORS_H
#define NN_FILE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/output.h"
#include "base/shape.h"
#include "file/input.h"

struct nn_st_tensor {
	const char *name;
	enum nn_dtype dtype;
	struct nn_shape shape;
	const void *data; /* little endian; when read, aligned to the size of a value */
};

struct nn_st_meta {
	const char *key, *value;
};

/*
 * A file read whole; tensors sorted by name, metadata by key. Everything is owned by it until
 * nn_st_free.
 */
struct nn_st {
	struct nn_st_tensor *tensors;
	size_t n_tensors;
	struct nn_st_meta *meta;
	size_t n_meta;
	void *owner;
	struct nn_block
		*arrays; /* of nn_st_of_arrays, [n_tensors] in the order given, with their names */
	char **names;
	struct nn_st *base; /* what tensors without an array of their own borrow from; owned */
	struct nn_st_later *later; /* values that were not read, whose data are NULL; NULL: none */
};

/*
 * A model, state or weights: also from a pipe or FIFO, "-". Compressed files and everything else
 * are named: "m.st: looks like a gzip file, not a model". It is read, not mapped: a file truncated
 * later must not become a SIGBUS. Where a state is wanted, errors say so.
 */
int nn_st_read(struct nn_st **st, const char *path, struct nn_error *err);
int nn_st_read_state(struct nn_st **st, const char *path, struct nn_error *err);
/*
 * The same from an input that was opened plain; and from one that is known to be safetensors (data:
 * may be compressed), up to its end.
 */
int nn_st_read_model(struct nn_st **st, struct nn_input *input, struct nn_error *err);
int nn_st_read_input(struct nn_st **st, struct nn_input *input, struct nn_error *err);
/*
 * The first rows of each tensor, about `most` bytes in all (0: all of them), and no more of a file
 * is read than that; zeros, where it is compressed or a pipe.
 */
struct nn_st_part {
	size_t most;
	/*
	 * In place of most: which tensors are read, wanted[n_tensors], all false; others have no
	 * data (NULL). Called when the header is known; -1 ends it.
	 */
	int (*choose)(void *arg, const struct nn_st *st, bool *wanted, struct nn_error *err);
	void *arg;
	/*
	 * Large values of a regular file stay there, until nn_st_some. Not with most or choose, nor
	 * where there are int8 tensors. A digest of the input has seen them all the same.
	 */
	bool later;
	uint64_t beyond;    /* of .npz: unless all arrays take no more bytes than these */
	size_t rows, total; /* out: rows of a tensor at most, and of the longest in all */
};
int nn_st_read_part(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
		    struct nn_error *err);
int nn_st_read_model_part(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
			  struct nn_error *err);
/* Inside: rows and total for these tensors; a tensor's rows, with the bytes that are left. */
void nn_st_part(const struct nn_st *st, struct nn_st_part *part);
size_t nn_st_cut(struct nn_st_tensor *tensor, const struct nn_st_part *part);
/* The same thing from .npy files, one array in each; no metadata. */
struct nn_npy_file {
	const char *name, *path;
};
int nn_st_of_arrays(struct nn_st **st, size_t n, const struct nn_npy_file *files,
		    struct nn_error *err);
/* And from a single .npy file that was opened: a tensor named as the file. */
int nn_npy_read_set(struct nn_st **st, struct nn_input *input, struct nn_error *err);
void nn_st_free(struct nn_st *st);
/* Nobody needs the values any more: names, shapes and metadata stay. */
void nn_st_drop(struct nn_st *st);
/* Inside: room for n tensors that come one by one, with arrays and names of their own. */
int nn_st_reserve(struct nn_st *st, size_t n, struct nn_error *err);
/* In order of their names; a name that is there twice, or NULL. */
const char *nn_st_sort(struct nn_st_tensor *tensors, size_t n);
const struct nn_st_tensor *nn_st_find(const struct nn_st *st, const char *name);
/*
 * Of an i8 tensor i among n sorted ones, the tensor NAME_scale, by which its values are multiplied;
 * NULL: there is none.
 */
#define NN_ST_SCALE "_scale"
const struct nn_st_tensor *nn_st_scales(const struct nn_st_tensor *tensors, size_t n, size_t i);
const char *nn_st_meta(const struct nn_st *st, const char *key); /* NULL: not there */
/*
 * Copy a float tensor, converted: exact for f16 bf16 f32 -> f64; rounded once to f32. Other dtypes:
 * error naming the tensor.
 */
int nn_st_get(const struct nn_st_tensor *tensor, enum nn_dtype dtype, void *values,
	      struct nn_error *err);
/* The same of n values from number `first` on, also of the file's tensors that were not read. */
int nn_st_some(const struct nn_st *st, const struct nn_st_tensor *tensor, enum nn_dtype dtype,
	       size_t first, size_t n, void *values, struct nn_error *err);
/*
 * Inside (later.c): tensors of st may wait in this file from now on, whose descriptor is closed with
 * st (on failure too); tensor i does, its values begin at `at`.
 */
int nn_st_later_open(struct nn_st *st, int fd, const char *name, struct nn_error *err);
void nn_st_later_set(struct nn_st *st, size_t i, uint64_t at);
/* And others in another file, without a name, in which their `at` has this bit; fd is closed with
 * st. */
#define NN_ST_KEPT (UINT64_C(1) << 62)
void nn_st_later_keep(struct nn_st *st, int fd);
void nn_st_later_close(struct nn_st *st);
/*
 * A tensor whose values were not read: where they begin in its file, *fd is borrowed from st;
 * false: they were read.
 */
bool nn_st_later_place(const struct nn_st *st, const struct nn_st_tensor *tensor, int *fd,
		       uint64_t *at);
/* The values of a tensor; where they were not read they are now, into *read, which nn_free takes.
 */
int nn_st_values(const struct nn_st *st, const struct nn_st_tensor *tensor, const void **values,
		 void **read, struct nn_error *err);
/* Values of fewer bytes are read at once. */
#define NN_ST_LATER ((size_t)256 << 10)

/*
 * Dtype descending as in the reference writer (U64 I64 F64 F32 U32 I32 BF16 F16 U16 I16 I8 U8
 * BOOL), then name; header padded so that data begin at a multiple of 64; metadata keys sorted; the
 * same bytes for the same content.
 */
int nn_st_write(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n_tensors,
		const struct nn_st_meta *meta, size_t n_meta, struct nn_error *err);

const char *nn_st_dtype_name(enum nn_dtype dtype);

#endif
