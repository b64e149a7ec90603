/*
 * Pictures that stay in their files: where each one lies, so that any of them can be read and
 * decoded whenever it is wanted, by any thread.
 */
#ifndef NN_DATA_PICTURE_STORE_H
#define NN_DATA_PICTURE_STORE_H

#include "data/picture/decode.h"

struct nn_picture_store;

/*
 * Of an input that is a folder or begins as a tar does. Of a tar that cannot be read again, from a
 * pipe or compressed, pictures are kept in a file without a name in TMPDIR.
 */
int nn_picture_store_new(struct nn_picture_store **store, struct nn_input *input,
			 struct nn_error *err);
void nn_picture_store_free(struct nn_picture_store *store); /* NULL allowed */
/* The next one: a sample, and of its members the one that is meant. */
int nn_picture_store_add(struct nn_picture_store *store, const struct nn_picture_sample *sample,
			 const struct nn_member *member, struct nn_error *err);
/* All were added, of this size: -1 where some could not be kept. */
int nn_picture_store_end(struct nn_picture_store *store, const struct nn_picture_rows *rows,
			 struct nn_error *err);

const struct nn_picture_rows *nn_picture_store_rows(const struct nn_picture_store *store);
/* "jpeg decode", "png decode", of arrays "npy decode", or "decode" where there are both. */
const char *nn_picture_store_work(const struct nn_picture_store *store);
/* Bytes of its file, and of all in the mean. */
size_t nn_picture_store_size(const struct nn_picture_store *store, uint64_t row);
size_t nn_picture_store_mean(const struct nn_picture_store *store);
/* The bytes of its file. A file that is gone or changed is an error that names it. */
int nn_picture_store_read(const struct nn_picture_store *store, uint64_t row, void *bytes,
			  struct nn_error *err);
/* What was read into planes, or values of an array. */
int nn_picture_store_decode(const struct nn_picture_store *store, uint64_t row, const void *bytes,
			    unsigned char *to, struct nn_error *err);

#endif
