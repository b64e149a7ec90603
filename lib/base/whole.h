/* Number i of values of a type of whole numbers, as their dtype says at run time. */
#ifndef NN_BASE_WHOLE_H
#define NN_BASE_WHOLE_H

#include <stdint.h>

#include "base/error.h"
#include "base/shape.h"

static inline __int128 nn_whole_at(enum nn_dtype dtype, const void *values, size_t i)
{
	switch (dtype) {
	case NN_I8:
		return ((const int8_t *)values)[i];
	case NN_BOOL:
	case NN_U8:
		return ((const uint8_t *)values)[i];
	case NN_I16:
		return ((const int16_t *)values)[i];
	case NN_U16:
		return ((const uint16_t *)values)[i];
	case NN_I32:
		return ((const int32_t *)values)[i];
	case NN_U32:
		return ((const uint32_t *)values)[i];
	case NN_I64:
		return ((const int64_t *)values)[i];
	case NN_U64:
		return ((const uint64_t *)values)[i];
	default:
		NN_BUG("%s is not a type of whole numbers", nn_dtype_name(dtype));
	}
}

#endif
