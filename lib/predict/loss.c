/* Losses by name. */
#include <string.h>

#include "base/number.h"
#include "base/real.h"
#include "predict/loss.h"

const char *const nn_loss_choices[] = {
	[NN_LOSS_AUTO] = "auto",
	[NN_LOSS_CROSS_ENTROPY] = "cross-entropy",
	[NN_LOSS_MSE] = "mse",
	[NN_LOSS_BCE] = "bce",
	[NN_LOSS_HUBER] = "huber",
	[NN_LOSS_MAE] = "mae",
	NULL,
};

const char *nn_loss_name(enum nn_loss_kind kind)
{
	return nn_loss_choices[kind];
}

enum nn_loss_kind nn_loss_find(const char *name)
{
	for (int i = 0; nn_loss_choices[i]; i++)
		if (strcmp(nn_loss_choices[i], name) == 0)
			return (enum nn_loss_kind)i;
	return NN_LOSS_AUTO;
}

int nn_loss_check_bce(const struct nn_loss_rows *r, enum nn_dtype dtype, const void *targets,
		      struct nn_error *err)
{
	char found[NN_NUMBER];

	for (size_t i = 0; i < r->n * r->size; i++) {
		double value = nn_real_at(dtype, targets, i);
		size_t row = i / r->size;

		if (!(value < 0 || value > 1))
			continue;
		nn_format_real(found, value);
		return nn_fail(err, NN_EFORMAT,
			       "%s: row %llu, column %zu of the target: found %s, "
			       "--loss=bce expects a number from 0 to 1",
			       r->place,
			       (unsigned long long)(r->rows ? r->rows[row] : r->first + row) + 1,
			       i % r->size + 1, found);
	}
	return 0;
}
