/* Losses by name. */
#include <string.h>

#include "predict/loss.h"

const char *const nn_loss_choices[] = {
	"auto",
	[1 + NN_LOSS_CROSS_ENTROPY] = "cross-entropy",
	[1 + NN_LOSS_MSE] = "mse",
	[1 + NN_LOSS_BCE] = "bce",
	[1 + NN_LOSS_HUBER] = "huber",
	[1 + NN_LOSS_MAE] = "mae",
	NULL,
};

const char *nn_loss_name(enum nn_loss_kind kind)
{
	return nn_loss_choices[1 + kind];
}

int nn_loss_find(const char *name)
{
	for (int i = 0; nn_loss_choices[1 + i]; i++)
		if (strcmp(nn_loss_choices[1 + i], name) == 0)
			return i;
	return -1;
}
