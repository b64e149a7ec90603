/* Tensors of a file: where their elements lie, in four forms that the format has for them. */
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "file/convert.h"
#include "onnx/constant.h"
#include "onnx/external.h"

static const struct {
	int number;
	enum nn_dtype dtype;
} types[] = { { 1, NN_F32 },  { 2, NN_U8 },   { 3, NN_I8 },   { 4, NN_U16 },  { 5, NN_I16 },
	      { 6, NN_I32 },  { 7, NN_I64 },  { 9, NN_BOOL }, { 10, NN_F16 }, { 11, NN_F64 },
	      { 12, NN_U32 }, { 13, NN_U64 }, { 16, NN_BF16 } };
#define TILE 32
#define N_TYPES (sizeof types / sizeof *types)

int nn_onnx_dtype(int64_t data_type)
{
	for (size_t i = 0; i < N_TYPES; i++)
		if (types[i].number == data_type)
			return (int)types[i].dtype;
	return -1;
}

int nn_onnx_data_type(enum nn_dtype dtype)
{
	for (size_t i = 0; i < N_TYPES; i++)
		if (types[i].dtype == dtype)
			return types[i].number;
	return 0;
}

static int take_shape(struct nn_onnx_constant *c, const Onnx__Tensor *t, size_t *bytes,
		      struct nn_error *err)
{
	if (t->n_dims > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT,
			       "a tensor of %zu dimensions, expected at most %d (a fixed limit)",
			       t->n_dims, NN_MAX_RANK);
	c->shape.rank = (int)t->n_dims;
	for (size_t i = 0; i < t->n_dims; i++) {
		if (t->dims[i] < 0)
			return nn_fail(err, NN_EFORMAT, "a tensor has a dimension of %lld",
				       (long long)t->dims[i]);
		c->shape.dim[i] = (size_t)t->dims[i];
	}
	if (!nn_shape_check(&c->shape, nn_dtype_size(c->dtype), bytes))
		return nn_fail(err, NN_EFORMAT, "the product of a tensor's dimensions overflows");
	c->count = nn_shape_count(&c->shape);
	return 0;
}

static int wrong_length(const struct nn_onnx_constant *c, size_t found, const char *what,
			size_t wanted, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	return nn_fail(err, NN_EFORMAT, "a tensor of %s (%s) has %zu %s, expected %zu",
		       nn_shape_text(text, &c->shape), nn_dtype_name(c->dtype), found, what,
		       wanted);
}

/* Elements that are narrower than the numbers of a field: copied, as their low bytes. */
static int narrow(struct nn_onnx_constant *c, const void *numbers, size_t width,
		  struct nn_error *err)
{
	size_t size = nn_dtype_size(c->dtype);

	if (nn_onnx_constant_room(c, c->dtype, &c->shape, err) < 0)
		return -1;
	for (size_t i = 0; i < c->count; i++)
		memcpy(nn_block_at(&c->owned, i * size), (const char *)numbers + i * width, size);
	return 0;
}

/* The field that holds elements of this type. */
static int take_field(struct nn_onnx_constant *c, const Onnx__Tensor *t, struct nn_error *err)
{
	const void *numbers = t->int32_data;
	size_t n = t->n_int32_data, width = 4;

	if (c->dtype == NN_F32) {
		numbers = t->float_data;
		n = t->n_float_data;
	} else if (c->dtype == NN_F64) {
		numbers = t->double_data;
		n = t->n_double_data;
		width = 8;
	} else if (c->dtype == NN_I64) {
		numbers = t->int64_data;
		n = t->n_int64_data;
		width = 8;
	} else if (c->dtype == NN_U32 || c->dtype == NN_U64) {
		numbers = t->uint64_data;
		n = t->n_uint64_data;
		width = 8;
	}
	if (n != c->count)
		return wrong_length(c, n, "values", c->count, err);
	c->data = numbers;
	return width == nn_dtype_size(c->dtype) ? 0 : narrow(c, numbers, width, err);
}

int nn_onnx_constant_read(struct nn_onnx_constant *c, struct nn_onnx_file *file,
			  const Onnx__Tensor *t, struct nn_onnx_raw *raw, struct nn_error *err)
{
	struct nn_onnx_raw own = { .data = t->raw_data.data, .n = t->raw_data.len };
	int dtype = nn_onnx_dtype(t->data_type);
	size_t bytes = 0;

	if (dtype < 0)
		return nn_fail(err, NN_EFORMAT, "a tensor of element type %d is not supported",
			       t->data_type);
	c->dtype = (enum nn_dtype)dtype;
	if (take_shape(c, t, &bytes, err) < 0)
		return -1;
	if (t->data_location == 1) {
		if (nn_onnx_external(file, t, bytes, &c->owned, err) < 0)
			return -1;
		c->data = c->owned.data;
		return 0;
	}
	if (!raw || !raw->data)
		raw = &own;
	if (!raw->data)
		return take_field(c, t, err);
	if (raw->n != bytes)
		return wrong_length(c, raw->n, "bytes", bytes, err);
	c->data = raw->data;
	if (raw->waits) {
		c->raw = raw;
		c->skeleton = &file->skeleton;
	}
	return 0;
}

const void *nn_onnx_data(const struct nn_onnx_constant *c)
{
	if (c->raw)
		nn_onnx_skeleton_load(c->skeleton, c->raw);
	return c->data;
}

bool nn_onnx_is_whole(const struct nn_onnx_constant *c)
{
	return !nn_dtype_float(c->dtype);
}

double nn_onnx_real(const struct nn_onnx_constant *c, size_t i)
{
	_Alignas(8) char element[8];
	size_t size = nn_dtype_size(c->dtype);
	double real;

	if (nn_onnx_is_whole(c))
		return (double)nn_onnx_whole(c, i);
	memcpy(element, (const char *)nn_onnx_data(c) + i * size, size);
	nn_convert(c->dtype, element, 1, NN_F64, &real);
	return real;
}

int64_t nn_onnx_whole(const struct nn_onnx_constant *c, size_t i)
{
	_Alignas(8) char element[8];
	size_t size = nn_dtype_size(c->dtype);

	memcpy(element, (const char *)nn_onnx_data(c) + i * size, size);
	return (int64_t)nn_whole_at(c->dtype, element, 0);
}

int nn_onnx_constant_room(struct nn_onnx_constant *c, enum nn_dtype dtype,
			  const struct nn_shape *shape, struct nn_error *err)
{
	size_t bytes;

	c->dtype = dtype;
	c->shape = *shape;
	c->count = nn_shape_count(shape);
	if (!nn_shape_check(shape, nn_dtype_size(dtype), &bytes) || !nn_add(bytes, 1, &bytes))
		return nn_fail(err, NN_EFORMAT, "the product of a tensor's dimensions overflows");
	if (nn_block_reserve(&c->owned, bytes, err) < 0)
		return -1;
	c->data = c->owned.data;
	return 0;
}

void nn_onnx_put_whole(struct nn_onnx_constant *c, size_t i, int64_t value)
{
	memcpy(nn_block_at(&c->owned, i * sizeof value), &value, sizeof value);
}

/* A square that fits into the fastest cache, read and written. */
static void transpose_tile(char *to, const struct nn_onnx_constant *from, size_t row, size_t column)
{
	size_t rows = from->shape.dim[0], columns = from->shape.dim[1];
	size_t last_row = row + TILE < rows ? row + TILE : rows;
	size_t last_column = column + TILE < columns ? column + TILE : columns;
	size_t size = nn_dtype_size(from->dtype);
	const char *data = nn_onnx_data(from);

	for (size_t r = row; r < last_row; r++)
		for (size_t c = column; c < last_column; c++)
			if (size == 4)
				memcpy(to + (c * rows + r) * 4, data + (r * columns + c) * 4, 4);
			else
				memcpy(to + (c * rows + r) * size, data + (r * columns + c) * size,
				       size);
}

int nn_onnx_transpose(struct nn_onnx_constant *to, const struct nn_onnx_constant *from,
		      struct nn_error *err)
{
	size_t rows = from->shape.dim[0], columns = from->shape.dim[1];
	struct nn_shape shape = nn_shape2(columns, rows);

	if (nn_onnx_constant_room(to, from->dtype, &shape, err) < 0)
		return -1;
	for (size_t r = 0; from->count > 0 && r < rows; r += TILE)
		for (size_t c = 0; c < columns; c += TILE)
			transpose_tile(to->owned.data, from, r, c);
	return 0;
}

void nn_onnx_constant_fini(struct nn_onnx_constant *c)
{
	nn_block_free(&c->owned);
}
