/* Data types and shapes: sizes, names, products that are checked. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/shape.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[] = {
	[NN_F32] = { "f32", 4 },   [NN_F64] = { "f64", 8 }, [NN_F16] = { "f16", 2 },
	[NN_BF16] = { "bf16", 2 }, [NN_I8] = { "i8", 1 },   [NN_U8] = { "u8", 1 },
	[NN_I16] = { "i16", 2 },   [NN_U16] = { "u16", 2 }, [NN_I32] = { "i32", 4 },
	[NN_U32] = { "u32", 4 },   [NN_I64] = { "i64", 8 }, [NN_U64] = { "u64", 8 },
	[NN_BOOL] = { "bool", 1 },
};

size_t nn_dtype_size(enum nn_dtype dtype)
{
	return dtypes[dtype].size;
}

const char *nn_dtype_name(enum nn_dtype dtype)
{
	return dtypes[dtype].name;
}

bool nn_dtype_float(enum nn_dtype dtype)
{
	return dtype <= NN_BF16;
}

enum nn_dtype nn_dtype_computed(enum nn_dtype dtype)
{
	return dtype == NN_F64 ? NN_F64 : NN_F32;
}

size_t nn_shape_count(const struct nn_shape *shape)
{
	size_t count = 1;

	for (int i = 0; i < shape->rank; i++)
		count *= shape->dim[i];
	return count;
}

size_t nn_shape_columns(const struct nn_shape *shape)
{
	return shape->rank == 3 ? shape->dim[0] : shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
}

size_t nn_shape_positions(const struct nn_shape *shape)
{
	size_t columns = nn_shape_columns(shape);

	return columns ? nn_shape_count(shape) / columns : 0;
}

bool nn_shape_equal(const struct nn_shape *a, const struct nn_shape *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

bool nn_shape_check(const struct nn_shape *shape, size_t element_size, size_t *bytes)
{
	size_t product = element_size;
	bool zero = false;

	/* Zeros are left out of the product, so that 0 x huge x huge is refused too. */
	for (int i = 0; i < shape->rank; i++) {
		if (shape->dim[i] == 0)
			zero = true;
		else if (!nn_mul(product, shape->dim[i], &product))
			return false;
	}
	*bytes = zero ? 0 : product;
	return true;
}

char *nn_shape_text(char buffer[NN_SHAPE_TEXT], const struct nn_shape *shape)
{
	size_t at = 0;

	snprintf(buffer, NN_SHAPE_TEXT, "scalar");
	for (int i = 0; i < shape->rank; i++)
		at += (size_t)snprintf(buffer + at, NN_SHAPE_TEXT - at, "%s%zu", i ? "x" : "",
				       shape->dim[i]);
	return buffer;
}

struct nn_shape nn_shape1(size_t a)
{
	return (struct nn_shape){ .rank = 1, .dim = { a } };
}

struct nn_shape nn_shape2(size_t a, size_t b)
{
	return (struct nn_shape){ .rank = 2, .dim = { a, b } };
}

struct nn_shape nn_shape3(size_t a, size_t b, size_t c)
{
	return (struct nn_shape){ .rank = 3, .dim = { a, b, c } };
}

struct nn_shape nn_shape4(size_t a, size_t b, size_t c, size_t d)
{
	return (struct nn_shape){ .rank = 4, .dim = { a, b, c, d } };
}
