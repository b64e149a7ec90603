/* Values of a file's type as real numbers, and the bytes of other machines. */
#ifndef NN_FILE_CONVERT_H
#define NN_FILE_CONVERT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/shape.h"

/* n values to f32 or f64 (`to`), each rounded once. f16, bf16, f32 to f64 are exact. */
void nn_convert(enum nn_dtype from, const void *values, size_t n, enum nn_dtype to, void *real);
/* Reverse the bytes of each of n values of `size` bytes. */
void nn_swap_bytes(void *values, size_t n, size_t size);
/* Index of the first value that is NaN or infinite among n f32 or f64 values; n: none. */
size_t nn_find_not_finite(enum nn_dtype real, const void *values, size_t n);

static inline float nn_f16_to_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023,
		 bits;
	float f;

	if (exponent == 0) {
		f = (float)fraction * 0x1p-24f;
		memcpy(&bits, &f, 4);
		bits |= sign;
	} else {
		bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static inline float nn_bf16_to_f32(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

#endif
