/* Arrays as samples or targets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/text.h"
#include "data/array/array.h"
#include "file/convert.h"

#define CHUNK ((size_t)16384) /* values converted at once */

void nn_array_free(struct nn_array *array)
{
	nn_block_free(&array->block);
	*array = (struct nn_array){ 0 };
}

int nn_array_next(struct nn_input *input, const struct nn_format *format,
		  struct nn_npy_header *header, struct nn_error *err)
{
	int status = format->header(input, header, err);

	if (status == 1 && header->shape.rank == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: found a single value without dimensions, expected rows",
			       nn_input_name(input));
	return status;
}

size_t nn_row_size(const struct nn_shape *shape)
{
	size_t n = 1;

	for (int d = 1; d < shape->rank; d++)
		n *= shape->dim[d];
	return n;
}

enum nn_dtype nn_sample_type(enum nn_dtype dtype, enum nn_dtype real)
{
	return dtype == NN_U8 || dtype == NN_BOOL ? NN_U8 : real;
}

size_t nn_find_bad(enum nn_dtype real, const void *values, size_t n, bool nan_allowed)
{
	size_t size = nn_dtype_size(real);

	for (size_t at = 0;; at++) {
		at += nn_find_not_finite(real, (const char *)values + at * size, n - at);
		if (at == n || !nan_allowed)
			return at;
		if (isinf(nn_real_at(real, values, at)))
			return at;
	}
}

void nn_bad_text(char text[NN_NUMBER], enum nn_dtype from, const void *values, enum nn_dtype real,
		 const void *to, size_t at)
{
	if (from == NN_F64 && real == NN_F32 && isfinite(((const double *)values)[at]))
		nn_format_f64(text, ((const double *)values)[at]);
	else
		nn_format_f64(text, nn_real_at(real, to, at));
}

/* "row 3, column 2", counted from 1; of a step its row comes first. */
static void place_text(char text[100], const struct nn_samples *how, size_t at)
{
	size_t row = (how->first + at) / how->per_row,
	       column = (how->first + at) % how->per_row + 1, of = 0;

	if (!how->ends) {
		snprintf(text, 100, "row %zu, column %zu", row + 1, column);
		return;
	}
	while (how->ends[of] <= row)
		of++;
	row -= of ? how->ends[of - 1] : 0;
	snprintf(text, 100, "row %zu, step %zu, column %zu", of + 1, row + 1, column);
}

int nn_samples_convert(const struct nn_samples *how, const void *values, size_t n, void *to,
		       struct nn_error *err)
{
	char text[NN_NUMBER], where[100];
	size_t at;

	if (how->from != how->real)
		nn_convert(how->from, values, n, how->real, to);
	else if (to != values)
		memcpy(to, values, n * nn_dtype_size(how->real));
	at = nn_find_bad(how->real, to, n, how->nan_allowed);
	if (at == n)
		return 0;
	nn_bad_text(text, how->from, values, how->real, to, at);
	place_text(where, how, at);
	return nn_fail(err, NN_EFORMAT, "%s: %s: found %s, expected a finite number%s", how->place,
		       where, text,
		       how->from == NN_F64 && how->real == NN_F32 && strcmp(text, "nan") != 0
			       ? " within f32"
			       : "");
}

/* Values in C order, read and converted piece by piece: no second copy of the whole. */
static int read_converting(struct nn_array *a, struct nn_input *input,
			   const struct nn_npy_header *h, enum nn_dtype real, bool nan_allowed,
			   struct nn_error *err)
{
	struct nn_samples how = {
		h->dtype, real, nn_input_name(input), 0, nn_row_size(&h->shape), nan_allowed, NULL
	};
	size_t n = h->bytes / nn_dtype_size(h->dtype), size = nn_dtype_size(real), bytes;
	char *piece = nn_alloc(CHUNK, nn_dtype_size(h->dtype), err);
	int status = -1;

	if (!piece)
		return -1;
	if (!nn_mul(n, size, &bytes)) {
		nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for %zu values",
			nn_input_name(input), n);
		goto out;
	}
	for (size_t done = 0, take; done < n; done += take) {
		size_t room =
			nn_input_left(input) >= 0 ? bytes : (done + done / 4 + 4 * CHUNK) * size;

		take = n - done < CHUNK ? n - done : CHUNK;
		if ((done + take) * size > a->block.room &&
		    nn_block_reserve(&a->block, room < bytes ? room : bytes, err) < 0) {
			nn_fail_at(err, "%s", nn_input_name(input));
			goto out;
		}
		how.first = done;
		if (nn_npy_read_values(input, h, take, piece, err) < 0 ||
		    nn_samples_convert(&how, piece, take, nn_block_at(&a->block, done * size),
				       err) < 0)
			goto out;
	}
	status = nn_block_reserve(&a->block, 1, err);
out:
	nn_free(piece);
	return status;
}

int nn_array_read_samples(struct nn_array *a, struct nn_input *input,
			  const struct nn_format *format, const struct nn_npy_header *h,
			  enum nn_dtype real, bool nan_allowed, struct nn_error *err)
{
	struct nn_samples how = {
		h->dtype, real, nn_input_name(input), 0, nn_row_size(&h->shape), nan_allowed, NULL
	};
	size_t n = h->bytes / nn_dtype_size(h->dtype);
	int status;

	*a = (struct nn_array){ .dtype = nn_sample_type(h->dtype, real), .shape = h->shape };
	a->picture = nn_is_picture(h->dtype, &h->shape, format->pictures);
	if (h->fortran && h->shape.rank > 1) {
		struct nn_block raw = { 0 };

		status = nn_npy_read(input, h, &raw, err);
		if (status == 0 && a->dtype == NN_U8) {
			a->block = raw;
			raw = (struct nn_block){ 0 };
		} else if (status == 0) {
			status = nn_block_reserve(&a->block, n * nn_dtype_size(real) + 1, err);
			if (status == 0)
				status = nn_samples_convert(&how, raw.data, n, a->block.data, err);
		}
		nn_block_free(&raw);
	} else if (a->dtype == NN_U8) {
		status = nn_npy_read(input, h, &a->block, err);
	} else {
		status = read_converting(a, input, h, real, nan_allowed, err);
	}
	a->data = a->block.data;
	return status;
}

int nn_array_read_values(struct nn_array *a, struct nn_input *input, const struct nn_npy_header *h,
			 struct nn_error *err)
{
	*a = (struct nn_array){ .dtype = h->dtype, .shape = h->shape };
	if (nn_npy_read(input, h, &a->block, err) < 0)
		return -1;
	a->data = a->block.data;
	return 0;
}

int nn_array_for_tensor(struct nn_array *a, const char *place, const struct nn_st_tensor *tensor,
			enum nn_dtype real, struct nn_error *err)
{
	size_t n = nn_shape_count(&tensor->shape), bytes;

	*a = (struct nn_array){ .dtype = nn_sample_type(tensor->dtype, real),
				.shape = tensor->shape,
				.picture = nn_is_picture(tensor->dtype, &tensor->shape, false),
				.data = tensor->data };
	if (tensor->shape.rank == 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: found a single value without dimensions, expected rows", place);
	if (a->dtype == NN_U8 || tensor->dtype == real)
		return 0;
	if (!nn_mul(n, nn_dtype_size(real), &bytes))
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for %zu values", place,
			       n);
	if (nn_block_reserve(&a->block, bytes + 1, err) < 0)
		return -1;
	a->data = a->block.data;
	return 0;
}

int nn_array_of_tensor(struct nn_array *a, const char *place, const struct nn_st_tensor *tensor,
		       enum nn_dtype real, bool nan_allowed, struct nn_error *err)
{
	struct nn_samples how = { tensor->dtype, real, place, 0, nn_row_size(&tensor->shape),
				  nan_allowed,   NULL };

	if (nn_array_for_tensor(a, place, tensor, real, err) < 0)
		return -1;
	return a->dtype == NN_U8
		       ? 0
		       : nn_samples_convert(&how, tensor->data, nn_shape_count(&tensor->shape),
					    (void *)a->data, err);
}

const struct nn_st_tensor *nn_tensor_for(const struct nn_st *st, const char *place,
					 const char *name, const char *fallback, bool alone,
					 struct nn_error *err)
{
	const struct nn_st_tensor *t = nn_st_find(st, name ? name : fallback);
	char names[200] = "", quoted[NN_QUOTED];
	size_t at = 0;

	if (!t && alone && st->n_tensors == 1)
		t = st->tensors;
	if (t)
		return t;
	for (size_t i = 0; i < st->n_tensors; i++) {
		const char *word =
			nn_quote(quoted, st->tensors[i].name, strlen(st->tensors[i].name));

		if (at + strlen(word) + 8 > sizeof names) {
			strcpy(names + at, ", ...");
			break;
		}
		at += (size_t)sprintf(names + at, "%s%s", i ? ", " : "", word);
	}
	nn_fail(err, NN_EFORMAT, "%s: has no tensor %s; its tensors: %s", place,
		nn_quote(quoted, name ? name : fallback, strlen(name ? name : fallback)),
		names[0] ? names : "none");
	return NULL;
}
