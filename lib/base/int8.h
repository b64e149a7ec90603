/* int8 as weights are stored: q times a scale that many of them share, q from -127 to 127. */
#ifndef NN_BASE_INT8_H
#define NN_BASE_INT8_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NN_INT8_MOST 127 /* the largest magnitude of q */

/*
 * The largest magnitude divided by 127, to 17 bits; 0 where that would be subnormal. So q times the
 * scale is exact in f32, and what is quantized again keeps its scale and all q.
 */
static inline float nn_int8_scale(const float *values, size_t n)
{
	float most = 0, scale;
	uint32_t bits;

	for (size_t i = 0; i < n; i++)
		most = fabsf(values[i]) > most ? fabsf(values[i]) : most;
	scale = most / NN_INT8_MOST;
	memcpy(&bits, &scale, 4);
	bits = (bits + 0x3f + (bits >> 7 & 1)) & ~UINT32_C(0x7f);
	memcpy(&scale, &bits, 4);
	return scale < FLT_MIN ? 0 : scale;
}

/* The nearest q, ties to even; scale > 0. */
static inline int8_t nn_int8_of(float value, float scale)
{
	float shifted = value / scale + 0x1.8p23f; /* its low bits are the rounded quotient */
	uint32_t bits;
	int32_t q;

	memcpy(&bits, &shifted, 4);
	q = (int32_t)(bits - 0x4b400000);
	return (int8_t)(q > NN_INT8_MOST ? NN_INT8_MOST : q < -NN_INT8_MOST ? -NN_INT8_MOST : q);
}

#endif
