/* Subnormals among values of f32 or f64: made zeros of their sign where they enter, or found. */
#ifndef NN_BASE_SUBNORMAL_H
#define NN_BASE_SUBNORMAL_H

#include "base/shape.h"

void nn_flush_values(void *values, size_t n, enum nn_dtype dtype);
bool nn_has_subnormal(const void *values, size_t n, enum nn_dtype dtype);

#endif
