/* Samples that are arrays: an .npy member of a tar is a row, C x H x W or of any shape. */
#ifndef NN_DATA_PICTURE_ARRAY_H
#define NN_DATA_PICTURE_ARRAY_H

#include "data/picture/row.h"

/* What rows are, by the header of the first: rows->array and rows->size. */
int nn_sample_array_learn(struct nn_picture_rows *rows, const struct nn_picture_file *file,
			  struct nn_error *err);
/* The values of a row, as nn_picture_type says; one of another type or shape is an error. */
int nn_sample_array_read(const struct nn_picture_rows *rows, const struct nn_picture_file *file,
			 void *to, struct nn_error *err);

#endif
