/*
 * Products of int8 weights in integers (numerics.md, int8): what dense and conv2d share.
 *
 * A row of x, or a sample of a convolution, becomes bytes with a scale and a zero of its own. Sums
 * of their products with q are exact in 32 bits, so their order is free and all instruction sets
 * agree; what follows them is f32 in a fixed order.
 */
#ifndef NN_DEVICE_CPU_INT8_H
#define NN_DEVICE_CPU_INT8_H

#include "device/cpu/cpu.h"
#include "device/cpu/product/product.h"

#define NN_INT8_CHAIN ((size_t)1 << 16) /* longest: 2^16 * 255 * 127 is below 2^31 */
#define NN_INT8_WIDTH ((size_t)16)      /* out-channels of a panel */
#define NN_INT8_STEP ((size_t)4)        /* inputs that are multiplied at once */

/* AVX-512's products take bytes from 0; others bytes with a sign, which are less by this. */
#if defined NN_ISA_avx512
#define NN_INT8_LESS 0
#else
#define NN_INT8_LESS 128
#endif

/* A row of bytes: x = scale * (byte - zero); a byte's number begins where the machine's does. */
struct nn_int8_row {
	float scale; /* NaN: there are values that are not finite */
	int32_t zero;
};

/*
 * Weights of a dense layer or of a group: [panels][padded / 4][16][4] of q, then [16 panels] scales
 * and sums of q.
 */
struct nn_int8 {
	size_t in, out;
	size_t padded; /* in, to a multiple of 4: bytes of a row */
	size_t panels;
};

/* Where values go: row i of the product to y + i * step. */
struct nn_int8_to {
	float *y;
	const float *bias, *residual; /* or NULL; residual laid out as y */
	size_t step;
	enum nn_tail_act act;
	float slope;
};

static inline struct nn_int8 nn_int8_shape(size_t in, size_t out)
{
	return (struct nn_int8){
		.in = in,
		.out = out,
		.padded = (in + NN_INT8_STEP - 1) / NN_INT8_STEP * NN_INT8_STEP,
		.panels = (out + NN_INT8_WIDTH - 1) / NN_INT8_WIDTH,
	};
}

/* Bytes of the weights, a multiple of 64. */
static inline size_t nn_int8_bytes(const struct nn_int8 *d)
{
	return d->panels * NN_INT8_WIDTH * (d->padded + sizeof(float) + sizeof(int32_t));
}

static inline size_t nn_int8_rounded(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/*
 * Out-channel o, below 16 panels: its values in the order of files, where step k = i * inner + j is
 * j * outer + i; inner 0: k. Beyond d->out values are not looked at.
 */
void NN_K(int8_weights)(const struct nn_int8 *d, const float *values, size_t inner, size_t outer,
			size_t o, void *weights);
/* n values to as many bytes. */
void NN_K(int8_row)(const float *x, size_t n, uint8_t *bytes, struct nn_int8_row *row);
/* Panels [p0, p1) of rows of d->padded bytes; row_step 0: one row[] for all, else 1. */
void NN_K(int8_product)(const struct nn_int8 *d, size_t rows, const uint8_t *x,
			const struct nn_int8_row *row, size_t row_step, const void *weights,
			const struct nn_int8_to *to, size_t p0, size_t p1);

/* The device's kernels for prediction. */
extern const struct nn_kernel NN_K(int8_dense), NN_K(int8_conv2d);
extern const struct nn_device NN_K(device_int8);

#endif
