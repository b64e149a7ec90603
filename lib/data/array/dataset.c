/* Arrays into a dataset: .npy, IDX, tensors; u8 stays u8. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "file/npz.h"

/* ---- inputs ---- */

bool nn_dataset_nan_allowed(const struct nn_dataset *ds, size_t input)
{
	if (ds->schema->inputs[input].rows)
		return false;
	return ds->lenient ? ds->coding->inputs[input].missing != NULL
			   : ds->rules.missing != NN_MISSING_ERROR;
}

/* Columns without names hold what --normalize measures in arrays, and what fills missing values. */
static int add_columns(struct nn_dataset *ds, struct nn_input_schema *schema, struct nn_error *err)
{
	size_t n = nn_schema_values(schema);

	schema->columns = nn_alloc(n, sizeof *schema->columns, err);
	if (!schema->columns)
		return -1;
	schema->n_columns = n;
	for (size_t i = 0; !ds->fixed && ds->rules.normalize == NN_NORMALIZE_FACTOR && i < n; i++) {
		schema->columns[i].scaled = true;
		schema->columns[i].sd = 1 / ds->rules.factor;
	}
	return 0;
}

static bool fills(const struct nn_dataset *ds, const struct nn_array *array)
{
	return ds->rules.missing == NN_MISSING_MEAN && array->dtype != NN_U8;
}

/* A start model that knew no columns gets some, where it has to fill them. */
static int add_fills(struct nn_dataset *ds, size_t input, struct nn_error *err)
{
	struct nn_input_code *code = &ds->coding->inputs[input];

	if (!ds->fixed || ds->lenient || !fills(ds, &ds->inputs[input].array) ||
	    ds->schema->inputs[input].columns)
		return 0;
	nn_free(code->words);
	nn_free(code->place);
	code->words = NULL;
	code->place = NULL;
	return add_columns(ds, &ds->schema->inputs[input], err);
}

/* Does --normalize ask for a scale of each column of an array? */
static bool scales_columns(const struct nn_dataset *ds)
{
	return ds->rules.normalize != NN_NORMALIZE_NONE && ds->rules.normalize != NN_NORMALIZE_AUTO;
}

static int learn_scale(struct nn_dataset *ds, struct nn_input_schema *schema,
		       const struct nn_array *array, struct nn_error *err)
{
	if (ds->rules.normalize == NN_NORMALIZE_AUTO && array->picture)
		schema->scale = 1.0 / 255;
	if (ds->rules.normalize == NN_NORMALIZE_FACTOR && array->picture)
		schema->scale = ds->rules.factor;
	return (scales_columns(ds) && schema->scale == 0) || fills(ds, array)
		       ? add_columns(ds, schema, err)
		       : 0;
}

int nn_dataset_step_columns(struct nn_dataset *ds, size_t i, bool learn, struct nn_error *err)
{
	if (!learn)
		return add_fills(ds, i, err);
	return scales_columns(ds) || fills(ds, &ds->inputs[i].array)
		       ? add_columns(ds, &ds->schema->inputs[i], err)
		       : 0;
}

/* Numbers of categories of an input: what they are checked against, and the most there is. */
struct categories {
	size_t most, *count;
	const char *place;
};

static int check_row(void *arg, const struct nn_row_block *row, size_t number, struct nn_error *err)
{
	const struct categories *c = arg;

	return nn_dataset_check_categories(row, 1, row->stride, c->most, number, c->place, c->count,
					   err);
}

static int check_rows(const struct nn_dataset *ds, size_t i, struct categories *c,
		      struct nn_error *err)
{
	const struct nn_row_block *source = &ds->inputs[i].source;

	return nn_dataset_input_streams(ds, i)
		       ? nn_dataset_stream_each(ds, i, check_row, c, err)
		       : nn_dataset_check_categories(source, ds->rows, source->stride, c->most, 0,
						     c->place, c->count, err);
}

/* Numbers of categories as they are. */
static int take_categories(struct nn_dataset *ds, size_t i, const char *place,
			   const struct nn_shape *shape, const struct nn_want_input *want,
			   struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[i];
	size_t count = 0;

	if (want && want->hash)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is an array, but hash= wants columns of a table", place);
	if (check_rows(ds, i,
		       &(struct categories){ want ? want->rows : schema->rows, &count, place },
		       err) < 0)
		return -1;
	if (!want)
		return 0;
	schema->shape = *shape;
	schema->rows = want->rows ? want->rows : count + (count == 0);
	return 0;
}

int nn_dataset_set_input(struct nn_dataset *ds, size_t i, const char *place, bool pictures,
			 const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_data_input *input = &ds->inputs[i];
	struct nn_input_schema *schema = &ds->schema->inputs[i];
	struct nn_shape shape = nn_sample_shape(&input->array.shape, pictures);
	struct nn_want_input same = { .shaped = true, .shape = schema->shape };

	if (nn_dataset_set_rows(ds, place, input->array.shape.dim[0], err) < 0 ||
	    nn_fit_shape(&shape, want ? want : &same, place, err) < 0)
		return -1;
	for (size_t c = 0; !want && schema->columns && c < schema->n_columns; c++)
		if (schema->columns[c].category || schema->columns[c].hashed)
			return nn_fail(err, NN_EFORMAT,
				       "%s: is an array, but the model has columns of text", place);
	input->source = (struct nn_row_block){
		input->array.data, input->array.dtype, nn_row_size(&input->array.shape), NULL,
		input->array.picture && !(want ? want->categories : schema->rows > 0)
	};
	if (want ? want->categories : schema->rows > 0)
		return take_categories(ds, i, place, &shape, want, err);
	if (!want)
		return add_fills(ds, i, err);
	schema->shape = shape;
	return learn_scale(ds, schema, &input->array, err);
}

/* ---- targets ---- */

static int set_target(struct nn_dataset *ds, size_t i, const char *place,
		      const struct nn_want *want, struct nn_raw_target *raw, struct nn_error *err)
{
	raw->place = place;
	raw->rows = raw->array.shape.dim[0];
	if (ds->sequences && nn_sequences_are_steps(ds, i, &raw->array))
		return nn_sequences_set_target(ds, i, want && !ds->fixed ? &want->targets[i] : NULL,
					       raw, err);
	if (ds->sequences && raw->rows != ds->rows)
		return nn_sequences_refuse(ds, raw, err);
	if (nn_dataset_set_rows(ds, place, raw->rows, err) < 0)
		return -1;
	if (nn_row_size(&raw->array.shape) == 0)
		return nn_fail(err, NN_EFORMAT, "%s: targets have no values", place);
	return nn_dataset_set_target(ds, i, want && !ds->fixed ? &want->targets[i] : NULL, raw,
				     err);
}

struct waiting {
	const struct nn_st *st;
	const struct nn_st_tensor *tensor;
};

static int read_tensor(void *arg, size_t first, size_t n, void *to, struct nn_error *err)
{
	const struct waiting *w = arg;

	return nn_st_some(w->st, w->tensor, w->tensor->dtype, first, n, to, err);
}

/* Values that stayed in the file are read piece by piece, or for as long as it takes. */
static int set_tensor_target(struct nn_dataset *ds, size_t i, const char *place,
			     const struct nn_want *want, const struct nn_st *st,
			     const struct nn_st_tensor *t, struct nn_error *err)
{
	struct nn_raw_target raw = { .array = { .dtype = t->dtype, .shape = t->shape } };
	struct waiting waiting = { st, t };
	void *read;
	int status;

	if (!t->data && nn_dataset_target_stays(ds, nn_shape_count(&t->shape))) {
		raw.read = read_tensor;
		raw.arg = &waiting;
		return set_target(ds, i, place, want, &raw, err);
	}
	if (nn_st_values(st, t, &raw.array.data, &read, err) < 0)
		return -1;
	status = set_target(ds, i, place, want, &raw, err);
	nn_free(read);
	return status;
}

const char *nn_dataset_target_array(const struct nn_dataset *ds, size_t target)
{
	const char *name = ds->schema->targets[target].name;

	return ds->schema->n_targets > 1 && name ? name : "y";
}

int nn_dataset_tensor_targets(struct nn_dataset *ds, const struct nn_st *st, const char *file,
			      const struct nn_want *want, bool alone, struct nn_error *err)
{
	char place[300], quoted[NN_QUOTED];

	for (size_t i = 0; i < ds->schema->n_targets; i++) {
		const struct nn_st_tensor *t =
			nn_tensor_for(st, file, nn_dataset_target_array(ds, i), NULL,
				      alone && ds->schema->n_targets == 1, err);

		if (!t)
			return -1;
		snprintf(place, sizeof place, "%.90s: tensor %s", file,
			 nn_quote(quoted, t->name, strlen(t->name)));
		if (t->shape.rank == 0)
			return nn_fail(err, NN_EFORMAT,
				       "%s: found a single value without dimensions, expected rows",
				       place);
		if (set_tensor_target(ds, i, place, want, st, t, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- files ---- */

static const struct nn_want_input *wanted(const struct nn_dataset *ds, const struct nn_want *want,
					  size_t i)
{
	return want && !ds->fixed ? &want->inputs[i] : NULL;
}

int nn_dataset_no_columns(const struct nn_dataset *ds, const char *file, const struct nn_want *want,
			  bool targets, struct nn_error *err)
{
	for (size_t i = 0; want && i < want->n_inputs; i++)
		if (want->inputs[i].columns)
			return nn_fail(
				err, NN_EFORMAT,
				"%s: is an array without columns, but an input line says columns=",
				file);
	if (ds->rules.target && targets)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is an array without columns, so --target=%.60s is not in it; "
			       "targets are a "
			       "file of their own",
			       file, ds->rules.target);
	return 0;
}

static int read_named(struct nn_dataset *ds, struct nn_input *input,
		      const struct nn_reading *reading, struct nn_st **st, struct nn_error *err)
{
	int64_t left = nn_input_left(input);
	bool zip = reading->format->id == NN_FORMAT_zip; /* whose arrays may be deflated */
	struct nn_st_part part = { .most = ds->files.sample,
				   .later = reading->inputs && ds->files.memory && left >= 0 &&
					    (zip || (uint64_t)left > ds->files.memory),
				   .beyond = ds->files.memory };

	if (reading->format->tensors(st, input, &part, err) < 0)
		return -1;
	if (part.total > part.rows)
		nn_dataset_set_share(ds, (double)part.total / (double)part.rows, part.total);
	return 0;
}

static int read_tensors(struct nn_dataset *ds, struct nn_input *input,
			const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_want *want = reading->want;
	bool targets = reading->targets;
	const char *file = nn_input_name(input);
	char place[300], quoted[NN_QUOTED];
	uint64_t at;
	int fd;

	if (read_named(ds, input, reading, &ds->st, err) < 0)
		return -1;
	for (size_t i = 0; i < ds->schema->n_inputs; i++) {
		const char *name = ds->schema->n_inputs == 1 ? NULL : ds->schema->inputs[i].name;
		const struct nn_st_tensor *t = nn_tensor_for(
			ds->st, file, name, "x", ds->schema->n_inputs == 1 && !targets, err);

		if (!t)
			return -1;
		snprintf(place, sizeof place, "%.90s: tensor %s", file,
			 nn_quote(quoted, t->name, strlen(t->name)));
		if ((nn_st_later_place(ds->st, t, &fd, &at)
			     ? nn_dataset_leave_tensor(ds, i, place, t, fd, at,
						       nn_dataset_nan_allowed(ds, i), err)
			     : nn_array_of_tensor(&ds->inputs[i].array, place, t, ds->dtype,
						  nn_dataset_nan_allowed(ds, i), err)) < 0 ||
		    nn_dataset_set_input(ds, i, place, false, wanted(ds, want, i), err) < 0)
			return -1;
	}
	if (nn_dataset_weigh_by(ds, ds->st, file, targets, err) < 0)
		return -1;
	return targets ? nn_dataset_tensor_targets(ds, ds->st, file, want, false, err) : 0;
}

/* The arrays of a file that gives nothing but targets are read, and gone. */
static int read_target_tensors(struct nn_dataset *ds, struct nn_input *input,
			       const struct nn_reading *reading, struct nn_error *err)
{
	struct nn_st *st = NULL;
	int status = read_named(ds, input, reading, &st, err);

	if (status == 0)
		status = nn_dataset_tensor_targets(ds, st, nn_input_name(input), reading->want,
						   true, err);
	nn_st_free(st);
	return status;
}

static int read_named_arrays(struct nn_dataset *ds, struct nn_input *input,
			     const struct nn_reading *reading, struct nn_error *err)
{
	if (!reading->inputs)
		return read_target_tensors(ds, input, reading, err);
	return nn_dataset_no_columns(ds, nn_input_name(input), reading->want, reading->targets,
				     err) < 0
		       ? -1
		       : read_tensors(ds, input, reading, err);
}

const struct nn_format nn_format_zip = {
	.id = NN_FORMAT_zip,
	.name = ".npz",
	.read = read_named_arrays,
	.arrays = true,
	.tensors = nn_npz_read_part,
};

const struct nn_format nn_format_safetensors = {
	.id = NN_FORMAT_safetensors,
	.name = "safetensors",
	.read = read_named_arrays,
	.arrays = true,
	.tensors = nn_st_read_part,
};

/*
 * Of a sample the first rows, at least one. Those of columns that follow each other lie all over
 * the file: then some values stand for a row.
 */
static bool take_first(struct nn_dataset *ds, struct nn_npy_header *h)
{
	size_t rows = h->shape.dim[0], row = rows ? h->bytes / rows : 0,
	       n = row ? ds->files.sample / row : rows;

	n = n ? n : 1;
	if (ds->files.first && !h->fortran)
		n = nn_dataset_first(ds, rows);
	else if (!ds->files.sample)
		return false;
	if (n >= rows)
		return false;
	if (h->fortran && h->shape.rank > 1)
		n = 1;
	h->fortran = false;
	h->shape.dim[0] = n;
	h->bytes = n * row;
	nn_dataset_set_share(ds, (double)rows / (double)n, rows);
	return true;
}

/* The array that comes next. */
struct coming {
	struct nn_input *input;
	const struct nn_npy_header *header;
};

static int read_coming(void *arg, size_t first, size_t n, void *to, struct nn_error *err)
{
	const struct coming *c = arg;

	(void)first;
	return nn_npy_read_values(c->input, c->header, n, to, err);
}

/* Of targets in Fortran order all are read. */
static bool comes_in_pieces(const struct nn_dataset *ds, const struct nn_npy_header *h)
{
	return !(h->fortran && h->shape.rank > 1) &&
	       nn_dataset_target_stays(ds, h->bytes / nn_dtype_size(h->dtype));
}

static int read_target_array(struct nn_dataset *ds, struct nn_input *input,
			     const struct nn_reading *reading, struct nn_error *err)
{
	const char *file = nn_input_name(input);
	struct nn_npy_header header;
	struct coming coming = { input, &header };
	struct nn_raw_target raw = { .arg = &coming };
	bool first = false;
	int status = -1;

	if (ds->schema->n_targets > 1)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is one array, but the model has %zu targets; give columns of a "
			       "CSV or tensors "
			       "of an .npz or safetensors file",
			       file, ds->schema->n_targets);
	if (nn_array_next(input, reading->format, &header, err) == 1) {
		first = take_first(ds, &header);
		raw.read = comes_in_pieces(ds, &header) ? read_coming : NULL;
		raw.array = (struct nn_array){ .dtype = header.dtype, .shape = header.shape };
		status = raw.read ? set_target(ds, 0, file, reading->want, &raw, err)
				  : nn_array_read_values(&raw.array, input, &header, err);
	}
	if (status == 0 && !first)
		status = nn_input_end(input, "the array", err);
	if (status == 0 && !raw.read)
		status = set_target(ds, 0, file, reading->want, &raw, err);
	nn_array_free(&raw.array);
	return status;
}

int nn_dataset_read_array(struct nn_dataset *ds, struct nn_input *input,
			  const struct nn_reading *reading, struct nn_error *err)
{
	const struct nn_format *format = reading->format;
	const char *file = nn_input_name(input);
	struct nn_npy_header header;
	bool first;

	if (!reading->inputs)
		return read_target_array(ds, input, reading, err);
	if (nn_dataset_no_columns(ds, file, reading->want, reading->targets, err) < 0)
		return -1;
	if (ds->schema->n_inputs > 1)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is one array, but the model has %zu inputs; give columns of a "
			       "CSV or tensors "
			       "of an .npz or safetensors file",
			       file, ds->schema->n_inputs);
	if (reading->targets)
		return nn_fail(err, NN_EFORMAT, "%s: has no targets; give them as a second file",
			       file);
	if (nn_array_next(input, format, &header, err) < 0)
		return -1;
	if (ds->files.first && header.fortran && header.shape.rank > 1)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is in Fortran order, which has no first samples; "
			       "numpy.ascontiguousarray makes it a stream",
			       file);
	first = take_first(ds, &header);
	if ((nn_dataset_array_stays(ds, input, &header)
		     ? nn_dataset_leave_array(ds, input, &header, format->pictures,
					      nn_dataset_nan_allowed(ds, 0), err)
		     : nn_array_read_samples(&ds->inputs[0].array, input, format, &header,
					     ds->dtype, nn_dataset_nan_allowed(ds, 0), err)) < 0 ||
	    (!first && nn_input_end(input, "the array", err) < 0) ||
	    nn_dataset_set_input(ds, 0, file, format->pictures, wanted(ds, reading->want, 0), err) <
		    0)
		return -1;
	return 0;
}
