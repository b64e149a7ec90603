/*
 * --weight: what rows weigh in losses and metrics, from a column of a table, a member of JSON lines
 * or an array beside the others.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "file/convert.h"

int nn_dataset_take_weights(struct nn_dataset *ds, const struct nn_block *values,
			    size_t target_values, size_t slot, struct nn_error *err)
{
	const double *from = (const double *)values->data;

	ds->weights = nn_alloc(ds->rows, sizeof *ds->weights, err);
	for (size_t r = 0; ds->weights && r < ds->rows; r++)
		ds->weights[r] = from[r * target_values + slot];
	return ds->weights ? 0 : -1;
}

bool nn_dataset_is_weight(const struct nn_dataset *ds, double weight)
{
	return isnan(weight) ? ds->rules.missing == NN_MISSING_DROP : weight >= 0 && !isinf(weight);
}

/* ---- an array of them ---- */

static int read_weights(struct nn_dataset *ds, const struct nn_st *st, const struct nn_st_tensor *t,
			struct nn_error *err)
{
	const void *values;
	void *read;

	if (nn_st_values(st, t, &values, &read, err) < 0)
		return -1;
	ds->weights = nn_alloc(ds->rows, sizeof *ds->weights, err);
	if (ds->weights && ds->rows)
		nn_convert(t->dtype, values, ds->rows, NN_F64, ds->weights);
	nn_free(read);
	return ds->weights ? 0 : -1;
}

static bool is_target(const struct nn_dataset *ds, const char *name)
{
	for (size_t i = 0; i < ds->schema->n_targets; i++)
		if (strcmp(name, nn_dataset_target_array(ds, i)) == 0)
			return true;
	return false;
}

int nn_dataset_weigh_by(struct nn_dataset *ds, const struct nn_st *st, const char *file,
			bool targets, struct nn_error *err)
{
	const char *name = ds->rules.weight;
	const struct nn_st_tensor *t = name ? nn_st_find(st, name) : NULL;
	char place[300], quoted[NN_QUOTED], text[NN_NUMBER], shape[NN_SHAPE_TEXT];

	if (!name || (!t && (ds->lenient || ds->rules.weight_known)))
		return 0;
	if (!t && !nn_tensor_for(st, file, name, NULL, false, err))
		return nn_fail_at(err, "--weight");
	if (targets && is_target(ds, name))
		return nn_fail(err, NN_EUSAGE, "--weight=%s: the array is the target, too", name);
	snprintf(place, sizeof place, "%.90s: tensor %s", file,
		 nn_quote(quoted, t->name, strlen(t->name)));
	if (t->shape.rank < 1 || t->shape.dim[0] != ds->rows || nn_row_size(&t->shape) != 1)
		return nn_fail(err, NN_EFORMAT,
			       "%s: is %s, expected a weight for each of %zu row%s", place,
			       nn_shape_text(shape, &t->shape), ds->rows, nn_s(ds->rows));
	if (read_weights(ds, st, t, err) < 0)
		return -1;
	for (size_t r = 0; r < ds->rows; r++)
		if (!nn_dataset_is_weight(ds, ds->weights[r])) {
			nn_format_f64(text, ds->weights[r]);
			return nn_fail(err, NN_EFORMAT,
				       "%s: row %zu: found %s, expected a weight of 0 or more",
				       place, r + 1, text);
		}
	return 0;
}

/* The column of a start model is not in these data, nor asked for by who reads the next. */
static int go_without(struct nn_dataset *ds, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	int status = nn_dataset_notice_add(
		ds, err,
		"%s has no column \"%s\" with the weights of the start model: each row weighs 1",
		ds->files.file[0].path,
		nn_quote(quoted, ds->rules.weight, strlen(ds->rules.weight)));

	nn_free(ds->rules.weight);
	ds->rules.weight = NULL;
	return status;
}

const char *nn_dataset_weight(const struct nn_dataset *ds)
{
	return ds->weights ? ds->rules.weight : NULL;
}

int nn_dataset_check_weights(struct nn_dataset *ds, struct nn_error *err)
{
	if (!ds->rules.weight)
		return 0;
	if (!ds->weights && ds->rules.weight_known)
		return go_without(ds, err);
	if (!ds->weights)
		return nn_fail(err, NN_EFORMAT,
			       "--weight=%s: %s has neither columns nor named arrays",
			       ds->rules.weight, ds->files.file[0].path);
	for (size_t r = 0; r < ds->rows; r++)
		if (ds->weights[r] > 0 && !nn_dataset_left_out(ds, r))
			return 0;
	return ds->rows == 0 ? 0
			     : nn_fail(err, NN_EFORMAT, "--weight=%s: every row of %s weighs 0",
				       ds->rules.weight, ds->files.file[0].path);
}
