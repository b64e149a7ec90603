/* Inside .npz: its members, read as a whole (npz.c) or left in the file (npz-later.c). */
#ifndef NN_FILE_NPZ_INSIDE_H
#define NN_FILE_NPZ_INSIDE_H

#include "file/npz.h"
#include "file/zip.h"

#define NN_NPZ_SUFFIX ".npy"
#define NN_DEFLATE_RATIO 1100 /* bytes out for one in: more than deflate can */

int nn_npz_check_sum(uint32_t crc, const struct nn_zip_member *member, const char *place,
		     struct nn_error *err);
/* Is it an array's, of the file? */
int nn_npz_check_name(const struct nn_zip_member *member, const char *file, struct nn_error *err);
/* A member whose data are in memory; *name is nn_freed by the caller, on failure too. */
int nn_npz_read_member(const struct nn_zip_member *member, const char *file, char **name,
		       struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err);
/* In order of their names, of which none is there twice. */
int nn_npz_sort(struct nn_st *st, const char *file, struct nn_error *err);

/*
 * 1: *result has all, of which large arrays wait in the file; 0: it has to be read as a whole, for
 * it has no more than `beyond` bytes, or cannot be read at its places.
 */
int nn_npz_read_later(struct nn_st **result, struct nn_input *input, uint64_t beyond,
		      struct nn_error *err);

#endif
