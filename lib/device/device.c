/* Devices by name. */
#include <string.h>
#include "base/error.h"
#include "device/device.h"

const struct nn_device *nn_cpu_open(enum nn_dtype dtype, struct nn_error *err);
const struct nn_device *nn_cpu_open_blas(enum nn_dtype dtype, struct nn_error *err);

static const struct {
	const char *name;
	const struct nn_device *(*open)(enum nn_dtype dtype, struct nn_error *err);     /* NULL: not in this build */
} devices[] = {
	{ "auto", nn_cpu_open },
	{ "cpu", nn_cpu_open },
	{ "cpu+openblas", nn_cpu_open_blas },
	{ "cuda", NULL },
};

const struct nn_device *nn_device_open(const char *name, enum nn_dtype dtype, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
		if (strcmp(name, devices[i].name) != 0)
			continue;
		if (devices[i].open)
			return devices[i].open(dtype, err);
		nn_fail(err, NN_ENODEV, "device %s: built without CUDA", name);
		return NULL;
	}
	nn_fail(err, NN_EUSAGE, "unknown device %s: choose cpu, cuda or auto", nn_quote(quoted, name, strlen(name)));
	return NULL;
}
