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
/* The same of weights: also what torch.save writes (torch.h). */
int nn_zip_read_weights(struct nn_st **st, struct nn_input *input, struct nn_error *err);
#define NN_KERAS_SAVES \
	"save its weights as .npz: numpy.savez('w.npz', *model.get_weights()) in Python"
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

int nn_npz_write_far(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n,
		     uint64_t far, struct nn_error *err);

#endif
