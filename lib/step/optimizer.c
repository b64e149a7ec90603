/* Optimizers: which there are, and what each keeps. */
#include <string.h>

#include "device/ratio.h"
#include "step/optimizer.h"

const struct nn_optimizer_info nn_optimizers[NN_N_OPTIMIZERS] = {
#define NN_OPTIMIZER(ID, id, lr, weight_decay, eps, slots, ratio, flags, ...) \
	{ #id, lr, weight_decay, eps, slots, ratio, flags },
#include "device/optimizers.def"
};
const char *const nn_optimizer_names[] = {
#define NN_OPTIMIZER(ID, id, ...) #id,
#include "device/optimizers.def"
	NULL,
};

enum nn_optimizer_kind nn_optimizer_find(const char *name)
{
	enum nn_optimizer_kind kind = 0;

	while (kind < NN_N_OPTIMIZERS && strcmp(nn_optimizers[kind].name, name) != 0)
		kind++;
	return kind;
}

enum nn_optimizer_kind nn_optimizer_keeping(size_t slots)
{
	enum nn_optimizer_kind kind = 0;

	while (nn_optimizers[kind].slots != slots || nn_optimizers[kind].ratio)
		kind++;
	return kind;
}

size_t nn_optimizer_count(const struct nn_optimizer_options *o)
{
	const struct nn_optimizer_info *info = &nn_optimizers[o->kind];

	return info->slots + (info->flags & NN_TAKES_MOMENTUM && o->momentum != 0);
}

size_t nn_optimizer_bytes(const struct nn_optimizer_options *o, size_t block, size_t kept,
			  enum nn_dtype dtype)
{
	return (kept * nn_optimizer_count(o) + block * (1 + nn_optimizer_steps_along(o->kind))) *
	       nn_dtype_size(dtype);
}
