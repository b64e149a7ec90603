/*
 * Rows of different length in arrays: .npz and safetensors hold `lengths` beside them, and rows
 * that are filled up to one length ([rows][steps]...) or lie one after another ([all steps]...).
 * The rows of an .npy alone are all as long.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/whole.h"
#include "data/sequence/sequence.h"

/* Steps of all rows one after another, of an array in which they are filled up to `padded`. */
static int pack(const struct nn_sequences *s, size_t rows, size_t padded, const void *from,
		size_t step_bytes, struct nn_block *to, struct nn_error *err)
{
	size_t bytes;

	if (!nn_mul(nn_sequence_begin(s, rows), step_bytes, &bytes))
		return nn_fail(err, NN_ENOMEM, "rows of different length are too large for memory");
	if (nn_block_reserve(to, bytes + 1, err) < 0)
		return -1;
	for (size_t r = 0; r < rows; r++)
		memcpy((char *)to->data + nn_sequence_begin(s, r) * step_bytes,
		       (const char *)from + r * padded * step_bytes,
		       nn_sequence_length(s, r) * step_bytes);
	return 0;
}

/* ---- lengths ---- */

static int add_lengths(struct nn_dataset *ds, const char *place, const struct nn_st_tensor *lengths,
		       struct nn_error *err)
{
	if (lengths->shape.rank != 1 || nn_dtype_float(lengths->dtype))
		return nn_fail(err, NN_EFORMAT,
			       "%s: tensor lengths: expected whole numbers, one for each row",
			       place);
	for (size_t r = 0; r < lengths->shape.dim[0]; r++) {
		__int128 length = nn_whole_at(lengths->dtype, lengths->data, r);

		if (length < 0 || length > UINT32_MAX)
			return nn_fail(
				err, NN_EFORMAT,
				"%s: tensor lengths: row %zu: expected a number of steps, got "
				"%s",
				place, r + 1, length < 0 ? "less than 0" : "more than 2^32");
		if (nn_sequences_add(ds, place, (size_t)length, err) < 0)
			return -1;
	}
	return 0;
}

/* Do they fit the array of values? *padded as struct nn_sequences has it. */
static int check_lengths(struct nn_dataset *ds, const char *place, const struct nn_shape *shape,
			 int rank, struct nn_error *err)
{
	struct nn_sequences *s = ds->sequences;
	size_t steps = nn_sequence_begin(s, ds->rows);
	char text[NN_SHAPE_TEXT];

	if (shape->rank == rank) {
		if (shape->dim[0] != steps)
			return nn_fail(err, NN_EFORMAT,
				       "%s: has %zu step%s, the lengths add up to %zu", place,
				       shape->dim[0], nn_s(shape->dim[0]), steps);
		return 0;
	}
	if (shape->rank != rank + 1)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: is %s, expected rows of steps (%d dimensions), or all steps one "
			"after another (%d)",
			place, nn_shape_text(text, shape), rank + 1, rank);
	s->padded = shape->dim[1];
	if (shape->dim[0] != ds->rows)
		return nn_fail(err, NN_EFORMAT, "%s: has %zu row%s, there are lengths of %zu",
			       place, shape->dim[0], nn_s(shape->dim[0]), ds->rows);
	for (size_t r = 0; r < ds->rows; r++)
		if (nn_sequence_length(s, r) > s->padded)
			return nn_fail(err, NN_EFORMAT,
				       "%s: row %zu has a length of %zu, but rows have %zu step%s",
				       place, r + 1, nn_sequence_length(s, r), s->padded,
				       nn_s(s->padded));
	return 0;
}

/* ---- values ---- */

/* A step as the model has it. */
static int check_step(const struct nn_dataset *ds, const char *place, const struct nn_shape *shape,
		      struct nn_error *err)
{
	const struct nn_shape *wanted = &ds->schema->inputs[ds->sequences->input].shape;
	char found[NN_SHAPE_TEXT], text[NN_SHAPE_TEXT];
	bool same = true;

	for (int d = 1; d < wanted->rank; d++)
		same &= shape->dim[shape->rank - d] == wanted->dim[wanted->rank - d];
	if (same)
		return 0;
	nn_shape_text(text, wanted);
	return nn_fail(err, NN_EFORMAT, "%s: is %s, the input line says ?%s", place,
		       nn_shape_text(found, shape), text + strcspn(text, "x"));
}

/* A step of all rows is one of a row. */
static int bad_category(const struct nn_dataset *ds, size_t step, size_t value, size_t most,
			const char *place, struct nn_error *err)
{
	const struct nn_row_block *source = &ds->inputs[ds->sequences->input].source;
	char at[NN_PLACE], column[40] = "";
	size_t row = 0;

	while (nn_sequence_begin(ds->sequences, row + 1) <= step)
		row++;
	if (source->stride > 1)
		snprintf(column, sizeof column, ", column %zu", value + 1);
	snprintf(at, sizeof at, "%s: row %zu, step %zu%s", place, ds->sequences->before + row + 1,
		 step - nn_sequence_begin(ds->sequences, row) + 1, column);
	return nn_dataset_bad_category(nn_row_value(source, step, value), most, at, err);
}

/* Numbers of categories are below those that there are, which the data say where nobody else does.
 */
static int take_categories(struct nn_dataset *ds, const char *place,
			   const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[ds->sequences->input];
	const struct nn_row_block *source = &ds->inputs[ds->sequences->input].source;
	size_t count = 0, most = want ? want->rows : schema->rows, step, value;

	for (size_t r = 0; r < ds->rows; r++) {
		size_t begin = nn_sequence_begin(ds->sequences, r);
		struct nn_row_block row = *source;

		row.data = (const char *)source->data +
			   begin * source->stride * nn_dtype_size(source->dtype);
		if (!nn_dataset_find_bad_category(&row, nn_sequence_length(ds->sequences, r),
						  row.stride, most, &count, &step, &value))
			continue;
		bad_category(ds, begin + step, value, most, place, err);
		if (nn_dataset_pass(ds, r, true, err) < 0)
			return -1;
	}
	if (want)
		schema->rows = most ? most : count + (count == 0);
	return 0;
}

int nn_sequences_take_input(struct nn_dataset *ds, const char *place,
			    const struct nn_want_input *want, struct nn_error *err)
{
	size_t i = ds->sequences->input;
	struct nn_data_input *input = &ds->inputs[i];

	input->source = (struct nn_row_block){ input->array.data, input->array.dtype,
					       nn_sequences_step(ds), NULL, false };
	return (want ? want->categories : ds->schema->inputs[i].rows > 0)
		       ? take_categories(ds, place, want, err)
		       : nn_dataset_step_columns(ds, i, want != NULL, err);
}

/* Row by row, so that one whose values are not finite is bad alone. */
static int convert_rows(struct nn_dataset *ds, struct nn_array *a, const char *place,
			const struct nn_st_tensor *steps, struct nn_error *err)
{
	const struct nn_sequences *s = ds->sequences;
	size_t step = nn_sequences_step(ds), from = nn_dtype_size(steps->dtype),
	       to = nn_dtype_size(ds->dtype);
	struct nn_samples how = { steps->dtype,
				  ds->dtype,
				  place,
				  0,
				  step,
				  nn_dataset_nan_allowed(ds, s->input),
				  (const size_t *)s->ends.data };

	if (nn_array_for_tensor(a, place, steps, ds->dtype, err) < 0)
		return -1;
	for (size_t r = 0; a->dtype != NN_U8 && r < ds->rows; r++) {
		how.first = nn_sequence_begin(s, r) * step;
		if (nn_samples_convert(&how, (const char *)steps->data + how.first * from,
				       nn_sequence_length(s, r) * step,
				       (char *)(uintptr_t)a->data + how.first * to, err) < 0 &&
		    nn_dataset_pass(ds, r, true, err) < 0)
			return -1;
	}
	return 0;
}

/* Values of the input, whose lengths are known; tensor: as the file has it. */
static int take_values(struct nn_dataset *ds, const char *place, const struct nn_st_tensor *tensor,
		       const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_data_input *input = &ds->inputs[ds->sequences->input];
	size_t step = nn_sequences_step(ds), steps = nn_sequence_begin(ds->sequences, ds->rows);
	struct nn_st_tensor packed = { tensor->name, tensor->dtype, nn_shape2(steps, step),
				       tensor->data };
	struct nn_block room = { 0 };
	int status = 0;

	if (ds->sequences->padded) {
		status = pack(ds->sequences, ds->rows, ds->sequences->padded, tensor->data,
			      step * nn_dtype_size(tensor->dtype), &room, err);
		packed.data = room.data;
	}
	if (status == 0)
		status = convert_rows(ds, &input->array, place, &packed, err);
	if (status == 0 && input->array.data == room.data && room.data) {
		input->array.block = room;
		room = (struct nn_block){ 0 };
	}
	nn_block_free(&room);
	return status < 0 ? -1 : nn_sequences_take_input(ds, place, want, err);
}

static const struct nn_want_input *wanted(const struct nn_dataset *ds,
					  const struct nn_reading *reading, size_t i)
{
	return reading->want && !ds->fixed ? &reading->want->inputs[i] : NULL;
}

static int read_input(struct nn_dataset *ds, const char *file, const struct nn_reading *reading,
		      size_t i, struct nn_error *err)
{
	const char *name = ds->schema->n_inputs == 1 ? NULL : ds->schema->inputs[i].name;
	const struct nn_st_tensor *t = nn_tensor_for(ds->st, file, name, "x", false, err);
	char place[300], quoted[NN_QUOTED];

	if (!t)
		return -1;
	snprintf(place, sizeof place, "%.90s: tensor %s", file,
		 nn_quote(quoted, t->name, strlen(t->name)));
	if (i == ds->sequences->input)
		return check_lengths(ds, place, &t->shape, ds->schema->inputs[i].shape.rank, err) <
					       0 ||
				       check_step(ds, place, &t->shape, err) < 0
			       ? -1
			       : take_values(ds, place, t, wanted(ds, reading, i), err);
	if (nn_array_of_tensor(&ds->inputs[i].array, place, t, ds->dtype,
			       nn_dataset_nan_allowed(ds, i), err) < 0)
		return -1;
	return nn_dataset_set_input(ds, i, place, false, wanted(ds, reading, i), err);
}

int nn_sequences_read_tensors(struct nn_dataset *ds, struct nn_input *input,
			      const struct nn_reading *reading, struct nn_error *err)
{
	const char *file = nn_input_name(input);
	const struct nn_st_tensor *lengths;
	struct nn_st_part part = { 0 };

	if (nn_dataset_no_columns(ds, file, reading->want, reading->targets, err) < 0 ||
	    reading->format->tensors(&ds->st, input, &part, err) < 0)
		return -1;
	if (!(lengths = nn_tensor_for(ds->st, file, "lengths", NULL, false, err)) ||
	    add_lengths(ds, file, lengths, err) < 0 || nn_sequences_close(ds, file, err) < 0)
		return -1;
	for (size_t i = 0; i < ds->schema->n_inputs; i++)
		if (read_input(ds, file, reading, i, err) < 0)
			return -1;
	if (nn_dataset_weigh_by(ds, ds->st, file, reading->targets, err) < 0)
		return -1;
	return reading->targets
		       ? nn_dataset_tensor_targets(ds, ds->st, file, reading->want, false, err)
		       : 0;
}

/* One array, whose rows are all as long. */
int nn_sequences_read_array(struct nn_dataset *ds, struct nn_input *input,
			    const struct nn_reading *reading, struct nn_error *err)
{
	const char *file = nn_input_name(input);
	int rank = ds->schema->inputs[0].shape.rank;
	struct nn_npy_header header;
	struct nn_array array = { 0 };
	struct nn_st_tensor tensor;
	char text[NN_SHAPE_TEXT];
	int status = -1;

	if (nn_dataset_no_columns(ds, file, reading->want, reading->targets, err) < 0)
		return -1;
	if (ds->schema->n_inputs > 1 || reading->targets)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: is one array; give an .npz with x, lengths and y, or targets as a "
			"second file",
			file);
	if (nn_array_next(input, reading->format, &header, err) < 0)
		return -1;
	if (header.shape.rank != rank + 1)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: is %s, expected rows of steps, %d dimensions; an .npz has lengths "
			"beside them",
			file, nn_shape_text(text, &header.shape), rank + 1);
	if (nn_array_read_values(&array, input, &header, err) < 0 ||
	    nn_input_end(input, "the array", err) < 0)
		goto out;
	for (size_t r = 0; r < header.shape.dim[0]; r++)
		if (nn_sequences_add(ds, file, header.shape.dim[1], err) < 0)
			goto out;
	tensor = (struct nn_st_tensor){ "x", header.dtype, header.shape, array.data };
	if (nn_sequences_close(ds, file, err) < 0 ||
	    check_lengths(ds, file, &header.shape, rank, err) < 0 ||
	    check_step(ds, file, &header.shape, err) < 0)
		goto out;
	status = take_values(ds, file, &tensor, wanted(ds, reading, 0), err);
out:
	nn_array_free(&array);
	return status;
}

/* ---- targets of each step ---- */

/*
 * Has an array values for each step, filled up to *padded or (0) one after another? It may be the
 * one or the other, whichever the inputs are.
 */
static bool of_steps(const struct nn_dataset *ds, const struct nn_shape *shape, size_t *padded)
{
	const struct nn_sequences *s = ds->sequences;
	bool in_line = shape->rank > 0 && shape->dim[0] == nn_sequence_begin(s, ds->rows),
	     filled = shape->rank > 1 && shape->dim[0] == ds->rows && shape->dim[1] >= s->longest;

	*padded = filled && (s->padded || !in_line) ? shape->dim[1] : 0;
	return in_line || filled;
}

bool nn_sequences_are_steps(const struct nn_dataset *ds, size_t target,
			    const struct nn_array *array)
{
	size_t padded;
	int rank;

	if (!of_steps(ds, &array->shape, &padded))
		return false;
	rank = padded ? 2 : 1;
	if (ds->schema->targets[target].steps)
		return array->shape.rank <= rank + 1;
	/* which the output does not take: that is said of it */
	return padded == ds->sequences->padded && !nn_dtype_float(array->dtype) &&
	       array->shape.rank == rank && (padded || array->shape.dim[0] != ds->rows);
}

int nn_sequences_refuse(const struct nn_dataset *ds, const struct nn_raw_target *raw,
			struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	return nn_fail(err, NN_EFORMAT,
		       "%s: is %s, expected targets of %zu row%s of at most %zu steps, or of their "
		       "%zu steps one after another",
		       raw->place, nn_shape_text(text, &raw->array.shape), ds->rows, nn_s(ds->rows),
		       ds->sequences->longest, nn_sequence_begin(ds->sequences, ds->rows));
}

int nn_sequences_set_target(struct nn_dataset *ds, size_t target, const struct nn_want_target *want,
			    struct nn_raw_target *raw, struct nn_error *err)
{
	size_t steps = nn_sequence_begin(ds->sequences, ds->rows);
	const struct nn_shape *shape = &raw->array.shape;
	struct nn_raw_target packed = *raw;
	struct nn_block room = { 0 };
	size_t padded, width;
	int rank, status;

	of_steps(ds, shape, &padded);
	rank = padded ? 2 : 1;
	width = shape->rank > rank ? shape->dim[rank] : 1;
	if (width == 0)
		return nn_fail(err, NN_EFORMAT, "%s: targets have no values", raw->place);
	packed.rows = steps;
	packed.ends = (const size_t *)ds->sequences->ends.data;
	packed.array.shape = shape->rank > rank ? nn_shape2(steps, width) : nn_shape1(steps);
	if (padded) {
		if (pack(ds->sequences, ds->rows, padded, raw->array.data,
			 width * nn_dtype_size(raw->array.dtype), &room, err) < 0)
			return -1;
		packed.array.data = room.data;
	}
	status = nn_dataset_set_target(ds, target, want, &packed, err);
	nn_block_free(&room);
	if (status == 0)
		nn_sequences_by_step(ds, target);
	return status;
}
