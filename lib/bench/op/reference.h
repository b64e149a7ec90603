/*
 * The ops as plain loops in double: what kernels are compared with, by nn-bench and by the tests.
 */
#ifndef NN_BENCH_OP_REFERENCE_H
#define NN_BENCH_OP_REFERENCE_H

#include "device/device.h"

/* One forward pass of any op. Arrays as in nn_call (images H,W,C), parameters canonical. */
struct nn_reference {
	const struct nn_site *site;
	size_t rows;
	uint64_t sample, seed;
	const double *const *x;
	double *const *w;    /* running values are updated in training */
	const size_t *group; /* batchnorm */
	size_t n_groups;
	double *y;
};

/* An activation; its derivative, had from y where that suffices (x may be NaN), else from x. */
double nn_reference_activation(enum nn_activation kind, double slope, double x);
double nn_reference_slope(enum nn_activation kind, double slope, double x, double y);

/* Of the op recurrent. */
void nn_reference_recurrent(const struct nn_reference *r);
/* Of ops over images, without an epilogue. */
void nn_reference_conv_transpose2d(const struct nn_reference *r);
void nn_reference_slice(const struct nn_reference *r);
void nn_reference_transpose(const struct nn_reference *r);
void nn_reference_permute(const struct nn_reference *r);
void nn_reference_upsample(const struct nn_reference *r);

extern void (*const nn_references[NN_N_OPS])(const struct nn_reference *r);

#endif
