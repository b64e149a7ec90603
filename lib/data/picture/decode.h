/* Samples decoded many at once, by all threads of a pool, into rows of one size. */
#ifndef NN_DATA_PICTURE_DECODE_H
#define NN_DATA_PICTURE_DECODE_H

#include "base/pool.h"
#include "data/picture/row.h"
#include "data/picture/samples.h"

/* Learn what rows are from a picture, or of arrays from one. */
int nn_picture_learn(struct nn_picture_rows *rows, struct nn_codecs *codecs,
		     const struct nn_picture_file *file, struct nn_error *err);

struct nn_picture_job {
	struct nn_picture_file file;
	unsigned char *to; /* [nn_picture_bytes] */
};
int nn_picture_decode_one(const struct nn_picture_rows *rows, struct nn_codecs *codecs,
			  const struct nn_picture_job *job, struct nn_error *err);
/* The error is that of the first one that has one. */
int nn_picture_decode(const struct nn_picture_rows *rows, struct nn_codecs *codecs,
		      const struct nn_picture_job *jobs, size_t n, struct nn_pool *pool,
		      struct nn_error *err);

#endif
