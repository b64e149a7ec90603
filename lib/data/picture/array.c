/* Arrays of a tar, by the reader of .npy files: each is an input of its own, in memory. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/array/array.h"
#include "data/picture/array.h"

/* Its header as that of one row: a dimension in front changes no order of values. */
static int open_array(struct nn_input **input, struct nn_npy_header *h,
		      const struct nn_picture_file *file, struct nn_error *err)
{
	struct nn_shape *s = &h->shape;
	size_t left;

	if (nn_input_open_memory(input, file->name, err) < 0)
		return -1;
	nn_input_give(*input, file->bytes, file->n);
	if (nn_npy_next(*input, h, err) != 1)
		return -1;
	nn_input_held(*input, &left);
	if (left < h->bytes)
		return nn_fail(err, NN_EFORMAT,
			       "%s: ends early: the .npy header promises %zu byte%s of data, found "
			       "%zu",
			       file->name, h->bytes, nn_s(h->bytes), left);
	if (s->rank == NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT,
			       "%s: found %d dimensions, expected at most %d in a sample (a fixed "
			       "limit)",
			       file->name, s->rank, NN_MAX_RANK - 1);
	if (h->bytes == 0)
		return nn_fail(err, NN_EFORMAT, "%s: the array has no values", file->name);
	memmove(s->dim + 1, s->dim, (size_t)s->rank * sizeof *s->dim);
	s->dim[0] = 1;
	s->rank++;
	return 0;
}

int nn_sample_array_learn(struct nn_picture_rows *rows, const struct nn_picture_file *file,
			  struct nn_error *err)
{
	struct nn_input *input = NULL;
	int status = open_array(&input, &rows->array, file, err);

	nn_input_close(input);
	rows->size = status == 0 ? rows->array.bytes / nn_dtype_size(rows->array.dtype) : 0;
	return status;
}

/* All rows are of one type and shape. */
static int expect(const struct nn_npy_header *found, const struct nn_npy_header *wanted,
		  const char *place, struct nn_error *err)
{
	struct nn_shape shapes[] = { nn_sample_shape(&found->shape, false),
				     nn_sample_shape(&wanted->shape, false) };
	char text[2][NN_SHAPE_TEXT];

	if (found->dtype == wanted->dtype && nn_shape_equal(&found->shape, &wanted->shape))
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s: is %s of %s, expected %s of %s as the first sample",
		       place, nn_shape_text(text[0], &shapes[0]), nn_dtype_name(found->dtype),
		       nn_shape_text(text[1], &shapes[1]), nn_dtype_name(wanted->dtype));
}

/* Values in C order, in their own type: at to where that is the wanted type, else in *array. */
static int read_values(struct nn_input *input, const struct nn_npy_header *h, enum nn_dtype wanted,
		       struct nn_array *array, void *to, const void **values, struct nn_error *err)
{
	bool there = !h->fortran && (h->dtype == wanted || wanted == NN_U8);
	int status =
		there ? nn_npy_read_values(input, h, h->bytes / nn_dtype_size(h->dtype), to, err)
		      : nn_array_read_values(array, input, h, err);

	*values = there ? to : array->data;
	return status < 0 ? -1 : nn_input_end(input, "the array", err);
}

int nn_sample_array_read(const struct nn_picture_rows *rows, const struct nn_picture_file *file,
			 void *to, struct nn_error *err)
{
	struct nn_samples how = { .from = rows->array.dtype,
				  .real = nn_picture_type(rows),
				  .place = file->name,
				  .per_row = rows->size,
				  .nan_allowed = rows->nan_allowed };
	struct nn_input *input = NULL;
	struct nn_array array = { 0 };
	const void *values;
	struct nn_npy_header h;
	int status = open_array(&input, &h, file, err);

	if (status == 0)
		status = expect(&h, &rows->array, file->name, err);
	if (status == 0)
		status = read_values(input, &h, how.real, &array, to, &values, err);
	if (status == 0 && !rows->raw && how.real != NN_U8)
		status = nn_samples_convert(&how, values, rows->size, to, err);
	else if (status == 0 && values != to)
		memcpy(to, values, nn_picture_bytes(rows));
	nn_array_free(&array);
	nn_input_close(input);
	return status;
}
