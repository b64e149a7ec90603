/*
 * The cpu devices of all sets of instructions, the kernels of nn-cuda.so in their host form
 * (tests/device/cuda-host.c), and claims about them.
 */
#ifndef TESTS_TABLE_ISA_H
#define TESTS_TABLE_ISA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "device/device.h"

static int n_tests, failed;
static const char *const isas[] = { "generic", "neon", "avx2", "avx512", "cuda" };

static void claim(const char *what, const char *claim, int ok)
{
	printf("%sok %d - %s: %s\n", ok ? "" : "not ", ++n_tests, what, claim);
	failed |= !ok;
}

/* make check-cuda-host and check-long, which build it */
static bool in_host_form(void)
{
	const char *module = getenv("NN_TEST_MODULE");

	return module && strcmp(module, "cuda") == 0;
}

static const struct nn_device *device_of(const char *isa, enum nn_dtype dtype)
{
	const struct nn_device *device;
	const char *build = getenv("NN_BUILD");
	char path[4096];
	struct nn_error err;
	if (strcmp(isa, "cuda") == 0) {
		if (!in_host_form())
			return NULL;
		snprintf(path, sizeof path, "%s/tests/device/cuda/.libs", build ? build : ".");
		setenv("NN_MODULE_PATH", path, 1);
		setenv("NN_CPU", "generic", 1); /* beside it */
		device = nn_device_open("cuda:9", dtype, &err);
		if (!device) {
			printf("Bail out! %s\n", err.text);
			exit(1);
		}
		return device;
	}
	setenv("NN_CPU", isa, 1);
	return nn_device_open("cpu", dtype, &err);
}

#endif
