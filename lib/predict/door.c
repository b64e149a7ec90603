/* The door between callers' values and a graph's tensors: type, order and scale. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "predict/model.h"

/* One loop for each pair of types: S as given, T inside. */
#define DOOR_IN(name, S, T) \
	static void name(const struct nn_door *d, const S *from, size_t rows, T *to) \
	{ \
		const T *mean = d->mean, *sd = d->sd, *missing = d->missing; \
		for (size_t r = 0; r < rows; r++, from += d->size, to += d->size) { \
			if (missing || (d->channels && mean)) { \
				for (size_t i = 0; i < d->size; i++) { \
					T v = (T)from[i]; \
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
							(T)from[c * d->positions + p]; \
			} else if (mean) { \
				for (size_t i = 0; i < d->size; i++) \
					to[i] = ((T)from[i] - mean[i]) / sd[i]; \
			} else { \
				for (size_t i = 0; i < d->size; i++) \
					to[i] = (T)from[i]; \
			} \
		} \
	}

#define DOOR_OUT(name, T, D) \
	static void name(const struct nn_door *d, const T *from, size_t rows, D *to) \
	{ \
		const T *mean = d->mean, *sd = d->sd; \
		for (size_t r = 0; r < rows; r++, from += d->size, to += d->size) \
			for (size_t i = 0; i < d->size; i++) \
				to[i] = (D)(mean ? from[i] * sd[i] + mean[i] : from[i]); \
	}

DOOR_IN(in_f32_f32, float, float)
DOOR_IN(in_f32_f64, float, double)
DOOR_IN(in_f64_f32, double, float)
DOOR_IN(in_f64_f64, double, double)
DOOR_OUT(out_f32_f32, float, float)
DOOR_OUT(out_f32_f64, float, double)
DOOR_OUT(out_f64_f32, double, float)
DOOR_OUT(out_f64_f64, double, double)

bool nn_door_is_open(const struct nn_door *d, enum nn_dtype dtype)
{
	return d->channels == 0 && !d->mean && !d->missing && d->dtype == dtype;
}

void nn_door_in(const struct nn_door *d, const void *from, enum nn_dtype dtype, size_t rows,
		void *real)
{
	if (dtype == NN_F32)
		d->dtype == NN_F32 ? in_f32_f32(d, from, rows, real)
				   : in_f32_f64(d, from, rows, real);
	else
		d->dtype == NN_F32 ? in_f64_f32(d, from, rows, real)
				   : in_f64_f64(d, from, rows, real);
}

void nn_door_out(const struct nn_door *d, const void *real, size_t rows, void *to,
		 enum nn_dtype dtype)
{
	if (dtype == NN_F32)
		d->dtype == NN_F32 ? out_f32_f32(d, real, rows, to)
				   : out_f64_f32(d, real, rows, to);
	else
		d->dtype == NN_F32 ? out_f32_f64(d, real, rows, to)
				   : out_f64_f64(d, real, rows, to);
}

static void put(const struct nn_door *d, void *values, size_t i, double value)
{
	if (d->dtype == NN_F64)
		((double *)values)[i] = value;
	else
		((float *)values)[i] = (float)value;
}

static int alloc_scale(struct nn_door *d, struct nn_error *err)
{
	d->mean = nn_alloc(d->size, nn_dtype_size(d->dtype), err);
	d->sd = nn_alloc(d->size, nn_dtype_size(d->dtype), err);
	if (!d->mean || !d->sd)
		return -1;
	for (size_t i = 0; i < d->size; i++)
		put(d, d->sd, i, 1);
	return 0;
}

/* What the columns of a table, or of a measured array, say of their numbers. */
static int take_columns(struct nn_door *d, const struct nn_input_schema *schema,
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
		put(d, d->missing, i, NAN);
	for (size_t c = 0, at = 0; c < schema->n_columns && at < d->size; c++) {
		const struct nn_column *column = &schema->columns[c];

		if (column->scaled) {
			put(d, d->mean, at, column->mean);
			put(d, d->sd, at, column->sd);
		}
		if (column->fills)
			put(d, d->missing, at, column->missing);
		at += column->category ? column->n_values : 1;
	}
	return 0;
}

int nn_door_input(struct nn_door *d, const struct nn_model *model, struct nn_graph *graph,
		  size_t input, struct nn_error *err)
{
	const struct nn_shape *shape = &model->program->values[model->program->inputs[input]].shape;
	bool channels_last;

	*d = (struct nn_door){ .dtype = model->device->dtype };
	nn_graph_input(graph, (int)input, &d->size, &channels_last);
	if (channels_last && shape->rank == 3 && shape->dim[0] > 1) {
		d->channels = shape->dim[0];
		d->positions = d->size / d->channels;
	}
	return input < model->schema->n_inputs ? take_columns(d, &model->schema->inputs[input], err)
					       : 0;
}

int nn_door_output(struct nn_door *d, const struct nn_model *model, size_t output,
		   struct nn_error *err)
{
	const struct nn_target_schema *target =
		output < model->schema->n_targets ? &model->schema->targets[output] : NULL;

	*d = (struct nn_door){ .dtype = model->device->dtype };
	d->size = nn_shape_count(
		&model->program->values[model->program->outputs[output].value].shape);
	if (!target || !target->mean || target->n_columns == 0)
		return 0;
	if (alloc_scale(d, err) < 0)
		return -1;
	for (size_t i = 0; i < d->size; i++) {
		put(d, d->mean, i, target->mean[i % target->n_columns]);
		put(d, d->sd, i, target->sd[i % target->n_columns]);
	}
	return 0;
}

void nn_door_fini(struct nn_door *d)
{
	nn_free(d->mean);
	nn_free(d->sd);
	nn_free(d->missing);
	*d = (struct nn_door){ 0 };
}
