/* Number i of values that are f32 or f64, as their dtype says at run time. */
#ifndef NN_BASE_REAL_H
#define NN_BASE_REAL_H

#include "base/shape.h"

static inline double nn_real_at(enum nn_dtype dtype, const void *values, size_t i)
{
	return dtype == NN_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* Rounded where they are f32. */
static inline void nn_real_put(enum nn_dtype dtype, void *values, size_t i, double value)
{
	if (dtype == NN_F64)
		((double *)values)[i] = value;
	else
		((float *)values)[i] = (float)value;
}

#endif
