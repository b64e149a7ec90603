/* Data types and shapes. */
#ifndef NN_BASE_SHAPE_H
#define NN_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

enum nn_dtype {
	NN_F32,
	NN_F64,
	NN_F16,
	NN_BF16,
	NN_I8,
	NN_U8,
	NN_I16,
	NN_U16,
	NN_I32,
	NN_U32,
	NN_I64,
	NN_U64,
	NN_BOOL,
};

size_t nn_dtype_size(enum nn_dtype dtype);
const char *nn_dtype_name(enum nn_dtype dtype); /* "f32" */
bool nn_dtype_float(enum nn_dtype dtype);
/* The type of computation for values that a file holds as dtype: f64 of f64, else f32. */
enum nn_dtype nn_dtype_computed(enum nn_dtype dtype);

#define NN_MAX_RANK 8

struct nn_shape {
	int rank; /* 0: a single value */
	size_t dim[NN_MAX_RANK];
};

/* Product of the dimensions; the makers of shapes check that it fits. */
size_t nn_shape_count(const struct nn_shape *shape);
/*
 * An output's row is positions of columns, which are classes or numbers: the channels of C,H,W,
 * else the last dimension; a single value has one of both.
 */
size_t nn_shape_columns(const struct nn_shape *shape);
size_t nn_shape_positions(const struct nn_shape *shape);
bool nn_shape_equal(const struct nn_shape *a, const struct nn_shape *b);
/* Product checked over all dimensions, zeros included; false on overflow. */
bool nn_shape_check(const struct nn_shape *shape, size_t element_size, size_t *bytes);
#define NN_SHAPE_TEXT 176
char *nn_shape_text(char buffer[NN_SHAPE_TEXT],
		    const struct nn_shape *shape); /* "3x32x32"; rank 0: "scalar" */
struct nn_shape nn_shape1(size_t a);
struct nn_shape nn_shape2(size_t a, size_t b);
struct nn_shape nn_shape3(size_t a, size_t b, size_t c);
struct nn_shape nn_shape4(size_t a, size_t b, size_t c, size_t d);

#endif
