/* Subnormals are zero: the processor's bits for it in the calling thread, and a value made so. */
#ifndef NN_BASE_FLUSH_H
#define NN_BASE_FLUSH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From now on operations of the calling thread take subnormal operands for zeros of their sign and
 * give such zeros in place of subnormal results (x86: FTZ and DAZ of MXCSR; Arm: FZ of FPCR), or
 * not. Returns the register as it was, for nn_flush_restore. A thread begins with what the one that
 * starts it has.
 *
 * Whoever computes has the bits set: tools from the beginning, threads of a pool always, nn.h while
 * it works for its caller. Text is read and written without them (base/number.h sees to it).
 */
uint64_t nn_flush_set(bool flush);
void nn_flush_restore(uint64_t before);

/* The value, or a zero of its sign in place of a subnormal; whatever the bits are. */
static inline float nn_flushed_f32(float value)
{
	return fabsf(value) < FLT_MIN ? copysignf(0, value) : value;
}

static inline double nn_flushed_f64(double value)
{
	return fabs(value) < DBL_MIN ? copysign(0, value) : value;
}

/*
 * fma of f64 as a processor's instruction computes it under these bits, by a library that has to
 * put it together (glibc's splits factors into halves, which lose bits near 2^-1000).
 */
double nn_flush_fma(double a, double b, double c);

#endif
