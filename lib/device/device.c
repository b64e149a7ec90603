/* Devices by name: the CPU's tables, and modules for what is not in libnn. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/module.h"
#include "device/device.h"
#include "device/wings.h"

static const struct {
	const char *name;
	const struct nn_device *(*open)(enum nn_dtype dtype, struct nn_error *err);
} devices[] = {
	{ "auto", nn_cpu_open },
	{ "cpu", nn_cpu_open },
	{ "cpu+openblas", nn_cpu_open_blas },
};

/* NAME or NAME:N of the module nn-NAME.so; the number, or -1. */
static int number_of(const char *device, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(device, name, n) != 0)
		return -1;
	if (device[n] == '\0')
		return 0;
	return device[n] == ':' && device[n + 1] &&
			       strspn(device + n + 1, "0123456789") == strlen(device + n + 1)
		       ? atoi(device + n + 1)
		       : -1;
}

static const struct nn_device *open_in_module(const char *name, enum nn_dtype dtype,
					      struct nn_error *err)
{
	const struct nn_device_module *module = nn_module_open("cuda", err);
	const struct nn_device *device =
		module ? module->open(number_of(name, "cuda"), dtype, err) : NULL;

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
	const struct nn_device_module *module =
		number_of(name, "cuda") >= 0 ? nn_module_open("cuda", &err) : NULL;

	return module && module->describe ? module->describe(number_of(name, "cuda")) : NULL;
}

size_t nn_device_kinds(enum nn_dtype dtype, const struct nn_device *kinds[NN_MAX_KINDS])
{
	return nn_cpu_kinds(dtype, kinds);
}
