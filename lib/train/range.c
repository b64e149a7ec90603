/* Targets of --loss=bce are probabilities: one that is not ends the training before it begins. */
#include "base/memory.h"
#include "predict/loss.h"
#include "train/prepare.h"

#define ROWS_AT_ONCE 1024

/* Missing ones are dropped elsewhere. */
static int check(const struct nn_train *t, const struct nn_dataset *dataset, size_t target,
		 const char *place, const uint64_t *rows, size_t n, struct nn_error *err)
{
	size_t size = nn_dataset_target_size(dataset, target);
	struct nn_source source = nn_dataset_source(dataset);
	struct nn_loss_rows some = { .place = place, .size = size };
	void *values = nn_alloc(ROWS_AT_ONCE * size, nn_dtype_size(t->task.device->dtype), err);
	int status = values ? 0 : -1;

	for (size_t at = 0; status == 0 && at < n; at += some.n) {
		some.rows = rows + at;
		some.n = n - at < ROWS_AT_ONCE ? n - at : ROWS_AT_ONCE;
		status = source.ops->fill_target(source.data, target, some.rows, some.n, values,
						 err);
		if (status == 0)
			status = nn_loss_check_bce(&some, t->task.device->dtype, values, err);
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
	if (check(t, t->task.dataset, target, data, t->task.rows,
		  t->source.sample ? 0 : t->task.n_rows, err) < 0)
		return -1;
	return check(t, t->task.held_out ? t->task.held_out : t->task.dataset, target,
		     t->task.held_out ? t->options->valid : data, t->task.valid_rows,
		     t->source.sample ? 0 : t->task.n_valid, err);
}
