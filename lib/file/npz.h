/* .npz: named arrays, the .npy members of a zip file. */
#ifndef NN_FILE_NPZ_H
#define NN_FILE_NPZ_H

#include <stdint.h>
#include "file/safetensors.h"
#include "file/sniff.h"

/*
 * All arrays, to the end of input, as nn_st_of_arrays gives them: sorted by name, each in this
 * machine's order of bytes and of dimensions, without metadata. Members are stored or deflated;
 * every one is an .npy array under its name and .npy. Zip64 is read; encryption, several disks,
 * members that overlap, other bytes in a wrong checksum or length are errors. Memory: the file and
 * its arrays.
 */
int nn_npz_read(struct nn_st **st, struct nn_input *input, struct nn_error *err);
/* The first rows of each array, where part->most says so; all are read. */
int nn_npz_read_part(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
		     struct nn_error *err);

/*
 * Members sorted by name, stored, of 1 January 1980: the same bytes for the same arrays. bf16 has
 * no .npy type: an error.
 */
int nn_npz_write(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n,
		 struct nn_error *err);

/* Has it named tensors: safetensors or zip? */
bool nn_is_tensors(enum nn_format_id format);
/* Those of either, to the end of input. */
int nn_tensors_read(struct nn_st **st, struct nn_input *input, enum nn_format_id format,
		    struct nn_error *err);

/* ---- inside ---- */

/*
 * Zip's own numbers: a length or place from this value on needs zip64. Tests write with a smaller
 * one.
 */
#define NN_ZIP_FAR UINT64_C(0xffffffff)
int nn_npz_write_far(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n,
		     uint64_t far, struct nn_error *err);

/* A member as the directory of a zip file lists it. */
struct nn_zip_member {
	const char *name; /* not terminated; borrowed from the bytes, as all */
	size_t name_length;
	int method; /* 0 stored, 8 deflated */
	uint32_t crc;
	const unsigned char *data;
	size_t packed, size; /* bytes of data, and of what they hold */
};

/*
 * The members of the zip file bytes[n], in the order of its directory; *members is nn_freed by the
 * caller.
 */
int nn_zip_list(const unsigned char *bytes, size_t n, struct nn_zip_member **members,
		size_t *n_members, struct nn_error *err);

#endif
