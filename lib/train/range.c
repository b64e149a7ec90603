/* Targets of --loss=bce are probabilities: one that is not ends the training before it begins. */
#include <math.h>

#include "base/memory.h"
#include "base/real.h"
#include "train/prepare.h"

#define ROWS_AT_ONCE 1024

/* The first target outside of 0..1; missing ones are dropped elsewhere. */
static int check(const struct nn_dataset *dataset, size_t target, const char *place,
		 const uint64_t *rows, size_t n, void *values, enum nn_dtype dtype,
		 struct nn_error *err)
{
	size_t size = nn_dataset_target_size(dataset, target);
	struct nn_source source = nn_dataset_source(dataset);

	if (source.ops->fill_target(source.data, target, rows, n, values, err) < 0)
		return -1;
	for (size_t i = 0; i < n * size; i++) {
		double value = nn_real_at(dtype, values, i);

		if (value < 0 || value > 1)
			return nn_fail(err, NN_EFORMAT,
				       "%s: row %llu, column %zu of the target: found %g, "
				       "--loss=bce expects a number from 0 to 1",
				       place, (unsigned long long)rows[i / size] + 1, i % size + 1,
				       value);
	}
	return 0;
}

static int check_all(const struct nn_train *t, const struct nn_dataset *dataset, size_t target,
		     const char *place, const uint64_t *rows, size_t n, struct nn_error *err)
{
	size_t size = nn_dataset_target_size(dataset, target), count;
	void *values = nn_alloc(ROWS_AT_ONCE * size, nn_dtype_size(t->task.device->dtype), err);
	int status = values ? 0 : -1;

	for (size_t at = 0; status == 0 && at < n; at += count) {
		count = n - at < ROWS_AT_ONCE ? n - at : ROWS_AT_ONCE;
		status = check(dataset, target, place, rows + at, count, values,
			       t->task.device->dtype, err);
	}
	nn_free(values);
	return status;
}

int nn_train_check_range(const struct nn_train *t, int output, struct nn_error *err)
{
	const char *data = t->setup.targets_path ? t->setup.targets_path : t->setup.data_path;
	size_t target = (size_t)output;

	if (t->task.losses[output].kind != NN_LOSS_BCE || !t->task.rows)
		return 0;
	if (check_all(t, t->task.dataset, target, data, t->task.rows,
		      t->source.sample ? 0 : t->task.n_rows, err) < 0)
		return -1;
	return check_all(t, t->task.held_out ? t->task.held_out : t->task.dataset, target,
			 t->task.held_out ? t->options->valid : data, t->task.valid_rows,
			 t->source.sample ? 0 : t->task.n_valid, err);
}
