/* Rows of arrays that come one after another, or of one alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/rows/rows.h"
#include "file/convert.h"
#include "file/idx.h"

#define PIECE ((size_t)1 << 18) /* bytes of rows that are read at once, at least one row */

static int check_shape(const struct nn_rows *r, const struct nn_shape *shape, struct nn_error *err)
{
	const struct nn_input_schema *input = &r->schema->inputs[0];
	struct nn_shape sample = { .rank = shape->rank - 1 };
	char found[NN_SHAPE_TEXT], wanted[NN_SHAPE_TEXT];

	memcpy(sample.dim, shape->dim + 1, (size_t)sample.rank * sizeof *sample.dim);
	if (nn_row_size(shape) != r->coding->inputs[0].size)
		return nn_fail(err, NN_EFORMAT,
			       "%s: samples are %s (%zu value%s), the model wants %s (%zu)",
			       nn_input_name(r->input), nn_shape_text(found, &sample),
			       nn_row_size(shape), nn_s(nn_row_size(shape)),
			       nn_shape_text(wanted, &input->shape), r->coding->inputs[0].size);
	for (size_t c = 0; input->columns && c < input->n_columns; c++)
		if (input->columns[c].category || input->columns[c].hashed)
			return nn_fail(err, NN_EFORMAT,
				       "%s: is an array, but the model has columns of text",
				       nn_input_name(r->input));
	return 0;
}

/* The next array's header and memory for its rows. 1, 0 at the end, -1. */
static int begin_array(struct nn_rows *r, struct nn_error *err)
{
	enum nn_dtype type;
	size_t row;
	int status = nn_array_next(r->input, r->format, &r->stream.header, err);

	if (status != 1)
		return status;
	if (check_shape(r, &r->stream.header.shape, err) < 0)
		return -1;
	r->stream.inside = true;
	r->at = 0;
	r->rows = r->stream.header.shape.dim[0];
	if (r->stream.header.fortran && r->stream.header.shape.rank > 1)
		return nn_array_read_values(&r->array, r->input, &r->stream.header, err) < 0 ? -1
											     : 1;
	type = nn_sample_type(r->stream.header.dtype, r->dtype);
	row = r->coding->inputs[0].size;
	r->stream.piece_rows = PIECE / (row * nn_dtype_size(r->stream.header.dtype));
	r->stream.piece_rows += r->stream.piece_rows == 0;
	nn_free(r->stream.piece);
	nn_free(r->stream.real);
	r->stream.real = NULL;
	r->stream.piece =
		nn_alloc(r->stream.piece_rows * row, nn_dtype_size(r->stream.header.dtype), err);
	if (r->stream.piece && type != r->stream.header.dtype && type != NN_U8)
		r->stream.real = nn_alloc(r->stream.piece_rows * row, nn_dtype_size(type), err);
	return r->stream.piece &&
			       (r->stream.real || type == r->stream.header.dtype || type == NN_U8)
		       ? 1
		       : -1;
}

static int open_array(struct nn_rows *r, bool targets, struct nn_error *err)
{
	int status;

	if (targets)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is an array without targets; give them as a file of their own",
			       nn_input_name(r->input));
	if (r->schema->n_inputs > 1)
		return nn_fail(err, NN_EFORMAT, "%s: is one array, but the model has %zu inputs",
			       nn_input_name(r->input), r->schema->n_inputs);
	status = begin_array(r, err);
	return status < 0 ? -1 : 0;
}

/* ---- rows that lie in memory: out they go ---- */

static void put_rows(struct nn_rows *r, struct nn_rows_out *out, const struct nn_row_block *source,
		     size_t n)
{
	const struct nn_input_code *code = &r->coding->inputs[0];

	nn_fill_input(code, r->dtype, source, NULL, n, r->channels_last && r->channels_last[0],
		      (char *)out->inputs[0] + out->n * code->size * nn_dtype_size(r->dtype));
}

/*
 * Is a row finite, but for what the model fills? Else *err says where; raw: the values as they
 * stood in the file.
 */
static bool is_finite(const struct nn_rows *r, const struct nn_row_block *source, const void *raw,
		      size_t row, struct nn_error *err)
{
	const char *values =
		(const char *)source->data + row * source->stride * nn_dtype_size(source->dtype);
	const char *from =
		(const char *)raw + row * source->stride * nn_dtype_size(r->stream.header.dtype);
	char text[NN_NUMBER];
	size_t at;

	if (r->schema->inputs[0].rows) {
		struct nn_row_block one = *source;
		size_t count = 0;

		one.data = values;
		return nn_dataset_check_categories(&one, 1, source->stride,
						   r->schema->inputs[0].rows, r->at + row,
						   nn_input_name(r->input), &count, err) == 0;
	}
	if (source->dtype == NN_U8)
		return true;
	at = nn_find_bad(source->dtype, values, source->stride,
			 r->coding->inputs[0].missing != NULL);
	if (at == source->stride)
		return true;
	nn_bad_text(text, r->stream.header.dtype, from, source->dtype, values, at);
	nn_fail(err, NN_EFORMAT, "%s: row %zu, column %zu: found %s, expected a finite number%s",
		nn_input_name(r->input), r->at + row + 1, at + 1, text,
		strpbrk(text, "0123456789") ? " within f32" : "");
	return false;
}

/* n rows, each looked at; runs of good ones go out together. */
static int put_checked(struct nn_rows *r, struct nn_rows_out *out,
		       const struct nn_row_block *source, const void *raw, size_t n,
		       struct nn_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct nn_row_block row = *source;
		int bad = 0;

		row.data = (const char *)source->data +
			   i * source->stride * nn_dtype_size(source->dtype);
		if (!is_finite(r, source, raw, i, err) && (bad = nn_rows_take_bad(r, out, err)) < 0)
			return -1;
		if (r->scored && nn_rows_put_scored(r, bad ? NULL : out, err) < 0)
			return -1;
		if (bad == 1)
			continue;
		if (!bad)
			put_rows(r, out, &row, 1);
		out->n++;
	}
	r->at += n;
	return 0;
}

/* ---- where rows come from ---- */

/* How many rows to read: one at least, and from a pipe no more than lie ready. */
static size_t rows_to_read(const struct nn_rows *r, size_t room)
{
	size_t row = r->coding->inputs[0].size * nn_dtype_size(r->stream.header.dtype), held,
	       n = r->rows - r->at;

	n = n < room ? n : room;
	n = n < r->stream.piece_rows ? n : r->stream.piece_rows;
	if (nn_input_is_pipe(r->input)) {
		nn_input_held(r->input, &held);
		n = n < held / row ? n : held / row;
	}
	return n ? n : 1;
}

static bool is_picture(const struct nn_rows *r)
{
	return nn_is_picture(r->stream.header.dtype, &r->stream.header.shape,
			     r->format->pictures) &&
	       !r->schema->inputs[0].rows;
}

static int read_piece(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	size_t n = rows_to_read(r, out->max - out->n), size = r->coding->inputs[0].size;
	struct nn_row_block source = { r->stream.piece,
				       nn_sample_type(r->stream.header.dtype, r->dtype), size, NULL,
				       false };

	if (nn_npy_read_values(r->input, &r->stream.header, n * size, r->stream.piece, err) < 0)
		return -1;
	source.picture = is_picture(r);
	if (r->stream.real) {
		nn_convert(r->stream.header.dtype, r->stream.piece, n * size, r->dtype,
			   r->stream.real);
		source.data = r->stream.real;
	}
	return put_checked(r, out, &source, r->stream.piece, n, err);
}

/* Fortran order came whole: convert what goes out. */
static int take_whole(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	size_t size = r->coding->inputs[0].size,
	       n = r->rows - r->at < out->max - out->n ? r->rows - r->at : out->max - out->n;
	enum nn_dtype type = nn_sample_type(r->array.dtype, r->dtype);
	struct nn_row_block source = { NULL, type, size, NULL, is_picture(r) };
	const char *from =
		(const char *)r->array.data + r->at * size * nn_dtype_size(r->array.dtype);
	void *real = NULL;
	int status;

	source.data = from;
	if (type != NN_U8) {
		real = nn_alloc(n * size, nn_dtype_size(type), err);
		if (!real)
			return -1;
		nn_convert(r->array.dtype, from, n * size, type, real);
		source.data = real;
	}
	status = put_checked(r, out, &source, from, n, err);
	nn_free(real);
	return status;
}

/* The array has ended: another one may follow, or nothing. */
static int end_array(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	r->stream.inside = false;
	out->array_end = true;
	nn_array_free(&r->array);
	if (r->format->several)
		return 0;
	r->ended = true;
	return nn_input_end(r->input, "the array", err);
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	int status;

	if (!r->stream.inside) {
		status = begin_array(r, err);
		if (status < 1) {
			r->ended = status == 0;
			return status;
		}
	}
	while (out->n < out->max && r->at < r->rows) {
		size_t held;

		nn_input_held(r->input, &held);
		if (out->n && nn_input_is_pipe(r->input) && !r->array.data &&
		    held < r->coding->inputs[0].size * nn_dtype_size(r->stream.header.dtype))
			return 0;
		if ((r->array.data ? take_whole : read_piece)(r, out, err) < 0)
			return -1;
	}
	return r->at == r->rows ? end_array(r, out, err) : 0;
}

static int ready(struct nn_rows *r, struct nn_error *err)
{
	size_t held;

	(void)err;
	nn_input_held(r->input, &held);
	return r->array.data || held > 0 || nn_input_ready(r->input);
}

static int64_t total(const struct nn_rows *r)
{
	return (int64_t)r->rows;
}

static const struct nn_rows_ops rows = { open_array, next_rows, ready, total };

const struct nn_format nn_format_npy = {
	.id = NN_FORMAT_npy,
	.name = ".npy",
	.read = nn_dataset_read_array,
	.rows = &rows,
	.arrays = true,
	.header = nn_npy_next,
	.several = true,
};

const struct nn_format nn_format_idx = {
	.id = NN_FORMAT_idx,
	.name = "IDX",
	.read = nn_dataset_read_array,
	.rows = &rows,
	.header = nn_idx_header,
	.pictures = true,
};
