/* The cpu devices of all sets of instructions, and claims about them. */
#ifndef TESTS_TABLE_ISA_H
#define TESTS_TABLE_ISA_H

#include <stdio.h>
#include <stdlib.h>
#include "base/error.h"
#include "device/device.h"

static int n_tests, failed;
static const char *const isas[] = { "generic", "neon", "avx2", "avx512" };

static void claim(const char *what, const char *claim, int ok)
{
	printf("%sok %d - %s: %s\n", ok ? "" : "not ", ++n_tests, what, claim);
	failed |= !ok;
}

static const struct nn_device *device_of(const char *isa, enum nn_dtype dtype)
{
	struct nn_error err;
	setenv("NN_CPU", isa, 1);
	return nn_device_open("cpu", dtype, &err);
}

#endif
