/* Devices by name: the CPU's tables, and modules for what is not in libnn. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/module.h"
#include "device/device.h"
#include "device/products.h"
#include "device/wings.h"

static const struct {
	const char *name;
	const struct nn_device *(*open)(enum nn_dtype dtype, struct nn_error *err);
} devices[] = {
	{ "auto", nn_cpu_open },
	{ "cpu", nn_cpu_open },
	{ "cpu+openblas", nn_cpu_open_blas },
};

/* NAME or NAME:N of the module nn-NAME.so, and products; the number, or -1. */
static int number_of(const char *device, const char *name)
{
	size_t n = strlen(name), end = strcspn(device, "+");

	if (strncmp(device, name, n) != 0 || nn_products_named(device) == NN_N_PRODUCTS)
		return -1;
	if (end == n)
		return 0;
	return device[n] == ':' && end > n + 1 &&
			       n + 1 + strspn(device + n + 1, "0123456789") == end
		       ? atoi(device + n + 1)
		       : -1;
}

static const struct nn_device *open_in_module(const char *name, enum nn_dtype dtype,
					      struct nn_error *err)
{
	const struct nn_products_module *module = nn_module_open("cuda", err);
	enum nn_products products = nn_products_named(name);
	int number = number_of(name, "cuda");
	const struct nn_device *device = NULL;

	if (module && products == NN_PRODUCTS_OWN)
		device = module->own->open(number, dtype, err);
	else if (module && module->open)
		device = module->open(number, products, dtype, err);
	else if (module)
		nn_fail(err, NN_ENODEV, "it has no products but its own");
	if (!device)
		nn_fail_at(err, "device %s", name);
	return device;
}

const struct nn_device *nn_device_open(const char *name, enum nn_dtype dtype, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
		if (strcmp(name, devices[i].name) == 0)
			return devices[i].open(dtype, err);
	if (number_of(name, "cuda") >= 0)
		return open_in_module(name, dtype, err);
	if (strcmp(name, "cpu+tf32") == 0) {
		nn_fail(err, NN_ENODEV,
			"--precision=tf32: device cpu has no tensor cores; --device=cuda may have");
		return NULL;
	}
	nn_fail(err, NN_EUSAGE, "unknown device %s: choose cpu, cuda or auto",
		nn_quote(quoted, name, strlen(name)));
	return NULL;
}

const char *nn_device_there(size_t i)
{
	static const char *const numbered[] = { "cuda",   "cuda:1", "cuda:2", "cuda:3",
						"cuda:4", "cuda:5", "cuda:6", "cuda:7" };
	struct nn_error err;

	if (i == 0)
		return "cpu";
	return i <= sizeof numbered / sizeof *numbered &&
			       open_in_module(numbered[i - 1], NN_F32, &err)
		       ? numbered[i - 1]
		       : NULL;
}

const char *nn_device_describe(const char *name)
{
	struct nn_error err;
	int number = number_of(name, "cuda");
	const struct nn_products_module *module = number >= 0 ? nn_module_open("cuda", &err) : NULL;

	return module && module->own->describe ? module->own->describe(number) : NULL;
}

size_t nn_device_kinds(enum nn_dtype dtype, const struct nn_device *kinds[NN_MAX_KINDS])
{
	return nn_cpu_kinds(dtype, kinds);
}
