/* --weight: what the rows of a table weigh in losses and metrics. */
#include "base/memory.h"
#include "data/dataset.h"

int nn_dataset_take_weights(struct nn_dataset *ds, const struct nn_block *values,
			    size_t target_values, size_t slot, struct nn_error *err)
{
	const double *from = (const double *)values->data;

	ds->weights = nn_alloc(ds->rows, sizeof *ds->weights, err);
	for (size_t r = 0; ds->weights && r < ds->rows; r++)
		ds->weights[r] = from[r * target_values + slot];
	return ds->weights ? 0 : -1;
}

int nn_dataset_check_weights(const struct nn_dataset *ds, struct nn_error *err)
{
	if (!ds->rules.weight)
		return 0;
	if (!ds->weights)
		return nn_fail(err, NN_EFORMAT, "--weight=%s: %s is no table, it has no columns",
			       ds->rules.weight, ds->files.file[0].path);
	for (size_t r = 0; r < ds->rows; r++)
		if (ds->weights[r] > 0 && !nn_dataset_left_out(ds, r))
			return 0;
	return ds->rows == 0 ? 0
			     : nn_fail(err, NN_EFORMAT, "--weight=%s: every row of %s weighs 0",
				       ds->rules.weight, ds->files.file[0].path);
}
