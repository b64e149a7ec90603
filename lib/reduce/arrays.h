/*
 * The arrays of a file or pipe, as nn-allreduce takes them: whether they agree with those of
 * others, what was found in a result.
 */
#ifndef NN_REDUCE_ARRAYS_H
#define NN_REDUCE_ARRAYS_H

#include "base/text.h"
#include "file/npy.h"
#include "file/npz.h"
#include "file/safetensors.h"
#include "reduce/allreduce.h"

/* Metadata of models that have to agree: names beside the array nn_agreed of metadata.c. */
enum { NN_AGREED_MODEL, NN_AGREED_INPUT, NN_AGREED_TARGET, NN_N_AGREED };
extern const char *const nn_agreed[NN_N_AGREED];

/*
 * The tensors of a file: the one of an .npy file has the name "". An .npy array is read piece by
 * piece, tensors with names lie in memory.
 */
struct nn_arrays {
	const char *name;         /* borrowed */
	enum nn_format_id format; /* npy, safetensors, zip (.npz) */
	struct nn_st_tensor *tensors;
	size_t n_tensors;
	const char *meta[NN_N_AGREED]; /* that have to agree, NULL: none */
	struct nn_st *st;
	struct nn_st_tensor one;
	struct nn_input *input;
	bool stream; /* other arrays may follow */
	struct nn_npy_header header;
	struct nn_block block; /* a piece; an array in another order of dimensions whole */
};

/*
 * Every error text begins with the file's name. Zero-initialize; nn_arrays_close frees what an open
 * that failed has left, too.
 */
int nn_arrays_open(struct nn_arrays *arrays, const char *path, struct nn_error *err);
/*
 * .npy arrays one after the other; nn_arrays_next makes the next one the tensor `one`: 1, 0 at the
 * end, -1.
 */
int nn_arrays_open_stream(struct nn_arrays *arrays, const char *path, struct nn_error *err);
int nn_arrays_next(struct nn_arrays *arrays, struct nn_error *err);
void nn_arrays_close(struct nn_arrays *arrays);
/*
 * Values at..at+count of a tensor, valid until the next call; of an .npy array they are asked for
 * in order, without gaps.
 */
int nn_arrays_read(struct nn_arrays *arrays, const struct nn_st_tensor *tensor, size_t at,
		   size_t count, const void **values, struct nn_error *err);

/*
 * The results of the same tensors, in the file's format and with its metadata, but for metrics:
 * they are of another model.
 */
int nn_arrays_write(const struct nn_arrays *arrays, struct nn_output *output,
		    const struct nn_st_tensor *results, struct nn_error *err);

/*
 * Error naming file and tensor unless both hold the same names, types and shapes, and are models of
 * the same network with the same columns, scales, categories and labels.
 */
int nn_arrays_compare(const struct nn_arrays *arrays, const struct nn_arrays *first,
		      struct nn_error *err);
/* The last part of it: the metadata alone. */
int nn_metadata_compare(const struct nn_arrays *arrays, const struct nn_arrays *first,
			struct nn_error *err);
/* The same for the files of all ranks: each compares itself with rank 0. */
int nn_arrays_compare_ranks(const struct nn_arrays *arrays, struct nn_comm *comm,
			    struct nn_error *err);

/* `tensor "w": `, or "" without a name. */
#define NN_TENSOR_LABEL (NN_QUOTED + 16)
char *nn_tensor_label(char buffer[NN_TENSOR_LABEL], const struct nn_st_tensor *tensor);
/*
 * What was found in a result: an error where a value does not fit, a warning where values are NaN.
 */
int nn_arrays_found(const struct nn_allreduce_host *host, const struct nn_reduce *reduce,
		    const struct nn_st_tensor *tensor, const struct nn_reduce_found *found,
		    struct nn_error *err);

#endif
