/* What rows of pictures, or of arrays beside them (array.h), are. */
#ifndef NN_DATA_PICTURE_ROW_H
#define NN_DATA_PICTURE_ROW_H

#include "data/array/array.h"
#include "file/npy.h"
#include "file/picture/picture.h"

struct nn_picture_rows {
	/* before the first one was seen */
	bool classes;       /* pictures: values are classes */
	bool arrays;        /* they are arrays, no pictures */
	bool raw;           /* arrays stay in their own type ... */
	enum nn_dtype real; /* ... else those that are not bytes become this */
	bool nan_allowed;
	/* as the first one says */
	bool known;
	struct nn_picture shape;
	struct nn_npy_header array; /* of one row, with 1 as first dimension */
	size_t size;                /* values of a row */
};

/* The shape as samples have it: CxHxW, of classes HxW, of arrays their own. */
static inline struct nn_shape nn_picture_shape(const struct nn_picture_rows *rows)
{
	const struct nn_picture *p = &rows->shape;

	return rows->arrays    ? nn_sample_shape(&rows->array.shape, false)
	       : rows->classes ? nn_shape2(p->height, p->width)
			       : nn_shape3(p->channels, p->height, p->width);
}

/* The type of values as they are read, and the bytes of a row. */
static inline enum nn_dtype nn_picture_type(const struct nn_picture_rows *rows)
{
	return !rows->arrays ? NN_U8
	       : rows->raw   ? rows->array.dtype
			     : nn_sample_type(rows->array.dtype, rows->real);
}

static inline size_t nn_picture_bytes(const struct nn_picture_rows *rows)
{
	return rows->size * nn_dtype_size(nn_picture_type(rows));
}

/* Does the scale of pictures apply? */
static inline bool nn_picture_scaled(const struct nn_picture_rows *rows)
{
	return !rows->arrays || rows->array.dtype == NN_U8;
}

#endif
