/* Arrays of f16 and bf16 to f32 and back. */
#ifndef NN_BASE_HALF_H
#define NN_BASE_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include "base/shape.h"

/* half: f16 or bf16, wide: f32; n values, which do not overlap. */
struct nn_half {
	void (*widen)(const void *half, void *wide, size_t n); /* exact */
	/*
	 * Each divided, then rounded to nearest even; NaN becomes the quiet one without sign. How
	 * many are NaN.
	 */
	size_t (*narrow)(const void *wide, void *half, float divisor, size_t n);
};

/* Of NN_F16 or NN_BF16. plain: by what every CPU has, for the same bytes. */
const struct nn_half *nn_half(enum nn_dtype dtype, bool plain);

#endif
