/* Losses by name. */
#include <string.h>

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
