/* An open dataset: what others ask of it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/picture/store.h"

void nn_dataset_free(struct nn_dataset *ds)
{
	if (!ds)
		return;
	for (size_t i = 0; ds->inputs && i < ds->schema->n_inputs; i++) {
		nn_array_free(&ds->inputs[i].array);
		nn_file_rows_free(ds->inputs[i].file);
	}
	for (size_t i = 0; ds->targets && i < ds->schema->n_targets; i++) {
		nn_block_free(&ds->targets[i].values);
		nn_file_rows_free(ds->targets[i].file);
		nn_free(ds->targets[i].place);
		nn_free(ds->targets[i].ignored);
	}
	for (size_t i = 0; i < 2; i++)
		nn_free(ds->files.file[i].path);
	for (size_t i = 0; i < ds->notices.n; i++)
		nn_free(ds->notices.text[i]);
	nn_free(ds->notices.text);
	nn_text_free(&ds->files.stems);
	nn_input_close(ds->files.stream);
	nn_picture_store_free(ds->files.pictures);
	nn_sequences_free(ds->sequences);
	nn_bad_rows_free(&ds->bad);
	nn_free(ds->inputs);
	nn_free(ds->targets);
	nn_free(ds->rules.target);
	nn_free(ds->columns);
	nn_free(ds->left_out);
	nn_free(ds->weights);
	nn_free(ds->rules.weight);
	nn_plan_free(&ds->plan);
	nn_plan_free(&ds->target_plan);
	nn_block_free(&ds->table);
	nn_st_free(ds->st);
	if (!ds->training && !ds->borrowed) {
		nn_coding_free(ds->coding);
		nn_schema_free(ds->schema);
	}
	nn_free(ds);
}

size_t nn_dataset_rows(const struct nn_dataset *ds)
{
	return ds->rows;
}

struct nn_schema *nn_dataset_schema(struct nn_dataset *ds)
{
	return ds->schema;
}

const char *nn_dataset_hash(const struct nn_dataset *ds)
{
	return ds->hash;
}

int nn_dataset_unchanged(const struct nn_dataset *ds, struct nn_error *err)
{
	for (size_t i = 0; i < ds->files.n; i++)
		if (!nn_stamp_holds(&ds->files.file[i].stamp, ds->files.file[i].path))
			return nn_fail(err, NN_EFAIL, "%s: changed while training",
				       ds->files.file[i].path);
	return 0;
}

const char *nn_dataset_notice(const struct nn_dataset *ds, size_t i)
{
	return i < ds->notices.n ? ds->notices.text[i] : NULL;
}

int nn_dataset_notice_add(struct nn_dataset *ds, struct nn_error *err, const char *format, ...)
{
	size_t bytes = ds->notices.n * sizeof *ds->notices.text;
	char **notices = nn_realloc(ds->notices.text, bytes, bytes + sizeof *notices, err);
	char text[400];
	va_list args;

	if (!notices)
		return -1;
	ds->notices.text = notices;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	notices[ds->notices.n] = nn_strdup(text, err);
	return notices[ds->notices.n++] ? 0 : -1;
}

void nn_dataset_fill_input(const struct nn_dataset *ds, size_t input, const uint64_t *rows,
			   size_t n, bool channels_last, void *values)
{
	nn_fill_input(&ds->coding->inputs[input], ds->dtype, &ds->inputs[input].source, rows, n,
		      channels_last, values);
}

bool nn_dataset_is_bytes(const struct nn_dataset *ds, size_t input)
{
	return ds->inputs[input].source.dtype == NN_U8;
}

/* Of long rows the beginning; the processor sees by itself where that leads. */
static void fetch(const void *row, size_t bytes)
{
	for (size_t at = 0; at < bytes && at < 4096; at += 64)
		__builtin_prefetch((const char *)row + at, 0, 2);
	if (bytes > 0)
		__builtin_prefetch((const char *)row + bytes - 1, 0, 2);
}

/*
 * rows[n] will be wanted soon: their values and targets are on the way to the second-level cache
 * when this returns.
 */
static void fetch_rows(const struct nn_dataset *ds, const uint64_t *rows, size_t n)
{
	for (size_t i = 0; i < ds->schema->n_inputs; i++) {
		const struct nn_row_block *source = &ds->inputs[i].source;
		size_t bytes = source->stride * nn_dtype_size(source->dtype);

		for (size_t r = 0; source->data && r < n; r++)
			fetch((const char *)source->data + rows[r] * bytes, bytes);
	}
	for (size_t i = 0; i < ds->schema->n_targets; i++) {
		const struct nn_data_target *t = &ds->targets[i];
		size_t bytes = t->size * (t->classes ? sizeof(int32_t) : nn_dtype_size(ds->dtype));

		for (size_t r = 0; !t->file && r < n; r++)
			fetch((const char *)t->values.data + rows[r] * bytes, bytes);
	}
}

bool nn_dataset_target_classes(const struct nn_dataset *ds, size_t target)
{
	return ds->targets[target].classes;
}

void nn_dataset_set_output(struct nn_dataset *ds, size_t target, const struct nn_shape *output)
{
	nn_coding_set_output(ds->coding, target, output);
}

size_t nn_dataset_target_size(const struct nn_dataset *ds, size_t target)
{
	return ds->targets[target].size;
}

bool nn_dataset_target_steps(const struct nn_dataset *ds, size_t target)
{
	return ds->targets[target].steps;
}

/* Of values as they are kept; rows NULL: the first n. */
static void fill_target(const struct nn_dataset *ds, size_t target, const void *from,
			const uint64_t *rows, size_t n, void *values)
{
	const struct nn_data_target *t = &ds->targets[target];
	const struct nn_target_code *code = &ds->coding->targets[target];
	int32_t *to = values;

	if (!t->classes) {
		nn_fill_numbers(code, ds->dtype, from, t->size, rows, n, values);
		return;
	}
	for (size_t r = 0; r < n; r++) {
		const int32_t *id = (const int32_t *)from + (rows ? rows[r] : r) * t->size;

		for (size_t i = 0; i < t->size; i++)
			*to++ = nn_code_class(code, id[i]);
	}
}

void nn_dataset_fill_target(const struct nn_dataset *ds, size_t target, const uint64_t *rows,
			    size_t n, void *values)
{
	fill_target(ds, target, ds->targets[target].values.data, rows, n, values);
}

void nn_dataset_code_target(const struct nn_dataset *ds, size_t target, const void *from, void *to)
{
	fill_target(ds, target, from, NULL, 1, to);
}

/* ---- a source of rows that lie in memory ---- */

static int source_input(const void *data, size_t input, const uint64_t *rows, size_t n,
			bool channels_last, void *values, struct nn_error *err)
{
	(void)err;
	nn_dataset_fill_input(data, input, rows, n, channels_last, values);
	return 0;
}

int nn_dataset_source_target(const void *data, size_t target, const uint64_t *rows, size_t n,
			     void *values, struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	if (ds->targets[target].file)
		return nn_dataset_fill_target_file(ds, target, rows, n, values, err);
	nn_dataset_fill_target(ds, target, rows, n, values);
	return 0;
}

static void source_fetch(const void *data, const uint64_t *rows, size_t n)
{
	fetch_rows(data, rows, n);
}

int nn_dataset_source_weights(const void *data, const uint64_t *rows, size_t n, double *weights,
			      struct nn_error *err)
{
	const struct nn_dataset *ds = data;

	(void)err;
	for (size_t i = 0; i < n; i++)
		weights[i] = ds->weights[rows[i]];
	return 0;
}

static const struct nn_source_ops memory = { .fill_input = source_input,
					     .fill_target = nn_dataset_source_target,
					     .fetch = source_fetch },
				  weighed = { .fill_input = source_input,
					      .fill_target = nn_dataset_source_target,
					      .fill_weights = nn_dataset_source_weights,
					      .fetch = source_fetch };

struct nn_source nn_dataset_source(const struct nn_dataset *ds)
{
	return ds->source.ops
		       ? ds->source
		       : (struct nn_source){ ds->weights ? &weighed : &memory, ds, ds->rows };
}

/* ---- while it is read ---- */

int nn_fit_shape(struct nn_shape *shape, const struct nn_want_input *want, const char *place,
		 struct nn_error *err)
{
	char found[NN_SHAPE_TEXT], wanted[NN_SHAPE_TEXT];
	size_t n = nn_shape_count(shape);

	if (want->shaped) {
		if (n != nn_shape_count(&want->shape))
			return nn_fail(
				err, NN_EFORMAT,
				"%s: samples are %s (%zu value%s), the input line says %s (%zu)",
				place, nn_shape_text(found, shape), n, nn_s(n),
				nn_shape_text(wanted, &want->shape), nn_shape_count(&want->shape));
		*shape = want->shape;
	} else if (want->vector) {
		*shape = nn_shape1(n);
	}
	if (n == 0)
		return nn_fail(err, NN_EFORMAT, "%s: samples have no values", place);
	return 0;
}

int nn_dataset_set_rows(struct nn_dataset *ds, const char *place, size_t rows, struct nn_error *err)
{
	if (ds->rows_known && ds->files.sample) {
		/* files of unlike rows: how many all have was told by the first */
		ds->rows = rows < ds->rows ? rows : ds->rows;
		return 0;
	}
	if (ds->rows_known && rows != ds->rows)
		return nn_fail(err, NN_EFORMAT, "%s: found %zu row%s, expected %zu as in %s", place,
			       rows, nn_s(rows), ds->rows, ds->files.file[0].path);
	ds->rows = ds->files.read_rows = rows;
	ds->rows_known = true;
	return 0;
}
