/*
 * A second device for tests: the CPU's kernels and a clock that they advance by a known cost. Never
 * installed.
 */
#ifndef TESTS_DEVICE_FAKE_H
#define TESTS_DEVICE_FAKE_H

#include "device/device.h"

/*
 * Seconds: a kernel takes launch + rows * row, a copy copy + bytes * byte; the first kernel of a
 * process takes first more.
 */
struct nn_fake_cost {
	double launch, row, copy, byte, first;
};

/* The symbol nn_fake of the module. */
struct nn_fake {
	double clock; /* only kernels and copies advance it */
	struct nn_fake_cost cpu, cuda;
	/* The CPU with that cost; the device of the module. */
	const struct nn_device *(*open_cpu)(enum nn_dtype dtype, struct nn_error *err);
	bool wrong;                     /* dense layers of cuda compute something else */
	uint64_t copied_in, copied_out; /* bytes */
};

#endif
