/* Samples decoded many at once, by all threads of a pool, into rows of one size. */
#ifndef NN_DATA_PICTURE_DECODE_H
#define NN_DATA_PICTURE_DECODE_H

#include "base/pool.h"
#include "base/shape.h"
#include "data/picture/samples.h"
#include "file/picture/picture.h"

/* What rows of pictures are; zeros but for `classes` before the first one was seen. */
struct nn_picture_rows {
	struct nn_picture shape;
	bool known, classes;
	size_t size; /* values of a row */
};

/* The shape as samples have it: CxHxW, of classes HxW. */
struct nn_shape nn_picture_shape(const struct nn_picture_rows *rows);
/* Learn it from a picture. */
int nn_picture_learn(struct nn_picture_rows *rows, struct nn_codecs *codecs,
		     const struct nn_picture_file *file, struct nn_error *err);

struct nn_picture_job {
	struct nn_picture_file file;
	unsigned char *to; /* [size] */
};
/* The error is that of the first one that has one. */
int nn_picture_decode(const struct nn_picture_rows *rows, struct nn_codecs *codecs,
		      const struct nn_picture_job *jobs, size_t n, struct nn_pool *pool,
		      struct nn_error *err);

#endif
