/* What a wing of devices offers to device.c alone. */
#ifndef NN_DEVICE_WINGS_H
#define NN_DEVICE_WINGS_H

#include <stddef.h>
#include "base/error.h"
#include "base/shape.h"

struct nn_device;

/*
 * cpu/: the best instruction set this machine has, or the one NN_CPU names. NULL with NN_EUSAGE,
 * NN_ENODEV; a const table. NN_I8: one of f32 that predicts with int8 weights in dense and conv2d,
 * multiplied as integers.
 */
const struct nn_device *nn_cpu_open(enum nn_dtype dtype, struct nn_error *err);
/* The same where sums need no order: opens the module nn-openblas.so, NN_ENODEV without it. */
const struct nn_device *nn_cpu_open_blas(enum nn_dtype dtype, struct nn_error *err);

/* Every table that this machine can run, the widest first: their number. */
size_t nn_cpu_kinds(enum nn_dtype dtype, const struct nn_device **kinds);

#endif
