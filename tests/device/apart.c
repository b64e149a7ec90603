/*
 * A device with memory of its own, for machines without one: the CPU's kernels, as the module
 * nn-cuda.so. What a real device would punish on another day is punished here at once.
 * Its name is the CPU's, whose arithmetic it is: so are files, byte for byte.
 */
#include "apart-inside.h"
#include "base/module.h"
#include "device/products.h"

struct nn_apart nn_apart;

static struct nn_kernel kernels[3][NN_N_OPS];
static const struct nn_kernel *tables[3][NN_N_OPS];
static struct nn_device devices[3];

static const struct nn_device *open_device(int number, enum nn_dtype dtype, struct nn_error *err)
{
	int type = dtype == NN_F64 ? 1 : dtype == NN_I8 ? 2 : 0;
	const struct nn_device *cpu = nn_device_open("cpu", dtype, err);

	if (!cpu)
		return NULL;
	if (number > 0) {
		nn_fail(err, NN_ENODEV, "the device of the tests is one");
		return NULL;
	}
	nn_apart_kernels(cpu, kernels[type], tables[type]);
	devices[type] = *cpu;
	devices[type].kind = "apart";
	devices[type].remote = &nn_apart_remote;
	devices[type].host = cpu;
	devices[type].kernels = tables[type];
	nn_apart_functions(&devices[type]);
	devices[type].library = NULL;
	devices[type].library_kernels = NULL;
	return &devices[type];
}

static const char *describe(int number)
{
	(void)number;
	return "device of the tests";
}

static const struct nn_device_module own = { open_device, describe };
static const struct nn_products_module module = { &own, NULL };
const struct nn_module nn_module = { NN_MODULE_ABI, "cuda", &module };
