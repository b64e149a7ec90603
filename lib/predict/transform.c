/* The way between callers' values and a graph's tensors: type, order and scale. */
#include <math.h>
#include <string.h>

#include "base/flush.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/subnormal.h"
#include "predict/transform.h"

/* One loop for each pair of types: S as given, T inside; FLUSHED of what nothing is computed of. */
#define TRANSFORM_IN(name, S, T, FLUSHED) \
	static void name(const struct nn_transform *d, const S *from, size_t rows, T *to) \
	{ \
		const T *mean = d->mean, *sd = d->sd, *missing = d->missing; \
		for (size_t r = 0; r < rows; r++, from += d->size, to += d->size) { \
			if (missing || (d->channels && mean)) { \
				for (size_t i = 0; i < d->size; i++) { \
					T v = FLUSHED((T)from[i]); \
					if (missing && v != v) \
						v = missing[i]; \
					to[d->channels ? i % d->positions * d->channels + \
								 i / d->positions \
						       : i] = mean ? (v - mean[i]) / sd[i] : v; \
				} \
			} else if (d->channels) { \
				for (size_t c = 0; c < d->channels; c++) \
					for (size_t p = 0; p < d->positions; p++) \
						to[p * d->channels + c] = \
							FLUSHED((T)from[c * d->positions + p]); \
			} else if (mean) { \
				for (size_t i = 0; i < d->size; i++) \
					to[i] = ((T)from[i] - mean[i]) / sd[i]; \
			} else { \
				for (size_t i = 0; i < d->size; i++) \
					to[i] = FLUSHED((T)from[i]); \
			} \
		} \
	}

#define TRANSFORM_OUT(name, T, D) \
	static void name(const struct nn_transform *d, const T *from, size_t rows, D *to) \
	{ \
		const T *mean = d->mean, *sd = d->sd; \
		for (size_t r = 0; r < rows; r++, from += d->size, to += d->size) \
			for (size_t i = 0; i < d->size; i++) { \
				T v = from[d->channels ? i % d->positions * d->channels + \
								 i / d->positions \
						       : i]; \
				to[i] = (D)(mean ? v * sd[i] + mean[i] : v); \
			} \
	}

TRANSFORM_IN(in_f32_f32, float, float, nn_flushed_f32)
TRANSFORM_IN(in_f32_f64, float, double, nn_flushed_f64)
TRANSFORM_IN(in_f64_f32, double, float, nn_flushed_f32)
TRANSFORM_IN(in_f64_f64, double, double, nn_flushed_f64)
TRANSFORM_OUT(out_f32_f32, float, float)
TRANSFORM_OUT(out_f32_f64, float, double)
TRANSFORM_OUT(out_f64_f32, double, float)
TRANSFORM_OUT(out_f64_f64, double, double)

bool nn_transform_is_identity(const struct nn_transform *d, enum nn_dtype dtype)
{
	return d->channels == 0 && !d->mean && !d->missing && d->dtype == dtype;
}

void nn_transform_in(const struct nn_transform *d, const void *from, enum nn_dtype dtype,
		     size_t rows, void *real)
{
	if (nn_transform_is_identity(d, dtype)) {
		memcpy(real, from, rows * d->size * nn_dtype_size(dtype));
		nn_flush_values(real, rows * d->size, dtype);
		return;
	}
	if (dtype == NN_F32)
		d->dtype == NN_F32 ? in_f32_f32(d, from, rows, real)
				   : in_f32_f64(d, from, rows, real);
	else
		d->dtype == NN_F32 ? in_f64_f32(d, from, rows, real)
				   : in_f64_f64(d, from, rows, real);
}

void nn_transform_out(const struct nn_transform *d, const void *real, size_t rows, void *to,
		      enum nn_dtype dtype)
{
	if (dtype == NN_F32)
		d->dtype == NN_F32 ? out_f32_f32(d, real, rows, to)
				   : out_f64_f32(d, real, rows, to);
	else
		d->dtype == NN_F32 ? out_f32_f64(d, real, rows, to)
				   : out_f64_f64(d, real, rows, to);
}

static int alloc_scale(struct nn_transform *d, struct nn_error *err)
{
	d->mean = nn_alloc(d->size, nn_dtype_size(d->dtype), err);
	d->sd = nn_alloc(d->size, nn_dtype_size(d->dtype), err);
	if (!d->mean || !d->sd)
		return -1;
	for (size_t i = 0; i < d->size; i++)
		nn_real_put(d->dtype, d->sd, i, 1);
	return 0;
}

/* What the columns of a table, or of a measured array, say of their numbers. */
static int take_columns(struct nn_transform *d, const struct nn_input_schema *schema,
			struct nn_error *err)
{
	bool scaled = false, fills = false;

	for (size_t c = 0; c < schema->n_columns; c++) {
		scaled |= schema->columns[c].scaled;
		fills |= schema->columns[c].fills;
	}
	if (scaled && alloc_scale(d, err) < 0)
		return -1;
	if (fills && !(d->missing = nn_alloc(d->size, nn_dtype_size(d->dtype), err)))
		return -1;
	for (size_t i = 0; fills && i < d->size; i++)
		nn_real_put(d->dtype, d->missing, i, NAN);
	/* of rows of different length those of each step */
	for (size_t c = 0, at = 0;
	     c < (schema->lengths ? SIZE_MAX : schema->n_columns) && at < d->size; c++) {
		const struct nn_column *column = &schema->columns[c % schema->n_columns];

		if (column->scaled) {
			nn_real_put(d->dtype, d->mean, at, column->mean);
			nn_real_put(d->dtype, d->sd, at, column->sd);
		}
		if (column->fills)
			nn_real_put(d->dtype, d->missing, at, column->missing);
		at += column->category ? column->n_values : 1;
	}
	return 0;
}

/* With one channel C,H,W and H,W,C are the same. */
static void take_shape(struct nn_transform *d, const struct nn_shape *shape, bool channels_last,
		       enum nn_dtype dtype)
{
	*d = (struct nn_transform){ .dtype = dtype, .size = nn_shape_count(shape) };
	if (channels_last && shape->rank == 3 && shape->dim[0] > 1) {
		d->channels = shape->dim[0];
		d->positions = d->size / d->channels;
	}
}

int nn_transform_input(struct nn_transform *d, const struct nn_shape *shape, bool channels_last,
		       const struct nn_input_schema *schema, enum nn_dtype dtype,
		       struct nn_error *err)
{
	take_shape(d, shape, channels_last, dtype);
	return schema && schema->n_columns ? take_columns(d, schema, err) : 0;
}

int nn_transform_output(struct nn_transform *d, const struct nn_shape *shape,
			const struct nn_target_schema *schema, enum nn_dtype dtype,
			struct nn_error *err)
{
	take_shape(d, shape, true, dtype);
	if (!schema || !schema->mean || schema->n_columns == 0)
		return 0;
	if (alloc_scale(d, err) < 0)
		return -1;
	for (size_t i = 0; i < d->size; i++) {
		nn_real_put(d->dtype, d->mean, i, schema->mean[i % schema->n_columns]);
		nn_real_put(d->dtype, d->sd, i, schema->sd[i % schema->n_columns]);
	}
	return 0;
}

void nn_transform_fini(struct nn_transform *d)
{
	nn_free(d->mean);
	nn_free(d->sd);
	nn_free(d->missing);
	*d = (struct nn_transform){ 0 };
}
